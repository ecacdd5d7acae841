"""Compiled loops of `lyapunov`: orbits with deviations carried along, one point of the grid after the other.

The equations come as a tape: row i of `code` is (operation, slot, operand, operand). Deviations are vectors over
all that the future depends on: the states now or, with delays, the states at the nodes of a ring that reaches
back over the longest delay. They are made orthonormal again and again (modified Gram-Schmidt); the logarithms of
their lengths add up to the exponents.

Flows advance by Dormand and Prince's pair of orders 5 and 4. Between nodes the past is the cubic through values and
slopes, so that with delays the order is 4 and the step is the same throughout.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tcpdynamics.compiled import kept_with

from .. import results
from ..markov.kernels import OPTIONS
from ..results import Status

jit = kept_with(__file__, results.__file__, **OPTIONS)
Array = Any

ADD, SUB, MUL, DIV, MIN, MAX, POW, EXP, LOG, STEP, SIN, COS, TANH, ATAN = range(14)
KINDS = ("add", "sub", "mul", "div", "min", "max", "pow", "exp", "log", "step", "sin", "cos", "tanh", "atan")

#: Status of a point, see solvers.results.Status; RETRY asks for half the step.
OK, STEPS, OVERFLOW, JUMPED = map(int, (Status.OK, Status.STEPS, Status.OVERFLOW, Status.JUMPED))
RETRY = -1

#: Steps of a map between looks at whether to stop.
_LOOK = 256

#: Longest ring of nodes.
MAX_NODES = 1 << 20

C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
A = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
#: Difference of the two results, and of the dense output's quartic from the cubic (times 16, in the middle).
E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
Q = np.array(
    [
        -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
        701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
    ]
)  # fmt: skip


class Equations(NamedTuple):
    """Right-hand side or outputs, each with its partial derivatives.

    Attributes
    ----------
    code : (operations, 4) array
    constants : (slots,) where every slot stands before the parameters are put in
    inputs, params : (P,) slots and (P, size) values of the parameters
    put : slots of states, delayed symbols and time; take : slots of values, then of partial derivatives
    jumps : slots of switches in the equations
    """

    code: Array
    constants: Array
    inputs: Array
    params: Array
    put: Array
    take: Array
    jumps: Array


class Tape(NamedTuple):
    """Equations at one point, with the values `v` of all slots."""

    code: Array
    v: Array
    put: Array
    take: Array
    jumps: Array


class Orbits(NamedTuple):
    """What begins at each point.

    Attributes
    ----------
    of : (K,) state that a delayed symbol looks back at, or -1 - output; lags : (K, size)
    start : (n, size); first : (k, n) deviations to begin with
    """

    of: Array
    lags: Array
    start: Array
    first: Array


class Span(NamedTuple):
    """How long orbits run (time, or steps of a map), and how; `halt` (1,) is not zero where all is to stop."""

    transient: float
    batch: float
    rtol: float
    most: int
    halt: Array


@jit
def _at_point(equations: Equations, point: int) -> Tape:
    v = equations.constants.copy()
    for p in range(equations.inputs.size):
        v[equations.inputs[p]] = equations.params[p, point]
    return Tape(equations.code, v, equations.put, equations.take, equations.jumps)


@jit
def _run_tape(code: Array, v: Array) -> None:
    for i in range(code.shape[0]):
        kind, to, a, b = code[i, 0], code[i, 1], v[code[i, 2]], v[code[i, 3]]
        if kind == ADD:
            v[to] = a + b
        elif kind == SUB:
            v[to] = a - b
        elif kind == MUL:
            v[to] = a * b
        elif kind == DIV:
            v[to] = a / b
        elif kind == MIN:
            v[to] = min(a, b)
        elif kind == MAX:
            v[to] = max(a, b)
        elif kind == POW:
            v[to] = a**b
        elif kind == EXP:
            v[to] = math.exp(a)
        elif kind == LOG:
            v[to] = math.log(a)
        elif kind == SIN:
            v[to] = math.sin(a)
        elif kind == COS:
            v[to] = math.cos(a)
        elif kind == TANH:
            v[to] = math.tanh(a)
        elif kind == ATAN:
            v[to] = math.atan(a)
        else:
            v[to] = 1.0 if a >= 0 else 0.0


@jit
def _slope(tape: Tape, x: Array, past: Array, t: float, f: Array, jacobian: Array) -> None:
    """Right-hand side f (n,) and its partial derivatives (n, n + K)."""
    v, put, take, n = tape.v, tape.put, tape.take, x.size
    for i in range(n):
        v[put[i]] = x[i]
    for s in range(past.size):
        v[put[n + s]] = past[s]
    v[put[n + past.size]] = t
    _run_tape(tape.code, v)
    for i in range(n):
        f[i] = v[take[i]]
        for j in range(n + past.size):
            jacobian[i, j] = v[take[n + i * (n + past.size) + j]]


@jit
def _observe(tape: Tape, row: int, x: Array, d: Array, t: float, into: Array) -> float:
    """An output at states x, and how the deviations d (k, n) change it."""
    v, put, take, n = tape.v, tape.put, tape.take, x.size
    for i in range(n):
        v[put[i]] = x[i]
    v[put[n]] = t
    _run_tape(tape.code, v)
    rows = take.size // (n + 1)
    for c in range(d.shape[0]):
        into[c] = 0.0
        for j in range(n):
            into[c] += v[take[rows + row * n + j]] * d[c, j]
    value: float = v[take[row]]
    return value


@jit
def _tangent(jacobian: Array, d: Array, past: Array, out: Array) -> None:
    """out (k, n) = partial derivatives times deviations d (k, n) now and past (K, k)."""
    k, n = d.shape
    for c in range(k):
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += jacobian[i, j] * d[c, j]
            for s in range(past.shape[0]):
                total += jacobian[i, n + s] * past[s, c]
            out[c, i] = total


@jit
def _orthonormal(ring: Array, slopes: Array, logs: Array) -> None:
    """Make ring[:, c, :] orthonormal, the slopes along with it, and add the logarithms of the lengths."""
    nodes, k, n = ring.shape
    for c in range(k):
        for b in range(c):
            dot = 0.0
            for r in range(nodes):
                for i in range(n):
                    dot += ring[r, c, i] * ring[r, b, i]
            for r in range(nodes):
                for i in range(n):
                    ring[r, c, i] -= dot * ring[r, b, i]
                    slopes[r, c, i] -= dot * slopes[r, b, i]
        square = 0.0
        for r in range(nodes):
            for i in range(n):
                square += ring[r, c, i] ** 2
        length = math.sqrt(square)
        logs[c] += math.log(length) if length > 0.0 else -np.inf
        scale = 1.0 / length if length > 0.0 else 0.0  # a direction that is lost stays lost
        for r in range(nodes):
            for i in range(n):
                ring[r, c, i] *= scale
                slopes[r, c, i] *= scale


@jit
def _map_lane(rhs: Tape, outputs: Tape, of: Array, lags: Array, x: Array, first: Array, span: Span, sums: Array) -> int:
    """One orbit of a map; sums (batches, k) of logarithms."""
    n, k, K = x.size, first.shape[0], of.size
    transient, per_batch = int(span.transient), int(span.batch)
    depth = 1
    for s in range(K):
        depth = max(depth, int(lags[s]) + 1)
    states, ring = np.empty((depth, n)), np.empty((depth, k, n))
    nothing = np.zeros((depth, k, n))
    for r in range(depth):
        states[r] = x
        for c in range(k):
            for i in range(n):
                ring[r, c, i] = first[c, i] * math.cos(math.pi * c * r / depth)
    past, deviations = np.zeros(K), np.zeros((K, k))
    f, jacobian, new, logs = np.zeros(n), np.zeros((n, n + K)), np.zeros((k, n)), np.zeros(k)
    _orthonormal(ring, nothing, logs)
    for step in range(transient + per_batch * sums.shape[0]):
        if step % _LOOK == 0 and span.halt[0]:
            return STEPS
        now = step % depth
        for s in range(K):
            at = (step - int(lags[s])) % depth
            if of[s] >= 0:
                past[s] = states[at, of[s]]
                deviations[s] = ring[at, :, of[s]]
            else:
                past[s] = _observe(outputs, -1 - of[s], states[at], ring[at], float(step), deviations[s])
        _slope(rhs, states[now], past, float(step), f, jacobian)
        _tangent(jacobian, ring[now], deviations, new)
        after = (step + 1) % depth
        for i in range(n):
            if not math.isfinite(f[i]):
                return OVERFLOW
            states[after, i] = f[i]
        ring[after] = new
        logs[:] = 0.0
        _orthonormal(ring, nothing, logs)
        if step >= transient:
            sums[(step - transient) // per_batch] += logs
    return OK


@jit
def _largest(values: Array) -> float:
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@jit
def _look_back(X: Array, F: Array, V: Array, G: Array, step: int, back: float, h: float, p: Array, q: Array) -> None:
    """States p (n,) and deviations q (k, n) some steps back: the cubic through values and slopes of two nodes."""
    nodes, k, n = V.shape
    steps = max(math.ceil(back), 1)
    u = steps - back
    a, b = (step - steps) % nodes, (step - steps + 1) % nodes
    a0, a1 = (1 + 2 * u) * (1 - u) ** 2, u * u * (3 - 2 * u)
    b0, b1 = h * u * (1 - u) ** 2, h * u * u * (u - 1)
    for i in range(n):
        p[i] = a0 * X[a, i] + a1 * X[b, i] + b0 * F[a, i] + b1 * F[b, i]
        for c in range(k):
            q[c, i] = a0 * V[a, c, i] + a1 * V[b, c, i] + b0 * G[a, c, i] + b1 * G[b, c, i]


@jit
def _advance(old: Array, slopes: Array, weights: Array, stages: int, h: float, out: Array) -> None:
    """out = old + h times the weighted slopes of the stages so far."""
    for i in range(old.size):
        total = 0.0
        for q in range(stages):
            total += weights[q] * slopes[q, i]
        out[i] = old[i] + h * total


@jit
def _defect(slopes: Array, h: float, i: int, delayed: bool) -> float:
    """How far the pair's two results lie apart and, where the past is read, the cubic from the quartic."""
    total, quartic = 0.0, 0.0
    for q in range(7):
        total += E[q] * slopes[q, i]
        quartic += Q[q] * slopes[q, i]
    return max(abs(h * total), abs(h * quartic) / 16 if delayed else 0.0)


@jit
def _switched(tape: Tape, side: Array) -> bool:
    """Whether a switch of the equations has changed sides since the last call."""
    v, jumps, changed = tape.v, tape.jumps, False
    for i in range(jumps.size):
        changed = changed or (side[i] >= 0 and side[i] != v[jumps[i]])
        side[i] = v[jumps[i]]
    return changed


@jit
def _flow_lane(
    rhs: Tape, outputs: Tape, of: Array, lags: Array, x0: Array, first: Array, span: Span, sums: Array, h: float,
    last_try: bool,
) -> int:  # fmt: skip
    """One flow; without delays each step has its own length, with delays it is h (or a little less)."""
    n, k, K, batches = x0.size, first.shape[0], of.size, sums.shape[0]
    transient, batch, rtol, max_steps, halt = span
    longest = _largest(lags)
    delayed = longest > 0.0
    per_batch, nodes = 0, 1
    if delayed:
        if batch / h * (batches + transient / batch) > max_steps or longest / h + 3 > MAX_NODES:
            return STEPS
        per_batch = math.ceil(batch / h)
        h = batch / per_batch
        nodes = math.ceil(longest / h) + 2
    before = math.ceil(transient / h)
    X, F = np.empty((nodes, n)), np.zeros((nodes, n))
    V, G = np.empty((nodes, k, n)), np.zeros((nodes, k, n))
    for r in range(nodes):
        X[r] = x0
        for c in range(k):
            for i in range(n):
                V[r, c, i] = first[c, i] * math.cos(math.pi * c * r / nodes)
    kx, kv = np.zeros((7, n)), np.zeros((7, k, n))
    slopes, flat = kv.reshape(7, k * n), V.reshape(nodes, k * n)
    x, d, p, q = x0.copy(), np.zeros((k, n)), np.zeros(n), np.zeros((k, n))
    past, deviations, jacobian = np.zeros(K), np.zeros((K, k)), np.zeros((n, n + K))
    reach, size, logs = np.abs(x0) + 1e-300, np.zeros(k), np.zeros(k)
    side, see_side = np.full(rhs.jumps.size, -1.0), np.full((K, outputs.jumps.size), -1.0)
    _orthonormal(V, G, logs)
    logs[:] = 0.0
    for c in range(k):
        size[c] = _largest(V[:, c].ravel())
    t, step, steps, rough = 0.0, 0, 0, 0
    number = -1 if transient > 0.0 else 0  # batch -1 is the transient
    end = transient if transient > 0.0 else batch
    while number < batches:
        steps += 1
        if steps > max_steps or halt[0]:
            return STEPS
        h_now = h if delayed else min(h, end - t)
        now = step % nodes
        for stage in range(7):
            _advance(X[now], kx, A[stage], stage, h_now, x)
            _advance(flat[now], slopes, A[stage], stage, h_now, d.reshape(k * n))
            at = t + C[stage] * h_now
            for s in range(K):
                if lags[s] == 0.0:
                    p[:] = x
                    q[:] = d
                else:
                    _look_back(X, F, V, G, step, lags[s] / h - C[stage], h, p, q)
                if of[s] >= 0:
                    past[s] = p[of[s]]
                    deviations[s] = q[:, of[s]]
                else:
                    past[s] = _observe(outputs, -1 - of[s], p, q, at - lags[s], deviations[s])
                    if stage == 0 and _switched(outputs, see_side[s]) and number >= 0:
                        return JUMPED
            _slope(rhs, x, past, at, kx[stage], jacobian)
            _tangent(jacobian, d, deviations, kv[stage])
            if stage == 0:
                if _switched(rhs, side) and number >= 0:
                    return JUMPED
                F[now] = kx[0]
                G[now] = kv[0]
        error, finite = 0.0, True
        for i in range(n):
            reach[i] = max(reach[i], abs(x[i]))
            error = max(error, _defect(kx, h_now, i, delayed) / (rtol * reach[i]))
            finite = finite and abs(x[i]) < 1e150
        for c in range(k):
            for i in range(n):
                if size[c] > 0.0:
                    error = max(
                        error, _defect(slopes, h_now, c * n + i, delayed) / (rtol * max(size[c], _largest(d[c])))
                    )
        finite = finite and math.isfinite(error)
        if delayed:
            if not finite:
                return OVERFLOW if last_try else RETRY
            rough += error > 1.0 and t > 4 * longest  # not where the beginning makes corners
            if rough > 4 + steps // 50:  # a few are forgiven: where a switch makes one
                return RETRY
        else:
            if not finite and h_now < 1e-14 * (t + batch):
                return OVERFLOW
            factor = min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2)) if finite else 0.1
            if not finite or error > 1.0:
                h = h_now * factor
                continue
            if h_now == h or factor < 1.0:
                h = h_now * factor
        step += 1
        full = step == before + (number + 1) * per_batch if delayed else h_now == end - t
        t = end if full and not delayed else t + h_now
        X[step % nodes] = x
        V[step % nodes] = d
        for c in range(k):
            size[c] = max(size[c], _largest(d[c]))
        if full or step % max(1, nodes // 2) == 0 or _largest(size) > 1e100:
            _orthonormal(V, G, logs)
            for c in range(k):
                size[c] = _largest(V[:, c].ravel())
        if full:
            if number >= 0:
                sums[number] = logs
            logs[:] = 0.0
            number += 1
            end = transient + (number + 1) * batch
    return OK


@jit
def exponents(
    is_map: bool, rhs: Equations, outputs: Equations, orbits: Orbits, span: Span, sums: Array, status: Array,
    begin: int, stop: int,
) -> None:  # fmt: skip
    """Points begin..stop: `sums` (size, batches, k) and `status` (size,)."""
    of, first = orbits.of, orbits.first
    for lane in range(begin, stop):
        if span.halt[0]:
            return
        tape, view = _at_point(rhs, lane), _at_point(outputs, lane)
        delays, x = orbits.lags[:, lane].copy(), orbits.start[:, lane].copy()
        if is_map:
            status[lane] = _map_lane(tape, view, of, delays, x, first, span, sums[lane])
            continue
        h = span.batch
        for s in range(delays.size):
            if delays[s] > 0.0:
                h = min(h, delays[s])
        code, halved = RETRY, 0
        while code == RETRY:
            sums[lane] = 0.0
            code = _flow_lane(tape, view, of, delays, x, first, span, sums[lane], h, halved >= 10)
            h /= 2
            halved += 1
        status[lane] = code
