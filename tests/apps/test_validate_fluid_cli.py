"""`tcpdynamics validate` against fluids: words, JSON, files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli
from tcpdynamics.paper_figures import ledger
from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons.study import Study


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, ["validate", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("logistic", "14 of 14 agree"),
        pytest.param("lotka-volterra", "24 of 24 agree", marks=pytest.mark.slow),
        ("t-refwa", "the interpretation “window”"),
        pytest.param("misra", "12 differ with the simplified one", marks=pytest.mark.slow),
    ],
)
def test_words(name: str, said: str) -> None:
    assert said in " ".join(run(name, "--quick").split())


def test_json_and_files(tmp_path: Path) -> None:
    store, page = tmp_path / "x.nc", tmp_path / "x.html"
    document = json.loads(run("logistic", "--quick", "--json", "--output", str(store), "--output", str(page)))
    assert document["comparison"] == "LogisticVsFluid"
    verdicts = document["results"]["verdict"]["values"]
    assert {v for row in verdicts for x in row for v in x} == {"agrees"}
    with xr.open_dataset(store, engine="h5netcdf") as kept:
        assert kept.critical.dims == ("epsilon",) and kept.attrs["comparison"] == "LogisticVsFluid"
    assert "Plotly.newPlot" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_models_beside_packets_are_followed_by_the_papers_claims() -> None:
    """A table of cases, then each claim of the paper that packets decide, from runs of now."""
    text = run("retransmission-priority", "--quick")
    table, claims = text.split("What the paper says of packets")
    assert "Packets beside models: " in table and "  drop-tail, 50 flows, split, chain alone  " in table
    assert "sub_packet.fig12.droptail: holds\n" in claims and "sub_packet.fig12.sfq: " in claims
    assert max(map(len, text.splitlines())) <= 110
    document = json.loads(run("retransmission-priority", "--quick", "--json"))
    assert [row["id"] for row in document["claims"]] == ["sub_packet.fig12.droptail", "sub_packet.fig12.sfq"]
    assert {row["setting"] for row in document["claims"]} == {"tiny"}
    assert document["results"]["measured"]["dims"] == ["case"] and "claims" not in document["results"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "paper"),
    [("leap", "leap"), ("mtcp", "mtcp"), ("t-refwa-packets", "t_refwa"), ("lotka-volterra-packets", "logistic")],
)
def test_all_of_a_papers_claims_in_packets_are_decided(name: str, paper: str) -> None:
    document = json.loads(run(name, "--quick", "--json"))
    in_packets = {claim.id for claim in ledger.claims(paper).values() if claim.decided_by == "packets"}
    assert {row["id"] for row in document["claims"]} == in_packets


def test_every_comparison_with_a_command_is_listed() -> None:
    """The list is read from the files as text: a new comparison is one file."""
    kinds = [getattr(comparisons, name) for name in comparisons.__all__]
    expected = {k.command: (k.__name__, issubclass(k, Study)) for k in kinds if k.command}
    assert {name: (c.kind, c.recorded) for name, c in comparisons.commands().items()} == expected
    assert all(10 < len(c.about) < 120 for c in comparisons.commands().values())


def test_a_store_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["validate", "misra", "--output", str(tmp_path / "x.zarr")])
    assert done.exit_code == 2 and "a store holds sweeps" in done.output
