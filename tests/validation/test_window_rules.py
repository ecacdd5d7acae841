"""Window rules in packets beside their formulas: the comparison."""

import numpy as np
import pytest

from tcpdynamics.errors import DomainError, LimitError
from tcpdynamics.models import AimdTcp, ScalableTcp
from tcpdynamics.validation.comparisons import WindowRulesVsFormulas
from tcpdynamics.validation.comparisons.comparison import TOLERANCE
from tcpdynamics.validation.comparisons.window_rules import FLUID, PUBLISHED


@pytest.fixture(scope="module")
def result():
    return WindowRulesVsFormulas(
        rules=("reno", "scalable", "cubic"), loss=(0.01, 0.003), duration=60.0, replications=4
    ).run()


def test_what_is_predicted_is_what_the_models_say(result):
    for p in result.loss.values:
        at = result.predicted.sel(loss=p)
        assert float(at.sel(rule="reno", formula=PUBLISHED)) == float(AimdTcp(loss=p).response())
        assert float(at.sel(rule="reno", formula=FLUID)) == float(AimdTcp(loss=p).equilibrium())
        assert float(at.sel(rule="scalable", formula=PUBLISHED)) == float(ScalableTcp(loss=p).response())
        assert np.isnan(float(at.sel(rule="cubic", formula=FLUID)))


def test_gaps_intervals_and_verdicts_belong_together(result):
    ratio = result.measured / result.predicted - 1
    np.testing.assert_allclose(result.gap, ratio.transpose(*result.gap.dims), rtol=1e-12)
    known = np.isfinite(result.gap.values)
    low, gap, high = (result[name].values[known] for name in ("gap_low", "gap", "gap_high"))
    assert (low <= gap).all() and (gap <= high).all()
    verdict = result.verdict.values[known]
    assert ((verdict == "differs") == ((low > TOLERANCE) | (high < -TOLERANCE))).all()
    assert (result.verdict.values[~known] == "no answer").all()


def test_a_reno_window_under_random_losses_lies_between_formula_and_fluid(result):
    """Known of random losses: 1.31/sqrt(p), between sqrt(1.5/p) and sqrt(2/p); here within the run's interval."""
    for p in result.loss.values:
        reno = result.sel(rule="reno", loss=p)
        assert float(reno.measured_low) < float(AimdTcp(loss=p).equilibrium())
        assert float(reno.measured_high) > 0.9 * float(AimdTcp(loss=p).response())


def test_the_same_seed_gives_the_same_windows():
    settings = {"rules": ("hstcp",), "loss": (0.01,), "duration": 20.0, "replications": 2}
    first, again, other = (WindowRulesVsFormulas(**settings, seed=s).run().measured.item() for s in (1, 1, 2))
    assert first == again != other


def test_figure_and_paragraph_name_each_rule(result):
    drawn = WindowRulesVsFormulas.figure(result)
    assert [a.text for a in drawn.layout.annotations] == ["reno", "scalable", "cubic"]
    assert all(f"{rule}: " in WindowRulesVsFormulas.paragraph(result) for rule in result.rule.values)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"rules": ("vegas",)}, "rules must list some of reno, hstcp, scalable, cubic, got 'vegas'"),
        ({"loss": (0.0,)}, r"loss must list numbers in \[1e-05, 0.01\]"),
        ({"rtt": -1.0}, "rtt must be a number > 0 s, got -1.0"),
        ({"rtt": float("nan")}, "rtt must be a number > 0 s, got nan"),
    ],
)
def test_bad_settings_are_refused(settings, sentence):
    with pytest.raises(DomainError, match=sentence):
        WindowRulesVsFormulas(**settings)


def test_too_much_work_is_refused_before_the_first_run():
    with pytest.raises(LimitError, match="replications of 4 rules at 3 losses need about"):
        WindowRulesVsFormulas(replications=10**9).run()
