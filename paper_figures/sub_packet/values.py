"""Numbers that claims name: made of an experiment's result, or predicted by a model."""

from __future__ import annotations

from tcpdynamics.later import xr
from tcpdynamics.models import SharedLink
from tcpdynamics.solvers import self_consistent

from ..deciding import predicted, value

#: Distances from the full chain, by where the arrows out of S2 and S3 of Fig. 8 lead.
DRAWINGS = ("distance", "distance_fresh", "distance_levels")


def _loads(data: xr.Dataset, begins: str) -> xr.Dataset:
    return data.sel(load=[x for x in data["load"].values if str(x).startswith(f"{begins}, ")])


@value("sub_packet.least_goodput")
def least_goodput(data: xr.Dataset, rate: str) -> xr.DataArray:
    """Goodput over the capacity of a link such as "500k", the least of its loads."""
    capacity = float(rate.removesuffix("k")) * 1e3 / 4000  # packets of 500 bytes a second
    lowest: xr.DataArray = _loads(data, rate).goodput.min("load") / capacity
    return lowest


@value("sub_packet.gained")
def gained(data: xr.Dataset, load: str, shorter: str, longer: str) -> xr.DataArray:
    """One measure less another at a load."""
    one = data.sel(load=load, drop=True)
    less: xr.DataArray = one[shorter] - one[longer]
    return less


@value("sub_packet.long_less_short")
def long_less_short(data: xr.Dataset) -> xr.DataArray:
    """Jain's index of the whole run of 100 flows less that in 20 s."""
    one = data.sel(flows="100", drop=True)
    less: xr.DataArray = one.jain_whole - one.jain_20
    return less


@value("sub_packet.largest_distance")
def largest_distance(data: xr.Dataset, link: str) -> xr.DataArray:
    """Largest distance from the chain over the loads of a link whose loss is at least 0.1; the drawing that fits best.

    Of a loss at which there is no chain the distance is 1.
    """
    part = _loads(data, link)
    each = [part[name].fillna(1.0).where(part.loss >= 0.1).max("load") for name in DRAWINGS]
    least: xr.DataArray = xr.concat(each, "drawing").min("drawing")
    return least


@value("sub_packet.distance_low_less_high")
def distance_low_less_high(data: xr.Dataset, link: str) -> xr.DataArray:
    """Largest distance where the loss is below 0.1 less the largest elsewhere."""
    part = _loads(data, link)
    less: xr.DataArray = part.distance.where(part.loss < 0.1).max("load") - part.distance.where(part.loss >= 0.1).max(
        "load"
    )
    return less


@value("sub_packet.nearer")
def nearer(data: xr.Dataset, link: str) -> xr.DataArray:
    """Largest distance from the approximate chain less that from the full one, by the drawing that fits best."""
    part = _loads(data, link)
    approximate = part.distance_7.fillna(1.0).where(part.loss >= 0.1).max("load")
    less: xr.DataArray = approximate - largest_distance(data, link)
    return less


@value("sub_packet.deeper")
def deeper(data: xr.Dataset) -> xr.DataArray:
    """Flows from which on the index of TFRC is below 0.9, over those of TCP; at most the greatest load."""
    loads = [float(x) for x in data.flows.values]
    below = data.jain_20.transpose("sender", "reading", "replication", "flows") < 0.9
    first = below.argmax("flows").where(below.any("flows"), len(loads) - 1).astype(int)
    flows = xr.DataArray(loads, dims="place")[first]
    there = data.jain_20.notnull().all("flows")
    flows = flows.where(there)
    ratio: xr.DataArray = flows.sel(sender="TFRC", drop=True) / flows.sel(sender="TCP", drop=True)
    return ratio


@value("sub_packet.spread_less")
def spread_less(data: xr.Dataset, larger: str, smaller: str) -> xr.DataArray:
    """Spread of the times to fetch files of one size less that of another."""
    one = data.isel(link=0, drop=True)
    less: xr.DataArray = one[f"spread_{larger}"] - one[f"spread_{smaller}"]
    return less


def _link(flows: int) -> SharedLink:
    return SharedLink(flows=flows, capacity=1e6, base_rtt=0.2, buffer=50, backoff_cap=6)


@predicted("sub_packet.locked_out")
def locked_out(flows: str) -> float:
    """Share of flows with nothing in 20 s, by the exact chain at the loss that is consistent with the link."""
    return float(self_consistent(_link(int(flows)).balance(), window=50).nothing)


@predicted("sub_packet.web_loss")
def web_loss(load: str) -> float:
    """Self-consistent loss, were all connections long."""
    users, pool = load.split(", ")
    return float(self_consistent(_link(int(users) * int(pool)).balance()).root)
