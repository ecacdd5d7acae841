"""Numbers that claims name: made of an experiment's result, or predicted by a model."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import xarray as xr

from tcpdynamics.models import MtcpThroughput

from ..deciding import predicted, value

RENO = "Reno"
#: Of the closed form: the round-trip time [s] with which it gives Reno the 0.80 Mbit/s of the paper's first entry, and
#: four of them as first timeout.
RTT = 0.073
LOSS = 0.02
PACKET = 8e-3  # Mbit


def _throughput(data: xr.Dataset, sender: str, loss: str) -> xr.DataArray:
    cell: xr.DataArray = data.throughput.sel(sender=sender, ack_loss=loss).reset_coords(drop=True)
    return cell


@value("mtcp.improvement")
def improvement(data: xr.Dataset, scheme: str, loss: str) -> xr.DataArray:
    """Throughput over that of Reno, less 1."""
    return _throughput(data, scheme, loss) / _throughput(data, RENO, loss) - 1.0


@value("mtcp.least_gain")
def least_gain(data: xr.Dataset, without: Sequence[str] = ()) -> xr.DataArray:
    """The improvement of the scheme and the loss of ACKs where its mean is least, in each reading."""
    losses = [q for q in data.ack_loss.values.tolist() if q not in without]
    schemes = [s for s in data.sender.values.tolist() if s != RENO]
    cells = xr.concat([improvement(data, s, q) for s in schemes for q in losses], "cell")
    return cells.isel(cell=cells.mean("replication").argmin("cell"))


@value("mtcp.keeps_more")
def keeps_more(data: xr.Dataset, scheme: str, than: str, loss: str) -> xr.DataArray:
    """Share of the throughput that a scheme keeps, less that of another sender."""
    return _throughput(data, scheme, loss) / _throughput(data, scheme, "0") - _throughput(
        data, than, loss
    ) / _throughput(data, than, "0")


@functools.cache
def _law(sender: str, loss: str) -> float:
    model = MtcpThroughput(loss=LOSS, ack_loss=float(loss) / 100, rtt=RTT, timeout=4 * RTT)
    law = {RENO: model.reno, "immediate": model.immediate}.get(sender, model.duplicated)
    return PACKET * float(law())


@predicted("mtcp.throughput")
def throughput_predicted(sender: str, ack_loss: str) -> float:
    """Throughput [Mbit/s] by the law of Padhye et al. with acknowledgements that stand for more segments."""
    return _law(sender, ack_loss)


@predicted("mtcp.improvement")
def improvement_predicted(ack_loss: str, scheme: str, loss: str) -> float:
    """The law's improvement over Reno."""
    return _law(scheme, loss) / _law(RENO, ack_loss) - 1.0


@predicted("mtcp.kept")
def kept_predicted(sender: str, ack_loss: str) -> float:
    """Throughput over that without losses of ACKs, by the law."""
    return _law(sender, ack_loss) / _law(sender, "0")


@predicted("mtcp.keeps_more")
def keeps_more_predicted(ack_loss: str, scheme: str, than: str, loss: str) -> float:
    """Share kept, less that of another sender, by the law."""
    return kept_predicted(scheme, loss) - kept_predicted(than, ack_loss)


@predicted("mtcp.over_immediate")
def over_immediate_predicted(sender: str, ack_loss: str) -> float:
    """Throughput over that with immediate ACKs, by the law."""
    return _law(sender, ack_loss) / _law("immediate", ack_loss)
