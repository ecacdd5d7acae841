"""Ready networks: functions that return the links of a scenario.

A node's name is all that a flow needs: `Flows(source="s0", target="d0")`. Rates and times may be texts: "10Mbit/s".
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tcpdynamics.errors import ScenarioError, check, shown

from .fields import read_quantities
from .link import Link

_F = TypeVar("_F", bound=Callable[..., tuple[Link, ...]])

#: Units of arguments that may be texts, and of whole numbers; the others are plain numbers.
UNITS = {
    **dict.fromkeys(("rate", "rates", "access_rate"), "bit/s"),
    **dict.fromkeys(("rtt", "delay", "delays", "access_delay"), "s"),
    **dict.fromkeys(("loss", "ack_loss"), "1"),
}
COUNTS = dict.fromkeys(("buffer", "access_buffer"), "packets")


def _reading_texts(function: _F) -> _F:
    """The function, with arguments that may be texts such as "10Mbit/s"."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def read(*arguments: Any, **named: Any) -> tuple[Link, ...]:
        bound = signature.bind(*arguments, **named).arguments
        for key, value in bound.items():
            if key in UNITS and isinstance(value, str | list | tuple | bool):
                bound[key] = read_quantities(value, UNITS[key], f"topology.{key}")
        return function(**bound)

    return read  # type: ignore[return-value]


@_reading_texts
def dumbbell(
    flows: int,
    rate: float = 1e6,
    buffer: int | None = 50,
    rtt: float | Sequence[float] = 0.2,
    access_rate: float | None = 1e9,
    delay: float = 0.01,
    access_buffer: int | None = None,
) -> tuple[Link, ...]:
    """Senders s0, s1, ... and receivers d0, d1, ... on both sides of one link r1 - r2.

    Parameters
    ----------
    flows : int
        Number of senders, and of receivers.
    rate : float
        Of the link r1 - r2 [bit/s], in both directions.
    buffer : int or None
        Of the link r1 - r2 [packets], in both directions.
    rtt : float or (float, float)
        Round-trip propagation time [s] from s_i to d_i and back; a pair spreads them evenly (one flow: its middle).
    access_rate : float or None
        Rate [bit/s] of the links to senders and receivers; None: pure delay.
    delay : float
        Propagation time [s] of r1 - r2; the access links share the rest of half the RTT equally.
    access_buffer : int or None
        Of the access links [packets].

    Examples
    --------
    >>> links = dumbbell(2, rtt=(0.1, 0.2))
    >>> [(link.name, round(link.delay, 4)) for link in links][:3]
    [('r1->r2', 0.01), ('s0->r1', 0.02), ('r2->d0', 0.02)]
    """
    check("topology.flows", flows, 1, 100_000, "take fewer senders", whole=True)
    several = (rtt, rtt) if isinstance(rtt, (int, float)) else tuple(rtt)
    if len(several) != 2:
        raise ScenarioError(f"topology.rtt must be one value or a pair [first, last], got {shown(several)}")
    first, last = several
    for value in several:
        check("topology.rtt", value, 1e-6, 1e3, 'give seconds, or text such as "200ms"')
    check("topology.delay", delay, 0.0, 1e3, 'give seconds, or text such as "10ms"')
    links = [Link("r1", "r2", rate, delay, buffer)]
    for i in range(flows):
        share = i / (flows - 1) if flows > 1 else 0.5
        access = (first + (last - first) * share) / 4 - delay / 2
        if access < 0:
            raise ScenarioError(f"topology.rtt must be at least 2 * delay = {2 * delay:g} s, got {shown(rtt)}")
        links += [
            Link(f"s{i}", "r1", access_rate, access, access_buffer),
            Link("r2", f"d{i}", access_rate, access, access_buffer),
        ]
    return tuple(links)


@_reading_texts
def star(nodes: int = 3, rate: float = 5e5, delay: float = 0.05, buffer: int | None = 100) -> tuple[Link, ...]:
    """Nodes n0, n1, ... each with a duplex link to a router `hub`.

    The defaults are the network of Tamura, Takayasu and Takayasu (LEAP), Fig. 1.

    Parameters
    ----------
    nodes : int
        Number of nodes around the router.
    rate : float
        Of each link [bit/s].
    delay : float
        Propagation time of each link [s].
    buffer : int or None
        Of each link [packets].

    Examples
    --------
    >>> [link.name for link in star()]
    ['n0->hub', 'n1->hub', 'n2->hub']
    """
    check("topology.nodes", nodes, 2, 100_000, "take fewer nodes", whole=True)
    return tuple(Link(f"n{i}", "hub", rate, delay, buffer) for i in range(nodes))


@_reading_texts
def parking_lot(
    rates: Sequence[float] = (1e6, 1e6),
    delay: float = 0.01,
    buffer: int | None = 50,
    access_rate: float | None = 1e9,
    access_delay: float = 0.005,
) -> tuple[Link, ...]:
    """Routers r0 - r1 - ... in a row, one bottleneck between neighbours; hosts at each router.

    Router r_i has a host s_i that sends and a host d_i that receives. A flow from s0 to the last d crosses all
    bottlenecks, one from s_i to d_(i+1) only its own.

    Parameters
    ----------
    rates : sequence of float
        One for each bottleneck [bit/s].
    delay : float
        Propagation time of each bottleneck [s].
    buffer : int or None
        Of each bottleneck [packets].
    access_rate : float or None
        Rate [bit/s] of the links to hosts; None: pure delay.
    access_delay : float
        Propagation time of the links to hosts [s].

    Examples
    --------
    >>> [link.name for link in parking_lot()]
    ['r0->r1', 'r1->r2', 's0->r0', 'r0->d0', 's1->r1', 'r1->d1', 's2->r2', 'r2->d2']
    """
    rates = (rates,) if isinstance(rates, (int, float)) else tuple(rates)
    check("topology.rates", len(rates), 1, 10_000, "list one rate for each bottleneck", whole=True)
    links = [Link(f"r{i}", f"r{i + 1}", rate, delay, buffer) for i, rate in enumerate(rates)]
    for i in range(len(rates) + 1):
        links += [Link(f"s{i}", f"r{i}", access_rate, access_delay), Link(f"r{i}", f"d{i}", access_rate, access_delay)]
    return tuple(links)


@_reading_texts
def two_paths(
    rates: Sequence[float] = (1e6, 1e6),
    delays: Sequence[float] = (0.02, 0.02),
    buffer: int | None = 50,
    access_rate: float | None = 1e9,
    loss: float = 0.0,
    ack_loss: float | None = None,
) -> tuple[Link, ...]:
    """Host s reaches host d over routers a1 - a2 or, sharing nothing, over b1 - b2.

    Parameters
    ----------
    rates : (float, float)
        Of a1 - a2 and of b1 - b2 [bit/s].
    delays : (float, float)
        Propagation times of a1 - a2 and of b1 - b2 [s].
    buffer : int or None
        Of both [packets].
    access_rate : float or None
        Rate [bit/s] of the links to the hosts; None: pure delay.
    loss : float
        Probability that a1 - a2 and b1 - b2 lose a packet, in either direction [1].
    ack_loss : float, optional
        Of acknowledgements, where it differs [1].

    Examples
    --------
    >>> [link.name for link in two_paths()]
    ['s->a1', 'a1->a2', 'a2->d', 's->b1', 'b1->b2', 'b2->d']
    """
    for key, values in (("rates", rates), ("delays", delays)):
        if not isinstance(values, (tuple, list)) or len(values) != 2:
            raise ScenarioError(f"topology.{key} must have two values, one for each path, got {shown(values)}")
    links: list[Link] = []
    for path, rate, delay in zip("ab", rates, delays, strict=True):
        links += [
            Link("s", f"{path}1", access_rate, 0.001),
            Link(f"{path}1", f"{path}2", rate, delay, buffer, loss=loss, ack_loss=ack_loss),
            Link(f"{path}2", "d", access_rate, 0.001),
        ]
    return tuple(links)


#: kind -> function, for scenario files; the keys of a kind are the function's arguments.
KINDS: dict[str, Callable[..., tuple[Link, ...]]] = {
    "dumbbell": dumbbell,
    "star": star,
    "parking_lot": parking_lot,
    "two_paths": two_paths,
}
