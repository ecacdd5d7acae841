"""Congestion windows of ns-2 that behave alike for long enough: where the real line of windows is cut."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: Edges lie this far below where they are in exact numbers [packet]: a window that is right on one belongs above it.
_BELOW = 1e-9


def alike(window: int, halvings: int, deflates: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges between windows that differ, and the window that stands for those between two edges.

    A sender looks at the whole packets of its window alone. Between halvings the window w grows by 1/w with each
    acknowledgement. So two windows behave alike for ever, but for halvings, if they pass each whole number after as
    many acknowledgements; they do unless one of the numbers from which growth leads right to a whole number lies
    between them, (t + sqrt(t^2 - 4)) / 2 for t. They do so through one more halving unless it leads to such a number;
    and so on. What is then left differs only after more than `halvings` halvings without a full window or a timeout
    between them.

    Parameters
    ----------
    window : int
        Advertised window [packet]; larger ones are cut to it.
    halvings : int
        0: no windows are alike.
    deflates : bool
        Whether partial acknowledgements take whole packets off the window (NewReno): windows are told apart through
        one such, too.

    Returns
    -------
    edges : (n,) float array, increasing [packet]
    middles : (n + 1,) float array
        `middles[i]` stands for the windows from `edges[i - 1]` to below `edges[i]`.

    Examples
    --------
    >>> edges, middles = alike(3, 1)
    >>> [float(x) for x in edges.round(3)]
    [1.0, 1.331, 1.476, 2.0, 2.082, 2.154, 2.563, 2.618, 2.953, 3.0]
    """
    if not halvings:
        return np.empty(0), np.empty(0)
    edges_so_far = {1.0}
    level = [float(n) for n in range(2, window + 1)]
    for halved in range(halvings + 1):
        new = []
        for edge in level:
            while edge >= 1.0 and (name := round(edge, 10)) not in edges_so_far:
                edges_so_far.add(name)
                new.append(edge)
                edge = (edge + math.sqrt(edge * edge - 4.0)) / 2.0 if edge >= 2.0 else 0.0
        level = [2.0 * edge for edge in new if 2.0 * edge <= window]
        if deflates and not halved:
            level += [edge + n for edge in new for n in range(1, window) if edge + n <= window]
    edges = np.array(sorted(edges_so_far)) - _BELOW
    middles = np.concatenate([[1.0], (edges[1:] + edges[:-1]) / 2.0, [float(window)]])
    return edges, middles
