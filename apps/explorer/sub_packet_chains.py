"""The chains of the sub-packet page, where its loss comes from, and where a chain has no stationary distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpdynamics.models import SharedLink, SubPacketApproximate, SubPacketExact, SubPacketFull
from tcpdynamics.models.parameters import describe
from tcpdynamics.solvers import self_consistent

from .page import Values

if TYPE_CHECKING:
    from tcpdynamics.solvers.programs.straightline import Program

#: Fields that shape each chain; the others are inputs of its function.
SHAPES = {"full": ("w_max", "stages"), "approximate": ("w_max",), "exact": ("w_max", "backoff_cap", "collapse")}
CHAINS: dict[str, type[Any]] = {"full": SubPacketFull, "approximate": SubPacketApproximate, "exact": SubPacketExact}
#: The order of the columns.
COLUMNS = ("approximate", "full", "exact")
#: Where the loss comes from.
SLIDER, LINK = "slider", "users-on-a-link"
#: Between neighbouring loss rates of the curves; how many there are with the slider, and with users on a link.
STEP, SHORT, LONG = 0.005, 99, 139


def loss_limit(kind: str) -> float:
    """Loss below which a chain has a stationary distribution [1]."""
    return float(next(row["high"] for row in describe(CHAINS[kind]) if row["name"] == "loss"))


def shape_of(kind: str, values: Values) -> dict[str, Any]:
    """Fields that shape a chain."""
    return {name: int(values[name]) for name in SHAPES[kind]}


def shapes_of(values: Values) -> dict[str, dict[str, Any]]:
    """Fields that shape each chain."""
    return {kind: shape_of(kind, values) for kind in SHAPES}


def chain_model(kind: str, values: Values, loss: Any, base_timeout: Any) -> Any:
    """A chain of the page's shapes."""
    return CHAINS[kind](loss=loss, base_timeout=base_timeout, **shape_of(kind, values))


def link_of(values: Values) -> SharedLink:
    """The link that the users share."""
    return SharedLink(
        flows=values["users"], capacity=1e6 * values["rate"], base_rtt=values["base_rtt"], buffer=values["buffer"],
        packet_size=values["packet_size"], base_timeout=values["base_timeout"], **shape_of("exact", values),
    )  # fmt: skip


def source_of(values: Values) -> float | SharedLink:
    """The loss of the slider, or the link whose users lose."""
    return float(values["loss"]) if values["source"] == SLIDER else link_of(values)


def loss_of(source: float | SharedLink) -> float:
    """The loss rate [1]: as given, or that of users on a link."""
    return source if isinstance(source, float) else float(self_consistent(source.balance()).root)


def without_law(kind: str, loss: float) -> str:
    """Why a chain has no distribution at a loss, in a sentence; nothing where it has one."""
    if loss == 0:
        return "the users do not fill the link: nothing is lost, and the chains begin above a loss of 0"
    if not loss < 1:
        return "no loss below 1 brings the users' goodput down to their share"
    if loss >= loss_limit(kind):
        limit = f"{loss_limit(kind):g}"
        return f"the {kind} chain has no stationary distribution at losses of {limit} and above; choose the exact one"
    return ""


def event_program(values: Values, suffix: bool) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Packets that arrive and are sent per RTT, probabilities of states, chance of each event out of one that sends.

    An event is a transition with the packets that arrive in it; all else that a state could earn is in `waits`: a
    silent state, what it leads to, and how often its timeout has doubled. `windows`: packets sent in each state.
    """
    import sympy

    from tcpdynamics.models.sub_packet.windows import one_lost, recovers
    from tcpdynamics.solvers.markov.stationary import stationary_program
    from tcpdynamics.solvers.programs.from_sympy import emit
    from tcpdynamics.solvers.programs.straightline import Builder

    shape: dict[str, Any] = {name: int(values[name]) for name in SHAPES["exact"] if name in values}
    model = SubPacketExact(
        loss=[0.1, 0.2], retransmission_loss=[0.1, 0.2], base_timeout=[2.0, 3.0],  # swept, so that all are symbols
        suffix_losses=suffix, **shape,
    )  # fmt: skip
    chain, states, p = model.chain(), model.states(), sympy.Symbol("p", positive=True)
    builder = Builder()
    law = stationary_program(chain)
    placed = builder.extend(law)
    pi = dict(zip(chain.labels, (placed[i] for i in law.outputs), strict=True))
    goodput = builder.total(
        builder.mul(pi[s], emit(builder, mean)) for s, mean in model.arrivals().items() if model.packets()[s]
    )
    sent = []
    for s, n in model.packets().items():
        copies = one_lost(n, p, suffix) if "(" not in s and recovers(n, False) else 0
        if n:
            sent.append(builder.mul(pi[s], emit(builder, n + copies)))
    events, chances = [], []
    for (a, b), outcomes in model.delivered().joint.items():
        for packets, chance in outcomes.items():
            events.append([states.index(a), states.index(b), packets])
            chances.append(emit(builder, chance))
    program = builder.build([goodput, builder.total(sent), *(pi[s] for s in states), *chances])
    waits = [[states.index(f"b({k})"), states.index(f"S1({k})"), 2**k] for k in range(model.backoff_cap + 1)]
    about = {"states": len(states), "events": events, "waits": waits, "windows": [model.packets()[s] for s in states]}
    return program, ("p", "p_r", "m_0"), about
