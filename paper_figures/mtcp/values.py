"""Numbers that claims name: made of an experiment's result, or predicted by a model."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from tcpdynamics.later import xr
from tcpdynamics.models import MtcpThroughput

from ..deciding import predicted, value

RENO = "Reno"
#: Schemes with duplicated ACKs.
ROBUST = ("duplicated", "duplicated and delayed")
#: Of the closed form: the round-trip time [s] with which it gives Reno the 0.80 Mbit/s of the paper's first entry, and
#: four of them as first timeout.
RTT = 0.073
LOSS = 0.02
PACKET = 8e-3  # Mbit


def _throughput(data: xr.Dataset, sender: str, loss: str) -> xr.DataArray:
    cell: xr.DataArray = data.throughput.sel(sender=sender, ack_loss=loss).reset_coords(drop=True)
    return cell


def improvement(data: xr.Dataset, scheme: str, loss: str) -> xr.DataArray:
    """Throughput over that of Reno, less 1."""
    return _throughput(data, scheme, loss) / _throughput(data, RENO, loss) - 1.0


def _least(cells: Iterable[xr.DataArray]) -> xr.DataArray:
    """Of several numbers the one whose mean is least, in each reading."""
    several = xr.concat(list(cells), "cell")
    return several.isel(cell=several.mean("replication").argmin("cell"))


@value("mtcp.least_gain")
def least_gain(data: xr.Dataset) -> xr.DataArray:
    """The improvement of the scheme and the loss of ACKs where its mean is least, in each reading."""
    losses = data.ack_loss.values.tolist()
    schemes = [s for s in data.sender.values.tolist() if s != RENO]
    return _least(improvement(data, s, q) for s in schemes for q in losses)


@value("mtcp.keeps_more")
def keeps_more(data: xr.Dataset, than: str) -> xr.DataArray:
    """Share of the throughput kept with duplicated ACKs less that of another sender; where its mean is least."""

    def kept(sender: str, loss: str) -> xr.DataArray:
        return _throughput(data, sender, loss) / _throughput(data, sender, "0")

    losses = [q for q in data.ack_loss.values.tolist() if q != "0"]
    return _least(kept(s, q) - kept(than, q) for s in ROBUST for q in losses)


@value("mtcp.slower_with")
def slower_with(data: xr.Dataset, sender: str, measure: str) -> xr.DataArray:
    """The correlation of the throughput with a measure over runs, its sign changed, as a mean over replications."""
    throughput, other = (data[name].sel(sender=sender).reset_coords(drop=True) for name in ("throughput", measure))
    return -_standard(throughput) * _standard(other)


def _standard(numbers: xr.DataArray) -> xr.DataArray:
    return (numbers - numbers.mean("replication")) / numbers.std("replication")


@functools.cache
def _law(sender: str, loss: str) -> float:
    model = MtcpThroughput(loss=LOSS, ack_loss=float(loss) / 100, rtt=RTT, timeout=4 * RTT)
    law = {RENO: model.reno, "immediate": model.immediate}.get(sender, model.duplicated)
    return PACKET * float(law())


@predicted("mtcp.throughput")
def throughput_predicted(sender: str, ack_loss: str) -> float:
    """Throughput [Mbit/s] by the law of Padhye et al. with acknowledgements that stand for more segments."""
    return _law(sender, ack_loss)


@predicted("mtcp.kept")
def kept_predicted(sender: str, ack_loss: str) -> float:
    """Throughput over that without losses of ACKs, by the law."""
    return _law(sender, ack_loss) / _law(sender, "0")


@predicted("mtcp.over_immediate")
def over_immediate_predicted(sender: str, ack_loss: str) -> float:
    """Throughput over that with immediate ACKs, by the law."""
    return _law(sender, ack_loss) / _law("immediate", ack_loss)
