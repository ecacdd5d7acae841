"""`tcpdynamics figures --set` and the chains' parameters in `tcpdynamics validate sub-packet`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli
from tcpdynamics.validation.comparisons.sub_packet import PARAMETERS


def test_parameters_of_a_figure_are_set_by_name(tmp_path: Path, refused: Callable[..., str]) -> None:
    page = str(tmp_path / "fig8.html")
    words = ("figures", "logistic.fig8", "--output", page)
    assert CliRunner().invoke(cli, [*words, "--set", "points=5"]).exit_code == 0
    for setting, message in (
        ("point=5", "logistic.fig8 has no parameter 'point' (did you mean 'points'?); it has points"),
        ("points=five", "points must be a whole number in 2..100000, got 'five'"),
        ("points", "--set takes key=value, such as w_max=8, got 'points'"),
        ("points=__import__('os')", "points must be a whole number in 2..100000, got \"__import__('os')\""),
    ):
        assert message in refused(*words, "--force", "--set", setting)
    assert "it has none" in refused("figures", "logistic.fig1", "--output", page, "--force", "--set", "x=1")
    fig9 = ("figures", "sub-packet.fig9", "--quick", "--output", str(tmp_path / "fig9.html"), "--set")
    assert "it has flows, rate, " in refused(*fig9, "wmx=8")
    assert "w_max must be a whole number in [4, 1000], got 3" in refused(*fig9, "w_max=3")


CHAINS = {
    "w_max": ("8", 8),
    "base_timeout": ("3", 3.0),
    "retransmission_loss": ("10%", 0.1),
    "stages": ("5", 5),
    "backoff_cap": ("4", 4),
    "collapse": ("2", 2),
}


def test_validate_takes_the_parameters_of_the_chains(answer: Callable[..., str], monkeypatch) -> None:
    """Each option reaches the comparison; the text says which parameters are not the default ones."""
    from tcpdynamics.paper_figures.sub_packet import figures

    monkeypatch.setattr(figures, "_length", lambda quick: {"duration": 60.0, "warm_up": 20.0, "replications": 2})
    words = [w for name, (text, _) in CHAINS.items() for w in (f"--{name.replace('_', '-')}", text)]
    assert {*CHAINS, "early_retransmit", "suffix_losses"} == set(PARAMETERS)
    found = json.loads(
        answer("validate", "sub-packet", "--flows", "40", *words, "--early-retransmit", "--suffix-losses", "--json")
    )
    wanted = {name: value for name, (_, value) in CHAINS.items()} | {"early_retransmit": True, "suffix_losses": True}
    assert wanted.items() <= found["parameters"].items()
    assert found["paragraph"].startswith("The chains have w_max = 8, base_timeout = 3.0")


def test_verdicts_are_printed_also_where_they_are_written(
    answer: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tcpdynamics.paper_figures.sub_packet import figures

    short = {"duration": 60.0, "warm_up": 20.0, "replications": 2}
    monkeypatch.setattr(figures, "_length", lambda quick: short)
    text = answer("validate", "sub-packet", "--flows", "40", "--output", str(tmp_path / "v.nc"))
    assert "Total-variation distance" in text and (tmp_path / "v.nc").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--w-max", "2", "--w-max must be a whole number in [4, 1000], got 2"),
        ("--w-max", "6:8:3", "'6:8:3' is not a valid integer"),
        ("--collapse", "4", "--collapse must be a whole number in [1, 3], got 4"),
        ("--base-timeout", "1", "--base-timeout must lie in [2, 1e+06), got 1.0"),
        ("--retransmission-loss", "60%", "--retransmission-loss must lie in [0, 0.5), got 0.6"),
        ("--retransmission-loss", "much", "--retransmission-loss must be a number"),
    ],
)
def test_validate_refuses_what_the_chains_refuse(
    refused: Callable[..., str], option: str, value: str, message: str
) -> None:
    assert message in refused("validate", "sub-packet", "--quick", option, value)
