"""A live picture in a notebook, as a widget: Jupyter, marimo, VS Code and Colab show it.

Examples
--------
>>> chart = figure("leap", "duplicates", ack_loss=0.2)
>>> chart.values["ack_loss"]
0.2

In a notebook the last line `chart` shows it. Sliders change `chart.values`; `chart.numbers` and `chart.says` follow.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tcpdynamics.shortages import lacking

from .explorer import live

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise lacking(error) from None

_RENDER = """
const { live } = module_core_live;
export default {
  render({ model, el }) {
    let kept = "";
    const one = live(el, model.get("spec"), (values, numbers, says) => {
      kept = JSON.stringify(values);
      for (const [name, now] of Object.entries({ values, numbers, says })) model.set(name, now);
      model.save_changes();
    });
    // some notebooks report the widget's own changes, too
    const moved = () => JSON.stringify(model.get("values")) !== kept && one.set(model.get("values"));
    model.on("change:values", moved);
    return () => {
      model.off("change:values", moved);
      one.end();
    };
  },
};
"""


class Figure(anywidget.AnyWidget):
    """A picture with its main sliders; `figure` makes one.

    Attributes
    ----------
    values : dict
        Control -> value. Assigning one moves the sliders.
    numbers : dict
        Numbers that the picture's sentence has, by name.
    says : str
        What is seen, in a sentence; empty until the browser has drawn it, as are the numbers.
    """

    spec = traitlets.Dict().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    numbers = traitlets.Dict().tag(sync=True)
    says = traitlets.Unicode().tag(sync=True)


@cache
def _class(page: str, keys: tuple[str, ...]) -> type[Figure]:
    """The widget of a page: its script has the functions that the values of its shape need."""
    return type("Figure", (Figure,), {"_esm": live.scripts(page, keys) + _RENDER, "_css": live.style()})


def figure(page: str, name: str, **values: Any) -> Figure:
    """A live picture of a page of the explorer.

    Parameters
    ----------
    page, name : str
        The page's address, as "sub-packet", and its picture, as "silence".
    values : number or word
        Values of its controls, in the units of the page; the others as on a fresh page.

    Raises
    ------
    DomainError
        No such page, picture or control, or a value outside its control.
    """
    spec = live.spec(page, name, values)
    cls = _class(page, live.keys(page, spec["values"]))
    return cls(spec=spec, values=spec["values"])
