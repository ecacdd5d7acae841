"""One call from a prediction to a verdict: effects, intervals, verdicts, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics import models, plot
from tcpdynamics.errors import DomainError
from tcpdynamics.solvers import stationary
from tcpdynamics.validation import compare
from tcpdynamics.validation.comparisons import PredictionVsPackets
from tcpdynamics.validation.comparisons.prediction import QUANTITIES
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate
from tcpdynamics.validation.statistics import mean_interval


def runs_of(values: Any, **attrs: Any) -> xr.Dataset:
    return xr.Dataset({"x": ("replication", values)}, attrs=attrs)


@pytest.fixture(scope="module")
def runs() -> xr.Dataset:
    flows = Flows(count=4, sender="reno", rtt=0.2, window_limit=3, min_rto=0.4)
    link = Bottleneck(rate=1e9, buffer=None, loss=0.1)
    return replicate(Scenario((flows,), link, duration=120.0, warm_up=20.0), 4)


@pytest.mark.parametrize(
    ("spread", "prediction", "verdict"),
    [
        (0.001, 1.0, "agrees"),
        (0.001, 0.96, "agrees"),
        (0.001, 0.9, "differs"),
        (0.001, 1.1, "differs"),
        (0.5, 1.0, "undecided"),
        (0.05, 1.05, "undecided"),
        (0.001, np.nan, "no answer"),
    ],
)
def test_verdicts_follow_interval_and_tolerance(spread: float, prediction: float, verdict: str) -> None:
    result = compare(prediction, runs_of(1 + spread * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])), "x")
    assert result.verdict.item() == verdict


def test_the_interval_is_students_of_the_relative_gap() -> None:
    values = np.array([1.0, 1.2, 0.9, 1.3])
    result = compare(2.0, runs_of(values), "x", level=0.9)
    expected = mean_interval(xr.DataArray((values - 2) / 2, dims="replication"), level=0.9)
    for name, part in zip(PredictionVsPackets.effect, ("mean", "low", "high"), strict=True):
        assert result[name].item() == pytest.approx(expected[part].item(), rel=1e-12)
    assert result.gap.item() == pytest.approx(values.mean() - 2)


@pytest.mark.slow
def test_ninety_five_of_a_hundred_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(3)
    draws = rng.normal(10.0, 1.0, (400, 6))
    hits = 0
    for values in draws:
        result = compare(10.0, runs_of(values), "x")
        hits += bool(result.effect_low <= 0 <= result.effect_high)
    assert 0.92 <= hits / len(draws) <= 0.98


def test_a_prediction_of_zero_is_compared_as_it_is() -> None:
    result = compare(0.0, runs_of([0.01, 0.02, 0.03]), "x")
    assert result.effect.item() == pytest.approx(0.02)
    assert result.effect.attrs["long_name"] == "measured - predicted"


def test_a_function_of_the_runs_is_paired_with_its_replication() -> None:
    """What varies from run to run in both the measurement and the prediction leaves the interval."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    result = compare(lambda runs: 2 * runs.x, runs_of(values), "x")
    assert result.effect.item() == pytest.approx(-0.5)
    assert (result.effect_high - result.effect_low).item() < 1e-12


def test_a_prediction_that_is_missing_once_is_no_answer() -> None:
    result = compare(lambda runs: runs.x.where(runs.x > 1), runs_of([1.0, 2.0, 3.0]), "x")
    assert result.verdict.item() == "no answer"


def test_numbers_by_name_are_those_of_the_runs(runs: xr.Dataset) -> None:
    goodput = float(runs.goodput.sum("flow").mean() / 100)
    assert compare(goodput, runs, "goodput").effect.item() == pytest.approx(0, abs=1e-12)
    timeouts = float(runs.timeouts.sum("flow").mean() / 100)
    assert compare(timeouts, runs, "timeouts").effect.item() == pytest.approx(0, abs=1e-12)
    fair = [models.jain(run.goodput.values) for _, run in runs.groupby("replication")]
    assert compare(float(np.mean(fair)), runs, "jain").effect.item() == pytest.approx(0, abs=1e-12)
    each = compare(xr.DataArray(np.full(4, 1e4), dims="flow"), runs, "goodput_rate")
    assert each.verdict.dims == ("flow",)
    assert each.effect.attrs["units"] == "1" and each.measured.attrs["units"] == "bit/s"


def test_every_variable_of_the_runs_is_a_prediction_of_itself(runs: xr.Dataset) -> None:
    for name in map(str, runs.data_vars):
        quantity = (lambda r, k=name: r[k]) if name in QUANTITIES else name
        result = compare(lambda r, k=name: r[k], runs, quantity)
        assert set(result.verdict.values.ravel()) <= {"agrees", "no answer"}, name
        assert (result.gap == 0).where(result.gap.notnull(), True).all(), name
    with pytest.raises(DomainError, match=r"each flow is the quantity lambda runs: runs.goodput$"):
        compare(lambda r: r.goodput, runs, "goodput")


def test_laws_are_compared_by_total_variation(runs: xr.Dataset) -> None:
    share = runs.epoch_fraction.mean("replication").values
    law = np.array([*share[:3], share[3:].sum()])
    same = compare(xr.DataArray(law, dims="state"), runs, "sends_per_epoch")
    assert same.verdict.item() == "agrees" and same.sizes["packets"] == 4
    np.testing.assert_allclose(same.gap, 0, atol=1e-12)
    shifted = compare(xr.DataArray(law + np.array([0.3, 0, 0, -0.3]), dims="packets"), runs, "sends_per_epoch")
    assert shifted.verdict.item() == "differs"
    assert shifted.effect.item() == pytest.approx(0.3, abs=0.02)


LAW = np.array([0.22, 0.25, 0.2, 0.15, 0.08, 0.05, 0.03, 0.02])


@pytest.mark.parametrize(
    ("replications", "epochs"),
    [
        *((2, 60), (8, 3000)),
        *(
            pytest.param(n, m, marks=pytest.mark.slow)
            for n in (2, 8, 20, 200)
            for m in (60, 3000)
            if (n, m) not in ((2, 60), (8, 3000))
        ),
    ],
)
def test_noise_does_not_make_a_true_law_differ(replications: int, epochs: int) -> None:
    """The distance of each replication from the truth is positive by noise alone: 0.08 on average with 60 epochs."""
    rng = np.random.default_rng(4)
    verdicts = []
    for shares in rng.multinomial(epochs, LAW, (60, replications)) / epochs:
        runs = xr.Dataset({"epoch_fraction": (("replication", "sent_in_epoch"), shares)})
        verdicts.append(compare(xr.DataArray(LAW, dims="packets"), runs, "sends_per_epoch").verdict.item())
    assert verdicts.count("differs") <= 3  # 5 %
    if replications * epochs >= 8 * 3000:
        assert verdicts.count("agrees") >= 57


@pytest.mark.parametrize(("replications", "epochs"), [(8, 60), (20, 60), (8, 3000), (200, 60)])
def test_a_law_that_is_off_by_a_fifth_differs(replications: int, epochs: int) -> None:
    wrong = xr.DataArray(LAW + np.array([0.2, -0.2, 0, 0, 0, 0, 0, 0]), dims="packets")
    rng = np.random.default_rng(5)
    for shares in rng.multinomial(epochs, LAW, (20, replications)) / epochs:
        runs = xr.Dataset({"epoch_fraction": (("replication", "sent_in_epoch"), shares)})
        result = compare(wrong, runs, "sends_per_epoch")
        assert result.verdict.item() == "differs" and 0 < result.effect_noise < result.effect


def test_what_a_model_observes_is_a_prediction(runs: xr.Dataset) -> None:
    model = models.SubPacketExact(loss=0.1, w_max=4, collapse=2)
    result = compare(model.observe(stationary(model.chain())), runs, "sends_per_epoch")
    assert result.verdict.item() in {"agrees", "differs", "undecided"} and 0 < result.effect < 0.5


def test_a_result_is_drawn_and_put_into_words_also_from_a_file(runs: xr.Dataset, tmp_path: Path) -> None:
    for result in (
        compare(0.1, runs, "loss_rate"),
        compare(xr.DataArray([0.2, 0.2, 0.2, 0.4], dims="packets"), runs, "sends_per_epoch"),
        compare(xr.DataArray(np.full(4, 1e4), dims="flow"), runs, "goodput_rate"),
    ):
        result.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "x.nc") as file:
            read = file.load()
        assert plot(read).to_json() == plot(result).to_json()
        assert PredictionVsPackets.paragraph(read) == PredictionVsPackets.paragraph(result)
        assert "4 replications" in PredictionVsPackets.paragraph(result)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: compare(0.1, r.isel(replication=0), "loss_rate"), "runs must be a Dataset with the dimension"),
        (lambda r: compare(0.1, r, "los_rate"), "one of goodput, jain, sends_per_epoch, timeouts, .*got 'los_rate'"),
        (lambda r: compare(0.1, r, "loss_rate", tolerance=0.0), "tolerance must be a finite number > 0, got 0.0"),
        (lambda r: compare(object(), r, "loss_rate"), "prediction must be numbers"),
        (lambda r: compare(0.1, r, "sends_per_epoch"), "a probability for each number of packets, got a number"),
        (
            lambda r: compare(xr.DataArray([0.5, 0.4], dims="packets"), r, "sends_per_epoch"),
            "sum to 1, got a sum of 0.9",
        ),
        (lambda r: compare(xr.DataArray([0.1, 0.2], dims="loss"), r, "loss_rate"), "got the dimension loss too"),
        (
            lambda r: compare(xr.DataArray([1.0], {"flow": [9]}, "flow"), r, "goodput_rate"),
            r"the same values of flow as the runs, got \[9\]",
        ),
        (lambda r: compare(xr.Dataset({"y": 1.0}), r, "loss_rate"), "must have the variable loss_rate"),
        (lambda r: compare(1.0, r, lambda runs: 3.0), "quantity must be a DataArray with the dimension"),
        (lambda r: compare(1.0, r.drop_attrs(), "goodput"), "runs must bear their scenario"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Any, words: str, runs: xr.Dataset) -> None:
    with pytest.raises(DomainError, match=words):
        call(runs)


def test_the_picture_has_a_trace_for_each_verdict_and_a_band_of_the_tolerance() -> None:
    values = np.array([[1.0, 1.01, 0.99], [2.0, 2.1, 1.9], [3.0, 3.01, 2.99]])
    p = xr.DataArray([0.001, 0.02, 0.1], dims="p", attrs={"long_name": "loss"})
    runs = xr.Dataset({"x": (("p", "replication"), values)}, {"p": p})
    quantity = lambda r: r.x.assign_attrs(units="1/s", long_name="rate of something")  # noqa: E731
    result = compare(xr.DataArray([1.0, 2.0, 2.0], dims="p"), runs, quantity, tolerance=0.06)
    assert result.verdict.values.tolist() == ["agrees", "undecided", "differs"]
    figure = plot(result)
    for trace in figure.data:
        assert isinstance(trace.marker.color, str) or trace.name == "predicted"
    told = [trace.name for trace in figure.data if trace.showlegend]
    assert told == [f"packets, mean with interval: {v}" for v in ("agrees", "differs", "undecided")]
    assert figure.layout.shapes[0].y0 == -0.06 and figure.layout.shapes[0].y1 == 0.06
    assert figure.layout.xaxis.type == "log" and figure.layout.xaxis2.title.text == "loss"
    assert figure.layout.title.text.startswith("rate of something of runs: 1 of 3 agree")
    named = compare(2.0, runs.isel(p=0, drop=True), lambda r: r.x, name="what I measure")
    assert "what I measure of runs" in PredictionVsPackets.paragraph(named)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": 5}, "tolerance must lie in (0, 1), for the effect is relative, got 5; a percentage?"),
        ({"level": 95}, "level must lie in (0, 1), got 95; a percentage? divide by 100"),
    ],
)
def test_a_percentage_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=re.escape(words)):
        compare(1.0, runs_of([1.0, 2.0]), "x", **options)
    assert compare(0.0, runs_of([1.0, 1.1]), "x", tolerance=5).verdict.item() == "agrees"


def test_the_tail_of_a_longer_law_is_added_up(runs: xr.Dataset) -> None:
    """The runs count 0 to 6 packets and "7 or more"."""
    share = np.append(runs.epoch_fraction.mean("replication").values, [0.0, 0.0, 0.0])
    law = (share + 0.01) / (share + 0.01).sum()
    folded = np.append(law[:7], law[7:].sum())
    expected = compare(xr.DataArray(folded, dims="packets"), runs, "sends_per_epoch")
    for coords in ({}, {"state": [str(i) for i in range(11)]}, {"state": np.arange(11.0)}):
        longer = compare(xr.DataArray(law, coords, "state"), runs, "sends_per_epoch")
        np.testing.assert_allclose(longer.predicted, folded, rtol=1e-12)
        np.testing.assert_allclose(longer.effect, expected.effect, rtol=1e-12)
    each = xr.DataArray(law, dims="state") * xr.ones_like(runs.loss_rate)
    np.testing.assert_allclose(compare(each, runs, "sends_per_epoch").predicted, folded, rtol=1e-12)
    with pytest.raises(DomainError, match=r"got 11; give those of 0, 1, 2, .* the last one the sum of 7 and more"):
        compare(xr.DataArray(law, {"state": [f"b{i}" for i in range(11)]}, "state"), runs, "sends_per_epoch")


def test_a_prediction_without_its_unit_may_be_labelled(runs: xr.Dataset) -> None:
    rate = xr.DataArray(10.0, attrs={"units": "1"})
    with pytest.raises(DomainError, match=r"got 1; convert it, or, .*: \.assign_attrs\(units='packets/s'\)"):
        compare(rate, runs, "goodput")
    assert compare(rate.assign_attrs(units="packets/s"), runs, "goodput").verdict.item()
