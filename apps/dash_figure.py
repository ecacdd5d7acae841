"""A live picture as a Dash component: `app.layout = Figure("sub-packet", "silence", id="chart")`.

A callback takes `Input("chart", "numbers")`, `Input("chart", "values")` or `Input("chart", "says")`; an `Output` of
`values` moves the sliders. Import this module before the app is made: it adds the component's script to the app. The
app must be served at the root of its address.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tcpdynamics.shortages import lacking

from .explorer import live
from .explorer.bundle import core_script, page_script
from .explorer.pages import pages
from .explorer.server import function_script

try:
    from dash import hooks
    from dash.development.base_component import Component
except ModuleNotFoundError as error:
    raise lacking(error) from None

_COMPONENT = """
{
  const { live } = module_core_live;
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const Figure = (props) => {
    const box = React.useRef(null), one = React.useRef(null), now = React.useRef(props.values);
    React.useEffect(() => {
      const { spec } = props;
      const start = { ...spec, values: { ...spec.values, ...props.values } };
      one.current = live(box.current, start, (values, numbers, says) => {
        now.current = values;
        props.setProps({ values, numbers, says });
      });
      return () => one.current.end();
    }, []);
    React.useEffect(() => {
      if (props.values && !same(props.values, now.current)) one.current.set(props.values);
    }, [props.values]);
    return React.createElement("div", { id: props.id, ref: box });
  };
  window.tcpdynamics = { Figure };
  const style = document.createElement("style");
  style.textContent = STYLE;
  document.head.append(style);
}
"""

hooks.script([{"namespace": "tcpdynamics", "external_url": "/tcpdynamics/figure.js", "external_only": True}])


@cache
def script() -> str:
    """What a browser needs for all pages' pictures."""
    slugs = [slug for slug, page in pages().items() if page.figures and not page.article]
    return "\n".join([core_script(), page_script(*slugs), _COMPONENT.replace("STYLE", live.text_of(live.style()))])


@hooks.route(name="tcpdynamics/figure.js")  # type: ignore[untyped-decorator]
def _script() -> Any:
    from flask import Response

    return Response(script(), mimetype="text/javascript")


@hooks.route(name="tcpdynamics/functions/<slug>/<key>.js")  # type: ignore[untyped-decorator]
def _function(slug: str, key: str) -> Any:
    from flask import Response, abort

    text = function_script(slug, key) if len(key) <= 80 else None
    return Response(text, mimetype="text/javascript") if text else abort(404)


class Figure(Component):  # type: ignore[misc]
    """A picture of a page of the explorer, with its main sliders.

    Parameters
    ----------
    page, figure : str
        The page's address, as "sub-packet", and its picture, as "silence".
    id : str, optional
        By which callbacks name it.
    values : mapping, optional
        Values of the page's controls, in its units; the others as on a fresh page.

    Raises
    ------
    DomainError
        No such page, picture or control, or a value outside its control.
    """

    _namespace = "tcpdynamics"
    _type = "Figure"
    _children_props: tuple[str, ...] = ()
    _base_nodes: tuple[str, ...] = ()
    _prop_names = ("id", "spec", "values", "numbers", "says")
    available_properties = _prop_names
    _valid_wildcard_attributes: tuple[str, ...] = ()
    available_wildcard_properties: tuple[str, ...] = ()

    def __init__(self, page: str, figure: str, id: str | None = None, values: dict[str, Any] | None = None) -> None:
        spec = live.spec(page, figure, values or {}) | {"functions": "/tcpdynamics/functions/"}
        named = {} if id is None else {"id": id}
        super().__init__(spec=spec, values=spec["values"], **named)
