"""Several matrices in one triangular form: a system of delay equations falls apart into scalar ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: What may be left below the diagonal, relative to a matrix's norm: rounding of a few similarity transforms.
_LEFT = 2e-14


def balance(stack: Array) -> Array:
    """One diagonal similarity, in powers of two, that evens out the rows and columns of all matrices of a point.

    A coupling in one direction only is scaled down to a tenth of the diagonal, where it no longer matters.

    Parameters
    ----------
    stack : (m, K, n, n) array

    Returns
    -------
    (m, K, n, n) array of the same spectra
    """
    n = stack.shape[-1]
    if n == 1:
        return stack
    weight = np.abs(stack).sum(axis=1)
    floor = 0.1 * np.trace(weight, axis1=1, axis2=2) / n
    weight[:, np.arange(n), np.arange(n)] = 0.0
    scale = np.ones(weight.shape[:2])
    for _ in range(6):
        for i in range(n):
            column, row = weight[:, :, i].sum(axis=1) + floor, weight[:, i, :].sum(axis=1) + floor
            both = (column > 0) & (row > 0) & np.isfinite(column) & np.isfinite(row)
            ratio = np.where(both, row, 1.0) / np.where(both, column, 1.0)
            factor = np.exp2(np.round(0.5 * np.log2(ratio)))
            weight[:, :, i] *= factor[:, None]
            weight[:, i, :] /= factor[:, None]
            scale[:, i] *= factor
    return stack * scale[:, None, None, :] / scale[:, None, :, None]


def split(stack: Array) -> tuple[Array, Array]:
    """Diagonals of the matrices in a common triangular form, where they have one.

    The Schur vectors of a generic combination make every matrix triangular if all of them commute; then
    det(z - A_0 - sum A_k e^(-z tau_k)) is the product of the scalar functions of the diagonal entries, each multiple
    root as often as it occurs. Whether it worked is seen from what is left below the diagonals.

    Parameters
    ----------
    stack : (m, K, n, n) real array of finite numbers

    Returns
    -------
    diagonals : (m, K, n) float or complex array
    works : (m,) bool array

    Examples
    --------
    >>> one = np.array([[[[2.0, 1.0], [1.0, 2.0]], [[0.0, 5.0], [5.0, 0.0]]]])
    >>> diagonals, works = split(one)
    >>> bool(works[0]), sorted(map(tuple, diagonals[0].T.round(12).tolist()))
    (True, [(1.0, -5.0), (3.0, 5.0)])
    """
    m, count, n, _ = stack.shape
    if n == 1:
        return stack[..., 0], np.ones(m, bool)
    norm = np.sqrt((np.abs(stack) ** 2).sum(axis=(2, 3)))
    mix = np.sqrt(np.arange(2.0, 2.0 + count)) % 1.0 + 0.5
    weight = mix / np.where(norm > 0, norm, 1.0)
    combined = (weight[:, :, None, None] * stack).sum(axis=1)
    asymmetry = np.abs(stack - np.swapaxes(stack, 2, 3)).max(axis=(2, 3))
    if (asymmetry <= 4e-16 * norm).all():
        basis = np.linalg.eigh(combined)[1]
    else:
        basis = np.linalg.qr(np.linalg.eig(combined)[1])[0]
    rotated = np.conj(np.swapaxes(basis, 1, 2))[:, None] @ stack @ basis[:, None]
    below = np.abs(np.tril(rotated, -1)).max(axis=(2, 3))
    diagonals = np.diagonal(rotated, axis1=2, axis2=3)
    diagonals = np.where(np.abs(diagonals) <= _LEFT * norm[:, :, None], 0.0, diagonals)
    return diagonals, (below <= _LEFT * norm).all(axis=1)
