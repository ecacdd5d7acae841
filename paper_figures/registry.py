"""Figures of the papers by name: what `tcpdynamics figures` lists and draws, and what the report shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from tcpdynamics.errors import DomainError, shown, suggestion

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Papers that have figures, and what pages call them; each is a folder with modules `figures`, `evidence` and `claims`.
TITLES = {
    "sub_packet": "TCP in sub-packet regimes (Chen et al.)",
    "logistic": "Logistic and Lotka-Volterra control (Iguchi et al.)",
    "t_refwa": "T-REFWA (Taleb et al.)",
}
PAPERS = tuple(TITLES)

Draw = TypeVar("Draw", bound="Callable[[Any], go.Figure]")


@dataclass(frozen=True)
class PaperFigure:
    """One figure: how its numbers are solved for, and how they are drawn.

    Attributes
    ----------
    name : str      Paper and figure, such as "logistic.fig1".
    caption : str   One line.
    solve : callable(**parameters)   The numbers; its parameters are those that a user may change.
    draw : callable(numbers) -> plotly figure
    takes : dataclass, optional      Its fields are further parameters of `solve`.
    """

    name: str
    caption: str
    solve: Callable[..., Any]
    draw: Callable[[Any], go.Figure]
    takes: Any = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what a user may change, but for `quick` and `progress`, which change no number or fewer runs.

        Examples
        --------
        >>> figures()["logistic.fig8"].parameters
        ('points',)
        """
        named = {n: p for n, p in signature(self.solve).parameters.items() if p.kind is not p.VAR_KEYWORD}
        further = fields(self.takes) if self.takes else ()
        return (*(n for n in named if n not in ("quick", "progress")), *(f.name for f in further))

    @property
    def simulates(self) -> bool:
        """Whether packets are simulated for it, so that `quick=True` shortens it and `progress=` says how far it is."""
        return "quick" in signature(self.solve).parameters

    def __call__(self, **parameters: Any) -> go.Figure:
        """Solve and draw.

        Raises
        ------
        DomainError
            A name that is none of the `parameters`, or a value that is refused.
        """
        for name in parameters:
            if name not in (*self.parameters, *(["quick", "progress"] if self.simulates else [])):
                close = suggestion(name, self.parameters)
                there = f"it has {', '.join(self.parameters)}" if self.parameters else "it has none"
                raise DomainError(f"{self.name} has no parameter {shown(name, 60)}{close}; {there}")
        return self.draw(self.solve(**parameters))


_FIGURES: dict[str, PaperFigure] = {}


def figure(name: str, caption: str, solve: Callable[..., Any], takes: Any = None) -> Callable[[Draw], Draw]:
    """Register the function that draws what `solve` returns; the only step to add a figure."""

    def register(draw: Draw) -> Draw:
        _FIGURES[name] = PaperFigure(name, caption, solve, draw, takes)
        return draw

    return register


def figures() -> dict[str, PaperFigure]:
    """All figures by name, in the order of the papers: a paper's own, then those that decide its statements.

    Examples
    --------
    >>> list(figures())[:2]
    ['sub_packet.fig9', 'sub_packet.idle']
    >>> figures()["logistic.fig8"](points=6).layout.xaxis.title.text
    'bottleneck BW [Mbit/s]'
    """
    for paper in PAPERS:
        import_module(f".{paper}.figures", __package__)
        import_module(f".{paper}.evidence", __package__)
    own_first = sorted(_FIGURES.items(), key=lambda item: item[1].solve.__module__.endswith(".evidence"))
    return {n: f for paper in PAPERS for n, f in own_first if n.split(".")[0] == paper}


def get_figure(name: str) -> PaperFigure:
    """The figure of that name.

    Raises
    ------
    DomainError
        There is none; the message lists those that there are.
    """
    known = figures()
    name = name.replace("-", "_")
    if name not in known:
        close = suggestion(name, known)
        raise DomainError(f"there is no figure {shown(name)}{close}; choose one of {', '.join(known)}")
    return known[name]
