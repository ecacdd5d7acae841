"""What decides statements of the T-REFWA paper, as curves."""

from __future__ import annotations

import numpy as np

from tcpdynamics.later import xr
from tcpdynamics.models import (
    RttCode,
    TRefwaContinuous,
    TRefwaDelayed,
    TRefwaGroups,
    TRefwaIntegrating,
    TRefwaMeasuredRtt,
    TRefwaQueueDelayed,
    TRefwaTwoLinksCommanded,
    TRefwaTwoLinksMeasured,
    TRefwaWindow,
)
from tcpdynamics.solvers import spectral_radius, trajectory
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..curves import Curve, Curves, evidence
from .figures import PHI, PSI

GAINS = f"the published gains ({PHI}, {PSI})"
RTT_AXIS = "round-trip time [s]"


@evidence("t_refwa.rates", "Windows and rates of flows against their round-trip times")
def rates() -> Curves:
    """Eight groups of four flows, without the code."""
    rtt = np.linspace(0.02, 0.3, 8)
    groups = TRefwaGroups(flows=(4,) * 8, rtt=tuple(rtt), code=None)
    windows, rate = groups.windows(400.0).values, groups.rates(400.0).values
    return Curves(RTT_AXIS, "relative to the mean", (
        Curve("window", rtt, windows / windows.mean()), Curve("rate", rtt, rate / rate.mean()),
    ))  # fmt: skip


@evidence("t_refwa.code", "Error of the round-trip time that the 6-bit code stands for")
def code() -> Curves:
    """The middle of a cell, as the paper has it, and the harmonic mean of its ends; some of the cells."""
    code = RttCode()
    rtt = np.geomspace(0.1, 0.3, 1500)
    return Curves(RTT_AXIS, "relative error [%]", (
        Curve("middle of the cell", rtt, 100 * code.relative_error(rtt)),
        Curve("harmonic mean of the ends", rtt, 100 * (code.decode_minimax(code.encode(rtt)) / rtt - 1)),
    ), log="x")  # fmt: skip


@evidence("t_refwa.table", "The code against the round-trip time, in whole milliseconds")
def table() -> Curves:
    """64 codes; some are never used, and beyond the longest the code saturates."""
    code = RttCode()
    milliseconds = np.arange(1, 1301)
    return Curves("round-trip time [ms]", "code", (
        Curve("code of whole milliseconds", milliseconds, code.encode(milliseconds / 1000), "markers"),
        Curve("longest", [1000 * code.longest()] * 2, [0, code.top], "dash"),
    ), log="x")  # fmt: skip


@evidence("t_refwa.buffers", "Bandwidth-delay products at a round-trip time of 10.0 ms, and Table II")
def buffers() -> Curves:
    """Packets of 1024 bytes."""
    rates, printed = np.array([44e6, 155e6, 622e6, 2400e6]), [50.0, 190.0, 760.0, 2930.0]
    return Curves("rate of the link [Mbit/s]", "buffer [packet]", (
        Curve("10.0 ms", rates / 1e6, rates * 10e-3 / 8192), Curve("Table II", rates / 1e6, printed, "markers"),
    ), log="xy")  # fmt: skip


@evidence("t_refwa.cycle", "Excess of the window over 30 intervals, from four starts, without delay")
def cycle() -> Curves:
    """At the published gains; the buffer is B."""
    model = TRefwaWindow(phi=PHI, psi=PSI, bdp=100.0, buffer=100.0).map()
    starts, steps = np.array([-90.0, 5.0, 20.0, 200.0]), np.arange(31)
    orbits = trajectory(model, steps, start={"e": starts}).e.values / 100
    return Curves("interval", "excess of the window [B]", tuple(
        Curve(f"from {start / 100:g} B", steps, orbit) for start, orbit in zip(starts, orbits, strict=True)
    ))  # fmt: skip


@evidence("t_refwa.delays", "Spectral radius against the age of the queue, at two pairs of gains")
def delays() -> Curves:
    """Below one, the queue settles."""
    ages = list(range(13))
    pairs = {GAINS: (PHI, PSI), "(1, 0.5)": (1.0, 0.5)}
    curves = [
        Curve(name, ages, [float(spectral_radius(TRefwaDelayed(phi=a, psi=b, delay=d))) for d in ages])
        for name, (a, b) in pairs.items()
    ]
    return Curves(
        "age of the queue [interval]", "spectral radius", (*curves, Curve("stable below", [0, 12], [1.0, 1.0], "dash"))
    )


@evidence("t_refwa.rest", "The queue on its way to rest, by the reading of eq. (3)")
def rest() -> Curves:
    """From an empty network, at the published gains."""
    models: dict[str, TRefwaDelayed | TRefwaMeasuredRtt | TRefwaIntegrating] = {
        "round-trip time without queueing": TRefwaDelayed(delay=1, buffer=100.0),
        "round-trip time as measured": TRefwaMeasuredRtt(buffer=100.0),
        "the queue integrates": TRefwaIntegrating(buffer=100.0),
    }
    steps = np.arange(41)
    return Curves("interval", "queue [B]", tuple(
        Curve(name, steps, trajectory(model, steps).Q.values / 100) for name, model in models.items()
    ))  # fmt: skip


@evidence("t_refwa.continuous", "Boundaries of stability in continuous time, XCP's parabola, the published gains")
def continuous() -> Curves:
    """Stable below each boundary: window and queue seen late, and the queue alone."""
    phi = np.linspace(0.02, np.pi / 2 * 0.999, 160)
    alpha = np.linspace(0.0, np.pi / (4 * np.sqrt(2)), 60)
    late = stability_chart(TRefwaQueueDelayed(phi=np.linspace(0.05, 2.0, 14), psi=np.linspace(0.05, 3.0, 14)))
    order = np.argsort(late.boundary_phi.values)
    return Curves("φ, gain on spare bandwidth", "ψ, gain on free buffer", (
        Curve("both seen late", phi, np.asarray(TRefwaContinuous(phi=phi).critical_psi())),
        Curve("the queue alone seen late", late.boundary_phi.values[order], late.boundary_psi.values[order]),
        Curve("XCP: ψ = √2 φ²", alpha, np.sqrt(2) * alpha**2, "dash"),
        Curve(GAINS, [PHI], [PSI], "markers"),
    ))  # fmt: skip


@evidence("t_refwa.two_links", "Utilisation of the first of two bottlenecks against their buffers")
def two_links() -> Curves:
    """With the commanded and with the measured window in eq. (3)."""
    share = np.linspace(0.0, 60.0, 16)
    each = xr.DataArray(share, dims="buffer")
    models = {"commanded window": TRefwaTwoLinksCommanded, "measured window": TRefwaTwoLinksMeasured}
    curves = []
    for name, kind in models.items():
        model = kind(phi=0.75, psi=0.25, bdp_1=100.0, bdp_3=100.0, buffer_1=each, buffer_3=each)
        curves.append(Curve(name, share, trajectory(model, [1000]).utilisation_1.isel(time=-1).values))
    return Curves("buffer [% of the bandwidth-delay product]", "utilisation", tuple(curves), percent="y")
