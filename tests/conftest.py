"""Settings for all tests."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import hypothesis
import pytest

# Tests import `judges` and `strategies`, which stand beside this file.
sys.path.insert(0, str(Path(__file__).parent))

# A shell that starts the tests in the background has them ignore interrupts, and so would the children of tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("default", deadline=None, max_examples=50)
hypothesis.settings.load_profile("default")


#: Where Hypothesis keeps the settings of a test.
DRAWN = "_hypothesis_internal_use_settings"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A third of each test's random examples, where slow tests are left out; `make slow` draws all of them."""
    if config.option.markexpr != "not slow":
        return
    for test in {getattr(item, "function", None) for item in items}:
        if drawn := getattr(test, DRAWN, None):
            setattr(test, DRAWN, hypothesis.settings(drawn, max_examples=max(1, round(drawn.max_examples / 3))))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    """With TCPDYNAMICS_NO_SKIPS=1 a test that did not run has failed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("TCPDYNAMICS_NO_SKIPS") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped where skips are forbidden: {report.longrepr}"
    return report
