"""Numbers as Tcl and ns-2 read them."""

from __future__ import annotations

import numpy as np


def number(x: float) -> str:
    """The shortest decimal without exponent that is read as exactly x; ns-2 takes letters for units.

    Examples
    --------
    >>> number(1e6), number(1e-5), number(0.1)
    ('1000000.0', '0.00001', '0.1')
    """
    return np.format_float_positional(float(x), unique=True, trim="0")


def whole(x: float) -> str:
    """The digits of a whole number.

    Examples
    --------
    >>> whole(50)
    '50'
    """
    return format(int(x), "d")


def truth(value: bool) -> str:
    """A truth.

    Examples
    --------
    >>> truth(True)
    'true'
    """
    return "true" if value else "false"
