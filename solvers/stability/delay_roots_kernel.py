"""Compiled loops for the roots of Delta(z) = z - A_0 - sum_k A_k e^(-z tau_k); `characteristic_roots` explains them.

A root is certain when the number of roots to the right of a vertical line, counted by the argument principle,
equals the number that is known. The argument is followed in steps over which Delta provably stays invertible: with
M = Delta(z), a step h keeps ||M^-1 (Delta(z + h) - M)|| <= q < 1 by a Lipschitz bound or by Taylor's formula with
remainder, so each of the n eigenvalues of M^-1 Delta(z + h) turns by at most asin(q), and n asin(q) < pi makes the
principal value of the determinant's argument the true one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tcpdynamics.compiled import kept_with

from ..markov.kernels import OPTIONS

jit = kept_with(__file__, **OPTIONS)
Array = Any  # Numba sees the element type; here it would only be noise.

#: Roots closer than this, relative to |z| + 1/tau, are one root (perhaps a multiple one).
_SAME = 1e-7
#: Gaps between real parts below this, relative to 1/tau, are too narrow for a line.
_NARROW = 1e-7
#: Steps along one line; each costs n^3 operations.
_WALK = 200_000


class Systems(NamedTuple):
    """Matrices A_0 (points, n, n) and A_k (points, K, n, n), delays (points, K), whether all are real."""

    base: Array
    past: Array
    tau: Array
    real: bool


class Roots(NamedTuple):
    """Roots and residuals (points, room), NaN-filled; how many each point has."""

    value: Array
    residual: Array
    count: Array


class Delta(NamedTuple):
    """Delta of one point: matrices, delays, norms of the matrices, the longest delay, and three matrices of room."""

    base: Array
    past: Array
    tau: Array
    norms: Array
    longest: float
    real: bool
    work: Array


@jit
def _size(z: complex) -> float:
    """abs(z), with less work where it is real."""
    return abs(z.real) if z.imag == 0.0 else abs(z)


@jit
def _norm(a: Array) -> float:
    """A bound of the spectral norm: the smaller of Frobenius' and sqrt(||A||_1 ||A||_inf)."""
    n = a.shape[0]
    square = rows = columns = 0.0
    for i in range(n):
        row = column = 0.0
        for j in range(n):
            size = _size(a[i, j])
            row += size
            column += _size(a[j, i])
            square += size**2
        rows = max(rows, row)
        columns = max(columns, column)
    return float(min(np.sqrt(square), np.sqrt(rows * columns)))


@jit
def _delta(systems: Systems, p: int, norms: Array, work: Array) -> Delta:
    """Delta of point p; `norms` (1 + K,) is written."""
    norms[0] = _norm(systems.base[p])
    longest = 0.0
    for k in range(systems.tau.shape[1]):
        norms[k + 1] = _norm(systems.past[p, k])
        if norms[k + 1] > 0.0:
            longest = max(longest, systems.tau[p, k])
    return Delta(systems.base[p], systems.past[p], systems.tau[p], norms, longest, systems.real, work)


@jit
def _room(systems: Systems) -> tuple[Array, Array]:
    """Room for the norms of a point's matrices, and for three matrices."""
    n = systems.base.shape[1]
    return np.empty(systems.tau.shape[1] + 1), np.empty((3, n, n), np.complex128)


@jit
def _fill(z: complex, d: Delta) -> float:
    """work[0] = Delta(z), work[1] = Delta'(z); returns |z| + ||A_0|| + sum ||A_k|| |e^(-z tau_k)|."""
    base, past, tau, norms, m, slope = d.base, d.past, d.tau, d.norms, d.work[0], d.work[1]
    n = base.shape[0]
    scale: float = abs(z) + norms[0]
    for i in range(n):
        for j in range(n):
            m[i, j] = -base[i, j]
            slope[i, j] = 0.0
        m[i, i] += z
        slope[i, i] = 1.0
    for k in range(tau.shape[0]):
        factor = np.exp(-z * tau[k])
        scale += norms[k + 1] * np.exp(-z.real * tau[k])
        for i in range(n):
            for j in range(n):
                term = past[k, i, j] * factor
                m[i, j] -= term
                slope[i, j] += tau[k] * term
    return scale


@jit
def _invert(m: Array, inverse: Array) -> complex:
    """Gauss-Jordan with row exchanges, m is used up; returns a number with det's argument, 0 where m is singular."""
    n = m.shape[0]
    if n == 2:
        det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
        largest = abs(det.real) + abs(det.imag)
        if 1e-280 < largest < 1e280:
            part = 1.0 / det
            inverse[0, 0], inverse[1, 1] = m[1, 1] * part, m[0, 0] * part
            inverse[0, 1], inverse[1, 0] = -m[0, 1] * part, -m[1, 0] * part
            return complex(det.real / largest, det.imag / largest)
    phase = 1.0 + 0.0j
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 0.0
        inverse[i, i] = 1.0
    for c in range(n):
        best, largest = c, abs(m[c, c].real) + abs(m[c, c].imag)
        for i in range(c + 1, n):
            large = abs(m[i, c].real) + abs(m[i, c].imag)
            if large > largest:
                best, largest = i, large
        if not largest > 0.0 or not np.isfinite(largest):
            return 0.0j
        if best != c:
            phase = -phase
            for j in range(n):
                m[c, j], m[best, j] = m[best, j], m[c, j]
                inverse[c, j], inverse[best, j] = inverse[best, j], inverse[c, j]
        pivot = m[c, c]
        phase *= complex(pivot.real / largest, pivot.imag / largest)
        part = 1.0 / pivot
        for j in range(n):
            m[c, j] *= part
            inverse[c, j] *= part
        for i in range(n):
            if i != c and m[i, c] != 0.0:
                factor = m[i, c]
                for j in range(n):
                    m[i, j] -= factor * m[c, j]
                    inverse[i, j] -= factor * inverse[c, j]
    return phase


@jit
def _log_slope(inverse: Array, slope: Array) -> tuple[complex, float, float]:
    """Trace of Delta^-1 Delta' (the determinant's logarithmic slope), its Frobenius norm, and that of Delta^-1."""
    n = inverse.shape[0]
    trace = 0.0j
    product = square = 0.0
    for i in range(n):
        for j in range(n):
            total = 0.0j
            for k in range(n):
                total += inverse[i, k] * slope[k, j]
            if i == j:
                trace += total
            product += total.real**2 + total.imag**2
            square += inverse[i, j].real ** 2 + inverse[i, j].imag ** 2
    return trace, np.sqrt(product), np.sqrt(square)


@jit
def _polish(z: complex, d: Delta) -> tuple[complex, float]:
    """Newton on det Delta; returns the root and 1/(||Delta^-1||_F scale), a lower bound of its backward error.

    At an m-fold root each step is 1/m of what it should be; two equal ratios of steps give m away.
    """
    m, slope, inverse = d.work[0], d.work[1], d.work[2]
    last, ratio = np.inf, 0.0
    best, residual = z, np.inf
    for count in range(50):
        scale = _fill(z, d)
        if not np.isfinite(scale):
            break
        if _invert(m, inverse) == 0.0:
            return z, 0.0
        trace, _, size = _log_slope(inverse, slope)
        error = 1.0 / (size * scale)
        if error < residual:
            best, residual = z, error
        if trace == 0.0 or not np.isfinite(trace.real + trace.imag):
            break
        step = -1.0 / trace
        length = abs(step)
        if length > 2.0 / d.longest:
            step *= 2.0 / d.longest / length
        now = length / last
        if length <= 1e-15 * abs(z) or (error < 1e-14 and now > 0.9) or (error < 4e-16 and 0.0 < now < 1e-3):
            break
        if count > 3 and 0.3 < now < 0.97 and abs(now - ratio) < 0.02:
            step *= np.round(1.0 / (1.0 - now))
            length = np.inf
        z += step
        last, ratio = length, now
    return best, residual


@jit
def _turn(a: complex, b: complex, d: Delta) -> tuple[float, complex]:
    """Change of arg det Delta along the segment from a to b, and what `_invert` gives at b; (nan, 0) if unknown."""
    m, slope, inverse = d.work[0], d.work[1], d.work[2]
    n = d.base.shape[0]
    q = 0.99 if n < 3 else np.sin(3.0 / n)
    left = min(a.real, b.real)
    first, second = 1.0, 0.0
    for k in range(d.tau.shape[0]):
        weight = d.norms[k + 1] * np.exp(-left * d.tau[k])
        first += weight * d.tau[k]
        second += weight * d.tau[k] ** 2
    length = abs(b - a)
    direction = (b - a) / length
    done = turned = 0.0
    _fill(a, d)
    phase = _invert(m, inverse)
    for _ in range(_WALK):
        if phase == 0.0:
            break
        if done >= length:
            return turned, phase
        _, product, size = _log_slope(inverse, slope)
        h = max(q / (size * first), 2.0 * q / (product + np.sqrt(product**2 + 2.0 * q * size * second)))
        if not h > 1e-15 * length:
            break
        done = done + h
        z = b if done >= length else a + done * direction
        _fill(z, d)
        new = _invert(m, inverse)
        turned += np.angle(new * np.conj(phase))
        phase = new
    return np.nan, 0.0j


@jit
def _count_right(line: float, d: Delta) -> int:
    """Roots with real part > line, each as often as it is multiple; -1 where it cannot be told.

    Beyond |z| = radius, Delta = z (I - M/z) with ||M/z|| < 1: no root, and the argument's rest is known.
    """
    n = d.base.shape[0]
    radius = d.norms[0]
    for k in range(d.tau.shape[0]):
        radius += d.norms[k + 1] * np.exp(-line * d.tau[k])
    top = max(radius * max(1.1, n / 2.5), abs(line), 1e-300)
    if not np.isfinite(top):
        return -1
    bottom = 0.0 if d.real else -top
    turned, phase = _turn(complex(line, bottom), complex(line, top), d)
    if np.isnan(turned):
        return -1
    turned += _to_infinity(complex(line, top), phase, n)
    if d.real:
        count = n / 2.0 - turned / np.pi
    else:
        low = complex(line, bottom)
        _fill(low, d)
        turned -= _to_infinity(low, _invert(d.work[0], d.work[2]), n)
        count = n / 2.0 - turned / (2.0 * np.pi)
    nearest = round(count)
    return nearest if abs(count - nearest) < 0.1 else -1


@jit
def _to_infinity(z: complex, phase: complex, n: int) -> float:
    """Change of arg det Delta from z straight up (or down) to infinity."""
    angle = np.angle(z)
    beyond = np.angle(phase * np.exp(-1j * n * angle))
    limit = np.pi / 2 if z.imag > 0 else -np.pi / 2
    return float(n * (limit - angle) - beyond)


@jit
def _multiplicity(z: complex, half: float, d: Delta) -> int:
    """Roots inside a square around z."""
    a, b = complex(-half, -half), complex(half, -half)
    total = 0.0
    for _ in range(4):
        turned, _p = _turn(z + a, z + b, d)
        total += turned
        a, b = b, b * 1j
    if np.isnan(total):
        return 0
    return round(total / (2.0 * np.pi))


@jit
def _insert(z: complex, residual: float, count: int, roots: Array, residuals: Array, near: float) -> int:
    """Keep roots sorted, rightmost first, each once; returns how many there are."""
    room = roots.shape[0]
    for i in range(count):
        if abs(z - roots[i]) <= near:
            return count
    at = count
    while at > 0 and (z.real > roots[at - 1].real or (z.real == roots[at - 1].real and z.imag > roots[at - 1].imag)):
        at -= 1
    if at >= room:
        return count
    last: int = min(count, room - 1)
    for i in range(last, at, -1):
        roots[i] = roots[i - 1]
        residuals[i] = residuals[i - 1]
    roots[at], residuals[at] = z, residual
    return last + 1


@jit
def _collect(seeds: Array, count: int, d: Delta, tolerance: float, roots: Array, residuals: Array) -> int:
    """Polish the seeds and add what is new to the roots."""
    real = d.real
    for s in range(seeds.shape[0]):
        z = seeds[s]
        if not np.isfinite(z.real) or (real and z.imag < 0.0):
            continue
        z, residual = _polish(z, d)
        radius = _SAME * (abs(z) + 1.0 / d.longest)
        if real and z.imag != 0.0 and abs(z.imag) <= radius:
            y, other = _polish(complex(z.real, 0.0), d)
            if other <= max(10.0 * residual, 1e-15) and abs(y - z) <= radius:
                z, residual = y, other
        if not residual <= tolerance:
            continue
        if real and z.imag != 0.0:
            z = complex(z.real, abs(z.imag))
            count = _insert(z, residual, count, roots, residuals, radius)
            count = _insert(np.conj(z), residual, count, roots, residuals, radius)
        else:
            count = _insert(z, residual, count, roots, residuals, radius)
    return count


@jit
def _line(roots: Array, count: int, want: int, longest: float) -> tuple[int, float]:
    """Where to draw the line, and how many known roots lie right of it.

    In the first gap behind `want` roots that is wide, or in the widest; where all are too narrow, a little right
    of the last root that is wanted, which then is certain to within that little.
    """
    best, width = 0, -1.0
    for j in range(want, min(count, want + 8) + 1):
        gap = 1.0 / longest
        if j < count:
            gap = min(gap, roots[j - 1].real - roots[j].real)
        elif j == roots.shape[0]:
            break
        if gap > width:
            best, width = j, gap
        if gap > 0.1 / longest:
            break
    if width > _NARROW / longest:
        return best, roots[best - 1].real - 0.5 * width
    line = roots[want - 1].real + 0.1 * _NARROW / longest
    best = 0
    while best < want and roots[best].real > line:
        best += 1
    return best, line


@jit
def _expand(upto: int, count: int, d: Delta, near: float, roots: Array, residuals: Array) -> int:
    """Repeat multiple roots as often as they occur, if that explains the count; returns the number, or -1.

    Roots in a square of half-width near (|z| + 1/tau) count as one: it must be small, or a neighbour that was not
    found would pass for a second occurrence.
    """
    times = np.ones(upto, np.int64)
    total = 0
    for i in range(upto):
        half = near * (abs(roots[i]) + 1.0 / d.longest)
        times[i] = _multiplicity(roots[i], half, d)
        if times[i] < 1:
            return -1
        total += times[i]
    if total != count:
        return -1
    room = roots.shape[0]
    old, old_residuals = roots[:upto].copy(), residuals[:upto].copy()
    at = 0
    for i in range(upto):
        for _ in range(times[i]):
            if at < room:
                roots[at], residuals[at] = old[i], old_residuals[i]
                at += 1
    return at


@jit
def _follow(
    earlier: Array, before: Array, count: int, want: int, d: Delta, tolerance: float, roots: Array, residuals: Array
) -> int:
    """The predecessor's roots right of its line followed to this point; 0 unless they are all that there are.

    Roots left of the line stay where they were: they show where the next line may lie.
    """
    upto, line = _line(before, count, want, d.longest)
    if upto < want or before[upto - 1].real - line < 0.05 / d.longest:
        return 0
    if _collect(2.0 * before[:upto] - earlier[:upto], 0, d, tolerance, roots, residuals) != upto:
        return 0
    if _count_right(line + roots[upto - 1].real - before[upto - 1].real, d) != upto:
        return 0
    roots[upto:count] = before[upto:count]
    return count


@jit
def sweep(
    begin: int, end: int, systems: Systems, want: int, fewer: bool, tolerance: float, seeds: Array, out: Roots
) -> int:
    """Certain roots of points begin..end-1 from their seeds and their predecessor's roots.

    Returns the first point that could not be certified, or `end`. With `fewer`, a point may end with fewer roots than
    wanted where those are certified to a line left of the last.
    """
    norms, work = _room(systems)
    for p in range(begin, end):
        d = _delta(systems, p, norms, work)
        roots, residuals = out.value[p], out.residual[p]
        done, follows = 0, 0 if p == 0 else out.count[p - 1]
        if follows > 0 and np.isnan(seeds[p, 0].real):
            earlier = out.value[p - 2 if p > 1 and out.count[p - 2] > 0 else p - 1]
            done = _follow(earlier, out.value[p - 1], follows, want, d, tolerance, roots, residuals)
        count = 0 if done else _collect(seeds[p], 0, d, tolerance, roots, residuals)
        if follows > 0 and not done:
            count = _collect(out.value[p - 1], count, d, tolerance, roots, residuals)
        needed = min(want, count) if fewer else want
        if count >= needed and needed > 0:
            upto, line = _line(roots, count, needed, d.longest)
            right = -1
            if np.isfinite(line):
                right = _count_right(line, d)
            if right == upto:
                done = count
            elif right > upto > 0:
                for radius in (3.0 * _SAME, 100.0 * _SAME):
                    if done <= 0:
                        done = _expand(upto, right, d, radius, roots, residuals)
        for i in range(max(done, 0), roots.size):
            roots[i], residuals[i] = complex(np.nan, np.nan), np.nan
        if done <= 0:
            return p
        out.count[p] = done
    return end


@jit
def measure(systems: Systems, roots: Array, residuals: Array) -> None:
    """residuals[p, i] = 1/(||Delta^-1||_F scale) at roots[p, i], the relative backward error up to a factor sqrt(n)."""
    norms, work = _room(systems)
    for p in range(roots.shape[0]):
        d = _delta(systems, p, norms, work)
        for i in range(roots.shape[1]):
            z = roots[p, i]
            if not np.isfinite(z.real):
                residuals[p, i] = np.nan
                continue
            scale = _fill(z, d)
            if _invert(work[0], work[2]) == 0.0:
                residuals[p, i] = 0.0
            else:
                residuals[p, i] = 1.0 / (_log_slope(work[2], work[1])[2] * scale)


@jit
def _first_guess(log: complex, k: int) -> Any:
    """Somewhere near W_k(e^log), 0 <= |log.imag| <= pi."""
    aside = log.imag - np.copysign(np.pi, log.imag)
    beyond = complex(1.0 + log.real, aside)  # logarithm of e times the argument, seen from the branch point at -1/e
    if abs(beyond) < 2.0 and (k == 0 or (abs(k) == 1 and (log.imag > 0) == (k < 0))):
        half, grown = np.sin(0.5 * aside), np.exp(beyond.real) * np.sin(aside)
        moved = complex(2.0 * half * half - np.expm1(beyond.real) * np.cos(aside), 0.0 - grown)  # 1 - e^beyond
        if abs(moved) < (0.8 if k == 0 else 0.3):
            p = np.sqrt(2.0 * moved) * (1.0 if k == 0 else -1.0)
            return -1.0 + p * (1.0 + p * (-1 / 3 + p * (11 / 72 + p * (-43 / 540 + p * 769 / 17280))))
    z = np.exp(log) if k == 0 and log.real < 0.6 else 2.0 + 0.0j
    if abs(z.imag) < 1.0 and max(-1.0, -0.2 - 2.5 * abs(z.imag)) < z.real < 1.5:  # Pade's approximant around 0
        return z * (1.0 + z * (12.34042553 + z * 12.85106383)) / (1.0 + z * (14.34042553 + z * 32.53191489))
    if k == -1 and aside == 0.0 and log.real < -1.0:  # the real branch between -1/e and 0
        return log.real - np.log(-log.real) + 0.0j
    target = complex(log.real, log.imag + 2.0 * np.pi * k)
    deep = np.log(target)
    return target - deep + deep / target


@jit
def _branch(a: complex, b: complex, tau: float, k: int) -> tuple[complex, float]:
    """The root a + W_k(b tau e^(-a tau))/tau of z = a + b e^(-z tau), and its residual beside the terms' sizes.

    Halley's method, formed so that no argument overflows.
    """
    product, lone = b * tau, np.log(b)
    usual = 1e-290 < abs(product.real) + abs(product.imag) < 1e290 and 1e-290 < abs(b.real) + abs(b.imag) < 1e290
    # One logarithm: at a double root, b tau e^(-a tau) = -1/e, a rounding moves the root by its square root.
    log = (np.log(product) if usual else lone + np.log(tau)) - a * tau
    log -= complex(0.0, 2.0 * np.pi * np.ceil((log.imag - np.pi) / (2.0 * np.pi)))
    z = a + _first_guess(log, k) / tau
    root, best, gap_there = z, np.inf, 0.0j
    for _ in range(40):
        past = b * np.exp(-z * tau) if usual else np.exp(lone - z * tau)
        gap = z - a - past
        error = (abs(gap.real) + abs(gap.imag)) / (abs(z.real) + abs(z.imag) + abs(past.real) + abs(past.imag))
        if error < best:
            root, best, gap_there = z, error, gap
        elif best < 1e-8:
            break
        w = 2.0 + 2.0 * (z - a) * tau
        slope = w * w - (w + 2.0) * tau * gap
        if best <= 2e-16 or slope == 0.0 or not np.isfinite(slope.real + slope.imag):
            break
        z -= 2.0 * w * gap / slope
    return root, _size(gap_there) / (_size(root) + _size(a) + _size(root - a - gap_there)) if best < np.inf else np.inf


@jit
def branches(diagonals: Array, tau: Array, reach: int, roots: Array, residuals: Array, single: Array) -> None:
    """Roots of the scalar factors where each has one delay at most: of branches -reach..reach, or a alone and NaN.

    diagonals (points, 1 + K, n), tau (points, K), roots and residuals (points, n, 2 reach + 1), single (points,).
    """
    for p in range(roots.shape[0]):
        single[p] = True
        for i in range(roots.shape[1]):
            lag, count = 0, 0
            for k in range(tau.shape[1]):
                if diagonals[p, k + 1, i] != 0.0:
                    lag, count = k, count + 1
            single[p] &= count < 2
            for column in range(2 * reach + 1):
                if count == 1:
                    root, error = _branch(diagonals[p, 0, i], diagonals[p, lag + 1, i], tau[p, lag], column - reach)
                    roots[p, i, column], residuals[p, i, column] = root, error
                else:
                    roots[p, i, column] = diagonals[p, 0, i] if column == reach else complex(np.nan, np.nan)
                    residuals[p, i, column] = 0.0 if column == reach else np.nan


@jit
def _balance(matrices: Array, weight: Array, scale: Array) -> None:
    """Even out rows and columns of (K, n, n) matrices by one diagonal similarity in powers of two, in place."""
    n = matrices.shape[1]
    floor = 0.0
    for i in range(n):
        scale[i] = 1.0
        for j in range(n):
            total = 0.0
            for k in range(matrices.shape[0]):
                total += abs(matrices[k, i, j])
            weight[i, j] = total
        floor += 0.1 * weight[i, i] / n
        weight[i, i] = 0.0
    for _ in range(6):
        changed = False
        for i in range(n):
            row = column = floor
            for j in range(n):
                row += weight[i, j]
                column += weight[j, i]
            ratio = row / column if 0.0 < row < np.inf and 0.0 < column < np.inf else 1.0
            if not 0.5 <= ratio <= 2.0:
                factor = np.exp2(np.round(0.5 * np.log2(ratio)))
                changed = True
                scale[i] *= factor
                for j in range(n):
                    weight[j, i] *= factor
                    weight[i, j] /= factor
        if not changed:
            break
    for i in range(n):
        for j in range(n):
            for k in range(matrices.shape[0]):
                matrices[k, i, j] *= scale[j] / scale[i]


@jit
def prepare(stack: Array, tau: Array, shortest: float, kind: Array) -> None:
    """Matrices A_0, A_k and delays of each point as the methods want them, in place.

    What is not delayed goes to A_0, delays of nothing are 0, and the matrices are balanced. kind (points,): 0 not
    finite (or a delay below `shortest`), 1 without delays, 2 with some.
    """
    count, n = stack.shape[1], stack.shape[2]
    weight, scale = np.empty((n, n)), np.empty(n)
    for p in range(stack.shape[0]):
        matrices, kind[p] = stack[p], 1
        for k in range(count):
            acts = False
            for i in range(n):
                for j in range(n):
                    if not np.isfinite(matrices[k, i, j]):
                        kind[p] = 0
            if k == 0:
                continue
            for i in range(n):
                for j in range(n):
                    if tau[p, k - 1] == 0.0:
                        matrices[0, i, j] += matrices[k, i, j]
                        matrices[k, i, j] = 0.0
                    acts |= matrices[k, i, j] != 0.0
            if not acts and tau[p, k - 1] < np.inf:
                tau[p, k - 1] = 0.0
            elif shortest <= tau[p, k - 1] < np.inf:
                kind[p] = min(2 * kind[p], 2)
            else:
                kind[p] = 0
        if kind[p] and n > 1:
            _balance(matrices, weight, scale)


@jit
def rotate(stack: Array, bases: Array, below: float, diagonals: Array, works: Array) -> None:
    """Diagonals of B^H A_k B, and whether at most `below`, beside A_k, lies below them; the last basis serves on."""
    n = stack.shape[2]
    column = np.empty(n, bases.dtype)
    for p in range(stack.shape[0]):
        basis = bases[min(p, bases.shape[0] - 1)]
        works[p] = True
        for k in range(stack.shape[1]):
            square = 0.0
            for i in range(n):
                for j in range(n):
                    square += stack[p, k, i, j] ** 2
            rounding = below * np.sqrt(square)
            for j in range(n):
                for i in range(n):
                    column[i] = 0.0
                    for m in range(n):
                        column[i] += stack[p, k, i, m] * basis[m, j]
                for i in range(j, n):
                    entry = column[0] * 0.0
                    for m in range(n):
                        entry += np.conj(basis[m, i]) * column[m]
                    small = abs(entry) <= rounding
                    if i == j:
                        diagonals[p, k, j] = 0.0 if small else entry
                    else:
                        works[p] &= small
