"""LEAP: why a timer expires, what a lost acknowledgement costs, and how many transfers an overloaded network finishes.

p is the loss probability of data, a that of acknowledgements, each packet by itself; u = p + a - p a is the
probability that a segment sent alone is not acknowledged. Closed forms of three questions, each with `closed_forms()`,
a labelled table of all that it says.

Y. Tamura, M. Takayasu, H. Takayasu, TCP optimization for eliminating duplicate segments in congested networks, 2004,
has the mechanism and simulations of it, no formulas; those here are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics import former_names

from .model import Model
from .parameters import Number, Value, broadcast, is_labelled, is_quantity, is_symbolic, parameter, setting

if TYPE_CHECKING:
    import xarray as xr

_TAMURA = "Tamura et al. 2004"


def _loss(symbol: str, of: str) -> Any:
    """A loss probability; 0 is allowed."""
    return parameter(symbol, "1", f"loss probability of {of}", low=0.0, high=1.0, low_open=False, source=_TAMURA)


@dataclass(frozen=True)
class LeapTimeout(Model):
    """Cause of a timeout: was a segment lost, or were acknowledgements?

    The first of w segments that were sent together was received and nothing came back (*ACK-caused*), or it was lost
    and at most two duplicates came back (*data-caused*). LEAP suspects the first where nothing came back at all.
    With immediate acknowledgements its suspicion is right with probability (1-p) a/u, whatever the window is; at
    equal loss rates that is a little under one half.

    With `delayed_acks` the receiver acknowledges every second segment in order, and each one out of order at once.

    Examples
    --------
    >>> leap = LeapTimeout(data_loss=0.1, ack_loss=0.1, window=2)
    >>> round(leap.ack_caused(), 4), round(leap.data_caused(), 4)
    (0.0171, 0.1)
    >>> round(leap.suspicion_right(), 4), round(LeapTimeout(0.1, 0.1, 2, delayed_acks=True).ack_caused(), 4)
    (0.4737, 0.09)
    """

    data_loss: Number = _loss("p", "data")
    ack_loss: Number = _loss("a", "acknowledgements")
    window: int = parameter(
        "w", "packet", "segments sent together", low=1, high=1000, low_open=False, high_open=False, integer=True,
        structural=True, default=1,
    )  # fmt: skip
    delayed_acks: bool = setting("the receiver acknowledges every second segment", default=False)

    def ack_caused(self) -> Value:
        """Probability that the first segment is received and nothing comes back [1]."""
        p, a = self._losses()
        if not self.delayed_acks:
            return _plain((1 - p) * a * _missing(p, a) ** (self.window - 1))
        # r segments in order before the first gap, and m of the rest: one acknowledgement for each pair in order and
        # for each of the rest; an odd one in order waits for its timer only if nothing follows.
        w, total = self.window, 0.0
        for r in range(1, w):
            some = ((1 - p) * a + p) ** (w - r - 1) - p ** (w - r - 1)
            none = p ** (w - r - 1) * a ** ((r + 1) // 2)
            total = total + (1 - p) ** r * p * (a ** (r // 2) * some + none)
        return _plain(total + (1 - p) ** w * a ** ((w + 1) // 2))

    def data_caused(self) -> Value:
        """Probability that the first segment is lost and at most two duplicates come back [1]."""
        p, a = self._losses()
        n, u = self.window - 1, _missing(p, a)
        few = u**n
        if n > 0:
            few = few + n * (1 - u) * u ** (n - 1)
        if n > 1:
            few = few + n * (n - 1) / 2 * (1 - u) ** 2 * u ** (n - 2)
        return _plain(p * few)

    def ack_fraction(self) -> Value:
        """Probability that a timeout is ACK-caused [1]."""
        ours = self.ack_caused()
        return _share(ours, ours + self.data_caused())

    ack_share = former_names.method("ack_share", "ack_fraction")

    def leap_probability(self) -> Value:
        """Probability that nothing comes back, so that LEAP leaps [1]."""
        p, a = self._losses()
        return _plain(self.ack_caused() + p * _missing(p, a) ** (self.window - 1))

    def suspicion_right(self) -> Value:
        """Probability that acknowledgements were lost where nothing came back [1]: that LEAP is right to leap."""
        return _share(self.ack_caused(), self.leap_probability())

    def closed_forms(self) -> xr.Dataset:
        """All of the above, labelled."""
        return _table(self, {
            "ack_caused": ("1", "probability of a timeout for lost acknowledgements"),
            "data_caused": ("1", "probability of a timeout for lost data"),
            "ack_fraction": ("1", "fraction of timeouts for lost acknowledgements"),
            "leap_probability": ("1", "probability that nothing comes back"),
            "suspicion_right": ("1", "probability that LEAP is right to leap"),
        })  # fmt: skip

    def _losses(self) -> tuple[Any, Any]:
        v = broadcast(self)
        return v["data_loss"], v["ack_loss"]


@dataclass(frozen=True)
class LeapTransfer(Model):
    """Transmissions and duplicates for each segment of a sender with a window of one.

    A sender that repeats needs 1/S transmissions, S = 1 - u = (1-p)(1-a), and its receiver gets 1/(1-a) of them. With
    LEAP, a segment that is not acknowledged (u) is followed by the next one, sent until acknowledged: 1/S times. Then
    both are done if the first had been received; else the duplicate triggers it once more. That duplicate clears the
    acknowledgements, so a further timeout repeats it, and only the one after that leaps again. In all

        (1/S) (1 + p/(1-p^2)) transmissions for 1 + u + p u^2/(1-p^2) segments,

    a factor of about 1 + a less. (If that duplicate did not count, the factor would be exactly 1 + (1-p) a.) Windows of
    one have no go-back: larger windows have duplicates that LEAP leaves.

    Examples
    --------
    >>> model = LeapTransfer(data_loss=0.1, ack_loss=0.1)
    >>> round(100 * model.duplicates_plain(), 2), round(100 * model.duplicates_leap(), 2)
    (11.11, 2.49)
    >>> round(model.saving(), 4)
    1.0841
    """

    data_loss: Number = _loss("p", "data")
    ack_loss: Number = _loss("a", "acknowledgements")

    def transmissions_plain(self) -> Value:
        """Transmissions for each segment without LEAP [1]."""
        p, a = self._losses()
        return _plain(1 / (1 - _missing(p, a)))

    def transmissions_leap(self) -> Value:
        """Transmissions for each segment with LEAP [1]."""
        p, a = self._losses()
        u, again = _missing(p, a), p / (1 - p**2)
        return _plain((1 + again) / ((1 - u) * (1 + u + again * u**2)))

    def duplicates_plain(self) -> Value:
        """Useless receptions for each segment without LEAP [1]: a/(1-a)."""
        _, a = self._losses()
        return _plain(a / (1 - a))

    def duplicates_leap(self) -> Value:
        """Useless receptions for each segment with LEAP [1]: what is received, less one."""
        p, a = self._losses()
        u, again = _missing(p, a), p / (1 - p**2)
        # (1-p) transmissions - 1, without the difference of nearly equal numbers.
        more = (p + u) / (1 + p) + again * u**2
        return _plain(a / (1 - a) * more / (1 + u + again * u**2))

    def leaps_right(self) -> Value:
        """Share of leaps before which the first segment had been received [1], those after repeats included."""
        p, a = self._losses()
        u, received = _missing(p, a), (1 - p) * a
        again = p / (1 - p**2)
        return _share(received * (1 + again * (u + p)), u * (1 + again * u))

    def saving(self) -> Value:
        """Transmissions without LEAP over those with it [1]."""
        return _plain(self.transmissions_plain() / self.transmissions_leap())

    def closed_forms(self) -> xr.Dataset:
        """All of the above, labelled."""
        return _table(self, {
            "transmissions_plain": ("1", "transmissions for each segment, without LEAP"),
            "transmissions_leap": ("1", "transmissions for each segment, with LEAP"),
            "duplicates_plain": ("1", "useless receptions for each segment, without LEAP"),
            "duplicates_leap": ("1", "useless receptions for each segment, with LEAP"),
            "leaps_right": ("1", "share of leaps for lost acknowledgements"),
            "saving": ("1", "transmissions without LEAP over those with it"),
        })  # fmt: skip

    def _losses(self) -> tuple[Any, Any]:
        v = broadcast(self)
        return v["data_loss"], v["ack_loss"]


@dataclass(frozen=True)
class OverloadedStar(Model):
    """Share of equal transfers that a star network finishes, links shared evenly, as a function of their density.

    Transfers begin at random times between two different nodes of n, lambda of them a second in all; a link carries
    the data of lambda/n of them, and the acknowledgements of as many others. Up to the critical density mu all finish.
    Beyond it the number in progress grows in proportion to time, N = beta mu t; one that began at s has mu/N of a
    transfer a second, and ends at s e^beta. So the share x = e^-beta finishes, where beta = rho (1 - x), rho =
    lambda/mu: the probability that a Poisson branching process of mean rho dies out. A fluid, of long runs: what is in
    progress at the end of a short one has not finished either.

    Duplicates and their acknowledgements take room as others do; what is lost at its first link takes none.

    Examples
    --------
    >>> round(OverloadedStar(density=2.5).critical_density(), 3)
    3.146
    >>> OverloadedStar(density=[2.5, 3.5]).finished().values.round(3)
    array([1.   , 0.805])
    >>> round(OverloadedStar(density=3.0, duplicates=0.211).finished(), 3)
    0.744
    """

    density: Number = parameter("lambda", "1/s", "transfers that begin, a second", low=0.0, source=_TAMURA)
    duplicates: Number = parameter(
        "d", "1", "useless receptions for each segment", low=0.0, low_open=False, default=0.0
    )
    rate: Number = parameter("C", "bit/s", "rate of each link", low=0.0, source=_TAMURA, default=5e5)
    nodes: Number = parameter(
        "n", "1", "nodes of the star", low=2, low_open=False, source=_TAMURA, default=3, integer=True
    )
    segments: Number = parameter("M", "packet", "segments of a transfer", low=0.0, source=_TAMURA, default=100.0)
    packet_size: float = parameter(
        "S", "byte", "size of a segment, headers included", low=0.0, structural=True, source=_TAMURA, default=576.0
    )
    ack_size: float = parameter(
        "S_a",
        "byte",
        "size of an acknowledgement",
        low=0.0,
        low_open=False,
        structural=True,
        source=_TAMURA,
        default=40.0,
    )
    acks: Number = parameter(
        "k", "1", "acknowledgements for each segment", low=0.0, low_open=False, source=_TAMURA, default=0.5
    )

    def critical_density(self) -> Value:
        """Density mu from which on not all transfers finish [1/s]."""
        v = broadcast(self)
        one = 8.0 * (self.packet_size + self.ack_size * v["acks"])
        bits = _packets(v["segments"]) * (1 + v["duplicates"]) * one
        return _plain(v["nodes"] * _bits(v["rate"]) / bits)

    def load(self) -> Value:
        """Density over the critical one [1], rho."""
        return _plain(_hertz(broadcast(self)["density"]) / self.critical_density())

    def finished(self) -> Value:
        """Share of transfers that finish in a long run [1]."""
        from scipy.special import lambertw

        load = self.load()
        # x = e^(-rho (1 - x)), the root below one: -rho x = W(-rho e^-rho) on the principal branch, which has no
        # digits left where rho is 1.
        rho = np.maximum(load, 1 + 1e-7)
        share = np.where(rho > load, 1.0, -np.real(lambertw(-rho * np.exp(-rho))) / rho)
        return _plain(load.copy(data=share) if is_labelled(load) else share)

    def closed_forms(self) -> xr.Dataset:
        """All of the above, labelled."""
        return _table(self, {
            "critical_density": ("1/s", "density from which on not all transfers finish"),
            "load": ("1", "density over the critical one"),
            "finished": ("1", "fraction of transfers that finish"),
        })  # fmt: skip


def _missing(p: Any, a: Any) -> Any:
    """Probability u that a segment sent alone is not acknowledged."""
    return p + a * (1 - p)


def _share(part: Any, whole: Any) -> Value:
    """A share of what happens; NaN where it never happens."""
    part, whole = (x.to_base_units().magnitude if is_quantity(x) else x for x in (part, whole))
    if isinstance(whole, int | float) and whole == 0:
        return float("nan")
    return _plain(part / whole)


def _plain(value: Any) -> Value:
    """A DataArray without the names of what it was made from, a float, or a SymPy expression."""
    if is_symbolic(value):
        return value
    if is_quantity(value):
        value = value.to_base_units().magnitude
    if is_labelled(value):
        return value.rename(None).drop_attrs(deep=False)
    return float(value)


def _packets(value: Any) -> Any:
    return value.to("packet").magnitude if is_quantity(value) else value


def _bits(value: Any) -> Any:
    return value.to("bit/s").magnitude if is_quantity(value) else value


def _hertz(value: Any) -> Any:
    return value.to("1/s").magnitude if is_quantity(value) else value


def _table(model: Any, rows: dict[str, tuple[str, str]]) -> xr.Dataset:
    """What each method says, with its unit and meaning."""
    import xarray as xr

    columns = {}
    for name, (unit, meaning) in rows.items():
        attrs = {"units": unit, "long_name": meaning}
        columns[name] = xr.DataArray(getattr(model, name)()).assign_attrs(attrs)
    return xr.Dataset(columns)
