"""Figures of the papers by name: what `tcpdynamics figures` lists and draws, and what the report shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from tcpdynamics.errors import DomainError, shown, suggestion

from .papers import PAPERS

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

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
    experiment : str                 The experiment whose result it shows, if it shows one.
    """

    name: str
    caption: str
    solve: Callable[..., Any]
    draw: Callable[[Any], go.Figure]
    takes: Any = None
    experiment: str = ""

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

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse names that are none of the `parameters`. Raises DomainError."""
        for name in parameters:
            if name not in (*self.parameters, *(["quick", "progress"] if self.simulates else [])):
                close = suggestion(name, self.parameters)
                there = f"it has {', '.join(self.parameters)}" if self.parameters else "it has none"
                raise DomainError(f"{self.name} has no parameter {shown(name, 60)}{close}; {there}")

    def __call__(self, **parameters: Any) -> go.Figure:
        """Solve and draw.

        Raises
        ------
        DomainError
            A name that is none of the `parameters`, or a value that is refused.
        """
        self.check(parameters)
        return self.draw(self.solve(**parameters))


_FIGURES: dict[str, PaperFigure] = {}


def figure(name: str, caption: str, solve: Callable[..., Any], takes: Any = None) -> Callable[[Draw], Draw]:
    """Register the function that draws what `solve` returns; the only step to add a figure."""

    def register(draw: Draw) -> Draw:
        _FIGURES[name] = PaperFigure(name, caption, solve, draw, takes)
        return draw

    return register


def figure_of(name: str, caption: str, experiment: str) -> Callable[[Draw], Draw]:
    """Register the function that draws the result of an experiment."""

    def solve(quick: bool = True, progress: Callable[[float], None] | None = None) -> xr.Dataset:
        from .experiments import run

        return run(experiment, "quick" if quick else "full", progress=progress)

    def register(draw: Draw) -> Draw:
        _FIGURES[name] = PaperFigure(name, caption, solve, draw, experiment=experiment)
        return draw

    return register


def figures() -> dict[str, PaperFigure]:
    """All figures by name, in the order of the papers: a paper's own, then those that decide its statements.

    Examples
    --------
    >>> list(figures())[:2]
    ['sub_packet.fig2', 'sub_packet.fig3']
    >>> figures()["logistic.fig8"](points=6).layout.xaxis.title.text
    'bottleneck BW [Mbit/s]'
    """
    for paper in PAPERS:
        import_module(f".{paper}.figures", __package__)
        for more in ("packets", "evidence"):
            if find_spec(f".{paper}.{more}", __package__):
                import_module(f".{paper}.{more}", __package__)
    own_first = sorted(_FIGURES.items(), key=lambda item: item[1].solve.__module__.endswith(".evidence"))
    return {n: f for paper in PAPERS for n, f in own_first if n.split(".")[0] == paper}


def get_figure(name: str) -> PaperFigure:
    """The figure of that name.

    Raises
    ------
    DomainError
        There is none; the message lists those that there are.
    """
    by_name = figures()
    name = name.replace("-", "_")
    if name not in by_name:
        close = suggestion(name, by_name)
        raise DomainError(f"there is no figure {shown(name)}{close}; choose one of {', '.join(by_name)}")
    return by_name[name]
