"""The chain of a sender: states of the simulator, lumped, with polynomials of the loss rate between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import former_names
from tcpdynamics.errors import check
from tcpdynamics.progress import tell
from tcpdynamics.solvers.problems import MarkovChain, Reward

from .explore import MOST_STATES, Explored, Instant, Move, Weight, explore
from .lumping import classes
from .setting import Setting

if TYPE_CHECKING:
    import sympy
    import xarray as xr

#: What a lumped move is: the class that it leads to, time [RTT], timers on the way, new segments received.
Step = tuple[int, float, int, int]
#: A polynomial as {powers of p, 1-p, p_r, 1-p_r, a, 1-a: coefficient}, all coefficients positive.
Polynomial = dict[Weight, int]


@dataclass(frozen=True, eq=False)
class SenderChain:
    """A sender's own chain; made by `sender_chain`.

    Attributes
    ----------
    setting : Setting
    instants : list of Instant
        Of each class of states: how many packets meet a chance of loss at its instant.
    steps : list of {(class, time, timeouts, delivered): polynomial}
        What may follow.
    explored, recurrent : int
        States of the simulator that were explored, and those of them that recur for ever; these behave like
        `len(instants)`.
    same_loss : bool
        Whether retransmissions are lost like new data (the symbol `p_r` is not used).
    """

    setting: Setting
    instants: list[Instant]
    steps: list[dict[Step, Polynomial]]
    explored: int
    recurrent: int
    same_loss: bool
    parameters: Mapping[str, Any]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """States of the chain: `Sn.i` sends n packets, `b(t).i` waits t RTTs for the timer before i; classes `i`."""
        return (*(self._label(i) for i in range(len(self.instants))), *self._waits)

    def _label(self, i: int) -> str:
        at = self.instants[i]
        sent = at.new + at.again
        return f"S{sent}.{i}" if sent or not at.acks else f"A{at.acks}.{i}"

    @cached_property
    def _waits(self) -> dict[str, tuple[int, float]]:
        """Label of each wait -> the class that it leads to, and how long it is [RTT]."""
        waits: dict[str, tuple[int, float]] = {}
        for steps in self.steps:
            for step in steps:
                if name := self._wait(step):
                    waits[name] = (step[0], max(step[1] - 1.0, 0.0))
        return dict(sorted(waits.items(), key=lambda item: (item[1][1], item[1][0])))

    def _wait(self, step: Step) -> str | None:
        target, time, timeouts, _ = step
        if timeouts == 0 and time <= 1.0:
            return None
        return f"{'b' if timeouts else 'w'}({max(time - 1.0, 0.0):g}).{target}"

    def chain(self) -> MarkovChain:
        """The chain: an instant and the round trip after it is a state, and so is each wait before an instant."""
        moves: dict[tuple[str, str], Polynomial] = {}
        holding: dict[str, Any] = {}
        for i, steps in enumerate(self.steps):
            source = self._label(i)
            by_time: dict[float, Polynomial] = {}
            for step, polynomial in steps.items():
                target = self._wait(step) or self._label(step[0])
                _add(moves.setdefault((source, target), {}), polynomial)
                _add(by_time.setdefault(min(step[1], 1.0), {}), polynomial)
            if set(by_time) != {1.0}:
                holding[source] = sum(_number(time) * self._expression(law) for time, law in by_time.items())
        transitions = {edge: self._expression(law) for edge, law in moves.items()}
        for name, (following, time) in self._waits.items():
            transitions[name, self._label(following)] = 1
            if time != 1.0:
                holding[name] = _number(time)
        return MarkovChain(
            transitions,
            dict(self.parameters),
            states=self.labels,
            holding=holding,
            domain={name: (0.0, 1.0) for name in self._symbols_used},
            name=f"sender chain: {self.setting.name}",
        )

    @cached_property
    def _symbols_used(self) -> tuple[str, ...]:
        named = {name for steps in self.steps for law in steps.values() for term in law for name in _names(term)}
        return tuple(name for name in ("p", "p_r", "a") if name in named)

    def sent(self) -> Reward:
        """Packets of data sent in each step."""
        return self._reward("packets sent", lambda i, step: self.instants[i].new + self.instants[i].again)

    def delivered(self) -> Reward:
        """Segments that are new to the receiver, in each step."""
        return self._reward("segments delivered", lambda i, step: step[3])

    def _reward(self, name: str, of: Callable[[int, Step], int]) -> Reward:
        joint: dict[tuple[str, str], dict[int, Polynomial]] = {}
        for i, steps in enumerate(self.steps):
            for step, polynomial in steps.items():
                edge = (self._label(i), self._wait(step) or self._label(step[0]))
                _add(joint.setdefault(edge, {}).setdefault(of(i, step), {}), polynomial)
        laws: dict[tuple[str, str], dict[int, Any]] = {
            edge: {reward: self._expression(law) for reward, law in cells.items()} for edge, cells in joint.items()
        }
        for wait, (target, _) in self._waits.items():
            laws[wait, self._label(target)] = {0: 1}
        return Reward(laws, name, "packet")

    @former_names.arguments(law="result")
    def packets_per_round_trip(self, result: xr.Dataset) -> xr.DataArray:
        """Fraction of round-trip times with n packets sent, from a result of `stationary`; n = 0 is silence.

        Where instants lie closer than a round trip (acknowledgements are lost or delayed; with limited transmit also
        where a timeout is no whole number of RTTs) it is the rate of instants with n packets [1/RTT].
        """
        fractions: xr.DataArray = self.observe(result).sent.rename({"packets": "sent"}).rename("fraction")
        return fractions.transpose("sent", ...)

    @former_names.arguments(law="result")
    def observe(self, result: xr.Dataset, values: Mapping[str, Any] | None = None) -> xr.Dataset:
        """What a stationary distribution means on the wire.

        Parameters
        ----------
        result : Dataset from `stationary` of `chain()`
        values : mapping of p, p_r, a to their values, optional
            Where the coordinates of `result` do not have them: exact ones, or single ones.

        Returns
        -------
        xarray.Dataset
            `sent` (..., packets) [1], `packets_per_rtt` [packet], `goodput` [packet], `silent_fraction` [1].
        """
        import xarray as xr

        pi = result["probability"]
        dims = tuple(str(d) for d in pi.dims if d != "state")
        mass = pi.transpose(*dims, "state").values
        parameters = {str(k): c for k, c in result.coords.items()} | dict(values or {})
        parameters = {**self.parameters, **parameters}
        # By how much less than a round trip a class is held: small numbers, so not as a difference of two near 1.
        lacking = self._mean(pi, dims, parameters, lambda i, step: min(step[1], 1.0) - 1.0, constant=0.0)
        rates = mass[..., : len(self.instants)]
        if lacking is not None:
            rates = rates / (1 + lacking)
        counts = np.array([at.new + at.again for at in self.instants])
        shares = [rates[..., counts == n].sum(axis=-1) for n in range(1, counts.max() + 1)]
        # What is left of one, as a sum of what is not negative where every round trip lasts one.
        none = mass[..., len(self.instants) :].sum(axis=-1) + mass[..., : len(self.instants)][..., counts == 0].sum(
            axis=-1
        )
        if lacking is not None:
            none = none + (rates * lacking)[..., counts > 0].sum(axis=-1)
        sent = np.stack([none, *shares], axis=-1)
        gained = rates * self._mean(pi, dims, parameters, lambda i, step: step[3])
        silent = np.isin(pi.state.values, self.silent())

        def variable(values: NDArray[Any], units: str, name: str, *more: str) -> tuple[Any, ...]:
            return ((*dims, *more), values, {"units": units, "long_name": name})

        return xr.Dataset(
            {
                "sent": variable(sent, "1", "probability of packets sent in an epoch", "packets"),
                "packets_per_rtt": variable(
                    sum(n * share for n, share in enumerate(shares, 1)), "packet", "packets sent per RTT"
                ),
                "goodput": variable(gained.sum(axis=-1), "packet", "segments new to the receiver per RTT"),
                "silent_fraction": variable(
                    mass[..., silent].sum(axis=-1), "1", "fraction of time waiting for a timer"
                ),
            },
            coords={k: c for k, c in pi.coords.items() if k != "state"}
            | {"packets": ("packets", np.arange(sent.shape[-1]), {"long_name": "packets sent in an epoch"})},
            attrs=result.attrs,
        )

    def _mean(
        self,
        pi: xr.DataArray,
        dims: tuple[str, ...],
        known: Mapping[str, Any],
        of: Callable[[int, Step], float],
        constant: float | None = None,
    ) -> Any:
        """Mean of a number of the next step, given each class: (..., classes); None: it is that constant."""
        amounts = {of(i, step) for i, steps in enumerate(self.steps) for step in steps}
        if amounts == {constant}:
            return None
        terms: dict[Weight, int] = {}
        for steps in self.steps:
            for law in steps.values():
                for term in law:
                    terms.setdefault(term, len(terms))
        exact = pi.dtype == object
        weights = np.zeros((len(terms), len(self.steps)), dtype=object if exact else np.float64)
        for i, steps in enumerate(self.steps):
            for step, law in steps.items():
                amount = _number(of(i, step)) if exact else of(i, step)
                for term, count in law.items():
                    weights[terms[term], i] += amount * count
        chances = [_chance(term, pi, dims, known) for term in terms]
        return np.stack(np.broadcast_arrays(*chances), axis=-1) @ weights

    def silent(self) -> list[str]:
        """Labels of the waits for a timer."""
        return [name for name in self._waits if name.startswith("b")]

    def at(self, p: float, p_r: float | None = None, a: float = 0.0) -> NDArray[np.float64]:
        """Share of round-trip times with n packets, by a sparse linear system: a look at large chains."""
        for name, chances in (("p", p), ("p_r", p_r), ("a", a)):
            _check_chances(name, chances)
        visits = self.visits(p, p_r, a)
        values = _values(p, p_r, a)
        time = [sum(_worth(law, values) * step[1] for step, law in steps.items()) for steps in self.steps]
        sent = np.array([at.new + at.again for at in self.instants])
        shares = np.bincount(sent, visits) / (visits @ np.array(time))
        shares[0] = 1.0 - shares[1:].sum()
        return np.asarray(shares)

    def visits(self, p: float, p_r: float | None = None, a: float = 0.0) -> NDArray[np.float64]:
        """Share of instants that are of each class, by a sparse linear system."""
        from scipy import sparse
        from scipy.sparse.linalg import spsolve

        values, n = _values(p, p_r, a), len(self.steps)
        rows, columns, entries = [], [], []
        for i, steps in enumerate(self.steps):
            for step, law in steps.items():
                rows.append(i)
                columns.append(step[0])
                entries.append(_worth(law, values))
        matrix = sparse.csr_matrix((entries, (rows, columns)), shape=(n, n))
        system = (matrix.T - sparse.eye(n)).tolil()
        system[-1, :] = 1.0
        right = np.zeros(n)
        right[-1] = 1.0
        return np.asarray(spsolve(system.tocsc(), right))

    def timeouts(self, p: float, p_r: float | None = None, a: float = 0.0) -> dict[float, float]:
        """Timeouts per instant, by the time [RTT] from the instant before to the one after."""
        visits, values = self.visits(p, p_r, a), _values(p, p_r, a)
        frequencies: dict[float, float] = {}
        for i, steps in enumerate(self.steps):
            for step, law in steps.items():
                if step[2]:
                    frequencies[step[1]] = frequencies.get(step[1], 0.0) + float(visits[i]) * _worth(law, values)
        return dict(sorted(frequencies.items()))

    def _expression(self, law: Polynomial) -> sympy.Expr:
        import sympy

        return sympy.Add(*(count * _monomial(term) for term, count in law.items()))


def _values(p: float, p_r: float | None, a: float) -> tuple[float, ...]:
    """What stands in a `Weight`."""
    again = p if p_r is None else p_r
    return p, 1 - p, again, 1 - again, a, 1 - a


def _worth(law: Polynomial, values: tuple[float, ...]) -> float:
    return sum(count * math.prod(v**e for v, e in zip(values, term, strict=True)) for term, count in law.items())


def _add(to: Polynomial, law: Mapping[Weight, int]) -> None:
    for term, count in law.items():
        to[term] = to.get(term, 0) + count


def _number(time: float) -> Any:
    """A time as an exact number."""
    import sympy

    return int(time) if time == int(time) else sympy.Rational(*float(time).as_integer_ratio())


def _names(term: Weight) -> list[str]:
    return [name for name, i in (("p", 0), ("p_r", 2), ("a", 4)) if term[i] or term[i + 1]]


def _chance(term: Weight, pi: xr.DataArray, dims: tuple[str, ...], known: Mapping[str, Any]) -> NDArray[Any]:
    """A monomial at the points of a law, shaped to go with it; rational where the law is."""
    import sympy
    import xarray as xr

    value: Any = np.ones((1,) * len(dims), dtype=object if pi.dtype == object else np.float64)
    for i, name in enumerate(("p", "p_r", "a")):
        if not (term[2 * i] or term[2 * i + 1]):
            continue
        array = known[name]
        if not isinstance(array, xr.DataArray):
            array = xr.DataArray(array, dims=(name,) if np.ndim(array) else ())
        array = array.transpose(*(d for d in dims if d in array.dims))
        numbers = array.values.reshape([array.sizes.get(d, 1) for d in dims])
        if pi.dtype == object:
            exact = [sympy.Rational(x) for x in numbers.flat]
            numbers = np.array(exact, dtype=object).reshape(numbers.shape)
        value = value * numbers ** term[2 * i] * (1 - numbers) ** term[2 * i + 1]
    return np.asarray(value)


_MONOMIALS: dict[Weight, Any] = {}


def _monomial(term: Weight) -> Any:
    if term not in _MONOMIALS:
        import sympy

        p, p_r, a = sympy.symbols("p p_r a")
        bases = (p, 1 - p, p_r, 1 - p_r, a, 1 - a)
        _MONOMIALS[term] = sympy.Mul(*(base**power for base, power in zip(bases, term, strict=True)))
    return _MONOMIALS[term]


def sender_chain(
    sender: str = "sack",
    window: int = 6,
    *,
    loss: Any = None,
    ack_loss: Any = None,
    retransmission_loss: Any = None,
    lump: bool = True,
    most_states: int = MOST_STATES,
    **setting: Any,
) -> SenderChain:
    """Compile a chain from the simulator's own sender and receiver, under independent loss and a constant RTT.

    Parameters
    ----------
    sender, window : see `Setting`
    loss, ack_loss, retransmission_loss : number, array or DataArray, optional
        Values of p, a, p_r. Without `retransmission_loss` retransmissions are lost like new data. With `ack_loss`, or
        `Setting`'s `ack_loss=True` for a symbol without a value, acknowledgements are lost too.
    lump : bool
        Whether states that behave alike become one.
    most_states : int
        Refuse to explore more.
    **setting : other fields of `Setting`

    Raises
    ------
    SenderChainError
        More states than `most_states`, or a sender that cannot be explored.

    Examples
    --------
    >>> from tcpdynamics.solvers import stationary
    >>> tahoe = sender_chain("tahoe", 2, rules="rfc", loss=0.1)
    >>> tahoe.packets_per_round_trip(stationary(tahoe.chain())).values.round(4)
    array([0.2119, 0.1824, 0.6057])
    """
    if ack_loss is not None:
        setting["ack_loss"] = True
    chosen = Setting(sender=sender, window=window, **setting)
    for name, chances in (("loss", loss), ("ack_loss", ack_loss), ("retransmission_loss", retransmission_loss)):
        _check_chances(name, chances)
    explored = explore(chosen, most_states)
    values = {"p": loss, "p_r": retransmission_loss, "a": ack_loss}
    parameters = {name: value for name, value in values.items() if value is not None}
    return compiled(explored, retransmission_loss is None, lump, parameters)


def _check_chances(name: str, values: Any) -> None:
    """Refuse what is no probability. Fractions and arrays are looked at as floats."""
    if values is None:
        return
    numbers = np.asarray(values, dtype=np.float64).ravel()
    outside = numbers[~((numbers >= 0.0) & (numbers <= 1.0))]
    if outside.size:
        check(name, float(outside[0]), 0.0, 1.0, "give a probability")


@lru_cache(maxsize=32)
def chain_of(setting: Setting, same_loss: bool, most_states: int) -> SenderChain:
    """The chain of a setting, without values of its symbols; explored once."""
    return compiled(explore(setting, most_states), same_loss)


def compiled(
    explored: Explored, same_loss: bool = True, lump: bool = True, parameters: Mapping[str, Any] | None = None
) -> SenderChain:
    """The chain of what was explored: its recurrent states, lumped."""
    lasting = recurrent(explored.moves)
    place = {old: new for new, old in enumerate(lasting)}
    laws: list[dict[Step, Polynomial]] = []
    for old in lasting:
        law: dict[Step, Polynomial] = {}
        for move, terms in explored.moves[old].items():
            _add(law.setdefault((place[move.target], *move[1:]), {}), _merged(terms) if same_loss else terms)
        laws.append(law)
    kinds: list[Any] = [explored.instants[old] for old in lasting]
    if same_loss:
        kinds = [Instant(at.new + at.again, 0, at.acks) for at in kinds]
    numbers = list(range(len(laws)))
    if lump:
        numbers = classes(
            kinds, [{(step[0], step[1:]): tuple(law.items()) for step, law in steps.items()} for steps in laws]
        )
    first: dict[int, int] = {}
    for state, number in enumerate(numbers):
        first.setdefault(number, state)
    steps_of: list[dict[Step, Polynomial]] = []
    for state in first.values():
        steps: dict[Step, Polynomial] = {}
        for step, weights in laws[state].items():
            _add(steps.setdefault((numbers[step[0]], *step[1:]), {}), weights)
        steps_of.append(steps)
    order = _from_the_lossless(steps_of)
    tell("")
    renumbered = {old: new for new, old in enumerate(order)}
    states = list(first.values())
    return SenderChain(
        explored.setting,
        [kinds[states[old]] for old in order],
        [{(renumbered[step[0]], *step[1:]): law for step, law in steps_of[old].items()} for old in order],
        explored.size,
        len(lasting),
        same_loss,
        dict(parameters or {}),
    )


def _from_the_lossless(steps: list[dict[Step, Polynomial]]) -> list[int]:
    """Classes in the order in which they are met from where a sender stays as long as nothing is lost."""
    start = 0
    for _ in steps:
        start = next(
            step[0] for step, law in steps[start].items() if any(not term[0] | term[2] | term[4] for term in law)
        )
    order = {start: None}
    queue = [start]
    for state in queue:
        for step in steps[state]:
            if step[0] not in order:
                order[step[0]] = None
                queue.append(step[0])
    return list(order)


def _merged(terms: Mapping[Weight, int]) -> Polynomial:
    """Data sent again is lost like new data."""
    law: Polynomial = {}
    for (lost, passed, lost_again, kept_again, *acks), count in terms.items():
        term: Weight = (lost + lost_again, passed + kept_again, 0, 0, *acks)  # type: ignore[assignment]
        law[term] = law.get(term, 0) + count
    return law


def recurrent(moves: list[dict[Move, dict[Weight, int]]]) -> list[int]:
    """The states that come back for ever, in order: a chain of these is what a stationary law is of."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    rows = np.repeat(np.arange(len(moves)), [len(law) for law in moves])
    columns = np.array([move.target for law in moves for move in law])
    graph = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(moves), len(moves)))
    _, part = connected_components(graph, connection="strong")
    leaves = np.unique(part[rows][part[rows] != part[columns]])
    return [int(i) for i in np.flatnonzero(~np.isin(part, leaves))]
