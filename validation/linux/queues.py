"""Queues of links in the words of Linux's `tc`.

A queue in which packets are counted is netem's: it holds a packet until its last bit is sent, so its limit counts the
one being sent, as ours does. A discipline stands under a token bucket of one packet, which lets a packet go when it
would begin to be sent; a wire behind it adds the time that sending takes. The bucket has room for some bytes more:
timers of a clock with steps come late, and what a full bucket could not take would make the link slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tcpdynamics.errors import ScenarioError, shown

from ..ns2.number import number
from ..packet.kernel.parameters import parameters_of, read_parameters
from ..packet.kernel.queues import DISCIPLINES
from ..packet.scenario.link import Link
from ..packet.scenario.losses import read_loss
from . import dualpi2

#: Longest delay of a wire [s]: `tc` counts it in 32 bits.
MOST_DELAY = 270.0
#: Steps of the kernel's clock and of `tc`'s sizes of buckets, together [s].
CLOCK_STEPS = 320e-9
#: Packets that a queue without a limit holds.
NO_LIMIT = 100_000_000
#: Disciplines of a scenario that Linux has.
TRANSLATED = ("droptail", "red", "sfq", "codel", "fq_codel", "pie")
#: Parameters of these that Linux has no word for.
UNTRANSLATED = ("mark_p", "mean_packet", "mtu", "burst")

Stage = tuple[tuple[str, ...], bool]


def refuse_queue(link: Link, words: str | None, table: str = "links") -> None:
    """Refuse what Linux does not have on a link, which stands in a scenario's table `links`, or is the bottleneck."""
    try:
        _refuse_queue(link, words, "" if table == "bottleneck" else f" of link {link.name}")
    except ScenarioError as error:
        raise ScenarioError(str(error).replace("links.", f"{table}.")) from None


def _refuse_queue(link: Link, words: str | None, at: str) -> None:
    for key in ("jitter", "changes", "reorder"):
        if getattr(link, key):
            raise ScenarioError(f"links.{key}{at} is not translated for Linux; leave it out")
    for key in ("router", "priority"):
        if getattr(link, key) != "none":
            raise ScenarioError(f"links.{key}{at}: Linux has no such thing; leave it out")
    if link.ack_loss is not None:
        raise ScenarioError(f"links.ack_loss{at}: Linux does not tell packets apart there; take two links")
    if link.rate is not None and link.rate % 8:
        raise ScenarioError(f"links.rate{at}: Linux counts whole bytes per second; take a multiple of 8 bit/s")
    if words is not None:
        _refuse_words(link, words, at)
        return
    if link.queue not in TRANSLATED:
        raise ScenarioError(
            f'links.queue{at} is "{link.queue}"; translated for Linux are {", ".join(TRANSLATED)}; others can be given '
            "in tc's words with disciplines"
        )
    if (link.queue != "droptail" or link.buffer_bytes is not None) and link.buffer == 1:
        raise ScenarioError(f"links.buffer{at} is 1: take 2 or more")
    values = _parameters(link)
    if link.queue != "droptail" and link.buffer_bytes is not None:
        raise ScenarioError(f"links.buffer_bytes{at}: not with {link.queue} in Linux; give links.buffer")
    refused = {"red": ("gentle", "wait", "bytes"), "sfq": ("perturbation", "lane_limit")}.get(link.queue, ())
    for name in refused:
        if values.get(name):
            raise ScenarioError(f"links.queue_parameters.{name}{at}: Linux has no such thing; leave it out")
    for name in UNTRANSLATED:
        if name in values and values[name] != _usual(link.queue, name):
            raise ScenarioError(f"links.queue_parameters.{name}{at}: Linux has its own; leave it out")
    if values.get("ns2"):
        raise ScenarioError(f"links.queue_parameters.ns2{at}: Linux is not ns-2; leave it out")


def _refuse_words(link: Link, words: str, at: str) -> None:
    """Refuse words for a link where nothing waits, and those that the guest itself has to understand and cannot."""
    if link.rate is None:
        raise ScenarioError(f"disciplines{at}: without a rate no packet waits there; give links.rate")
    if not words.strip() or not words.isprintable():
        raise ScenarioError(f"disciplines{at} must be words for tc on one line, got {shown(words)}")
    if words.split()[0] == dualpi2.KIND:
        dualpi2.options(words, f"disciplines{at}")


def queue(link: Link, largest: int, words: str | None = None) -> Iterator[Stage]:
    """What stands one after the other on a link: lines for `tc`, and whether it is the queue.

    Parameters
    ----------
    largest : int
        Size of the largest packet [byte].
    words : str, optional
        The discipline in `tc`'s words, in place of the link's own.

    Examples
    --------
    >>> list(queue(Link("a", "b", 1e6, 0.01, 20), 500))[0]
    (('qdisc add dev DEV root netem rate 1000000bit limit 20',), True)
    """
    loss = _loss(link.loss)
    if link.rate is None:
        yield (_netem(link.delay, loss), True)
        return
    rate = f"{int(link.rate)}bit"
    if words is None and link.queue == "droptail" and link.buffer_bytes is None:
        limit = NO_LIMIT if link.buffer is None else link.buffer
        yield (f"qdisc add dev DEV root netem rate {rate} limit {limit}{loss}",), True
        if link.delay:
            yield wire_of_delay(link.delay), False
        return
    if loss:
        yield _netem(0.0, loss), False
    room = math.ceil(link.rate * CLOCK_STEPS / 8)
    lines = (
        f"qdisc add dev DEV root handle 1: tbf rate {rate} burst {largest + room} limit {NO_LIMIT}",
        f"qdisc add dev DEV parent 1: handle 10: {words or _discipline(link, largest)}",
    )
    yield lines, True
    yield wire_of_delay(link.delay + 8 * largest / link.rate), False


def wire_of_delay(delay: float, loss: Any = 0.0, jitter: float = 0.0) -> tuple[str, ...]:
    """A wire on which packets take time, `jitter` more by chance, and nothing else.

    Examples
    --------
    >>> wire_of_delay(0.1, jitter=0.004)
    ('qdisc add dev DEV root netem delay 102000.0us 2000.0us limit 100000000',)
    """
    return _netem(delay, _loss(loss), jitter)


def _netem(delay: float, loss: str, jitter: float = 0.0) -> tuple[str, ...]:
    if not delay and not loss and not jitter:
        return ()
    if delay + jitter > MOST_DELAY:
        raise ScenarioError(
            f"links.delay, or a part of flows.rtt: Linux delays packets by at most {MOST_DELAY:g} s on a wire, got "
            f"{delay + jitter:g}"
        )
    middle, half = (number(round(x * 1e6, 3)) for x in (delay + jitter / 2, jitter / 2))
    spread = f" {half}us" if jitter else ""
    return (f"qdisc add dev DEV root netem delay {middle}us{spread} limit {NO_LIMIT}{loss}",)


def _loss(loss: Any) -> str:
    file, values = read_loss(loss, "links.loss")
    if file is None:
        return f" loss random {number(100 * values['loss'])}%" if values["loss"] else ""
    shares = (values["p"], values["r"], values["bad"], values["good"])
    return " loss gemodel " + " ".join(f"{number(100 * share)}%" for share in shares)


def _parameters(link: Link) -> dict[str, float]:
    return read_parameters(DISCIPLINES[link.queue], link.queue_parameters, "links.queue_parameters", link.queue)


def _usual(queue: str, name: str) -> Any:
    """The default of a discipline's parameter."""
    return next(p.default for p in parameters_of(DISCIPLINES[queue]) if p.name == name)


def _discipline(link: Link, largest: int) -> str:
    """The discipline of a link; its limit is without the packet that is being sent."""
    p = _parameters(link)
    limit = 1_000_000 if link.buffer is None else link.buffer - 1
    microseconds = {key: f"{max(1, round(1e6 * p[key]))}us" for key in ("target", "interval", "update") if key in p}
    ecn = "ecn" if p.get("ecn", 1.0) else "noecn"
    if link.queue == "droptail":
        return f"bfifo limit {(link.buffer_bytes or NO_LIMIT) - 1}"
    if link.queue == "codel":
        return f"codel limit {limit} target {microseconds['target']} interval {microseconds['interval']} {ecn}"
    if link.queue == "fq_codel":
        return (
            f"fq_codel limit {limit} flows {int(p['queues'])} quantum {int(p['quantum'])} target "
            f"{microseconds['target']} interval {microseconds['interval']} {ecn}"
        )
    if link.queue == "pie":
        return (
            f"pie limit {limit} target {microseconds['target']} tupdate {microseconds['update']} "
            f"alpha {round(16 * p['alpha'])} beta {round(16 * p['beta'])} {ecn}"
        )
    if link.queue == "sfq":
        return f"sfq limit {limit} divisor {_power_of_two(p['queues'])} perturb 0"
    low, high = (round(p[key] * largest) for key in ("min_threshold", "max_threshold"))
    return (
        f"red limit {limit * largest} min {low} max {high} avpkt {largest} "
        f"burst {red_burst(p['weight'], p['min_threshold'])} probability {number(p['p_max'])} "
        f"bandwidth {int(link.rate or 0)}bit ecn"
    )


def _power_of_two(x: float) -> int:
    return 1 << max(0, round(x) - 1).bit_length()


def red_burst(weight: float, least: float) -> int:
    """The `burst` from which `tc` finds the power of two that is nearest to a weight.

    Examples
    --------
    >>> red_burst(0.002, 5.0)
    48
    """
    power = max(1, round(-math.log2(weight)))
    for burst in range(max(1, math.floor(least - 1) + 1), 1_000_000):
        exponent = _red_power(burst, least)
        if exponent == power:
            return burst
        if exponent > power or exponent < 0:  # it grows with the burst
            break
    raise ScenarioError(
        f"links.queue_parameters.weight: with min_threshold = {least:g} tc has no words for a weight near "
        f"{weight:g}; take another weight, or a higher threshold"
    )


def _red_power(burst: int, least: float) -> int:
    """As `tc` does it: the first weight 2^-k under which a burst leaves the mean below the threshold."""
    weight = 0.5
    a = burst + 1 - least
    for power in range(1, 32):
        if a <= (1 - (1 - weight) ** burst) / weight:
            return power
        weight /= 2
    return -1
