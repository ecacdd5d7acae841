"""The numbers of each picture of LEAP's page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar


def duplicates(data_loss: float) -> pd.DataFrame:
    """Useless receptions against the loss of acknowledgements, in 100 segments."""
    losses = np.linspace(0.001, 0.5, 101)
    model = LeapTransfer(data_loss=data_loss, ack_loss=losses)
    columns = {"without LEAP": 100 * model.duplicates_plain(), "with LEAP": 100 * model.duplicates_leap()}
    return pd.DataFrame({"loss of acknowledgements": losses} | columns)


def transmissions(data_loss: float) -> pd.DataFrame:
    """Transmissions against the loss of acknowledgements, of 100 segments."""
    losses = np.linspace(0.001, 0.5, 101)
    model = LeapTransfer(data_loss=data_loss, ack_loss=losses)
    columns = {"without LEAP": 100 * model.transmissions_plain(), "with LEAP": 100 * model.transmissions_leap()}
    return pd.DataFrame({"loss of acknowledgements": losses} | columns)


def causes(data_loss: float, window: int) -> pd.DataFrame:
    """What timeouts and LEAP's suspicions come from."""
    losses = np.linspace(0.001, 0.5, 101)
    columns: dict[str, Any] = {}
    for delayed, acks in ((False, "each acknowledged"), (True, "every second")):
        model = LeapTimeout(data_loss, losses, window, delayed_acks=delayed)
        columns |= {f"timeout, {acks}": model.ack_share(), f"nothing back, {acks}": model.suspicion_right()}
    return pd.DataFrame({"loss of acknowledgements": losses} | columns)


def finished(data_loss: float, ack_loss: float) -> pd.DataFrame:
    """The share of transfers that finish against their density."""
    densities = np.linspace(0.5, 6, 101)
    now = LeapTransfer(data_loss=data_loss, ack_loss=ack_loss)
    repeats = {"no duplicates": 0.0, "without LEAP": now.duplicates_plain(), "with LEAP": now.duplicates_leap()}
    columns = {
        name: np.ravel(OverloadedStar(density=densities, duplicates=float(repeat)).finished())
        for name, repeat in repeats.items()
    }
    return pd.DataFrame({"transfers that begin [1/s]": densities} | columns)


def facts(data_loss: float, ack_loss: float, density: float) -> pd.DataFrame:
    """The numbers at these losses."""
    now = LeapTransfer(data_loss=data_loss, ack_loss=ack_loss)
    repeats = [float(now.duplicates_plain()), float(now.duplicates_leap())]
    stars = [OverloadedStar(density=density, duplicates=repeat) for repeat in repeats]
    rows: dict[str, Any] = {
        "duplicates": [100 * repeat for repeat in repeats],
        "transmissions": [100 * now.transmissions_plain(), 100 * now.transmissions_leap()],
        "right leaps": [np.nan, now.leaps_right()],
        "critical density": [star.critical_density() for star in stars],
        "finished": [star.finished() for star in stars],
    }
    return pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", "without LEAP", "with LEAP"])
