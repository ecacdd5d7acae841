"""The share of a comparison that is said to be done is of all its work: it grows to the end, and ends with it."""

import importlib
import pkgutil
from unittest import mock

import pytest

from tcpdynamics.progress import listening
from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons.comparison import KINDS
from tcpdynamics.validation.packet import run


def kinds():
    """Every comparison that is whole without an argument."""
    for module in pkgutil.iter_modules(comparisons.__path__):
        importlib.import_module(f"{comparisons.__name__}.{module.name}")
    # PredictionVsPackets takes a model and its runs.
    whole = [kind for name, kind in KINDS.items() if name != "PredictionVsPackets"]
    return sorted(whole, key=lambda kind: kind.__name__)


#: Smaller than `quick`, for every run of the tests.
SMALL = {
    "LeapVsPackets": {"replications": 2, "density": (2.0,), "loss": (0.1,), "duration": 10.0, "senders": ("reno",)},
    "TRefwaVsPackets": {"duration": 10.0, "replications": 2},
}  # fmt: skip


def check(comparison):
    shares, begun, execute = [0.0], [], run.execute

    def watched(*args, **kwargs):
        begun.append(shares[-1])
        return execute(*args, **kwargs)

    with mock.patch.object(run, "execute", watched), listening(shares.append):
        comparison.run()
    assert shares == sorted(shares)
    assert max(begun, default=0.0) < 1.0, "simulates although all is said to be done"
    assert len(shares) == 1 or shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_simulated_after_all_is_done(name):
    check({kind.__name__: kind for kind in kinds()}[name](**SMALL[name]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_nothing_is_simulated_after_all_is_done_in_any_comparison(kind):
    check(kind(**kind.quick))
