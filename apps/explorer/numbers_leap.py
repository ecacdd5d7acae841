"""The numbers of each picture of LEAP's page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.leap_table import table
from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar


def duplicates(data_loss: float) -> pd.DataFrame:
    """Useless receptions against the drop probability of ACKs, in 100 segments."""
    losses = np.linspace(0.001, 0.5, 101)
    model = LeapTransfer(data_loss=data_loss, ack_loss=losses)
    columns = {"without LEAP": 100 * model.duplicates_plain(), "with LEAP": 100 * model.duplicates_leap()}
    return pd.DataFrame({"drop probability of ACKs": losses} | columns)


def transmissions(data_loss: float) -> pd.DataFrame:
    """Transmissions against the drop probability of ACKs, of 100 segments."""
    losses = np.linspace(0.001, 0.5, 101)
    model = LeapTransfer(data_loss=data_loss, ack_loss=losses)
    columns = {"without LEAP": 100 * model.transmissions_plain(), "with LEAP": 100 * model.transmissions_leap()}
    return pd.DataFrame({"drop probability of ACKs": losses} | columns)


def causes(data_loss: float, window: int) -> pd.DataFrame:
    """How often only ACKs were lost, given a timeout, and given that no ACK came, where LEAP leaps."""
    losses = np.linspace(0.001, 0.5, 101)
    columns: dict[str, Any] = {}
    for delayed, acks in ((False, "every packet ACKed"), (True, "delayed ACKs")):
        model = LeapTimeout(data_loss, losses, window, delayed_acks=delayed)
        heads = f"given a timeout, {acks}", f"given no ACK at all, {acks}"
        columns |= dict(zip(heads, (model.ack_fraction(), model.suspicion_right()), strict=True))
    return pd.DataFrame({"drop probability of ACKs": losses} | columns)


def finished(data_loss: float, ack_loss: float) -> pd.DataFrame:
    """The fraction of transfers that finish against their density."""
    densities = np.linspace(0.5, 6, 101)
    now = LeapTransfer(data_loss=data_loss, ack_loss=ack_loss)
    repeats = {"no duplicates": 0.0, "without LEAP": now.duplicates_plain(), "with LEAP": now.duplicates_leap()}
    columns = {
        name: np.ravel(OverloadedStar(density=densities, duplicates=float(repeat)).finished())
        for name, repeat in repeats.items()
    }
    return pd.DataFrame({"transfers that begin [1/s]": densities} | columns)


def table1(variant: str, nodes: str) -> pd.DataFrame:
    """Table 1 of a sender and of LEAP (else Reno): published, recorded with 95 % intervals, and the model."""
    densities = np.linspace(2, 3.6, 65)
    columns: dict[str, Any] = {
        "model, no duplicates": np.ravel(OverloadedStar(density=densities, duplicates=0.0).finished())
    }
    for sender in (variant, "Reno" if variant == "LEAP" else "LEAP"):
        rows = table()[f"{sender}/{nodes}"]
        for name, key in (("published", "published"), ("packets", "packets"), ("ns-2", "ns2")):
            if not any(row[key] for row in rows):
                continue
            for part, end in enumerate(("", ", low", ", high")[: 1 if key == "published" else 3]):
                column = columns[f"{sender}, {name}{end}"] = np.full(65, np.nan)
                for row in rows:
                    value = row[key][part] if isinstance(row[key], list) else row[key]
                    column[round((row["density"] - 2) / 0.025)] = np.nan if value is None else value
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
