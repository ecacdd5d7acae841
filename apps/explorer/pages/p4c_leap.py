"""What do lost acknowledgements cost, and what does LEAP save?"""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar
from tcpdynamics.solvers.programs.straightline import Program

from .. import numbers_leap as numbers
from ..leap_table import NODES, SENDERS, table
from ..page import Choice, Figure, Page, Preset, Printed, Values, control, program_of
from ..shown import shown

#: Drop probabilities and densities of the pictures.
LOW, HIGH, POINTS = 0.001, 0.5, 101
LEAST, MOST = 0.5, 6.0
SEGMENTS = 100

_TRANSFER = ("duplicates_plain", "duplicates_leap", "transmissions_plain", "transmissions_leap", "leaps_right")
_TIMEOUT = ("ack_fraction", "suspicion_right")


def _forms(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Closed forms in the drop probabilities; of a timeout, with every packet ACKed and with delayed ACKs."""
    import sympy

    p, a = sympy.symbols("data_loss ack_loss", positive=True)
    transfer = LeapTransfer(data_loss=p, ack_loss=a)
    rows = {name: getattr(transfer, name)() for name in _TRANSFER}
    for delayed in (False, True):
        timeout = LeapTimeout(p, a, int(values["window"]), delayed_acks=delayed)
        rows |= {f"{name}{' delayed' * delayed}": getattr(timeout, name)() for name in _TIMEOUT}
    about = {
        "rows": list(rows), "losses": [LOW, HIGH, POINTS], "densities": [LEAST, MOST, POINTS],
        "capacity": float(OverloadedStar(density=1.0).critical_density()), "segments": SEGMENTS,
    }  # fmt: skip
    return program_of(rows), ("data_loss", "ack_loss"), about


def _command(values: Values) -> str:
    """The command that prints the closed forms."""
    return f"tcpdynamics evaluate leap-transfer --data-loss {values['data_loss']!r} --ack-loss 0.001:0.5:101"


def dataset(values: Values) -> Any:
    """The closed forms against the drop probability of ACKs, and the fraction that finishes against the density."""
    import xarray as xr

    p, losses = values["data_loss"], np.linspace(LOW, HIGH, POINTS)
    densities = np.linspace(LEAST, MOST, POINTS)
    transfer = LeapTransfer(p, losses).closed_forms()
    parts = []
    for delayed in (False, True):
        timeout = LeapTimeout(p, losses, int(values["window"]), delayed_acks=delayed)
        parts.append(timeout.closed_forms().expand_dims(delayed=[delayed]))
    now = LeapTransfer(p, values["ack_loss"])
    repeats = {"none": 0.0, "plain": now.duplicates_plain(), "LEAP": now.duplicates_leap()}
    shares = [np.asarray(OverloadedStar(density=densities, duplicates=d).finished()) for d in repeats.values()]
    finished = xr.DataArray(
        np.array(shares), {"duplicates": list(repeats), "density": densities}, ("duplicates", "density")
    )
    result = xr.merge([transfer, xr.concat(parts, "delayed")], combine_attrs="drop")
    return result.assign(finished=finished.assign_attrs(units="1", long_name="fraction of transfers that finish"))


PAGE = Page(
    slug="leap",
    title="LEAP",
    question="What do lost acknowledgements cost, and how much of it does LEAP save?",
    controls=(
        control(LeapTransfer, "data_loss", LOW, HIGH, 0.1, 0.001, percent=True),
        control(LeapTransfer, "ack_loss", LOW, HIGH, 0.1, 0.001, percent=True),
        control(LeapTimeout, "window", 1, 12, 4),
        control(OverloadedStar, "density", LEAST, MOST, 3.5, 0.01),
        Choice("variant", "", "sender of Table 1", tuple(SENDERS)),
        Choice("nodes", "", "how often each node is chosen, Table 1", tuple(NODES)),
    ),
    figures=(
        Figure(
            "duplicates", "Useless receptions of 100 segments",
            "Curves: segments received once more, without and with LEAP, against the drop probability of ACKs",
            code=shown(numbers.duplicates, "data_loss"), command=_command,
        ),
        Figure(
            "transmissions", "Transmissions of 100 segments",
            "Curves: segments sent without and with LEAP, against the drop probability of ACKs",
            code=shown(numbers.transmissions, "data_loss"), command=_command,
        ),
        Figure(
            "causes", "Probability that only ACKs were lost",
            "Curves: probability that only ACKs were lost, given a timeout, and given no ACK at all; with every packet "
            "ACKed, and with delayed ACKs, against the drop probability of ACKs",
            code=shown(numbers.causes, "data_loss", window=lambda values: int(values["window"])),
        ),
        Figure(
            "finished", "Transfers that a star finishes",
            "Curves: fraction of transfers that finish against their density, with the duplicates at these losses",
            code=shown(numbers.finished, "data_loss", "ack_loss"),
        ),
        Figure(
            "table1", "Table 1: transfers that finish",
            "Points: fraction of transfers that finish at five densities, as published, in packets and in ns-2, of the "
            "chosen sender and of LEAP, or of LEAP and Reno; curve: the model without duplicates",
            code=shown(numbers.table1, "variant", "nodes"),
        ),
        Figure(
            "facts", "At these losses", "Numbers: duplicates, transmissions, LEAP's leaps, critical densities",
            "facts", shown(numbers.facts, "data_loss", "ack_loss", "density"),
        ),
    ),
    printed=(Printed("forms", ("window",), _forms),),
    dataset=dataset,
    facts=lambda whole: {"table": table()},
    main=("data_loss", "ack_loss", "window", "density"),
    presets=(
        Preset("no ACK is dropped", {"ack_loss": LOW}),
        Preset("10 % of data and ACKs dropped", {"data_loss": 0.1, "ack_loss": 0.1}),
        Preset("30 % of both dropped, a window of one", {"data_loss": 0.3, "ack_loss": 0.3, "window": 1.0}),
        Preset("the paper's Table 1, last row: 3.5 transfers a second", {"density": 3.5}),
        Preset("the same, one node chosen twice as often", {"density": 3.5, "nodes": "2-1-1"}),
    ),
    notes=(
        "A timer expires because a segment was lost or because its ACKs were. If no duplicate ACK has come, LEAP "
        "assumes that only ACKs were lost. It sends a new segment instead of the same one again.",
        "Duplicates and transmissions are those of a window of one. Larger windows have duplicates of another kind, "
        "which LEAP leaves. After a timeout the sender goes back over segments that had arrived.",
        "The star has three nodes and links of 500 kbit/s, as in the paper of Tamura, Takayasu and Takayasu. Above "
        "the critical density transfers accumulate, and some never finish.",
    ),
)  # fmt: skip
