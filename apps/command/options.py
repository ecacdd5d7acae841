"""Options of the commands, and what connects them with `choice` and `outputs`: flags, refusals, notes, suggestions."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.errors import InputError, LimitError

from ..choice import MOTION, Chosen, Entry, candidates, choose, entries, families, names, reading_of, summary
from ..files import settings_mark
from ..outputs import add_outside, notes_on_outside
from .groups import SuggestingGroup

if TYPE_CHECKING:
    import xarray as xr

_METAVARS = {"numbers": "RANGE", "list": "LIST", "size": "SIZE"}


def flag(name: str) -> str:
    """The option of a parameter.

    >>> flag("base_rtt"), flag("reading")
    ('--base-rtt', '--interpretation')
    """
    return f"--{'interpretation' if name == 'reading' else name.replace('_', '-')}"


@contextmanager
def refusals(labels: Mapping[str, str] | None = None) -> Iterator[None]:
    """Refusals become usage errors, with the command's options in the place of parameters between backticks.

    Parameters
    ----------
    labels : mapping name -> option, optional
        Options whose name is not that of the parameter.
    """
    try:
        yield
    except InputError as error:
        text = with_flags(str(error), labels or {})
        if isinstance(error, LimitError):
            text = text.replace("a file x.nc takes more", "--output FILE.nc takes more")
        raise click.UsageError(text) from None


def with_flags(text: str, labels: Mapping[str, str]) -> str:
    """The text with the options of the command in hand instead of names between backticks."""
    flags = {p.name: p.opts[0] for p in click.get_current_context().command.params if p.name}
    return re.sub(r"`(\w+)`", lambda match: {**flags, **labels}.get(match[1], match[0]), text)


def note(texts: Iterable[str]) -> None:
    """Say what the user should know, on standard error."""
    for text in texts:
        click.echo(f"Note: {with_flags(text, {})}", err=True)


def wrote(path: Path) -> None:
    """Say that a file is written, on standard error."""
    click.echo(f"wrote {path}", err=True)


#: Options that change nothing in a result.
_ABOUT_OUTPUT = {"output", "force", "as_json", "in_json", "verdict"}


def asked() -> str:
    """The mark of the settings that the command was given, by which a file with other settings is known."""
    params = click.get_current_context().params
    return settings_mark({name: value for name, value in params.items() if name not in _ABOUT_OUTPUT})


def with_settings(result: xr.Dataset) -> xr.Dataset:
    """The result with that mark, as it is written to a file."""
    return result.assign_attrs(settings=asked())


class ModelCommand(click.Command):
    """A command on one model, whose refusals name options."""

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; refusals become usage errors."""
        with refusals():
            return super().invoke(ctx)


#: So many classes get a line each in the help of a group.
_EACH_A_LINE = 12


class ModelGroup(SuggestingGroup):
    """A group with a command for each model, made when it is asked for."""

    kind = "model"

    def __init__(
        self, *args: Any, build: Callable[[str], click.Command], views: tuple[str, ...] = MOTION, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.build, self.views = build, views

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Families first."""
        return names(self.views)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a model."""
        return self.build(cmd_name) if candidates(cmd_name, self.views) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Families with a line each, then the names of the classes."""
        laws = families(self.views)
        if laws:
            with formatter.section("Models"):
                formatter.write_dl([(name, summary(name, self.views)) for name in laws])
        ones = [name for name in names(self.views) if name not in laws]
        if len(ones) <= _EACH_A_LINE:
            with formatter.section("Classes (one interpretation each)"):
                formatter.write_dl([(name, summary(name, self.views)) for name in ones])
        else:
            self._format_classes(formatter, ones)
        with formatter.section("More"):
            formatter.write_text(f"`{ctx.command_path} MODEL --help` shows a model's formula and its parameters.")

    def _format_classes(self, formatter: click.HelpFormatter, ones: list[str]) -> None:
        with formatter.section("Classes (one interpretation each)"):
            classes = ", ".join(ones)
            indent = " " * formatter.current_indent
            lines = textwrap.fill(
                classes, formatter.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
            formatter.write(f"{lines}\n")


def model_options(name: str, views: tuple[str, ...] = MOTION) -> list[click.Parameter]:
    """--interpretation, --view and an option for each parameter of the model."""
    return [_option(entry) for entry in entries(name, views)]


#: Words for parameters without a default, for examples; a rate in bits needs the size of a packet.
_TYPICAL = {
    "flows": "60", "capacity": "10Mbit/s --packet-size 1250B", "base_rtt": "100ms", "buffer": "100", "gain": "0.001",
    "min_threshold": "20", "max_threshold": "80", "p_max": "0.1", "averaging": "1", "loss": "0.001",
}  # fmt: skip
#: What some readings need beside.
_BESIDE = {"lotka-volterra-queue": " --base-rtt 100ms"}


def required_words(name: str) -> str:
    """The options without which a model has no equations, with typical values.

    >>> required_words("aimd-tcp"), required_words("logistic")
    (' --loss 0.001', '')
    """
    from tcpdynamics.models.parameters import describe

    rows = describe(candidates(name)[reading_of(name, None, delayed=False)])
    return "".join(f" {flag(row['name'])} {_TYPICAL[row['name']]}" for row in rows if row["required"]) + _BESIDE.get(
        name, ""
    )


def _option(entry: Entry) -> click.Option:
    words = [flag(entry.name), entry.name]
    if entry.kind == "choice":
        return click.Option(words, type=click.Choice(list(entry.choices)), help=entry.about)
    if entry.kind == "switch":
        return click.Option(words, is_flag=True, help=entry.about)
    repeated = entry.kind == "numbers"
    return click.Option(words, multiple=repeated, metavar=_METAVARS[entry.kind], help=entry.about)


def choose_model(name: str, texts: Mapping[str, Any], **settings: Any) -> Chosen:
    """The model that the options describe; says what is worth a note."""
    chosen = choose(name, texts, **settings)
    note(chosen.notes)
    return chosen


def complete_grid(result: xr.Dataset, chosen: Chosen) -> xr.Dataset:
    """The result on all values that were asked for; says which of them were left out."""
    result = add_outside(result, chosen)
    note(notes_on_outside(chosen))
    return result


#: --force, the same for every command that writes files.
force_option = click.option(
    "--force", is_flag=True, help="Also replace files that tcpdynamics did not write, or that hold another result."
)


def common_options(command: click.Command) -> click.Command:
    """--json, --output and --force."""
    command.params += [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of a table."),
        click.Option(
            ["--output"],
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE",
            help="Write x.nc, x.html, x.png or x.zarr; may be repeated. An interrupted run to x.zarr resumes.",
        ),
    ]
    return force_option(command)
