"""Multipath TCP's options (RFC 8684): to which bytes of the whole connection the bytes of a route belong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Kinds of options; the subtype of data sequence signals, and their flags.
NOTHING, MPTCP, SIGNAL = 1, 30, 2
ACK, LONG_ACK, MAPPED, LONG_MAP = 1, 2, 4, 8


@dataclass(frozen=True)
class Mappings:
    """What packets say of where their data belongs.

    Attributes
    ----------
    there : (n,) bool array
        Whether a packet says it.
    byte : (n,) uint64 array
        Number of the first byte that is told, within the connection.
    within : (n,) int64 array
        The same within the route, the first of all being 1.
    """

    there: np.ndarray
    byte: np.ndarray
    within: np.ndarray


def mappings(options: np.ndarray) -> Mappings:
    """Mappings of (n, 40) bytes of options.

    Examples
    --------
    >>> told = [30, 18, 0x20, 0x0c, *bytes(6), 1, 0, 0, 0, 0, 5, 0, 100]
    >>> found = mappings(np.array([told + 22 * [0]], np.uint8))
    >>> bool(found.there[0]), int(found.byte[0]), int(found.within[0])
    (True, 256, 5)
    """
    place, flags = _signals(options)
    there = flags & MAPPED != 0
    long = flags & LONG_MAP != 0
    place = place + 4 + np.where(flags & ACK == 0, 0, np.where(flags & LONG_ACK, 8, 4))
    byte = np.where(long, _number(options, place, 8), _number(options, place, 4))
    within = _number(options, place + np.where(long, 8, 4), 4).astype(np.int64)
    return Mappings(there, byte, within)


def acknowledged(options: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Next byte that is waited for, from the connection's byte 0 on (at most 4 GB), and whether it is told.

    Parameters
    ----------
    options : (n, 40) uint8 array
    begins : (n,) uint64 array
        Number of the connection's byte 0.
    """
    place, flags = _signals(options)
    number = np.where(flags & LONG_ACK != 0, _number(options, place + 4, 8), _number(options, place + 4, 4))
    return ((number - begins) & np.uint64(0xFFFFFFFF)).astype(np.int64), flags & ACK != 0


def _signals(options: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the data sequence signal of each packet begins, and its flags; 0 of those without."""
    count, width = options.shape
    rows, at = np.arange(count), np.zeros(count, np.int64)
    place, flags = np.zeros(count, np.int64), np.zeros(count, np.int64)
    padded = np.pad(options, ((0, 0), (0, 4)))
    for _ in range(width):
        kind, length = padded[rows, at], padded[rows, at + 1].astype(np.int64)
        signals = (kind == MPTCP) & (padded[rows, at + 2] >> 4 == SIGNAL)
        place[signals], flags[signals] = at[signals], padded[rows, at + 3][signals]
        step = np.where(kind == NOTHING, 1, np.where(kind == 0, width, np.maximum(length, 2)))
        at = np.minimum(at + step, width)
        if (at == width).all():
            break
    return place, flags


def _number(options: np.ndarray, place: np.ndarray, size: int) -> np.ndarray:
    """The number that stands at a place of each row."""
    padded = np.pad(options, ((0, 0), (0, 24)))
    columns = place[:, None] + np.arange(size)
    parts = padded[np.arange(len(options))[:, None], columns].astype(np.uint64)
    shifts = np.uint64(8) * np.arange(size - 1, -1, -1, dtype=np.uint64)
    return np.asarray((parts << shifts).sum(axis=1, dtype=np.uint64))
