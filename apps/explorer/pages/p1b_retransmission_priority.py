"""What does a link that favours retransmissions change, and one that loses them more often?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tcpdynamics.models import SharedLink, SubPacketExact
from tcpdynamics.solvers import self_consistent, stationary
from tcpdynamics.solvers.programs.straightline import Program

from .. import numbers_retransmission_priority as numbers
from ..numbers_retransmission_priority import CASES as CASES
from ..page import Control, Figure, Page, Preset, Printed, Values, control
from ..shown import shown
from ..sub_packet_chains import event_program

#: Packets per flow: ends of the pictures, as powers of two, and how many to each doubling.
LEAST, MOST, STEPS = -4, 2, 8


def chain_of(values: Values) -> dict[str, Any]:
    """Settings of the link's senders."""
    whole = {name: int(values[name]) for name in ("backoff_cap", "collapse")}
    return {"base_timeout": values["base_timeout"], **whole}


def _slice(values: Values) -> int:
    return int(values["slice"])


def _about(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """What may follow a timeout [1]: the chance of another, longer one."""
    import sympy

    from ..page import program_of

    p, p_r = sympy.symbols("p p_r", positive=True)
    model = SubPacketExact(loss=p, retransmission_loss=p_r, collapse=int(values["collapse"]))
    about = {
        "cases": [[k, more.get("retransmission_ratio", 1.0), "suffix_losses" in more] for k, more in CASES.items()],
        "powers": [LEAST, MOST, STEPS],
        "low": SharedLink(flows=1, capacity=1e6, base_rtt=1.0, buffer=1).balance().bounds[0],
    }
    return program_of({"repeat": model.repeat_probability()}), ("p", "p_r"), about


def _of_slices(quantity: str) -> Callable[[Values], str]:
    return shown(numbers.of_slices, "share", quantity=lambda values: quantity, slice=_slice, chain=chain_of)


def dataset(values: Values) -> Any:
    """What is consistent with each share of packets per flow, case by case."""
    import xarray as xr

    shares = 2.0 ** (np.arange(STEPS * (MOST - LEAST) + 1) / STEPS + LEAST)
    shares = np.union1d(shares, values["share"])
    parts = []
    for case in CASES:
        link = numbers.links(shares, chain_of(values))[case]
        solved = self_consistent(link.balance(), window=int(values["slice"]))
        flow = link.flow(solved.root)
        seen = flow.observe(stationary(flow.chain()))
        lost = 1 - seen.goodput / (seen.packets_per_rtt + seen.fast_retransmitted)
        repeat = xr.DataArray(flow.repeat_probability())
        more = {
            "lost": lost.assign_attrs(units="1", long_name="fraction of all packets that is lost"),
            "repeat": repeat.assign_attrs(units="1", long_name="chance that a timeout is followed by a longer one"),
        }
        kept = solved.assign({k: v.drop_vars(set(v.coords)) for k, v in more.items()})
        kept = kept.swap_dims(flows="share")
        kept = kept.drop_vars(["status", "flows", "retransmission_loss"], errors="ignore")
        parts.append(kept.expand_dims(case=[case]))
    return xr.concat(parts, "case", combine_attrs="drop")


PAGE = Page(
    slug="retransmission-priority",
    title="Retransmission priority",
    question="Does a link share better if it sends retransmissions first, and what if it loses them more often?",
    controls=(
        Control("share", "φ", "packet/RTT", "packets per flow", 2.0**LEAST, 2.0**MOST, 1.0, 0.001, log=True),
        Control("slice", "L", "RTT", "length of a slice", 10, 100, 50, 1),
        control(SharedLink, "base_timeout", 2, 6, 2, 1),
        control(SharedLink, "backoff_cap", 3, 8, 5),
        control(SharedLink, "collapse", 2, 3, 3),
    ),
    figures=(
        Figure(
            "loss", "Packets lost",
            "Curves: fraction of all packets sent that is lost, against the packets per flow",
            code=shown(numbers.loss, "share", chain=chain_of),
        ),
        Figure(
            "repeats", "A timeout is followed by a longer one",
            "Curves: chance that a timeout is followed by another, against the packets per flow; from one half on "
            "the mean silence has no limit but the cap on the backoff",
            code=shown(numbers.repeats, "share", chain=chain_of),
        ),
        Figure(
            "silent", "Silence", "Curves: fraction of time in which a flow sends nothing, against the packets per flow",
            code=_of_slices("idle"),
        ),
        Figure(
            "jain", "Fairness over a slice",
            "Curves: Jain's index of what flows get in a slice, against the packets per flow", code=_of_slices("jain"),
        ),
        Figure(
            "nothing", "Flows with nothing in a slice",
            "Curves: fraction of flows that get nothing in a slice, against the packets per flow",
            code=_of_slices("nothing"),
        ),
        Figure(
            "facts", "At these packets per flow", "Numbers: losses, silence, fairness, and the loss that is the limit "
            "of a finite mean silence", "facts", shown(numbers.facts, "share", slice=_slice, chain=chain_of),
        ),
    ),
    printed=(
        Printed("even", ("backoff_cap", "collapse"), lambda v: event_program(v, False)),
        Printed("suffix", ("backoff_cap", "collapse"), lambda v: event_program(v, True)),
        Printed("repeat", ("collapse",), _about),
    ),
    main=("share", "slice", "base_timeout", "collapse"),
    presets=(
        Preset("50 flows on the link of the paper's Fig. 12, slices of 20 s", {"share": 1.0, "slice": 50.0}),
        Preset("200 flows on the link of Fig. 9, slices of 20 s", {"share": 0.5, "slice": 50.0}),
        Preset("50 flows on the link of Fig. 9, slices of 20 s", {"share": 2.0, "slice": 50.0}),
        Preset("two successes end the backoff", {"collapse": 2.0}),
    ),
    dataset=dataset,
    notes=(
        "Packets per flow: those that fit into the pipe and a buffer that is always full, (C R_0 + B)/N, which flows "
        "share per round trip. The loss is the one at which the exact sub-packet chain delivers that much. Flows on "
        "1 Mbit/s with 200 ms, 50 places in the buffer and packets of 500 bytes have 1 each if they are 100.",
        "With priority, what a timeout sends again is never lost, so new packets are lost more often. 2x and 3x: it "
        "is lost two and three times as often as new packets, as on drop-tail queues, where it arrives out of turn. "
        "Suffix bursts: the first loss in a window takes what follows it in that window, except in the two packets "
        "after a timeout.",
        "Where a timeout is followed by a longer one with a probability above one half, only the cap on the backoff "
        "keeps the mean silence finite. What is resent counts among the m successes, so priority moves that limit.",
        "Mean-field: losses are independent from flow to flow, and all flows are alike. Packets differ: a queue with "
        "priority loses what follows a retransmission more often than other new packets; tcpdynamics validate "
        "retransmission-priority and lock-out measure by how much.",
    ),
)  # fmt: skip
