"""How does TCP behave when a flow's fair share is below one packet per round trip?"""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpdynamics.models import SubPacketApproximate, SubPacketExact, SubPacketFull
from tcpdynamics.solvers import stationary
from tcpdynamics.solvers.markov.entries import entry_program, expressions_of
from tcpdynamics.solvers.markov.stationary import _program
from tcpdynamics.solvers.programs.straightline import Builder, Program

from ..page import Figure, Page, Printed, Values, control

#: Fields that shape each chain; the others are inputs of its function.
SHAPES = {
    "approximate": ("w_max",),
    "full": ("w_max", "stages"),
    "exact": ("w_max", "backoff_cap", "collapse"),
}
CHAINS: dict[str, type[Any]] = {
    "approximate": SubPacketApproximate, "full": SubPacketFull, "exact": SubPacketExact,
}  # fmt: skip
INPUTS = ("p", "m_0")


def _model(kind: str, values: Values, loss: Any, base_timeout: Any) -> Any:
    shape = {k: int(values[k]) for k in SHAPES[kind]}
    return CHAINS[kind](loss=loss, base_timeout=base_timeout, **shape)


def _observed(kind: str, values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """P(n packets in an epoch), n = 0..W, packets sent and delivered per RTT; then the law of the states."""
    model = _model(kind, values, [0.1, 0.2], [2.0, 3.0])  # swept, so that both are symbols
    law = _program(expressions_of(model.chain()))
    builder = Builder()
    steps = builder.extend(law)
    pi = dict(zip(model.states(), (steps[i] for i in law.outputs), strict=True))
    packets = model.packets()
    sent = [builder.total(pi[s] for s in pi if packets[s] == n) for n in range(model.w_max + 1)]
    p, one = builder.input("p"), builder.const(1)
    arrives = builder.sub(one, p)
    total = builder.total(builder.mul(builder.const(n), sent[n]) for n in range(1, model.w_max + 1))
    copies = [
        builder.mul(pi[s], builder.mul(builder.const(n), builder.mul(p, builder.power(arrives, n - 1))))
        for s, n in packets.items()
        if n > 1 and model._repairs(s, n)
    ]
    goodput = builder.mul(arrives, builder.add(total, builder.total(copies)))
    program = builder.build([*sent, total, goodput, *pi.values()])
    return program, INPUTS, {"states": list(pi), "w_max": model.w_max}


def _transitions(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Transition probabilities of the full chain, edge by edge."""
    model = _model("full", values, [0.1, 0.2], [2.0, 3.0])
    program, edges, loops = entry_program(expressions_of(model.chain()))
    return program, INPUTS, {"edges": [*edges, *((i, i) for i in loops)], "states": list(model.states())}


def dataset(values: Values) -> Any:
    """What an observer of the three chains counts, against loss."""
    import xarray as xr

    loss = np.unique(np.append(np.linspace(0.005, 0.495, 99), values["loss"]))
    parts = []
    for kind in CHAINS:
        model = _model(kind, values, loss, values["base_timeout"])
        parts.append(model.observe(stationary(model.chain())).expand_dims(chain=[kind]))
    return xr.concat(parts, "chain", combine_attrs="drop", join="outer", coords="minimal")


def code(values: Values) -> str:
    """Python that gives the bars."""
    shape = ", ".join(f"{k}={values[k]:g}" for k in SHAPES["full"])
    return (
        "from tcpdynamics.models import SubPacketFull\n"
        "from tcpdynamics.solvers import stationary\n\n"
        f"model = SubPacketFull(loss={values['loss']!r}, base_timeout={values['base_timeout']!r}, {shape})\n"
        "answer = model.observe(stationary(model.chain()))\n"
        "print(answer.sent.values, float(answer.goodput))\n"
    )


def command(values: Values) -> str:
    """The command that gives the bars."""
    options = " ".join(f"--{k.replace('_', '-')} {values[k]:g}" for k in SHAPES["full"])
    point = f"--loss {values['loss']!r} --base-timeout {values['base_timeout']!r}"
    return f"tcpdynamics stationary sub-packet-full {point} {options}"


PAGE = Page(
    slug="sub-packet",
    title="Sub-packet chain",
    question="What does a TCP flow do when its fair share is less than a packet per round trip?",
    controls=(
        control(SubPacketFull, "loss", 0.005, 0.495, 0.1, 0.001),
        control(SubPacketFull, "w_max", 4, 10, 6),
        control(SubPacketFull, "stages", 1, 5, 3),
        control(SubPacketExact, "backoff_cap", 0, 8, 6),
        control(SubPacketExact, "collapse", 1, 3, 3),
        control(SubPacketFull, "base_timeout", 2, 12, 2, 0.1),
    ),
    figures=(
        Figure("packets", "Packets in an epoch", "Bars: how often a flow sends 0, 1, 2, ... packets in a round trip"),
        Figure("goodput", "Goodput against loss", "Curves: packets delivered per round trip, against the loss rate"),
        Figure("silence", "Silence against loss", "Curves: share of round trips without a packet, against loss"),
        Figure(
            "diagram", "States of the full chain", "Circles: states, by how often they are visited; arrows: flows of "
            "probability", "diagram",
        ),
    ),
    printed=(
        *(Printed(kind, SHAPES[kind], lambda v, kind=kind: _observed(kind, v)) for kind in CHAINS),  # type: ignore[misc]
        Printed("transitions", SHAPES["full"], _transitions),
    ),
    code=code,
    command=command,
    dataset=dataset,
    notes=(
        "The chains of Chen, Iyengar, Subramanian and Ford: approximate (Fig. 7), full (Fig. 8), and exact, in which "
        "each backoff level is a state.",
        "An epoch is a round trip. The models assume that packets are lost independently; the report shows where "
        "packets agree.",
    ),
)  # fmt: skip
