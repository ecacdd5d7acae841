"""LEAP's page: its curves are the library's closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.leap_table import NODES, SENDERS
from tcpdynamics.apps.explorer.numbers_leap import table1
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.models import LeapTimeout, LeapTransfer
from tcpdynamics.solvers.programs.straightline import run


@pytest.mark.parametrize("window", [1.0, 2.0, 5.0, 12.0])
def test_printed_forms_are_the_models(window: float) -> None:
    program, inputs, about = pages()["leap"].printed[0].make({"window": window})
    row = dict(zip(about["rows"], run(program, dict(zip(inputs, (0.2, 0.1), strict=True))), strict=True))
    transfer = LeapTransfer(0.2, 0.1)
    for name in ("duplicates_plain", "duplicates_leap", "transmissions_plain", "transmissions_leap", "leaps_right"):
        assert row[name] == pytest.approx(getattr(transfer, name)(), rel=1e-12)
    for delayed in (False, True):
        timeout = LeapTimeout(0.2, 0.1, int(window), delayed_acks=delayed)
        for name in ("ack_fraction", "suspicion_right"):
            assert row[f"{name}{' delayed' * delayed}"] == pytest.approx(getattr(timeout, name)(), rel=1e-12)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("sender", SENDERS)
def test_table_1_compares_each_sender_with_leap_and_leap_with_reno(sender: str, nodes: str) -> None:
    columns = table1(sender, nodes).columns
    for one in (sender, "Reno" if sender == "LEAP" else "LEAP"):
        assert {f"{one}, published", f"{one}, packets"} <= set(columns)


def test_curves_in_the_page_are_the_librarys(tab: Page, files: Path) -> None:
    page = pages()["leap"]
    opened(tab, (files / "leap.html").as_uri() + "#data_loss=0.2&ack_loss=0.3&window=3")
    expected = page.dataset(page.start() | {"data_loss": 0.2, "ack_loss": 0.3, "window": 3.0})
    finished = [expected.finished.sel(duplicates=d).values for d in ("none", "plain", "LEAP")]
    names = ("ack_fraction", "suspicion_right")
    causes = [expected[name].sel(delayed=d).values for d in (False, True) for name in names]
    duplicates = [100 * expected[f"duplicates_{kind}"].values for kind in ("plain", "leap")]
    for picture, columns in ((0, duplicates), (2, causes), (3, finished)):
        shown = np.array([[float(x) for x in row[1:]] for row in numbers(tab, picture)[1:]]).T
        np.testing.assert_allclose(shown, np.array(columns), rtol=1e-4)
