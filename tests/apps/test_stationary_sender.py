"""`stationary sender`: tables, JSON, files and rationals of the sender's own chain, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

WORDS = ("stationary", "sender", "--sender", "tahoe", "--rules", "rfc", "--window", "2")


def test_a_table_and_json_say_the_same(answer: Callable[..., str]) -> None:
    text = answer(*WORDS, "--loss", "0.05:0.45:3")
    assert "sender chain: tahoe (rfc), window 2" in text and "435 states of the simulator" in text
    rows = [line.split() for line in text.splitlines()[4:]]
    document = json.loads(answer(*WORDS, "--loss", "0.05:0.45:3", "--json"))
    assert [float(row[-1]) for row in rows] == pytest.approx(document["packets_per_rtt"], abs=5e-5)
    assert len(document["states"]) == len(document["probability"][0])
    exact = json.loads(answer(*WORDS, "--loss", "1/4", "--json", "--exact"))
    assert sum(float(a) / float(b) for a, b in (x.split("/") for x in exact["sent"][0])) == pytest.approx(1)


def test_a_million_loss_rates_go_to_a_file(answer: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    answer(*WORDS, "--loss", "1%:50%:1000000", "--output", str(path))
    with xr.open_dataset(path, engine="h5netcdf") as held:
        assert held.sizes["loss"] == 1_000_000 and "probability" not in held
        total = held.sent.isel(loss=slice(None, None, 1000)).sum("packets")
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)
        assert held.attrs["series_error"] <= 2e-13
        assert json.loads(held.attrs["parameters"])["loss"] == {"first": 0.01, "last": 0.5, "count": 1_000_000}


def test_several_files_at_once(answer: Callable[..., str], tmp_path: Path) -> None:
    paths = [tmp_path / "x.nc", tmp_path / "x.html"]
    answer(
        *WORDS, "--loss", "0.1", "--retransmission-loss", "0.1:0.3:3", *(w for p in paths for w in ("--output", str(p)))
    )
    assert all(path.stat().st_size > 1000 for path in paths)
    assert "loss probability of retransmissions" in paths[1].read_text()


def test_a_stranger_s_file_is_refused_before_the_chain_is_explored(refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    path.write_text("mine")
    assert "tcpdynamics did not write it" in refused(*WORDS, "--loss", "2", "--output", str(path))
    assert path.read_text() == "mine"


def test_the_heading_says_what_is_in_force(answer: Callable[..., str]) -> None:
    text = answer("stationary", "sender", "--window", "5", "--sender", "reno", "--loss", "0.1")
    assert "clock with a tick of 0.25 RTT, windows that behave alike through 2 halvings are one" in text
    assert "most states" not in text


def test_losses_of_acknowledgements_and_of_what_is_sent_again(answer: Callable[..., str]) -> None:
    words = (*WORDS[:-1], "1", "--backoff-cap", "1", "--loss", "0.1")
    kept = json.loads(answer(*words, "--retransmission-loss", "0.1,0.3", "--json"))
    same = json.loads(answer(*words, "--json"))
    assert kept["packets_per_rtt"][0][0] == pytest.approx(same["packets_per_rtt"][0])
    assert kept["packets_per_rtt"][0][1] < kept["packets_per_rtt"][0][0]
    assert "goodput" not in kept
    lost = json.loads(answer(*words, "--ack-loss", "10%", "--json"))
    assert lost["packets_per_rtt"][0] < same["packets_per_rtt"][0]


@pytest.mark.parametrize(
    "words, says",
    [
        (("--window", "0"), "--window must be a whole number in [1, 12], got 0"),
        (("--window", "13"), "--window must be a whole number in [1, 12], got 13"),
        (("--halvings", "1/3"), "--halvings must be a whole number in [0, 6]"),
        (("--tick", "4"), "--tick must be at most the timeout of 2 RTT"),
        (("--output", "x.svg"), "cannot write x.svg: give a name that ends in .nc, .html or .png"),
        (("--window", "2,3"), "--window takes one whole number"),
        (("--sender", "foo"), "'tahoe', 'reno', 'newreno', 'sack'"),
        (("--rules", "bsd"), "'ns2', 'rfc'"),
        (("--timeout", "2.3"), "--timeout must be a multiple of 1/8"),
    ],
)
def test_one_sentence_says_what_is_wrong(refused: Callable[..., str], words: tuple[str, ...], says: str) -> None:
    kept = [w for w in zip(WORDS[2::2], WORDS[3::2], strict=True) if w[0] not in words]
    assert says in refused(*WORDS[:2], *(x for pair in kept for x in pair), *words, "--loss", "0.1")


@pytest.mark.parametrize("loss", ["0", "1", "1.5", "nan", "0.1:0.2:0", "-0.1"])
def test_loss_rates_outside_are_refused(refused: Callable[..., str], loss: str) -> None:
    assert "--loss" in refused(*WORDS, f"--loss={loss}")
