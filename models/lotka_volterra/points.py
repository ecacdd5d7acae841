"""Fixed points that delayed and stepped forms of reading R1 share with its differential equation."""

from __future__ import annotations

from typing import Any

from .model import Competition, ranking, survivors_in_symbols


def fixed_points(model: Competition) -> list[dict[str, Any]]:
    """The survivors' rates first (K/M each for flows alike), then flow 1 alone, then extinction.

    The first is left out where more than 6 flows change their order by capacity from point to point.
    """
    import sympy

    labels, capacity = [N.name for N in model._rates()], model._symbols("capacity")
    settled = survivors_in_symbols(capacity, model._symbol("gamma"), ranking(model._over_flows("capacity")))
    first = [] if settled is None else [dict(zip(labels, settled, strict=True))]
    zero = dict.fromkeys(labels, sympy.Integer(0))
    return [*first, *([zero | {labels[0]: capacity[0]}] if len(labels) > 1 else []), zero]
