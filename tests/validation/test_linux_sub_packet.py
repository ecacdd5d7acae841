"""The sub-packet paper's figures on Linux, by recorded runs, beside simulator and chains; live ones are slow."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError, NoRecordError, ScenarioError
from tcpdynamics.paper_figures import rules
from tcpdynamics.paper_figures.sub_packet import today
from tcpdynamics.paper_figures.sub_packet.measures import first_forty, jain_20, locked_out
from tcpdynamics.validation.comparisons import LinuxSubPacket, crowded_figures
from tcpdynamics.validation.comparisons.crowded_laws import CHAINS, compiled_law, printed_law
from tcpdynamics.validation.comparisons.crowded_links import (
    GOODPUTS,
    HANGS,
    LAW,
    LINKS,
    PARTS,
    QUANTITIES,
    hangs,
    packets_in_epochs,
    quantities,
)
from tcpdynamics.validation.comparisons.engines import LINUX, stored
from tcpdynamics.validation.comparisons.linux_sub_packet import OURS, RECORD, SENDERS
from tcpdynamics.validation.comparisons.packets_vs_linux import LINUX_SENDERS
from tcpdynamics.validation.linux import TODAY, installed
from tcpdynamics.validation.linux.plan import plan
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate

BUSY = "1 Mbit/s, 100 flows"
FEW = ("1 Mbit/s, 40 flows", BUSY, "RTTs 200 to 400 ms, 100 flows", "gateway, SFQ", "gateway, SFQ, priority")


@pytest.fixture(scope="module")
def few() -> xr.Dataset:
    return LinuxSubPacket(links=FEW, ours=2).run()


def of_record(made: LinuxSubPacket) -> dict[tuple[str, str], list[str]]:
    """Keys of the runs of each cell of Linux."""
    cells = {label: cell for label, cell in made.cells().items() if cell.engine is LINUX}
    return {label: [name for name, _ in made.named_roots(cell)] for label, cell in cells.items()}


def of_linux(result: xr.Dataset) -> xr.Dataset:
    return result.sel(sender=list(LINUX_SENDERS), link=[name for name in FEW if "priority" not in name])


def test_shares_are_shares_and_laws_sum_to_one(few: xr.Dataset) -> None:
    known = few["mean"].stack(case=("link", "sender")).dropna("case")
    np.testing.assert_allclose(known.sel(quantity=list(LAW)).sum("quantity"), 1.0, atol=5e-5)
    np.testing.assert_allclose(few.predicted.sum("packets", skipna=False).stack(x=[...]).dropna("x"), 1.0, atol=1e-9)
    shares = known.sel(quantity=[name for name, unit in QUANTITIES.items() if unit == "1"])
    ends = 2e-4  # what a link carries may begin with a packet that was sent before
    assert (shares >= 0).all() and (shares <= 1.0 + ends).all()
    parts = known.sel(quantity=[f"goodput of the {name}" for name in PARTS.values()])
    np.testing.assert_allclose(parts.sum("quantity"), 1.0, atol=5e-5)
    assert (parts.diff("quantity") <= 0).all()


def test_quantiles_rise_and_intervals_hold_their_means(few: xr.Dataset) -> None:
    known = few["mean"].stack(case=("link", "sender")).dropna("case")
    for names in (GOODPUTS, HANGS):
        assert (known.sel(quantity=list(names)).diff("quantity") >= 0).all()
    part = of_linux(few)
    assert (part.mean_low <= part["mean"]).all() and (part["mean"] <= part.mean_high).all()
    assert ((part.distance >= part.distance_low) & (part.distance <= part.distance_high)).all()
    assert ((part.distance >= 0) & (part.distance <= 1)).all()
    assert (part.runs == 20).all() and (few.runs.sel(sender=list(OURS)) == 2).all()


def test_a_shorter_window_and_a_smaller_share_are_less_fair(few: xr.Dataset) -> None:
    mean = of_linux(few)["mean"]
    assert (mean.sel(quantity="Jain's index, 5 s") < mean.sel(quantity="Jain's index, 20 s")).all()
    assert (mean.sel(quantity="Jain's index, 20 s") <= mean.sel(quantity="Jain's index, whole run")).all()
    loss = mean.sel(quantity="loss rate")
    assert (loss.sel(link=BUSY) > loss.sel(link="1 Mbit/s, 40 flows")).all()
    pooled, alone = (few["mean"].sel(quantity=name) for name in ("longest hang of four flows, median", HANGS[2]))
    assert (pooled <= alone).where(np.isfinite(pooled), True).all()


def test_what_linux_has_not_is_left_out(few: xr.Dataset) -> None:
    gone = few.sel(link="gateway, SFQ, priority")
    assert gone["mean"].sel(sender=list(LINUX_SENDERS)).isnull().all()
    assert gone["mean"].sel(sender=list(OURS)).notnull().all()
    assert (gone.verdict.sel(sender=list(LINUX_SENDERS)) == "no answer").all()
    with pytest.raises(ScenarioError, match=r"bottleneck\.priority"):
        plan(LINKS["gateway, drop-tail, priority"].scenario({}), 1, TODAY)


def test_the_whole_record_is_there_and_nothing_else() -> None:
    names = {name for runs in of_record(LinuxSubPacket()).values() for name in runs}
    assert names == set(stored(RECORD)["runs"])
    assert {len(values) for values in stored(RECORD)["runs"].values()} == {len(QUANTITIES)}
    assert len(names) == 80 * sum(link.discipline is not None for link in LINKS.values())


def test_the_table_has_the_means_of_the_record(few: xr.Dataset) -> None:
    for (link, sender), runs in of_record(LinuxSubPacket(links=FEW)).items():
        each = np.array([stored(RECORD)["runs"][name] for name in runs])
        np.testing.assert_allclose(few["mean"].sel(link=link, sender=sender), each.mean(axis=0), rtol=1e-12)


def test_the_generated_tables_have_the_means_of_the_record(few: xr.Dataset) -> None:
    cells_of = runpy.run_path(str(Path(__file__).parents[2] / "docs/_ext/measured.py"))["cells"]
    for quantity in ("Jain's index, 20 s", "loss rate"):
        at = list(QUANTITIES).index(quantity)
        for (link, sender), runs in of_record(LinuxSubPacket(links=FEW)).items():
            cell = cells_of(few.sel(link=link), quantity)[list(LINUX_SENDERS).index(sender)]
            mean = np.mean([stored(RECORD)["runs"][name][at] for name in runs])
            assert float(cell.split(" ")[0]) == pytest.approx(mean, abs=0.005 + 1e-9)


def test_measures_are_those_of_the_papers_experiments() -> None:
    link = LINKS["500 kbit/s, 50 flows"]
    run = simulate(link.scenario({}), 3)
    found = dict(zip(QUANTITIES, quantities(run, link), strict=True))
    others = {
        "Jain's index, 20 s": jain_20, "locked out for 20 s": locked_out, "goodput of the richest 40 %": first_forty,
    }  # fmt: skip
    for name, function in others.items():
        assert found[name] == pytest.approx(function(run))
    assert found[HANGS[2]] == pytest.approx(np.median(hangs(run, link.scenario({}))))


def test_packets_are_counted_in_each_flows_own_epochs() -> None:
    """As the simulator counts them, where all epochs are alike."""
    link = LINKS["gateway, drop-tail"]
    run = simulate(link.scenario({}), 3)
    law, silent = packets_in_epochs(run, link)
    epochs = run["epochs"].sum("flow").values.astype(float)
    expected = np.append(epochs[:6], epochs[6:].sum()) / epochs.sum()
    np.testing.assert_allclose(law, expected, atol=2e-3)
    assert silent.mean() == pytest.approx(law[0])
    mixed = LINKS["RTTs 200 to 400 ms, 100 flows"].epochs
    assert mixed[0] == pytest.approx(0.4) and mixed[-1] == pytest.approx(0.6) and len(mixed) == 100


def test_chains_give_laws_where_there_are_chains() -> None:
    losses = np.array([0.05, 0.2, 0.45])
    for law in (printed_law, compiled_law):
        found = law(losses)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert (found >= 0).all() and (np.diff(found[:, 0]) > 0).all()
    assert np.isnan(printed_law(np.array([0.5]))).all() and np.isnan(compiled_law(np.array([0.0]))).all()


def test_each_claim_is_decided_by_the_ledgers_range(few: xr.Dataset) -> None:
    for one in today.STATEMENTS:
        for found in today.answers(one, few).values():
            within = one.of_ledger.range
            if found.verdict == rules.HOLDS and one.of_ledger.rule == rules.MEAN:
                assert within.holds(found.interval.low) and within.holds(found.interval.high)
            if found.verdict == rules.FAILS:
                assert not within.holds(found.interval.mean)
    gain = next(one for one in today.STATEMENTS if one.claim == "fig12.sfq")
    assert {today.answers(gain, few)[name].verdict for name in LINUX_SENDERS} == {rules.OPEN}
    assert len(today.table(few)) == len(SENDERS) + 1 + len(today.STATEMENTS)


def test_words_and_figures_come_from_the_result(few: xr.Dataset) -> None:
    text = LinuxSubPacket.paragraph(few)
    assert str(stored(RECORD)["kernel"]) in text and "gateway, SFQ, priority: simulator" in text and "nan" not in text
    assert len(crowded_figures.goodputs(few).data) == len(SENDERS) + 1  # one panel here
    assert len(crowded_figures.laws(few).data) == 6 * (len(CHAINS) + len(SENDERS))
    assert len(crowded_figures.distances(few).data) >= len(CHAINS) * len(SENDERS)
    assert len(crowded_figures.longest_hangs(few).data) == 2 * len(SENDERS)
    assert len(crowded_figures.gateways(few).data) == len(SENDERS)
    assert len(LinuxSubPacket.figure(few).data) >= len(SENDERS)


def test_jitter_of_linux_is_that_of_acknowledgements() -> None:
    made = plan(LINKS[BUSY].scenario({}), 1, TODAY)
    assert sum("netem delay 102000.0us 2000.0us" in line for wire in made.wires for line in wire.lines) == 1
    late = Scenario((Flows(2, jitter=0.005, rtt=0.1, packet_size=500),), Bottleneck(1e6, 50))
    with pytest.raises(ScenarioError, match=r"flows.jitter.*at most the sending time of a packet, 0.004 s, got 0.005"):
        plan(late, 1, TODAY)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"links": ()}, "links must list"),
        ({"links": ("the moon",)}, "links must list some of"),
        ({"seeds": 1}, "seeds must be at least 2"),
        ({"ours": 1}, "ours must be at least 2"),
    ],
)
def test_bad_settings(settings: dict, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        LinuxSubPacket(**settings)


def test_a_run_that_is_not_recorded_is_said_to_be_none() -> None:
    with pytest.raises(NoRecordError, match="no record of Linux for 1 Mbit/s, 100 flows with seed"):
        LinuxSubPacket(links=(BUSY,), seed=2).run()


@pytest.mark.slow
def test_linux_gives_what_was_recorded() -> None:
    """The same bytes, so the same digits; two runs of each sender on two links, one with a discipline of its own."""
    if not installed():
        pytest.skip("Linux as judge is not built")
    found = LinuxSubPacket(links=("500 kbit/s, 50 flows", "gateway, SFQ"), seeds=2).record()
    if found["options"] != stored(RECORD)["options"]:
        pytest.skip("another kernel than that of the record")
    assert len(found["runs"]) == 16
    for name, values in found["runs"].items():
        assert values == stored(RECORD)["runs"][name]


@pytest.mark.slow
def test_by_linuxs_rules_most_quantities_are_linuxs() -> None:
    """A sender by the RFCs fails this by far."""
    two = LinuxSubPacket(links=("RTTs 200 to 400 ms, 100 flows",)).run()
    holds = ((two.low <= 0) & (two.high >= 0)).sum("quantity")
    assert two.sizes["pair"] == 3 and (holds >= 30).all()
    rfc = two["mean"].sel(sender="simulator, RFCs", quantity="loss rate")
    linux = two["mean"].sel(sender="Linux, switches off", quantity="loss rate")
    assert (linux - rfc > 0.04).all()


def test_the_simulators_chance_is_on_the_way_back() -> None:
    link = LINKS["RTTs 200 to 400 ms, 100 flows"]
    made = link.simulated({})
    assert all(group.jitter == 0.0 for group in made.flows)
    late = {one.name: one.jitter for one in made.links if one.jitter}
    assert list(late.values()) == [link.scenario({}).flows[0].jitter]
    run = simulate(made, 1)
    np.testing.assert_allclose(np.sort(run["base_rtt"].values)[[0, -1]], [0.2, 0.4], atol=0.02)
