"""What decides statements of LEAP's paper, as curves of its models."""

from __future__ import annotations

import numpy as np

from tcpdynamics.later import xr
from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar

from ..curves import Curve, Curves, evidence

LOSS = np.linspace(0.002, 0.3, 61)
#: Both losses at once, along one dimension.
BOTH = xr.DataArray(LOSS, dims="loss")
LOSS_AXIS = "loss of data and of acknowledgements"


@evidence("leap.law", "Share of transfers that can finish against the density, by processor sharing")
def law() -> Curves:
    """Links of the star, filled by segments that come once, and with duplicates."""
    density = np.linspace(2.0, 4.0, 81)
    curves = []
    for duplicates in (0.0, 0.1, 0.2):
        share = OverloadedStar(density=density, duplicates=duplicates).finished()
        curves.append(Curve(f"{100 * duplicates:g} % duplicates", density, np.asarray(share)))
    return Curves("flow density [1/s]", "fraction of transfers that finish", tuple(curves), percent="y")


@evidence("leap.causes", "Timeouts due to lost acknowledgements, and how often LEAP's suspicion is right")
def causes() -> Curves:
    """By window: all timeouts; and those before which no duplicate acknowledgement came."""
    return Curves(LOSS_AXIS, "fraction due to lost acknowledgements", (
        *(
            Curve(f"timeouts, window {w}", LOSS, np.asarray(LeapTimeout(BOTH, BOTH, w).ack_fraction()))
            for w in (1, 2, 4)
        ),
        Curve("suspicion right, any window", LOSS, np.asarray(LeapTimeout(BOTH, BOTH, 4).suspicion_right()), "dash"),
    ), percent="xy")  # fmt: skip


@evidence("leap.closed", "Duplicates and segments sent with LEAP over those without it, windows of one")
def closed() -> Curves:
    """By the closed forms."""
    model = LeapTransfer(BOTH, BOTH)
    duplicates = np.asarray(model.duplicates_leap()) / np.asarray(model.duplicates_plain())
    sent = np.asarray(model.transmissions_leap()) / np.asarray(model.transmissions_plain())
    curves = (Curve("duplicates", LOSS, duplicates), Curve("segments sent", LOSS, sent))
    return Curves(LOSS_AXIS, "with LEAP over without", curves, percent="x")
