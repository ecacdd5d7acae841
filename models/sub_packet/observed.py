"""A sub-packet flow as an observer sees it: parameters of its chain, packets sent and delivered, timeouts to come.

See `aggregated` for the figures of Chen et al. and `exact` for the chain behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import shown
from tcpdynamics.solvers.problems import DomainError, Edge, MarkovChain, Reward
from tcpdynamics.solvers.problems.numbers import dimensions

from ..model import Model
from ..parameters import Number, Value, as_parameter, broadcast, parameter, setting
from .windows import before_a_loss, one_lost, timeout_chance, window_deliveries

if TYPE_CHECKING:
    import sympy
    import xarray as xr

Array: TypeAlias = NDArray[np.float64]

SOURCE = "Chen et al., section 3"


#: The fields p in (0, high), m_0 in [low, 10^6) and p_r in [0, high).
loss_parameter = partial(
    parameter, "p", "1", "packet-loss probability", low=0.0, source=SOURCE,
    advice="this model has no backoff limit and no answer there, SubPacketExact has",
)  # fmt: skip
timeout_parameter = partial(
    parameter, "m_0", "1", "timeout before backoff, in RTTs", high=1e6, low_open=False, default=2, source=SOURCE,
    note="T_0/RTT",
)  # fmt: skip
resent_loss_parameter = partial(
    parameter, "p_r", "1", "loss of timeout retransmissions", low=0.0, low_open=False, default=None,
    source="Chen et al., section 6.2", note="Default: `loss`. Zero is a link that gives retransmissions priority",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SubPacketModel(Model, family="sub-packet"):
    """The chain of a flow whose window is a few packets; use one of its subclasses."""

    symbol_names: ClassVar = {"loss": "p", "retransmission_loss": "p_r", "base_timeout": "m_0"}

    loss: Number = loss_parameter(high=1.0)
    w_max: int = parameter(
        "W", "packet", "largest window", low=4, high=1000, low_open=False, high_open=False, integer=True,
        structural=True, default=6, source=SOURCE, note="The paper draws 6: enough for p >= 0.1",
    )  # fmt: skip
    base_timeout: Number = timeout_parameter(low=1.0)
    retransmission_loss: Number | None = resent_loss_parameter(high=1.0)
    early_retransmit: bool = setting("RFC 5827: windows of 2 and 3 repair one loss too", False)
    suffix_losses: bool = setting("a drop also drops all later packets of the same window, S2 ... SW", False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_structure(self)

    # -- symbols -------------------------------------------------------------------------------------------

    def _p(self) -> sympy.Symbol:
        import sympy

        return sympy.Symbol("p", positive=True)

    def _p_r(self) -> sympy.Symbol:
        import sympy

        return self._p() if self.retransmission_loss is None else sympy.Symbol("p_r", nonnegative=True)

    def _m_0(self) -> sympy.Expr:
        """A number where it is one, so that closed forms stay in p; a symbol where it is swept."""
        import sympy

        if dimensions(self.base_timeout) == 0 and not hasattr(self.base_timeout, "dims"):
            return sympy.Rational(self.base_timeout)
        return sympy.Symbol("m_0", positive=True)

    def _parameters(self) -> dict[str, Value]:
        """The losses first, then the timer where it is swept: this is the order of the dimensions of results."""
        parameters = super()._parameters()
        timer = parameters.pop("m_0")
        return parameters if self._m_0().is_number else {**parameters, "m_0": timer}

    def _chain(self, transitions: Mapping[Edge, sympy.Expr], holding: Mapping[str, sympy.Expr]) -> MarkovChain:
        return self.problem(MarkovChain, transitions=transitions, states=self.states(), holding=holding)

    # -- what subclasses give ------------------------------------------------------------------------------

    def chain(self) -> MarkovChain:
        """The chain of this reading."""
        raise NotImplementedError

    def states(self) -> tuple[str, ...]:
        """Labels of the chain's states, in the order of results."""
        raise NotImplementedError

    def _timeout_to(self) -> dict[int, str]:
        raise NotImplementedError

    def _windows(self) -> tuple[int, bool, dict[int, str], bool]:
        """What windows.py asks of the windows S2 ... SW."""
        return self.w_max, self.early_retransmit, self._timeout_to(), self.suffix_losses

    def _ladder_deliveries(self) -> dict[Edge, dict[int, sympy.Expr]]:
        raise NotImplementedError

    # -- what an observer counts ---------------------------------------------------------------------------

    def packets(self) -> dict[str, int]:
        """State -> packets sent in its epoch (copies sent by fast retransmit are not counted, as in the paper)."""
        return {s: int(s[1:].split("(")[0]) if s.startswith("S") else 0 for s in self.states()}

    def delivered(self) -> Reward:
        """Packets that arrive per epoch, jointly with the next state."""
        law = window_deliveries(self._p(), *self._windows())
        return Reward({**law, **self._ladder_deliveries()}, "packets delivered", "packet")

    def arrivals(self) -> dict[str, Value]:
        """State -> mean number of packets that arrive in one of its epochs [packet], in the symbols of the chain.

        A copy sent by fast retransmit counts where it arrives. Weighted with a stationary distribution they add up to
        the `goodput` of `observe`.

        Examples
        --------
        >>> from tcpdynamics.models import SubPacketExact
        >>> SubPacketExact(loss=0.1).arrivals()["S2"]
        2 - 2*p
        """
        p, p_r = self._p(), self._p_r()
        return {
            s: 1 - p_r if n == 1 else (1 - p) * (self._exposed(s, n, p) + self._copies(s, n, p))
            for s, n in self.packets().items()
        }

    def observe(self, result: xr.Dataset) -> xr.Dataset:
        """What a stationary distribution of this model's chain means on the wire.

        Parameters
        ----------
        result : Dataset from `solvers.stationary(model.chain())`, floats or exact

        Returns
        -------
        xarray.Dataset
            `sent` (..., packets): P(n packets sent in an epoch), n = 0..W; `packets_per_rtt` [packet]: sum n
            sent_n, window
            packets; `fast_retransmitted` [packet]: further copies per RTT; `goodput` [packet]: packets that arrive per
            RTT, copies included; `silent_fraction` [1]: time without sending.
        """
        import xarray as xr

        pi = result["probability"]
        dims = tuple(str(d) for d in pi.dims if d != "state")
        mass = np.moveaxis(pi.transpose(*dims, "state").values, -1, 0)
        sent, window, resent = self.sent_by(mass)
        failed = result["status"].transpose(*dims).values != 0
        if failed.any():
            sent[failed] = np.nan
        p = self._beside(pi, dims, "loss", self.loss)
        p_r = (
            p
            if self.retransmission_loss is None
            else self._beside(pi, dims, "retransmission_loss", self.retransmission_loss)
        )
        exposed, copies = 0 * mass[0], 0 * mass[0]
        for (state, n), share in zip(self.packets().items(), mass, strict=True):
            if n > 1:
                exposed = exposed + self._exposed(state, n, p) * share
                copies = copies + self._copies(state, n, p) * share

        def variable(values: NDArray[Any], units: str, name: str, *more: str) -> tuple[Any, ...]:
            return ((*dims, *more), values, {"units": units, "long_name": name})

        return xr.Dataset(
            {
                "sent": variable(sent, "1", "probability of packets sent in an epoch", "packets"),
                "packets_per_rtt": variable(window + resent, "packet", "packets sent per RTT"),
                "fast_retransmitted": variable(copies, "packet", "fast retransmissions per RTT"),
                "goodput": variable(
                    (1 - p) * (exposed + copies) + (1 - p_r) * resent, "packet", "packets delivered per RTT"
                ),
                "silent_fraction": variable(sent[..., 0], "1", "fraction of time without sending"),
            },
            coords={k: c for k, c in pi.coords.items() if k != "state"}
            | {"packets": ("packets", np.arange(self.w_max + 1), {"long_name": "packets sent in an epoch"})},
            attrs=result.attrs,
        )

    def sent_by(self, mass: Array) -> tuple[Array, Array, Array]:
        """What (states, ...) probabilities send: (..., packets) as in `observe`; packets of windows per RTT; resent."""
        packets = list(self.packets().values())
        counts = np.array(packets)
        sent = np.stack([mass[counts == n].sum(axis=0) for n in range(self.w_max + 1)], axis=-1)
        window, resent = 0 * mass[0], 0 * mass[0]
        for n, share in zip(packets, mass, strict=True):
            if n == 1:
                resent = resent + share
            elif n:
                window = window + n * share
        return sent, window, resent

    def structure(self) -> str:
        """What shapes the chain's expressions, as text; chains of one structure differ in the values of symbols."""
        shape = {f.name: int(getattr(self, f.name)) for f in fields(self) if f.metadata.get("structural", True)}
        timer: Any = self.base_timeout
        one = None if dimensions(timer) else Fraction(timer)
        return f"{type(self).__name__} {shape} {one} {self.retransmission_loss is None}"

    def _copies(self, state: str, n: int, p: Value) -> Value:
        """Copies that fast retransmit sends per epoch of a state, for one loss in its window."""
        return one_lost(n, p, self._in_suffixes(state)) if self._repairs(state, n) else 0

    def _exposed(self, state: str, n: int, p: Value) -> Value:
        """Packets of a state's window that are lost or not each by itself; what follows a suffix's first is lost."""
        return before_a_loss(n, p, self._in_suffixes(state))

    def _in_suffixes(self, state: str) -> bool:
        """Not in the ladder: there a failure is a failure, and its two packets are lost independently."""
        return self.suffix_losses and "(" not in state

    def _repairs(self, state: str, n: int) -> bool:
        return (n >= 4 or self.early_retransmit) and "(" not in state

    def _beside(
        self, pi: xr.DataArray, dims: tuple[str, ...], name: str, value: Number
    ) -> sympy.Rational | NDArray[Any]:
        """A parameter, shaped to go with the values of a result; rational where the result is."""
        if pi.dtype == object:
            import sympy

            exact = [sympy.Rational(x) for x in np.atleast_1d(np.asarray(value, dtype=object))]
            return exact[0] if dimensions(value) == 0 else np.array(exact, dtype=object)
        array = as_parameter(name, value, "1", "")
        if name in pi.coords and not _same(array, pi.coords[name]):
            raise DomainError(f"the result was computed for another {name} than this model's; observe it with its own")
        array = array.transpose(*(d for d in dims if d in array.dims))
        return array.values.reshape([array.sizes.get(d, 1) for d in dims])

    def timeout_probability(self) -> xr.Dataset:
        """P(timeout in the next epoch | state), for every state that sends: the middlebox's predictor.

        Returns
        -------
        xarray.Dataset with `timeout` (..., state) [1]

        Source: Chen et al., section 6.1 (what it may be used for) and eq. (3).
        """
        import xarray as xr

        v = broadcast(self)
        p, p_r = v["loss"], v["loss" if self.retransmission_loss is None else "retransmission_loss"]
        chance: dict[str, Value] = {}
        for state, n in self.packets().items():
            if n == 1:
                chance[state] = p_r
            elif n > 1:
                early = self.early_retransmit and "(" not in state
                chance[state] = timeout_chance(n, p, early, self._in_suffixes(state))
        names = xr.Variable("state", np.array(list(chance)))
        timeout = xr.concat(
            [c.drop_attrs() for c in xr.broadcast(*map(xr.DataArray, chance.values()))],
            names,
            coords="minimal",
            compat="override",
        ).transpose(..., "state")
        timeout.attrs = {"units": "1", "long_name": "probability of a timeout in the next epoch"}
        return xr.Dataset({"timeout": timeout}, attrs={"model": type(self).__name__})


def check_structure(model: Model) -> None:
    """Refuse arrays of what shapes a chain: a sweep over it has a chain at each point."""
    for field in fields(model):
        value = getattr(model, field.name)
        if field.metadata.get("integer") and (not isinstance(value, Integral) or isinstance(value, bool)):
            advice = "each value is a chain of its own: sweep it in a loop" if np.ndim(value) else "an int"
            raise DomainError(f"{field.name} must be one whole number, got {shown(value)}; {advice}")
        if field.type == "bool" and not isinstance(value, bool):
            raise DomainError(f"{field.name} must be True or False, got {shown(value)}")


def _same(array: xr.DataArray, coordinate: xr.DataArray) -> bool:
    return array.shape == coordinate.shape and bool((array.values == coordinate.values).all())
