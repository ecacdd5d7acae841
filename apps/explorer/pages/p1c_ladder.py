"""What does each simplification of a TCP sender cost, at a drop probability of the reader's choice?"""

from __future__ import annotations

from typing import Any

from tcpdynamics.solvers.markov.stationary import stationary_program
from tcpdynamics.solvers.programs.from_sympy import emit
from tcpdynamics.solvers.programs.straightline import Builder, Program

from .. import numbers_ladder as numbers
from ..ladder_record import DROPS, LINUX, SENDERS, recorded
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values
from ..shown import shown

#: Function of the page -> the rung whose chain it is; the sender's chain comes as series.
PRINTED = dict(zip(("paper", "exact", "karn"), numbers.RUNGS, strict=False))
CHOSEN = ("sender", "linux")


def _observed(rung: str) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """How often 0, 1, ..., W packets are sent in a round trip, and the packets delivered."""
    model = numbers.chain(rung, [0.1, 0.2], "")  # swept, so that the drop probability is a symbol
    chain, builder = model.chain(), Builder()
    law = stationary_program(chain)
    steps = builder.extend(law)
    pi = dict(zip(chain.labels, (steps[i] for i in law.outputs), strict=True))
    packets, arrivals = model.packets(), model.arrivals()
    sent = [builder.total(pi[s] for s in pi if packets[s] == n) for n in range(model.w_max + 1)]
    goodput = builder.total(builder.mul(pi[s], emit(builder, arrivals[s])) for s in pi if packets[s])
    return builder.build([*sent, goodput]), ("p",), {}


def dataset(values: Values) -> Any:
    """The rungs at the drop probability."""
    return numbers.rungs(values["drop"], values["sender"], values["linux"]).to_xarray()


PAGE = Page(
    slug="ladder",
    title="From chain to Linux",
    question="A TCP sender in six rungs, from the paper's chain to Linux: what does each simplification cost?",
    controls=(
        Control("drop", "p", "1", "drop probability", DROPS[0], DROPS[-1], 0.2, 0.001, percent=True),
        Choice(
            "sender", "", "loss recovery", SENDERS,
            {"sack": "Receivers report what arrived (SACK).", "newreno": "Only cumulative acknowledgements."},
        ),
        Choice(
            "linux", "", "Linux's congestion control", tuple(LINUX),
            {
                "cubic": "Linux 7.2 with its default settings.", "reno": "Reno, all else at its default.",
                "bbr": "BBR, all else at its default.",
                "reno-options-off": "Reno without time stamps, loss probes, F-RTO and D-SACK. RACK stays on with SACK.",
            },
        ),
        Choice("quantity", "", "quantity of the curves", ("silence", "goodput")),
    ),
    figures=(
        Figure(
            "rungs", "Packets in a round trip, rung by rung",
            "Six bars below one another: how often a sender sends 0, 1, 2, ... packets in a round trip. Between them, "
            "what is given up and the distance that it costs", "rungs", shown(numbers.rungs, "drop", *CHOSEN),
        ),
        Figure(
            "curves", "All six against drop probability",
            "Curves of the four chains; points of packets and of Linux, with 95 % intervals", "curves",
            shown(numbers.curves, "quantity", *CHOSEN),
        ),
    ),
    printed=tuple(Printed(name, (), lambda values, rung=rung: _observed(rung)) for name, rung in PRINTED.items()),  # type: ignore[misc]
    presets=(
        Preset("5 % dropped", {"drop": 0.05}),
        Preset("the paper's Fig. 9, 100 users: 16 % dropped", {"drop": 0.157}),
        Preset(
            "where the largest step changes: Linux's Reno without SACK and options, 15 %",
            {"drop": 0.15, "sender": "newreno", "linux": "reno-options-off"},
        ),
        Preset("20 % dropped, Linux with BBR", {"drop": 0.2, "linux": "bbr"}),
    ),
    dataset=dataset,
    facts=lambda whole: recorded(),
    notes=(
        "Every rung has a largest window of 6 packets and a constant round trip. Drops are independent. The first "
        "retransmission timeout (RTO) is 2 round trips. A backoff doubles it after each further timeout, from rung 2 "
        "on to 128 round trips at most.",
        "A distance is the total variation: the smallest fraction of round trips that must change to turn one bar into "
        "the other. Distances of neighbouring rungs do not add up.",
        "Rung 1 is the full chain of Chen, Iyengar, Subramanian and Ford (Fig. 8). Its "
        "deep backoffs share one wait. Rung 2 is the exact chain: each level of the backoff is a state. Rung 3 is "
        "the exact chain with Karn's rule: two successes end a backoff, not three. Rung 4 is the chain that is "
        "compiled from the simulator's sender by the rules of the RFCs.",
        "Rung 5 is that sender in simulated packets, in 20 runs of 60,000 round trips. Rung 6 is Linux 7.2, in 20 runs "
        "of 10 connections with 1,500 round trips of 200 ms each. Both were recorded at 11 drop probabilities, and the "
        "nearest one is shown. Packets are counted in slots of one round trip.",
        "Linux adds its minimum RTO to the round-trip time. With a minimum of 200 ms its first RTO is therefore 2 "
        "round trips, as on the other rungs.",
        "tcpdynamics validate ladder compares the chains and the packets with flows on one queue, too. "
        "python -m tcpdynamics.apps.explorer.ladder_record records packets and Linux again.",
    ),
)  # fmt: skip
