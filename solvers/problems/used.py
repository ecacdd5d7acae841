"""Parameters that nothing uses: a misspelt name beside the right one would go unnoticed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from tcpdynamics.errors import bare, shown


def check_used(
    parameters: Iterable[str],
    declared: Collection[str],
    expressions: Iterable[object],
    error: type[Exception],
    others: Iterable[str] = (),
) -> None:
    """Raise `error` for a parameter that is neither declared nor a symbol of an expression.

    Where no expression has a symbol, no name can be a wrong one: parameters then only label the points.

    Parameters
    ----------
    parameters : names that have a value
    declared : names that are known without an expression
    expressions : numbers and SymPy expressions, looked at only as far as is needed
    others : names of symbols that are no parameters: states and time

    Examples
    --------
    >>> import sympy
    >>> check_used(["rate", "raet"], (), [sympy.Symbol("rate") / 2], ValueError)
    Traceback (most recent call last):
    ...
    ValueError: parameter 'raet' stands in no expression; did you mean 'rate'?
    """
    unknown = [name for name in parameters if name not in declared]
    symbols: set[str] = set()
    for expression in expressions:
        if not unknown:
            return
        symbols |= {symbol.name for symbol in getattr(expression, "free_symbols", ())}
        unknown = [name for name in unknown if name not in symbols]
    symbols -= set(others)
    if not unknown or not symbols:
        return
    wrong = str(unknown[0])
    close = get_close_matches(wrong[:200], sorted(symbols), n=1)
    close = close or [name for name in sorted(symbols) if wrong.lower().startswith(name.lower())]
    if close:
        advice = f"did you mean {shown(close[0], 60)}?"
    else:
        advice = f"leave it out; there are {bare(', '.join(sorted(symbols)), 120)}"
    raise error(f"parameter {shown(wrong, 60)} stands in no expression; {advice}")
