"""`tcpdynamics stationary`: where a chain settles."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tcpdynamics.errors import LimitError, OutputError
from tcpdynamics.limits import check_work
from tcpdynamics.quantities import MAX_POINTS

from ..choice import CHAIN, FAMILIES, Chosen, summary
from ..files import check_ours, marked
from ..outputs import check_outputs, subtitle, table, write_outputs
from .options import ModelGroup, asked, choose_model, force_option, model_options, refusals, with_settings, wrote
from .progress import working

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Points that a table, JSON or exact arithmetic can carry.
MAX_PRINTED = 100_000
MAX_EXACT = 2_000
MAX_EXACT_WINDOW = 60
#: Rationals of a chain whose digits do not follow from its window.
MAX_EXACT_CELLS = 200_000
#: Digits that an exact result may have in all: 200 MB.
MAX_DIGITS = 200_000_000
#: States x points of one sweep (16 bytes each while it is written): about 4 GB.
MAX_CELLS = 250_000_000

#: Numbers of a law over states that are kept; beyond, a chain that can be followed along its loss gives what an
#: observer counts alone.
MAX_LAW = 5_000_000

#: The readings of Fig. 8 by the letters that the theory gives them.
_LETTERS = {"A": "full", "B": "fresh", "L": "levels"}

_EXAMPLES = {
    "sub-packet": ["--loss 0.05:0.45:9", "--loss 0.1,0.6 --model exact --json"],
    "sender": [
        "--sender tahoe --rules rfc --window 2 --loss 0.05:0.45:9",
        "--sender sack --rules rfc --window 6 --loss 1%:50%:1000000 --output sack.nc",
    ],
}

#: What stands above a table of distributions, unless a model says otherwise.
HEADING = "Probability of n packets sent in an epoch (one RTT), and the mean number of packets sent per RTT"


def build(name: str) -> click.Command:
    """`stationary NAME`."""
    text = f"{summary(name, CHAIN)}\n\n"
    if name in FAMILIES:
        text += 'The chains of Chen, Iyengar, Subramanian and Ford, "TCP Behavior in Sub-Packet Regimes".\n\n'
    text += (
        "One row a loss rate: the probability that 0, 1, ..., W packets are sent in an epoch (one RTT), and their mean."
    )
    if name in _EXAMPLES:
        text += "\n\n\b\n" + "\n".join(f"tcpdynamics stationary {name} {words}" for words in _EXAMPLES[name])
    command = click.Command(name, callback=_runner(name), help=text, short_help=summary(name, CHAIN))
    command.params += model_options(name, CHAIN)
    if name in FAMILIES:
        command.params[0] = click.Option(
            ["--model"],
            type=click.Choice(list(FAMILIES[name].readings)),
            default=FAMILIES[name].default,
            show_default=True,
            help="Fig. 7, Fig. 8 (as printed, fresh timeouts, exact levels), or a state for each backoff level.",
        )
        command.params.append(
            click.Option(
                ["--interpretation", "reading"],
                type=click.Choice(list(_LETTERS)),
                help="Interpretation of Fig. 8: A is --model full, B is fresh, L is levels.",
            )
        )
    command.params += [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of a table."),
        click.Option(
            ["--output"],
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE",
            help="Write x.nc, x.html or x.png instead of printing; may be repeated.",
        ),
        click.Option(["--exact"], is_flag=True, help="Rationals a/b instead of floating-point numbers."),
    ]
    return force_option(command)


stationary = ModelGroup(
    "stationary",
    build=build,
    views=CHAIN,
    help="Stationary distribution of a Markov chain, at one parameter or over a grid.",
)


def _runner(name: str) -> Callable[..., None]:
    def run(as_json: bool, output: tuple[Path, ...], exact: bool, force: bool, **texts: Any) -> None:
        _check_names(output, force)
        kind = texts.pop("model", name)
        max_points = MAX_EXACT if exact else MAX_POINTS if output else MAX_PRINTED
        with refusals({"reading": "--model"}):
            texts["reading"] = _reading(kind, texts.get("reading"))
            chosen = _chosen(name, texts, max_points, exact)
        ranges = sum(len(values) > 1 for values in chosen.swept.values())
        check_outputs(output, chosen.points, ranges, 1, False, marked(_what(chosen), asked()) if output else "", force)
        solved = None if output or exact else _from_disk(chosen)
        if solved is None:
            law, counts = _solve(chosen, exact)
            solved = _of_results(law, counts)
        if output:
            merged = counts if law is None else _as_floats(law.merge(counts, combine_attrs="override"))
            title = _title(kind, chosen)
            write_outputs(output, with_settings(merged), lambda: _figure(law, counts), title, wrote)
        if as_json:
            click.echo(json.dumps(document(kind, chosen, solved, exact)))
        elif not output:
            click.echo(_title(kind, chosen))
            if hasattr(chosen.model, "about"):
                click.echo(chosen.model.about())
            click.echo(getattr(chosen.model, "heading", lambda: HEADING)())
            click.echo(table(_rows(chosen, solved, exact)))

    return run


def _check_names(paths: Sequence[Path], force: bool) -> None:
    """Refuse names that cannot be written before a chain is explored, which takes its time."""
    for path in paths:
        if path.suffix.lower() not in (".nc", ".html", ".png"):
            raise OutputError(f"cannot write {path}: give a name that ends in .nc, .html or .png")
        check_ours(path, force)


def _what(chosen: Chosen) -> str:
    """What a file holds, in the words of `files.holding`."""
    return f"stationary of {chosen.model.chain().name}"


def _figure(law: xr.Dataset | None, counts: xr.Dataset) -> go.Figure:
    """What an observer counts against the parameter; of one point, the law of the states."""
    from tcpdynamics.charts import plot

    counts = counts.squeeze([d for d in counts["packets_per_rtt"].dims if counts.sizes[str(d)] == 1])
    if law is None or counts["packets_per_rtt"].dims:
        return plot(counts)
    return plot(law.squeeze([d for d in law.probability.dims if d != "state"]))


def _reading(kind: str, letter: str | None) -> str:
    if letter not in (None, "A") and kind != "full":
        raise click.UsageError(f"--interpretation belongs to --model full, not to {kind}")
    return _LETTERS[letter or "A"] if kind == "full" else kind


def _chosen(name: str, texts: Mapping[str, Any], most: int, exact: bool) -> Chosen:
    """The model; refuses exact results and chains that are too large, before anything is computed."""
    from tcpdynamics.errors import InputError

    try:
        with working("making the chain"):
            chosen = choose_model(name, texts, views=CHAIN, most=most, exact=exact)
    except InputError as error:
        hint = "; --output FILE.nc takes more" if f"at most {MAX_PRINTED:,}" in str(error) else ""
        raise InputError(f"{error}{hint}".replace("SubPacketExact", "--model exact")) from None
    if exact:
        _check_digits(chosen)
    states = _states(chosen)
    if states * chosen.points > MAX_CELLS and not _is_followed(chosen):
        raise LimitError(
            f"{chosen.points:,} points of a chain with {states} states are {states * chosen.points:,} numbers, at "
            f"most {MAX_CELLS:,} fit; ask for fewer points"
        )
    return chosen


def _states(chosen: Chosen) -> int:
    model = chosen.model
    return len(model.states() if hasattr(model, "structure") else chosen.problem.labels)


def _is_followed(chosen: Chosen) -> bool:
    """Whether there are so many points that the chain is followed along its loss, as its model can."""
    too_many = _states(chosen) * chosen.points > MAX_LAW
    return too_many and hasattr(chosen.model, "observe_along") and list(chosen.swept) == ["loss"]


def _check_digits(chosen: Chosen) -> None:
    """Refuse exact results that take too long, or would be too much to print; the digits of a law grow with W^2."""
    if chosen.name not in FAMILIES and not hasattr(chosen.model, "w_max"):
        return _check_exact_cells(chosen)
    w_max = chosen.model.w_max
    if w_max > MAX_EXACT_WINDOW:
        raise LimitError(
            f"--exact takes --w-max up to {MAX_EXACT_WINDOW}, got {w_max}: beyond, rationals have millions of digits"
        )
    longest = max(max(x.numerator, x.denominator).bit_length() for values in chosen.swept.values() for x in values)
    bits = longest * (w_max**2 / 1.9 + 3 * w_max)
    digits = int(0.30103 * bits)
    numbers = 2 * (w_max + 12) * chosen.points
    if 2 * digits * numbers > MAX_DIGITS:
        raise LimitError(
            f"--exact would give {numbers:,} rationals of up to {digits:,} digits each, at most {MAX_DIGITS:,} digits "
            "are allowed in all; ask for fewer points, a smaller --w-max or shorter loss rates"
        )
    check_work(f"{chosen.points:,} exact points", 0.6 * numbers * bits**2, "ask for fewer points or a smaller --w-max")


def _check_exact_cells(chosen: Chosen) -> None:
    """Refuse more rationals than a page can show; how long they are the solver sees at the first point."""
    numbers = len(chosen.problem.labels) * chosen.points
    if numbers > MAX_EXACT_CELLS:
        raise LimitError(
            f"--exact would give {numbers:,} rationals ({len(chosen.problem.labels):,} states at {chosen.points:,} "
            f"points), at most {MAX_EXACT_CELLS:,} are given; ask for fewer points or a smaller --window"
        )


def _solve(chosen: Chosen, exact: bool) -> tuple[xr.Dataset | None, xr.Dataset]:
    """The law of the states, and what an observer counts, over the grid in the order of the words.

    Of a chain that is followed along its loss there is no law.
    """
    from tcpdynamics.solvers.markov.stationary import stationary as solve

    if _is_followed(chosen):
        with working(f"following {chosen.points:,} chains of {len(chosen.problem.labels):,} states"):
            return None, chosen.model.observe_along()
    with working(f"solving {_chains(chosen)}"):
        law = solve(chosen.problem, exact=exact, throw=True)
        counts = chosen.model.observe(law)
    return law.transpose(*chosen.swept, ...), counts.transpose(*chosen.swept, ...)


def _chains(chosen: Chosen) -> str:
    return f"{'one chain' if chosen.points == 1 else f'{chosen.points:,} chains'} of {_states(chosen):,} states"


class Distributions(NamedTuple):
    """What is printed, over the grid in the order of the words.

    Attributes
    ----------
    states : labels; none of a chain that is followed along its loss
    probability : (..., states), if there are labels
    sent : (..., packets) as in a model's `observe`
    mean : (...) packets per RTT
    """

    states: Sequence[str]
    probability: Any
    sent: Any
    mean: Any


def _of_results(law: xr.Dataset | None, counts: xr.Dataset) -> Distributions:
    sent, mean = counts.sent.transpose(..., "packets").values, counts.packets_per_rtt.values
    if law is None:
        return Distributions((), None, sent, mean)
    return Distributions([str(s) for s in law.state.values], law.probability.transpose(..., "state").values, sent, mean)


def _from_disk(chosen: Chosen) -> Distributions | None:
    """The same by a program that is kept on disk, without SymPy and xarray; None where it cannot be or a point failed.

    The model has checked that its parameters lie inside their domains.
    """
    import inspect

    import numpy as np

    from tcpdynamics.solvers.markov.stationary import distribution_at

    model, shape = chosen.model, tuple(len(values) for values in chosen.swept.values())
    if not hasattr(model, "structure"):
        return None
    grid = dict(zip(chosen.swept, np.meshgrid(*chosen.swept.values(), indexing="ij"), strict=True))
    values = {
        symbol: np.ravel(grid[name]) if name in grid else float(getattr(model, name))
        for name, symbol in model.symbol_names.items()
        if getattr(model, name) is not None
    }
    with working(f"solving {_chains(chosen)}"):
        sources = Path(inspect.getfile(type(model))).parent
        probability = distribution_at(model.structure(), sources, model.chain, values, chosen.points)
    if probability is None:
        return None
    sent, window, resent = model.sent_by(probability)
    mean = (window + resent).reshape(shape)
    return Distributions(list(model.states()), probability.T.reshape(*shape, -1), sent.reshape(*shape, -1), mean)


def document(kind: str, chosen: Chosen, solved: Distributions, exact: bool) -> dict[str, Any]:
    """The documented JSON: one row a loss rate, in the order of the words; more ranges nest. No law, no states."""

    def numbers(values: Any) -> Any:
        if isinstance(values, list):
            return [numbers(v) for v in values]
        return _text(values) if exact else values

    parameters = {k: v for k, v in chosen.model.provenance().items() if k not in chosen.swept}
    parameters = {k: float(v) if isinstance(v, Fraction) else v for k, v in parameters.items()}
    of_states = {"states": solved.states, "probability": numbers(solved.probability.tolist())} if solved.states else {}
    return {
        "model": kind,
        "parameters": {"class": type(chosen.model).__name__, **parameters},
        **{k: numbers(list(v)) if exact else [float(x) for x in v] for k, v in chosen.swept.items()},
        **of_states,
        "sent": numbers(solved.sent.tolist()),
        "packets_per_rtt": numbers(solved.mean.tolist()),
    }


def _title(kind: str, chosen: Chosen) -> str:
    ones = [f"{k} = {float(v[0]):g}" for k, v in chosen.swept.items() if len(v) == 1]
    if hasattr(chosen.model, "words"):
        return "; ".join([chosen.problem.name, chosen.model.words(), *ones])
    if chosen.name not in FAMILIES:
        return ", ".join([subtitle(chosen), *ones])
    labels = {
        "w_max": "W_max = {:g}",
        "base_timeout": "T0 = {:g} RTT",
        "stages": "stages {:g}",
        "backoff_cap": "backoff cap {:g}",
        "collapse": "collapse after {:g}",
    }
    model = chosen.model
    parameters = [
        label.format(float(getattr(model, name)))
        for name, label in labels.items()
        if hasattr(model, name) and name not in chosen.swept
    ]
    return ", ".join([f"Sub-packet chain, {kind} model ({type(model).__name__}; {', '.join(parameters)})", *ones])


def _rows(chosen: Chosen, solved: Distributions, exact: bool) -> list[list[str]]:
    import itertools

    show: Callable[[Any], str] = _text if exact else (lambda x: f"{x:.4f}")
    packets = solved.sent.shape[-1]
    rows = [[*chosen.swept, *(f"{n} sent" for n in range(packets)), "packets/RTT"]]
    places = itertools.product(*chosen.swept.values())
    for place, row, rate in zip(places, solved.sent.reshape(-1, packets), solved.mean.ravel(), strict=True):
        rows.append([*(_text(x) if exact else f"{float(x):.6g}" for x in place), *map(show, row), show(rate)])
    return rows


def _text(value: Any) -> str:
    rational = Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else Fraction(value)
    return f"{_digits(rational.numerator)}/{_digits(rational.denominator)}"


def _digits(number: int) -> str:
    """All digits: Python itself stops at 4,300."""
    return str(Decimal(number))


def _as_floats(result: xr.Dataset) -> xr.Dataset:
    """NetCDF holds no rationals: exact results are stored as the nearest floats and as text."""
    out = result
    for name, variable in result.data_vars.items():
        if variable.dtype == object:
            out = out.assign({name: variable.astype(float).assign_attrs(variable.attrs)})
            if name == "probability":
                out["probability_exact"] = variable.copy(data=_texts(variable.values))
    return out


def _texts(values: Any) -> Any:
    import numpy as np

    return np.vectorize(_text, otypes=[str])(values)
