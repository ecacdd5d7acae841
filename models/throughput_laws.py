"""Throughput of one TCP flow as a closed form of its loss rate.

Windows in packets; `throughput()` gives packets per second *sent*. Every parameter may be an array (see
`tcpdynamics.models.parameters.broadcast`): the result is then a DataArray over the grid that they span.
Scalar pint quantities give a quantity, which checks the dimensions; their registry must know the packet:
`registry.define("packet = [packet]")`.

`b` counts the packets that one ACK acknowledges. It keeps the default of each source: 1 in Mathis et al. and
in TFRC, 2 (delayed ACKs) in Padhye et al.; set it alike before comparing the laws. It need not be whole: ACKs
that are lost with probability a make it b/(1 - a).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import Model
from .parameters import Number, Value, broadcast, is_labelled, is_quantity, parameter

_MATHIS = "Mathis et al. 1997, doi:10.1145/263932.264023"
_PFTK = "Padhye et al. 2000, doi:10.1109/90.842137"
_TFRC = "RFC 5348, section 3.1"


@dataclass(frozen=True)
class SquareRoot(Model):
    """The square-root formula: additive increase and halving, no timeouts, one periodic loss.

    B = sqrt(3 / (2 b p)) / R. Holds for loss below about 1 %; at 20 % it is several times too high.

    References
    ----------
    .. [1] M. Mathis, J. Semke, J. Mahdavi, T. Ott, The macroscopic behavior of the TCP congestion avoidance
       algorithm, ACM SIGCOMM CCR 27(3), 1997, BW = (MSS/RTT) C/sqrt(p) with C = sqrt(3/(2b));
       doi:10.1145/263932.264023

    Examples
    --------
    >>> round(SquareRoot(loss=0.015, rtt=0.1).throughput(), 9)
    100.0
    >>> SquareRoot(loss=[0.01, 0.02], rtt=[0.1, 0.2, 0.3]).throughput().sizes
    Frozen({'loss': 2, 'rtt': 3})
    """

    loss: Number = parameter("p", "1", "loss probability", low=0.0, high=1.0, source=_MATHIS)
    rtt: Number = parameter("R", "s", "round-trip time", low=0.0, source=_MATHIS, default=1.0)
    b: Number = parameter("b", "1", "packets per ACK", low=1.0, low_open=False, source=_MATHIS, default=1)

    def throughput(self) -> Value:
        """Packets sent per second [packet/s]: float, DataArray or pint quantity."""
        v = broadcast(self)
        return _rate(np.sqrt(1.5 / v["b"] / v["loss"]) / v["rtt"])


@dataclass(frozen=True)
class PftkFull(Model):
    """The full model of Padhye, Firoiu, Towsley and Kurose: fast retransmit, timeouts and a window limit.

    Losses are independent between rounds, and the first loss of a round takes the rest of that round with it.
    The timer is taken to collapse after one successful retransmission, which overestimates throughput above
    about 10 % loss. Where the mean window meets the limit, the paper's two branches differ by (2 - b)/4 round
    trips: with b = 1 and a limit, throughput jumps *up* there as loss rises, by a few per cent.

    References
    ----------
    .. [1] J. Padhye, V. Firoiu, D. Towsley, J. Kurose, Modeling TCP throughput: a simple model and its
       empirical validation, ACM SIGCOMM 1998; doi:10.1145/285243.285291
    .. [2] the same, Modeling TCP Reno performance: a simple model and its empirical validation, IEEE/ACM
       Transactions on Networking 8(2), 2000, the "full model" of section II-C; doi:10.1109/90.842137

    Examples
    --------
    >>> round(PftkFull(loss=0.05, rtt=1.0, timeout=2.0, b=1, window_limit=6).throughput(), 4)
    3.5314
    """

    loss: Number = parameter("p", "1", "loss probability", low=0.0, high=1.0, source=_PFTK)
    rtt: Number = parameter("RTT", "s", "round-trip time", low=0.0, source=_PFTK)
    timeout: Number = parameter("T_0", "s", "first retransmission timeout", low=0.0, source=_PFTK)
    b: Number = parameter("b", "1", "packets per ACK", low=1.0, low_open=False, source=_PFTK, default=2)
    window_limit: Number = parameter(
        "W_m", "packet", "largest window", low=1.0, low_open=False, high_open=False, source=_PFTK, default=inf
    )

    def throughput(self) -> Value:
        """Packets sent per second [packet/s]: float, DataArray or pint quantity."""
        v = broadcast(self)
        p, b, limit = v["loss"], v["b"], _packets(v["window_limit"])
        q = 1 - p
        mean = (2 + b) / (3 * b)
        unlimited = mean + np.sqrt(8 * q / (3 * b * p) + mean**2)
        window = np.minimum(unlimited, limit)
        limited = unlimited >= limit
        timeouts = timeout_chance(p, window)
        packets = q / p + window + timeouts / q
        rounds = _choose(limited, b * window / 8 + q / (p * window) + 2, b * window / 2 + 1)
        return _rate(packets / (v["rtt"] * rounds + v["timeout"] * (timeouts * timeout_sequence(p) / q)))


@dataclass(frozen=True)
class PftkApproximate(Model):
    """The short formula of Padhye, Firoiu, Towsley and Kurose.

    B = min(W_m/RTT, 1/(RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))).

    References
    ----------
    .. [1] J. Padhye, V. Firoiu, D. Towsley, J. Kurose, Modeling TCP Reno performance: a simple model and its
       empirical validation, IEEE/ACM Transactions on Networking 8(2), 2000, the "approximate model" of
       section II-C; doi:10.1109/90.842137

    Examples
    --------
    >>> round(PftkApproximate(loss=0.05, rtt=1.0, timeout=2.0, b=1).throughput(), 4)
    4.4065
    """

    loss: Number = parameter("p", "1", "loss probability", low=0.0, high=1.0, source=_PFTK)
    rtt: Number = parameter("RTT", "s", "round-trip time", low=0.0, source=_PFTK)
    timeout: Number = parameter("T_0", "s", "first retransmission timeout", low=0.0, source=_PFTK)
    b: Number = parameter("b", "1", "packets per ACK", low=1.0, low_open=False, source=_PFTK, default=2)
    window_limit: Number = parameter(
        "W_m", "packet", "largest window", low=1.0, low_open=False, high_open=False, source=_PFTK, default=inf
    )

    def throughput(self) -> Value:
        """Packets sent per second [packet/s]: float, DataArray or pint quantity."""
        v = broadcast(self)
        p, b = v["loss"], v["b"]
        chance = np.minimum(1.0, 3 * np.sqrt(3 * b * p / 8))
        per_packet = v["rtt"] * np.sqrt(2 * b * p / 3) + v["timeout"] * (chance * p * (1 + 32 * p**2))
        return _rate(1 / np.maximum(v["rtt"] / _packets(v["window_limit"]), per_packet))


@dataclass(frozen=True)
class Tfrc(Model):
    """The throughput equation of TCP-friendly rate control.

    X = 1/(R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2)): the short PFTK formula without its min(1, .),
    so that it sends less above p = 8/(27 b). In packets: multiply by the segment size for bytes.

    References
    ----------
    .. [1] S. Floyd, M. Handley, J. Padhye, J. Widmer, TCP Friendly Rate Control (TFRC): Protocol
       Specification, RFC 5348, 2008, section 3.1; doi:10.17487/RFC5348
    .. [2] the same equation in RFC 3448, 2003, section 3.1; doi:10.17487/RFC3448

    Examples
    --------
    >>> round(Tfrc(loss=0.05, rtt=1.0).throughput(), 4)
    3.6859
    """

    loss: Number = parameter("p", "1", "loss event rate", low=0.0, high=1.0, source=_TFRC)
    rtt: Number = parameter("R", "s", "round-trip time", low=0.0, source=_TFRC)
    timeout: Number = parameter(
        "t_{RTO}", "s", "retransmission timeout; 4 R if not given", low=0.0, source=_TFRC, default=None
    )
    b: Number = parameter("b", "1", "packets per ACK", low=1.0, low_open=False, source=_TFRC, default=1)

    def throughput(self) -> Value:
        """Packets sent per second [packet/s]: float, DataArray or pint quantity."""
        v = broadcast(self)
        p, b, rtt = v["loss"], v["b"], v["rtt"]
        timeout = 4 * rtt if v["timeout"] is None else v["timeout"]
        timeouts = 3 * np.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)
        return _rate(1 / (rtt * np.sqrt(2 * b * p / 3) + timeout * timeouts))


def timeout_chance(loss: Value | NDArray[Any], window: Value | NDArray[Any]) -> Value | NDArray[Any]:
    """Probability that a loss in a window of w packets ends in a timeout, Q-hat(w).

    min(1, (1 - q^3)(1 + q^3 (1 - q^(w-3)))/(1 - q^w)) with q = 1 - p, elementwise. Accurate at every p, as
    no difference of nearly equal powers is formed. One for windows up to three, which cannot give three
    duplicate ACKs.

    Parameters
    ----------
    loss : array_like     p [1], in (0, 1).
    window : array_like   w [packet], > 0.

    References
    ----------
    .. [1] Padhye et al. 2000, section II-B; doi:10.1109/90.842137

    Examples
    --------
    >>> float(timeout_chance(0.1, 3)), round(float(timeout_chance(1e-12, 1000)), 9)
    (1.0, 0.003)
    """
    log_q = np.log1p(np.negative(loss))
    three = -np.expm1(3 * log_q)
    # Windows below three have q^(w-3) > 1, possibly beyond the range of floats; there the answer is 1 anyway.
    beyond_three = -np.expm1((np.maximum(window, 3.0) - 3) * log_q)
    ratio = three * (1 + (1 - three) * beyond_three) / -np.expm1(window * log_q)
    return np.minimum(1.0, ratio)


def timeout_sequence(loss: Value | NDArray[Any]) -> Value | NDArray[Any]:
    """f(p) = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6, elementwise.

    A run of timeouts that doubles from T0 and stays at 64 T0 lasts T0 f(p)/(1-p) on average.

    References
    ----------
    .. [1] Padhye et al. 2000, section II-B; doi:10.1109/90.842137

    Examples
    --------
    >>> timeout_sequence(0.5)
    4.0
    """
    p = loss
    return 1 + p * (1 + p * (2 + p * (4 + p * (8 + p * (16 + p * 32)))))


def _choose(condition: Value, yes: Value, no: Value) -> Value:
    # np.where forgets the dimensions of a DataArray; both branches are finite, so a weighted sum is exact.
    return condition * yes + (1 - condition) * no


def _packets(window: Value) -> Value:
    return window.to("packet").magnitude if is_quantity(window) else window


def _rate(value: Value) -> Value:
    """Label packets per second: a DataArray by its attributes, a pint quantity by the unit."""
    if is_quantity(value):
        return (value * type(value)(1.0, "packet")).to("packet/s")
    if is_labelled(value):
        return value.rename("throughput").drop_attrs(deep=False).assign_attrs(units="packet/s", long_name="throughput")
    return float(value)
