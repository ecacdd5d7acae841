"""Pairs of stacks on four links: by recorded runs; live ones are slow and need the stacks."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.apps.explorer.pages.p8_stacks import facts
from tcpdynamics.errors import DomainError
from tcpdynamics.validation.comparisons import LinuxStacks
from tcpdynamics.validation.comparisons.engines import stored
from tcpdynamics.validation.comparisons.linux_stacks import KERNEL, LINKS, MEANINGS, QUANTITIES, RECORD, table
from tcpdynamics.validation.linux import TODAY, installed
from tcpdynamics.validation.linux.plan import plan
from tcpdynamics.validation.linux.stacks import stacks


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return LinuxStacks().run()


def test_the_whole_record_is_there_and_nothing_else() -> None:
    study = LinuxStacks()
    cells = study.cells()
    assert len(cells) == len(LINKS) * len(study.senders) * (len(study.senders) + 1) // 2
    names = {name for cell in cells.values() for name, _ in study.named_roots(cell)}
    assert names == set(stored(RECORD)["runs"]) and len(names) == len(cells) * study.seeds
    assert {len(values) for values in stored(RECORD)["runs"].values()} == {len(QUANTITIES)}
    assert set(stored(RECORD)["stacks"]) == set(stacks())


def test_what_is_measured_is_possible(result: xr.Dataset) -> None:
    runs = np.array(list(stored(RECORD)["runs"].values()))
    share, use, first, second, *delays = runs.T
    assert ((share > 0) & (share < 1) & (use > 0.5) & (use < 1.001)).all()
    assert ((first >= 0) & (first < 0.3) & (second >= 0) & (second < 0.3)).all()
    assert (np.diff(delays, axis=0) >= 0).all() and np.min(delays) > -1e-5
    full = {name: 8 * 1514 * buffer / 1e7 for name, (buffer, words) in LINKS.items() if not words}
    for link, bound in full.items():
        assert float(result.queueing_delay.sel(link=link).max()) <= bound


def test_the_two_of_a_pair_share_the_whole(result: xr.Dataset) -> None:
    turned = result.rename(sender="beside", beside="sender")
    for link in LINKS:
        for sender in result.sender.values:
            unlike = [name for name in result.beside.values if name != sender]
            one, other = (data.sel(link=link, sender=sender, beside=unlike) for data in (result, turned))
            np.testing.assert_allclose(one.share + other.share, 1.0)
            np.testing.assert_allclose(one.share_low + other.share_high, 1.0)
            np.testing.assert_allclose(one.queueing_delay, other.queueing_delay)
    assert ((result.share_low <= result.share) & (result.share <= result.share_high)).all()


def test_verdicts_follow_their_rule(result: xr.Dataset) -> None:
    farthest = np.maximum(abs(result.share_low - 0.5), abs(result.share_high - 0.5))
    assert ((result.verdict == "agrees") == (farthest <= 0.05)).all()
    assert set(result.verdict.values.ravel()) <= set(MEANINGS)
    assert all(f"{verdict}: {meaning}" in LinuxStacks.rule for verdict, meaning in MEANINGS.items())
    assert ((result.verdict == "differs") == ((result.share_low > 0.6) | (result.share_high < 0.4))).all()


def test_equal_senders_share_equally_but_for_what_chance_allows(result: xr.Dataset) -> None:
    """Of 36 intervals at 95 % some miss one half by chance: 6 or more with a probability of 1 %."""
    missed = sum(
        not one.share_low <= 0.5 <= one.share_high
        for link in LINKS
        for one in (result.sel(link=link, sender=name, beside=name) for name in result.sender.values)
    )
    assert missed < 6


def test_queues_for_each_flow_share_equally_and_bbr_takes_most_of_a_short_buffer(result: xr.Dataset) -> None:
    fair = result.verdict.sel(link="FQ-CoDel")
    assert float((fair == "agrees").mean()) > 0.8
    others = [name for name in result.sender.values if name != "bbr"]
    assert (result.share_low.sel(link="drop-tail, 0.5 BDP", sender="bbr", beside=others) > 0.7).all()


def test_what_the_document_finds_is_in_the_record(result: xr.Dataset) -> None:
    """BBR's shares, those of four stacks beside the kernel's CUBIC, and the programs that use it, in whole percents."""
    shares = (100 * result.share).round().astype(int)
    others = [name for name in result.sender.values if name != "bbr"]
    bbr = shares.sel(sender="bbr", beside=others)
    short, long = bbr.sel(link="drop-tail, 0.5 BDP"), bbr.sel(link="drop-tail, 2 BDP")
    assert (int(short.min()), int(short.max())) == (85, 89) and (int(long.min()), int(long.max())) == (57, 74)
    found = {name: shares.sel(sender=name, beside="cubic").values[:2].tolist() for name in others}
    assert [found[name] for name in ("aioquic", "quic-go", "ngtcp2", "quinn")] == [
        [69, 62],
        [62, 53],
        [54, 65],
        [46, 43],
    ]
    assert (abs(result.share.sel(sender="cubic", beside=["iperf3", "nginx"]) - 0.5) < 0.11).all()


def test_text_figure_page_and_documents_have_the_records_numbers(result: xr.Dataset) -> None:
    text = LinuxStacks.paragraph(result)
    assert all(link in text for link in LINKS) and "Linux as recorded with Linux 7" in text
    picture = LinuxStacks.figure(result)
    assert len(picture.data) == 4 and picture.data[0].z[0][8] == pytest.approx(100 * float(result.share[0, 0, 8]))
    made = runpy.run_path(str(Path(__file__).parents[2] / "docs/_ext/measured.py"))["shares"]()["stacks"]
    of_page, of_command = (re.findall(r"(\d+) ?± ?(\d+)", "\n".join(lines)) for lines in (made, table(result)))
    assert of_page == of_command and len(of_page) == result.share.size
    cells = facts()["cells"]["CoDel"]
    assert cells[3][7]["share"] == round(float(result.share.sel(link="CoDel", sender="quinn", beside="cubic")), 8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"senders": ("pigeon",)}, "senders must list some of aioquic; .*bbr, got 'pigeon'"),
        ({"links": ("a tin can",)}, "links must list some of drop-tail, 0.5 BDP; .*, got 'a tin can'"),
        ({"seeds": 1}, "seeds must be at least 2"),
        ({"links": ()}, "links must list 1 to"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        LinuxStacks(**settings)  # type: ignore[arg-type]


def test_cells_are_pairs_on_links_in_linuxs_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for (link, first, second), cell in LinuxStacks(senders=KERNEL).cells().items():
        made = plan(
            cell.scenario, 1, TODAY, cell.controls, {"bottleneck": cell.discipline} if cell.discipline else None
        )
        assert [flow.control for flow in made.flows] == [first, second]
        assert ("codel" in " ".join(made.wires[0].lines)) == ("CoDel" in link)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("cubic", "bbr"), ("quinn", "cubic"), ("aioquic", "quic-go"), ("ngtcp2", "nginx")])
def test_a_run_of_now_is_the_recorded_one(pair: tuple[str, str]) -> None:
    if not installed() or not all(name in KERNEL or stacks()[name].built for name in pair):
        pytest.skip("Linux or a stack is not built")
    study = LinuxStacks(senders=("aioquic", "ngtcp2", "quic-go", "quinn", "iperf3", "nginx", *KERNEL))
    for link in ("drop-tail, 2 BDP", "FQ-CoDel"):
        label = next(one for one in study.cells() if one[0] == link and set(one[1:]) == set(pair))
        cell = study.cells()[label]
        seed = study.roots()[0]
        measured, _ = study._run_judge(label, cell, seed)
        runs = np.array([stored(RECORD)["runs"][name] for name, _ in study.named_roots(cell)])
        assert study.packed(measured) == runs[0].tolist()
