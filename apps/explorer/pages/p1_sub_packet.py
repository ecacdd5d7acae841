"""How does TCP behave when a flow's fair share is below one packet per round trip?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.models import SharedLink, SubPacketExact, SubPacketFull, collapse_threshold
from tcpdynamics.solvers import closed_form, stationary
from tcpdynamics.solvers.markov.flows import flow_program
from tcpdynamics.solvers.markov.stationary import stationary_program
from tcpdynamics.solvers.programs.from_sympy import emit
from tcpdynamics.solvers.programs.straightline import Builder, Program

from .. import numbers_sub_packet as numbers
from .. import sub_packet_sender as the_sender
from ..jobs import JobKind
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values, control, program_of
from ..shown import shown as code_of
from ..sub_packet_chains import CHAINS as CHAINS
from ..sub_packet_chains import LINK as LINK
from ..sub_packet_chains import LONG, SHORT, SLIDER, STEP, chain_model, shape_of, shapes_of, source_of, without_law
from ..sub_packet_chains import SHAPES as SHAPES
from ..sub_packet_chains import link_of as link_of
from ..sub_packet_chains import loss_limit as loss_limit
from ..sub_packet_chains import loss_of as loss_of
from ..sub_packet_points import GROUPS, points
from ..sub_packet_runs import read, run

INPUTS = ("p", "m_0")
LINK_FIELDS = ("users", "rate", "base_rtt", "buffer", "packet_size")
#: A loss rate that exact results take: a decimal or a fraction.
RATIONAL = re.compile(r"\s*(0?\.\d{1,6}|\d{1,6}\s*/\s*\d{1,6})\s*", re.ASCII)

#: Assumption; up to which loss it holds, if to some; what the comparison with packets measured (docs/theory.md).
HOLDS: tuple[tuple[str, str, str], ...] = (
    ("Packets are lost independently of each other, at one rate.", "",
     "With equal round-trip times on a drop-tail link the full chain is 0.09 to 0.40 from the packets (total "
     "variation); with times spread by 5 %, 0.08 to 0.12."),
    ("Timeouts begin at m_0 round trips.", "m_0",
     "1.4 to 1.7 round trips on a full queue with equal round-trip times."),
    ("A resent packet is lost as often as any other.", "",
     "With equal round-trip times 4 to 9 times as often, because it arrives among other packets when the queue is "
     "full."),
    ("The backoff ends after m successes in a row.", "m",
     "m = 2: with independent losses the exact chain is within 0.1 of the packets from a loss of 18 % on, the full "
     "chain nowhere (0.13 to 0.18). m = 3: on a link with round-trip times spread by 5 % the exact chain is 0.05 to "
     "0.12 from the packets, within 0.1 at 6 of 8 loads. m = 1: not measured."),
)  # fmt: skip

#: What a kind of state is, by the pattern of its names.
KINDS: dict[str, str] = {
    r"S\d+": "Sn: a window of n packets is sent",
    r"b0": "b0: the wait after a first timeout",
    r"b\*": "b*: the wait after repeated timeouts",
    r"S\d\(\d+r\)": "S1(kr), S2(kr): after the k-th repeated timeout one packet is sent again, then a window of two",
    r"b\*\(\d+r\)": "b*(kr): the wait after a loss there",
    r"b\(\d+\)": "b(k): the wait at backoff level k, where the timeout has doubled k times",
    r"S\d\(\d+\)": "S1(k), S2(k): at that level one packet is sent again, then a window of two",
}


def kinds_of(states: Iterable[str]) -> list[str]:
    """What the kinds of these states are, in words.

    Examples
    --------
    >>> kinds_of(["b0", "S2", "S3"])
    ['Sn: a window of n packets is sent', 'b0: the wait after a first timeout']
    """
    names = list(states)
    return [words for pattern, words in KINDS.items() if any(re.fullmatch(pattern, name) for name in names)]


def _observed(kind: str, values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """P(n packets in an epoch), n = 0..W, packets sent and delivered per RTT; probabilities of states; flows."""
    model = chain_model(kind, values, [0.1, 0.2], [2.0, 3.0])  # swept, so that both are symbols
    flows = flow_program(model.chain())
    builder = Builder()
    steps = builder.extend(flows.program)
    outputs = [steps[i] for i in flows.program.outputs]
    pi = dict(zip(flows.states, outputs, strict=False))
    packets, arrivals = model.packets(), model.arrivals()
    sent = [builder.total(pi[s] for s in pi if packets[s] == n) for n in range(model.w_max + 1)]
    total = builder.total(builder.mul(builder.const(n), sent[n]) for n in range(1, model.w_max + 1))
    goodput = builder.total(builder.mul(pi[s], emit(builder, arrivals[s])) for s in pi if packets[s])
    program = builder.build([*sent, total, goodput, *outputs])
    return program, INPUTS, {"states": list(pi), "edges": flows.edges, "w_max": model.w_max, "kinds": kinds_of(pi)}


def _silence(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Lengths of silences, level by level, and their probabilities; loss at which they grow without end."""
    import sympy

    p, m_0 = sympy.symbols("p m_0", positive=True)
    model = chain_model("exact", {"w_max": 4, **values}, p, m_0)
    rows = [model.silence_at(level) for level in range(model.backoff_cap + 1)]
    lengths, chances = zip(*rows, strict=True)
    program = program_of({f"{k}{i}": e for k, part in (("l", lengths), ("c", chances)) for i, e in enumerate(part)})
    return program, INPUTS, {"levels": len(rows), "threshold": collapse_threshold(model.collapse)}


def _share(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Packets in pipe and buffer per user [packet]; bounds between which the loss is searched."""
    import sympy

    users, rate, base_rtt, buffer, size = sympy.symbols(LINK_FIELDS, positive=True)
    link = SharedLink(flows=users, capacity=10**6 * rate, base_rtt=base_rtt, buffer=buffer, packet_size=size)
    bounds = SharedLink(flows=1, capacity=1e6, base_rtt=1.0, buffer=1).balance().bounds
    about = {"bounds": bounds, "holds": HOLDS, "limit": loss_limit("full")}
    return program_of({"share": link.share()}), LINK_FIELDS, about


def over_one_denominator(model: Any) -> tuple[dict[str, Any], Any]:
    """The stationary distribution in closed form: numerators by state, denominator of all, as SymPy expressions."""
    import sympy

    # Of a symbol that is known to be positive SymPy asks again and again whether polynomials are.
    p = sympy.Symbol("p")
    law = {}
    for state, form in closed_form(model).items():
        plain = form.xreplace({s: p for s in form.free_symbols})
        law[state] = [sympy.Poly(part, p) for part in sympy.fraction(plain)]
    whole = sympy.Poly(1, p)
    for _, below in law.values():
        whole = whole.lcm(below)
    parts = {}
    for state, (above, below) in law.items():
        number, factors = (above * whole.quo(below)).factor_list()
        parts[state] = sympy.Mul(number, *(factor.as_expr() ** power for factor, power in factors))
    return parts, whole.as_expr()


@lru_cache(maxsize=64)
def forms(kind: str, shape: tuple[float, ...], base_timeout: Fraction) -> dict[str, Any]:
    """The closed form as MathML, in pieces between which a line may break, and as LaTeX."""
    model = chain_model(kind, dict(zip(SHAPES[kind], shape, strict=True)), Fraction(1, 10), base_timeout)
    parts, whole = over_one_denominator(model)
    return {"states": {s: _shown(e) for s, e in parts.items()}, "denominator": _shown(whole)}


def _shown(expression: Any) -> dict[str, Any]:
    import sympy

    return {"mathml": _pieces(expression), "latex": sympy.latex(expression)}


def _pieces(expression: Any) -> list[str]:
    """Terms of sums, factors of products: lines may break between them."""
    if expression.is_Add:
        pieces: list[str] = []
        for term in expression.as_ordered_terms():
            minus = term.could_extract_minus_sign()
            sign = "<mo>\u2212</mo>" if minus else "<mo>+</mo>" if pieces else ""
            pieces.append(sign + _mathml(-term if minus else term))
        return pieces
    if not expression.is_Mul:
        return [_mathml(expression)]
    factors: list[str] = []
    for factor in expression.as_ordered_factors():
        inner = ["<mo>\u2212</mo>"] if factor == -1 else _pieces(factor)
        if factor.is_Add:
            inner = [f'<mo stretchy="false">(</mo>{inner[0]}', *inner[1:]]
            inner[-1] += '<mo stretchy="false">)</mo>'
        factors += inner
    return factors


def _mathml(expression: Any) -> str:
    import sympy

    text: str = sympy.mathml(expression, printer="presentation")
    return text.replace("<mo>&InvisibleTimes;</mo>", "")


@lru_cache(maxsize=64)
def _forms_of(kind: str, shape: tuple[float, ...], base_timeout: str) -> dict[str, Any]:
    return forms(kind, shape, Fraction(base_timeout))


def _approximate_form(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The closed form that is small enough for exported pages: of the approximate chain with m_0 = 2."""
    model = chain_model("approximate", values, [0.1], 2)
    return (stationary_program(model.chain()), INPUTS, {"forms": forms("approximate", (values["w_max"],), Fraction(2))})


def closed_forms(values: Values, typed: str = "") -> dict[str, Any]:
    """An answer: the closed forms of the chosen chain at these shapes and this timeout, in p."""
    kind = values["chain"]
    return _forms_of(kind, tuple(values[k] for k in SHAPES[kind]), f"{values['base_timeout']:.6g}")


def exact_law(values: Values, typed: str) -> dict[str, Any]:
    """An answer: the stationary distribution of the chosen chain at a rational loss, each probability a fraction.

    Raises
    ------
    DomainError
        The loss is no fraction of at most six digits, or outside the chain's domain.
    """
    if not RATIONAL.fullmatch(typed):
        raise DomainError(
            f"the loss must be a fraction such as 1/10, or a decimal, with at most six digits, got {shown(typed, 40)}"
        )
    try:
        loss = Fraction(typed.replace(" ", ""))
    except ZeroDivisionError:
        raise DomainError(f"the loss must have a denominator above zero, got {shown(typed, 40)}") from None
    model = chain_model(values["chain"], values, loss, Fraction(f"{values['base_timeout']:.6g}"))
    law = stationary(model.chain(), exact=True).probability
    rows = [[str(s), str(x), float(x)] for s, x in zip(law.state.values, law.values, strict=True)]
    return {"loss": str(loss), "base_timeout": f"{values['base_timeout']:g}", "rows": rows}


def dataset(values: Values) -> Any:
    """What an observer of the three chains counts, against loss."""
    import xarray as xr

    at = loss_of(source_of(values))
    curve = STEP + STEP * np.arange(SHORT if values["source"] == SLIDER else LONG)
    loss = np.unique(np.append(curve, [at] if 0 < at < 1 else []))
    parts = []
    for kind in CHAINS:
        own = loss if kind == "exact" else loss[loss < loss_limit(kind)]
        model = chain_model(kind, values, own, values["base_timeout"])
        parts.append(model.observe(stationary(model.chain())).expand_dims(chain=[kind]))
    if the_sender.has_law(values):
        sender = the_sender.model(values, loss)
        parts.append(sender.observe(stationary(sender.chain())).expand_dims(chain=["sender"]))
    return xr.concat(parts, "chain", combine_attrs="drop", join="outer", coords="minimal")


def _points(values: Values) -> int:
    """How many losses the curves have."""
    return SHORT if values["source"] == SLIDER else LONG


def _sender(values: Values) -> dict[str, Any] | None:
    return the_sender.fields(values) if the_sender.has_law(values) else None


def _code(function: Callable[..., Any], **more: Callable[[Values], Any]) -> Callable[[Values], str]:
    """The code of a picture; where no sender is shown, and where none can be, nothing is said of it."""
    alone = code_of(function, "base_timeout", shapes=shapes_of, **more)
    beside = code_of(function, "base_timeout", shapes=shapes_of, sender=_sender, **more)
    has_sender = "sender" in signature(function).parameters
    return lambda values: beside(values) if has_sender and _sender(values) else alone(values)


def _measured(quantity: str) -> Callable[[Values], str]:
    return _code(numbers.measured, group=lambda values: values["points"], quantity=lambda values: quantity)


def _here(values: Values) -> float:
    """The loss at which the bars stand; of a link that is not full, none."""
    loss = loss_of(source_of(values))
    return loss if loss == loss else 0.695


def _options(kind: str, values: Values) -> str:
    shape = " ".join(f"--{k.replace('_', '-')} {n}" for k, n in shape_of(kind, values).items())
    return f"--base-timeout {values['base_timeout']!r} {shape}"


def command(values: Values) -> str:
    """The command that gives the bars and the states of a chain."""
    kind, loss = values["chain"], loss_of(source_of(values))
    if why := without_law(kind, loss):
        return f"no command: {why}"
    return f"tcpdynamics stationary sub-packet-{kind} --loss {loss!r} {_options(kind, values)}"


def sweep_command(values: Values) -> str:
    """The command that gives a chain along the curves."""
    kind = values["chain"]
    count = LONG if kind == "exact" and values["source"] == LINK else SHORT
    return f"tcpdynamics stationary sub-packet-{kind} --loss {STEP}:{count * STEP:g}:{count} {_options(kind, values)}"


def _each(one: Callable[[Values], str]) -> Callable[[Values], str]:
    """The commands of all chains, of a picture that has them all."""
    return lambda values: "\n# ".join(one({**values, "chain": kind}) for kind in CHAINS)


def _facts(whole: bool) -> dict[str, Any]:
    """What was measured, by the words of the choice."""
    return {"points": {group: [{"name": n, "rows": points()[n]} for n in names] for group, names in GROUPS.items()}}


#: Links of the paper, and Linux's minimum RTO of 200 ms.
PRESETS = (
    Preset("the paper's Fig. 9, 100 users", {"source": LINK, "users": 100.0}),
    Preset("the paper's Fig. 9, 300 users", {"source": LINK, "users": 300.0}),
    Preset(
        "the paper's Fig. 10, 500 kbit/s and 50 users", {"source": LINK, "users": 50.0, "rate": 0.5, "buffer": 25.0}
    ),
    Preset("a loss of 30 %, as in the paper's section 2.3.2", {"loss": 0.3}),
    Preset(
        "Linux today: minimum retransmission timeout (RTO) 200 ms at 100 ms round trip",
        {"base_timeout": 3.0, "collapse": 2.0, "points": "linux"},
    ),
    Preset("the RFCs: minimum RTO 1 s at 200 ms round trip", {"base_timeout": 5.0, "collapse": 2.0}),
)

PAGE = Page(
    slug="sub-packet",
    main=("source", "loss", "users", "base_timeout"),
    title="Sub-packet chain",
    question="What does a TCP flow do when its fair share is less than a packet per round trip?",
    controls=(
        Choice("chain", "", "chain (diagram, formulas, exact fractions)", tuple(CHAINS)),
        Choice(
            "sender", "", "the simulator's own sender, compared with the chains", the_sender.SENDERS,
            {the_sender.NONE: "", **dict.fromkeys(the_sender.SENDERS[1:], the_sender.MEANING)},
        ),
        Choice("rules", "", "its rule book", the_sender.RULES),
        Choice("source", "", "where the loss comes from", (SLIDER, LINK)),
        control(SubPacketFull, "loss", 0.005, 0.495, 0.1, 0.001, only=(SLIDER,), percent=True),
        Control("users", "N", "1", "users on the link", 1, 1000, 100, 1, only=(LINK,)),
        Control("rate", "C", "Mbit/s", "link rate", 0.1, 100, 1, 0.01, log=True, only=(LINK,)),
        control(SharedLink, "base_rtt", 0.01, 1, 0.2, 0.01, only=(LINK,)),
        control(SharedLink, "buffer", 0, 500, 50, 1, only=(LINK,)),
        control(SharedLink, "packet_size", 40, 1500, 500, 1, only=(LINK,)),
        control(SubPacketFull, "w_max", 4, 10, 6),
        control(SubPacketFull, "stages", 1, 5, 3),
        control(SubPacketExact, "backoff_cap", 0, 8, 6),
        control(SubPacketExact, "collapse", 1, 3, 3),
        control(SubPacketFull, "base_timeout", 2, 12, 2, 0.1),
        Choice("points", "", "what was measured", tuple(GROUPS)),
    ),
    figures=(
        Figure(
            "packets", "Packets in a round trip", "Bars: how often a flow sends 0, 1, 2, ... packets",
            code=_code(numbers.packets, source=source_of), command=_each(command),
        ),
        Figure(
            "goodput", "Goodput against loss", "Curves: packets delivered per round trip, against the loss rate",
            code=_code(numbers.goodput, source=source_of, count=_points), command=_each(sweep_command),
        ),
        Figure(
            "silence", "Silence against loss", "Curves: fraction of round trips without a packet, against loss",
            code=_code(numbers.silence, count=_points), command=_each(sweep_command),
        ),
        Figure(
            "diagram", "States and the flows between them", "Circles: states, by the fraction of time in them; arrows: "
            "transitions, by how often they are taken, the strongest with numbers", "diagram",
            _code(numbers.diagram, source=source_of, kind=lambda values: values["chain"]), command,
        ),
        Figure(
            "lengths", "How long silences are", "Bars: the fraction of silences of each length, and their fraction "
            "of the silent time, in the exact chain", code=_code(numbers.lengths, source=source_of),
        ),
        Figure(
            "measured", "Silence: chains and measured points",
            "Curves: fraction of round trips without a packet, by the chains; points: measured, with 95 % intervals",
            code=_measured("silence"),
        ),
        Figure(
            "measured_goodput", "Goodput: chains and measured points",
            "Curves: packets delivered per round trip, by the chains; points: measured, with 95 % intervals",
            code=_measured("goodput"),
        ),
        Figure(
            "measured_law", "Packets in a round trip, measured at the nearest load",
            "Bars: how often a flow sends 0, 1, 2, ... packets, by the chains and measured, at the load whose loss is "
            "nearest", code=_code(numbers.measured_law, source=_here, group=lambda values: values["points"]),
        ),
    ),
    presets=PRESETS,
    facts=_facts,
    printed=(
        *(Printed(kind, SHAPES[kind], lambda v, kind=kind: _observed(kind, v)) for kind in CHAINS),  # type: ignore[misc]
        Printed("lengths", ("backoff_cap", "collapse"), _silence),
        Printed("share", (), _share),
        Printed("form", ("w_max",), _approximate_form, lazy=True),
    ),
    served=(
        "packets at this point", "the simulator's own sender", "closed forms of the full and the exact chain",
        "exact rationals",
    ),
    dataset=dataset,
    jobs=(JobKind("sub-packet-packets", read, run),),
    answers={"forms": closed_forms, "exact": exact_law, "sender": the_sender.law},
    notes=(
        "The chains of Chen, Iyengar, Subramanian and Ford: approximate (Fig. 7), full (Fig. 8), and exact, in which "
        "each backoff level is a state. One step of a chain is a round trip (epoch).",
        "The simulator's own sender: its chain is not written down by a person, but collected by running the packet "
        "simulator's sender and receiver through every pattern of losses (window W, least timeout m_0, at most K "
        "doublings).",
        "Users on a link: its buffer never empties, all users are alike, and the loss is the one at which the exact "
        "chain of each delivers (C R_0 + B)/N packets per round trip.",
    ),
)  # fmt: skip
