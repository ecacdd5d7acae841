"""Chen, Iyengar, Subramanian, Ford, *TCP Behavior in Sub-Packet Regimes*: its figures and claims, produced again.

The paper gives its results as figures without tables; what can be checked by number stands in `claims`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tcpdynamics.validation.comparisons import SubPacketChainVsPackets

from ..registry import figure
from . import packets as packets  # registers figures

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

PAPER = "J. Chen, J. Iyengar, L. Subramanian, B. Ford, TCP Behavior in Sub-Packet Regimes"


def fig9(quick: bool = False, **parameters: Any) -> SubPacketChainVsPackets:
    """Fig. 9: 1 Mbit/s, 200 ms, 50 packets of 500 bytes, SACK; `parameters` replace those of the comparison.

    Among them are the chains' own: `w_max`, `base_timeout`, `retransmission_loss`, `early_retransmit`, `stages`,
    `backoff_cap` and `collapse`.

    Examples
    --------
    >>> fig9(quick=True, w_max=8).w_max
    8
    """
    return SubPacketChainVsPackets(**(_length(quick) | parameters))


def fig10(quick: bool = False) -> list[SubPacketChainVsPackets]:
    """Fig. 10: slower links, buffers of one RTT, loads scaled so that the packets per flow are as in Fig. 9."""
    return [
        SubPacketChainVsPackets(
            rate=rate, buffer=round(rate * 0.2 / 4000), flows=_scaled(rate, quick), **_length(quick, flows=False)
        )
        for rate in (250e3, 500e3)
    ]


def fig11(quick: bool = False) -> SubPacketChainVsPackets:
    """Fig. 11: eight groups of flows with RTTs between 200 and 400 ms."""
    return SubPacketChainVsPackets(base_rtt=(0.2, 0.4), **_length(quick))


def solve_fig9(quick: bool = False, progress: Callable[[float], None] | None = None, **parameters: Any) -> xr.Dataset:
    """Simulate and predict Fig. 9, its `parameters` as in `fig9`; two to four minutes, with `quick=True` ten seconds.

    `progress` is called with the share of the work that is done, in [0, 1].
    """
    return fig9(quick, **parameters).run(progress)


@figure(
    "sub_packet.fig9",
    "P(n packets sent per round trip) against loss: chains and simulated packets",
    solve_fig9,
    SubPacketChainVsPackets,
)
def draw_fig9(result: xr.Dataset) -> go.Figure:
    """Lines: chains. Points: simulations on four links."""
    drawing: go.Figure = SubPacketChainVsPackets().figure(result)
    return drawing


def _length(quick: bool, flows: bool = True) -> dict[str, Any]:
    """The paper runs 5000 s; the quick setting is for a look, with wider intervals."""
    if not quick:
        return {"duration": 5000.0, "warm_up": 200.0, "replications": 8}
    short: dict[str, Any] = {"duration": 300.0, "warm_up": 100.0, "replications": 5}
    return short | ({"flows": (20, 100, 300)} if flows else {})


def _scaled(rate: float, quick: bool) -> tuple[int, ...]:
    loads = (100, 300) if quick else (40, 80, 100, 200, 300)
    return tuple(round(n * rate / 1e6) for n in loads)
