"""A small chain as a drawing of its states and transitions: SVG that a page can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from html import escape
from typing import TYPE_CHECKING, cast

from .look import BLACK, BLUE, ORANGE

if TYPE_CHECKING:
    import sympy

    from tcpdynamics.solvers.problems import MarkovChain

#: Between columns and rows of states, and the radius of one [px].
_ACROSS, _DOWN, _RADIUS = 230.0, 130.0, 30.0
#: States of a drawing that can be read.
MOST_DRAWN = 40
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

_Point = tuple[float, float]


def state_graph(chain: MarkovChain, boxes: Collection[str] = ()) -> str:
    """An SVG of a symbolic chain: its states as circles, some of them as boxes.

    Columns tell how many transitions lie between the first state and the others. A transition has its probability
    beside it, with q for 1 - p; without one it is certain.

    Parameters
    ----------
    chain : MarkovChain
        Symbolic, of at most 40 states.
    boxes : labels
        States that are another kind, such as waits.

    Returns
    -------
    str
        The text of an SVG file.

    Raises
    ------
    ValueError
        A matrix of numbers, or more states than can be read.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain
    >>> p = sympy.Symbol("p")
    >>> state_graph(MarkovChain({("up", "down"): p, ("down", "up"): 1})).count("<circle")
    2
    """
    labels = chain.labels
    if len(labels) > MOST_DRAWN:
        raise ValueError(f"a drawing shows at most {MOST_DRAWN} states, got {len(labels)}; take a smaller chain")
    if not chain.is_symbolic:
        raise ValueError("a drawing has expressions beside its arrows, and this chain is a matrix of numbers")
    edges = {edge: _words(str(chance)) for edge, chance in with_stays(chain).items()}
    columns = _columns(labels, list(edges))
    rows = max(len(column) for column in columns)
    places = {
        name: (80.0 + _ACROSS * x, 100.0 + _DOWN * (y + (rows - len(column)) / 2.0))
        for x, column in enumerate(columns)
        for y, name in enumerate(column)
    }
    width, height = 160.0 + _ACROSS * (len(columns) - 1), 170.0 + _DOWN * (rows - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(chain.name)}: states and transitions</title>",
        f'<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 1 L9 5 L0 9 z" fill="{BLACK}"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    texts: list[str] = []
    for (source, target), words in edges.items():
        path, at = _arrow(places[source], places[target])
        parts.append(f'<path d="{path}" fill="none" stroke="{BLACK}" stroke-width="1.1" marker-end="url(#a)"/>')
        if words != "1":
            texts.append(
                f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="middle" dominant-baseline="middle" '
                f'stroke="#ffffff" stroke-width="4" paint-order="stroke">{escape(words)}</text>'
            )
    for name, (x, y) in places.items():
        if name in boxes:
            parts.append(
                f'<rect x="{x - 34:.1f}" y="{y - 20:.1f}" width="68" height="40" rx="6" fill="#ffffff" '
                f'stroke="{ORANGE}" stroke-width="2.5"/>'
            )
        else:
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.0f}" fill="#ffffff" stroke="{BLUE}" '
                'stroke-width="2.5"/>'
            )
        parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" dominant-baseline="middle">{escape(name)}</text>'
        )
    return "\n".join([*parts, *texts, "</svg>"]) + "\n"


def with_stays(chain: MarkovChain) -> dict[tuple[str, str], sympy.Expr]:
    """Transitions of a symbolic chain in their shortest form, those from a state to itself too.

    Examples
    --------
    >>> from tcpdynamics.models import SubPacketApproximate
    >>> moves = with_stays(SubPacketApproximate(loss=0.1).chain())
    >>> moves["S6", "S6"], moves["S4", "b0"]
    ((1 - p)**6, -4*p*(1 - p)**4 - (1 - p)**4 + 1)
    """
    import sympy

    def short(chance: sympy.Expr) -> sympy.Expr:
        success = sympy.Dummy()
        turned = {p: 1 - success for p in chance.free_symbols if p.name == "p"}
        by_success = sympy.factor(chance.subs(turned)).subs(success, 1 - next(iter(turned), success))
        return min((chance, by_success, sympy.factor(chance)), key=sympy.count_ops)

    moves = cast("Mapping[tuple[str, str], object]", chain.transitions)
    out: dict[tuple[str, str], sympy.Expr] = {}
    for state in chain.labels:
        of_state = {edge: sympy.sympify(chance) for edge, chance in moves.items() if edge[0] == state}
        if (state, state) not in of_state and sympy.simplify(1 - sum(of_state.values())) != 0:
            of_state[state, state] = 1 - sum(of_state.values())
        of_state = {edge: short(chance) for edge, chance in of_state.items()}
        certain = sum(of_state.values())
        out |= {edge: min(x, 1 - (certain - x), key=sympy.count_ops) for edge, x in of_state.items()}
    return out


def _words(text: str) -> str:
    """An expression as people write it.

    >>> _words("2*p*(1 - p)**12 + p**2")
    '2 p q¹² + p²'
    """
    text = re.sub(r"\*\*(\d+)", lambda m: m[1].translate(_POWERS), text.replace("(1 - p)", "q"))
    return ("q" if text == "1 - p" else text).replace("*", " ")


def _columns(labels: tuple[str, ...], edges: list[tuple[str, str]]) -> list[list[str]]:
    """States by their distance from the first one, each column in the order of the labels."""
    distance = {labels[0]: 0}
    for step in range(len(labels)):
        for source, target in edges:
            if distance.get(source) == step:
                distance.setdefault(target, step + 1)
    far = max(distance.values())
    return [[name for name in labels if distance.get(name, far) == x] for x in range(far + 1)]


def _arrow(start: _Point, end: _Point) -> tuple[str, _Point]:
    """The path from one state to another, bent to its left, and where its words stand."""
    (x, y), (u, v) = start, end
    if start == end:
        top = y - _RADIUS
        path = (
            f"M{x - 12:.1f} {top + 3:.1f} C{x - 45:.1f} {top - 60:.1f} {x + 45:.1f} {top - 60:.1f} "
            f"{x + 12:.1f} {top + 3:.1f}"
        )
        return path, (x, top - 48.0)
    across, down = u - x, v - y
    length = math.hypot(across, down)
    back = across <= 0.0
    bend = (0.22 if back else 0.1) * length * (1.0 if back else -1.0) * (1.0 if across else -1.0)
    cx, cy = (x + u) / 2.0 - down / length * bend, (y + v) / 2.0 + across / length * bend
    first, last = _towards(start, (cx, cy)), _towards(end, (cx, cy))
    path = f"M{first[0]:.1f} {first[1]:.1f} Q{cx:.1f} {cy:.1f} {last[0]:.1f} {last[1]:.1f}"
    t = 0.3 if back else 0.38
    at = tuple((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c for a, b, c in zip(first, (cx, cy), last, strict=True))
    return path, (at[0], at[1])


def _towards(place: _Point, other: _Point) -> _Point:
    """Where an arrow meets the rim of a state."""
    across, down = other[0] - place[0], other[1] - place[1]
    length = math.hypot(across, down) or 1.0
    reach = _RADIUS + 4.0
    return place[0] + reach * across / length, place[1] + reach * down / length
