"""A picture of a page with its main sliders, alone: for notebooks (`widget.py`) and Dash apps (`dash_figure.py`)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tcpdynamics.errors import DomainError, shown

from .bundle import core_script, page_script, style_sheet
from .page import Page
from .pages import pages


def checked(page: str, figure: str, values: dict[str, Any]) -> tuple[Page, dict[str, Any]]:
    """The page, and the values of all its controls.

    Raises
    ------
    DomainError
        No such page, figure or control, or a value outside its control.

    Examples
    --------
    >>> checked("leap", "duplicates", {"ack_loss": 0.2})[1]["ack_loss"]
    0.2
    >>> checked("leap", "nothing", {})
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: the page leap has no figure 'nothing'; it has duplicates, transmissions, causes, ...
    """
    listed = {slug: one for slug, one in pages().items() if one.figures and not one.article}
    if page not in listed:
        raise DomainError(f"there is no page {shown(page, 40)} with figures; there are {', '.join(listed)}")
    one = listed[page]
    names = [f.name for f in one.figures]
    if figure not in names:
        raise DomainError(f"the page {page} has no figure {figure!r}; it has {', '.join(names)}")
    checked_values, complaints = one.read({name: str(value) for name, value in values.items()}, shows=False)
    if complaints:
        raise DomainError(complaints[0])
    return one, checked_values


def spec(page: str, figure: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the script of a live picture must know, as JSON.

    Sliders that shape the page's functions stay at their values.
    """
    one, start = checked(page, figure, values)
    page_spec = one.spec()
    shaping = {name for printed in one.printed for name in printed.shape}
    moving = [c for c in page_spec["controls"] if c["name"] in page_spec["main"] and c["name"] not in shaping]
    figures = [f for f in page_spec["figures"] if f["name"] == figure]
    unseen = [f for f in page_spec["figures"] if f["name"] != figure]
    return page_spec | {"figures": [*figures, *unseen], "moving": moving, "values": start}


@cache
def scripts(page: str, keys: tuple[str, ...]) -> str:
    """The scripts of a page with some of its functions, as one."""
    one = pages()[page]
    printed = {p.key(v): (p, v) for p in one.printed for v in one.shapes(p)}
    functions = [printed[key][0].script(page, printed[key][1]) for key in keys]
    return "\n".join([core_script(), page_script(page), *functions])


def keys(page: str, values: dict[str, Any]) -> tuple[str, ...]:
    """Names of the functions that the values need."""
    return tuple(printed.key(values) for printed in pages()[page].printed if not printed.lazy)


def style() -> str:
    """The style of a live picture, within it alone: also below a shadow root, where a page's own names are unknown."""
    colours = style_sheet("colours.css").replace(":root", ".live")
    box = ".live { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }"
    sheets = style_sheet("vendor/uPlot.min.css", "look.css", "style.css")
    return "\n".join([colours, box, ".live {", sheets, "}"])


def text_of(text: str) -> str:
    """A text as JavaScript has it."""
    return json.dumps(text)
