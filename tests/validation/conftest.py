"""What tests of simulations have in common."""

from __future__ import annotations

import pytest

from tcpdynamics.validation.ns2 import installed


@pytest.fixture(scope="session")
def ns() -> None:
    """The real ns-2; a test is skipped without one, which CI forbids."""
    if not installed():
        pytest.skip("ns is not installed")
