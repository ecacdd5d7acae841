"""What the T-REFWA paper says, and what solving its recursion says, computed now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.later import xr
from tcpdynamics.models import (
    RttCode,
    TRefwaContinuous,
    TRefwaDelayed,
    TRefwaGroups,
    TRefwaIntegrating,
    TRefwaMeasured,
    TRefwaMeasuredRtt,
    TRefwaMixed,
    TRefwaQueueDelayed,
    TRefwaTwoLinksCommanded,
    TRefwaTwoLinksMeasured,
    TRefwaWindow,
    jain,
)
from tcpdynamics.solvers import spectral_abscissa, spectral_radius, trajectory
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..findings import Answer, finding, listed, near
from .figures import PHI, PSI, published

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20240607
#: Labels of what section III leaves open of eq. (3), as the experiments have them.
_ROUTERS = tuple(
    {"queue in eq. (3)": queue, "Upsilon(n-1)": window}
    for window in ("as commanded", "as measured")
    for queue in ("an interval old", "as it is")
)


@finding("rates", "abstract, section I, eq. (3)", "bandwidth in proportion to round-trip times", "t_refwa.rates")
def equal_rates() -> Answer:
    groups = TRefwaGroups(flows=(4,) * 8, rtt=tuple(np.linspace(0.02, 0.3, 8)), code=None)
    windows, rates = groups.windows(400.0).values, groups.rates(400.0).values
    spread, ratio = float(np.ptp(rates) / rates.mean()), float(windows[-1] / windows[0])
    return Answer(
        "eq. (3) makes windows proportional to round-trip times, hence rates equal",
        f"round-trip times 1 : 15: windows 1 : {ratio:.0f}, rates equal to {spread:.0e}",
        spread < 1e-12 and near(ratio, 15, 9),
        {"ratio": ratio, "rate_ratio": float(rates[-1] / rates[0])},
    )


@finding("code", "eq. (1) and (2)", "the average RTT of a code is the middle of its cell", "t_refwa.code")
def code_error() -> Answer:
    code = RttCode()
    rtt = np.exp(np.linspace(np.log(0.020), np.log(code.longest() * (1 - 1e-9)), 400_001))
    error = 100 * code.relative_error(rtt)
    half = 100 * np.abs(code.decode_minimax(code.encode(rtt)) / rtt - 1).max()
    low, high = float(error.min()), float(error.max())
    printed = [float(_printed_code(ms).min()) for ms in (np.arange(1.0, 1025.0), np.geomspace(0.1, 1024.0, 1000))]
    return Answer(
        "its error lies between -5.209 % and +5.815 %; the harmonic mean of the ends errs by 5.496 % at most",
        f"over 400001 round-trip times: {low:.3f} % to {high:+.3f} %; harmonic mean {half:.3f} %",
        near([low, high, half], [-5.209, 5.815, 5.496]) and printed[0] == 0.0 > printed[1],
        {
            "low": low,
            "high": high,
            "harmonic": float(half),
            "at_1024": float(code.encode(1.024)),
            "least": printed,
            "readings": ["whole milliseconds", "any, from 0.1 ms on"],
            "axis": "unit of SRTT",
        },
    )


def _printed_code(milliseconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """RTTC of eq. (1) as printed."""
    code = RttCode()
    return np.asarray(np.minimum(np.floor(code.k * np.log2(milliseconds)), code.top))


@finding("even", "section III, eq. (1)", "the logarithm minimises the impact of errors over any round-trip times")
def even_error() -> Answer:
    code, width, longest = RttCode(), 16.0, 1024.0  # [ms]; 64 steps of a linear code
    ends = [np.array(code.cell(j)) for j in range(code.top)]
    worst = np.array([np.abs(code.decode(j) / (rtt * [1 + 1e-12, 1 - 1e-12]) - 1).max() for j, rtt in enumerate(ends)])
    rtt = np.linspace(1.0, longest, 400_000)
    linear = float(np.abs((np.floor(rtt / width) + 0.5) * width / rtt - 1).max())
    spread, over = float(worst.max() / worst.min()), float(worst.max() / linear)
    return Answer(
        "every code has the same greatest error, 5.8 %; 64 equal steps up to 1024 ms err by 700 % at 1 ms",
        f"greatest error of a code over that of another at most {spread:.6f}; linear {100 * linear:.0f} %",
        near([spread, linear], [1.0, 7.0]) and near(worst.max(), 0.05815, 4),
        {"spread": spread, "over_linear": over, "linear": linear},
    )


@finding(
    "fairness of the code",
    "section III, Table III",
    "errors of the code may be unfair; fairness index 1.00",
    "t_refwa.code",
)
def code_fairness() -> Answer:
    code = RttCode()
    low, high = code.cell(30)
    n = 1000
    worst = 1.0
    for k in range(1, n):  # k flows at one end of a cell, the others at the other
        rtt = np.array([low * (1 + 1e-12), high * (1 - 1e-12)])
        share = np.asarray(code.decode(code.encode(rtt))) / rtt
        total, square = k * share[0] + (n - k) * share[1], k * share[0] ** 2 + (n - k) * share[1] ** 2
        worst = min(worst, float(total**2 / (n * square)))
    rtt = np.exp(np.linspace(np.log(code.cell(20)[0]), np.log(code.cell(50)[1]), 300_001))[:-1]
    even = float(jain(np.asarray(code.decode(code.encode(rtt))) / rtt))
    return Answer(
        "with this code alone the fairness index is at least 0.996980, and 0.998992 for log-uniform round-trip times",
        f"worst split of 1000 flows over a cell's ends {worst:.6f}; log-uniform {even:.6f}",
        near([worst, even], [0.996980, 0.998992], 6),
        {"worst": worst, "even": even},
    )


@finding("table", "section III", "the maximum size of the table is 63", "t_refwa.table")
def code_table() -> Answer:
    code = RttCode()
    times = np.arange(1, 1025) / 1000
    used = set(code.encode(times).tolist())
    empty = sorted(set(range(64)) - used)
    last, longest = int(code.encode(1.024)), 1000 * code.longest()
    return Answer(
        "codes run from 0 to 63, 64 of them; whole milliseconds from 1 to 1024 use 53; beyond 1143 ms the "
        "code saturates",
        f"{code.top + 1} codes, {len(used)} used, unused {', '.join(map(str, empty))}; 1024 ms has {last}; "
        f"saturates at "
        f"{longest:.0f} ms",
        code.top + 1 == 64
        and len(used) == 53
        and empty == [1, 2, 3, 4, 5, 7, 8, 10, 11, 13, 15]
        and last == 63
        and near(longest, 1143, 0),
        {"used": len(used), "empty": empty, "longest": longest, "codes": float(code.top + 1)},
    )


@finding(
    "table II", "Table II", "buffers of one bandwidth-delay product: 50, 190, 760, 2930 packets", "t_refwa.buffers"
)
def table_two() -> Answer:
    rates, printed = np.array([44e6, 155e6, 622e6, 2400e6]), np.array([50.0, 190.0, 760.0, 2930.0])
    trip = {size: round(1e3 * printed[3] * 8 * size / rates[3], 1) for size in (1024, 1000)}  # [ms], by OC48's row
    buffers = rates * trip[1024] * 1e-3 / (8 * 1024)
    return Answer(
        "with 1 kB = 1024 bytes the row of OC48 is a round trip of 10.0 ms, which gives the other three rows",
        f"at {trip[1024]:.1f} ms: {listed(buffers, 1)} packets; with 1000 bytes OC48 is {trip[1000]:.1f} ms",
        trip[1024] == 10.0 and bool((np.abs(buffers - printed) < 5).all()),
        {
            "buffers": buffers.tolist(),
            "trip": float(trip[1024]),
            "trip_1000": float(trip[1000]),
            **dict(zip(("t3", "oc3", "oc12", "oc48"), buffers.tolist(), strict=True)),
        },
    )


@finding("marginal", "section III", "with (1.5, 0.5) always stable", "t_refwa.stability")
def marginal() -> Answer:
    rows = {row["reading"]: row for row in published()}
    root = rows["window, no delay"]["root"]
    late = rows["measured window, one late"]["value"]
    soon = float(spectral_radius(TRefwaDelayed(phi=PHI, psi=PSI, delay=1)))
    return Answer(
        "with a queue that is one interval old it is stable, with radius 0.707; without delay it is marginal, with the "
        "multiplier -1; fed by a measured window that is one interval old, it is unstable with radius 1.414",
        f"radius {soon:.4f}; multiplier {root.real:+.6f}; measured: radius {late:.4f}",
        abs(root + 1) < 1e-12
        and near([soon, late], [0.707, 1.414])
        and near(float(TRefwaWindow(phi=PHI, psi=PSI).multiplier()), root.real, 12)
        and _are_roots(TRefwaMeasured(phi=PHI, psi=PSI, delay=1), [1, -1, PHI + PSI]),
        {
            "root": root.real,
            "measured": late,
            "radius": [soon, abs(root), late, abs(root)],
            "readings": [", ".join(labels.values()) for labels in _ROUTERS],
            "labels": list(_ROUTERS),
        },
    )


def _are_roots(model: TRefwaDelayed | TRefwaMeasured, polynomial: list[float]) -> bool:
    """Whether the model's characteristic function vanishes at the roots of a polynomial."""
    return bool(np.abs([complex(model.characteristic(z)) for z in np.roots(polynomial)]).max() < 1e-9)


@finding("cycle", "section III", "the system always converges to its point of equilibrium", "t_refwa.cycle")
def two_cycle() -> Answer:
    buffer = 100.0
    model = TRefwaWindow(phi=PHI, psi=PSI, bdp=100.0, buffer=buffer).map()
    starts = np.linspace(-99.0, 250.0, 2001)
    e = trajectory(model, [998, 999, 1000], start={"e": starts}).e.values
    inside = (starts >= 0) & (starts <= buffer / 2)
    back = float(np.abs(e[inside, 0] - starts[inside]).max())
    swap = float(np.abs(e[inside, 1] - (buffer / 2 - starts[inside])).max())
    ends = np.sort(e[~inside][:, 1:], axis=1)
    off = float(np.abs(ends - [0, buffer / 2]).max())
    late = TRefwaDelayed(phi=PHI, psi=PSI, bdp=100.0, buffer=buffer, delay=1)
    queue = trajectory(late, [999, 1000]).Q.values
    return Answer(
        "without delay every start in [0, B/2] is on a cycle of two, e and B/2 - e, and every other ends on 0 and B/2",
        f"2001 starts after 1000 intervals: distance from their cycle {max(back, swap):.0e} B inside, from (0, B/2) "
        f"{off / buffer:.0e} B outside",
        max(back, swap, off) < 1e-9 * buffer,
        {
            "inside": max(back, swap),
            "outside": off,
            "swing": [float(abs(queue[1] - queue[0])) / buffer, float(np.abs(e[:, -1] - e[:, -2]).max()) / buffer],
            "readings": ["an interval old", "as it is"],
            "axis": "queue in eq. (3)",
        },
    )


@finding("delays", "section III", "stable for any distribution of round-trip times", "t_refwa.delays")
def even_delays() -> Answer:
    delays = [0, 1, 2, 3, 4, 5]
    mixes = float(np.round(max(_random_mixes(2000)), 9))
    radius = [float(spectral_radius(TRefwaDelayed(phi=PHI, psi=PSI, delay=d))) for d in delays]
    return Answer(
        "queues that are seen an even number of intervals late leave it marginal; 1, 3, 5 intervals: radius "
        "0.7071, 0.932, "
        "0.974",
        f"radius for 0 to 5 intervals: {listed(radius, 4)}; of 2000 random round-trip times {mixes:.4f} at most",
        near(radius[::2], [1, 1, 1], 9)
        and near(radius[1], 0.7071, 4)
        and near([radius[3], radius[5]], [0.932, 0.974])
        and all(
            _are_roots(TRefwaDelayed(phi=PHI, psi=PSI, delay=d), [1, PHI - 1, *[0.0] * (d - 1), PSI])
            for d in delays[1:]
        ),
        {"radius": np.round(radius, 9).tolist(), "greatest": mixes},
    )


def _random_mixes(count: int) -> Iterator[float]:
    """Radius at (1.5, 0.5) of groups whose queue is their round-trip time late; its mean over flows is an interval."""
    rng = np.random.default_rng(SEED)
    for _ in range(count):
        groups = int(rng.integers(2, 9))
        flows, rtt = rng.dirichlet(np.ones(groups)), np.exp(rng.uniform(0, np.log(20), groups))
        rtt /= flows @ rtt
        delays = tuple(int(d) for d in np.rint(rtt))
        yield float(_mixed_radius(np.array([PHI]), np.array([PSI]), delays, (flows * rtt).tolist())[0])


@finding(
    "any delay",
    "section III",
    "stable for any number of flows and any distribution of round-trip times",
    "t_refwa.stability",
)
def any_delay() -> Answer:
    """Random mixes of delays inside the region, and a single delay for each random point outside."""
    rng = np.random.default_rng(SEED)
    inside = 0.0
    for _ in range(60):
        delays = tuple(int(d) for d in rng.choice(8, rng.integers(1, 5), replace=False))
        shares = rng.dirichlet(np.ones(len(delays)))
        phi = rng.uniform(0.05, 1.95, 40)
        psi = rng.uniform(0, 1, 40) * (1 - np.abs(1 - phi)) * 0.999
        roots = _mixed_radius(phi, psi, delays, shares)
        inside = max(inside, float(roots.max()))
    phi = rng.uniform(0.05, 2.5, 60)
    psi = np.abs(1 - np.abs(1 - phi)) + rng.uniform(0.1, 0.5, 60)
    psi = np.where(np.abs(1 - phi) < 1, psi, rng.uniform(0.1, 1.0, 60))
    outside = np.max([_mixed_radius(phi, psi, (d,), np.ones(1)) for d in range(30)], axis=0)
    margin = float(TRefwaMixed(phi=PHI, psi=PSI).any_delay_margin())
    return Answer(
        "every mix of delays is stable iff |1-phi| + psi < 1; the published gains lie exactly on the boundary",
        f"2400 random mixes inside: radius at most {inside:.4f}; 60 random points outside: some delay below "
        f"30 gives at "
        f"least {outside.min():.4f}; margin of (1.5, 0.5) {margin:g}",
        inside < 1 < outside.min() and margin == 0,
        {"inside": inside, "outside": float(outside.min()), "margin": margin},
    )


def _mixed_radius(
    phi: NDArray[np.float64], psi: NDArray[np.float64], delays: tuple[int, ...], shares: Iterable[float]
) -> Any:
    """Largest root of z^(D+1) - (1-phi) z^D + psi sum s_i z^(D-d_i), by companion matrices."""
    longest = max(delays)
    companion = np.zeros((phi.size, longest + 1, longest + 1))
    companion[:, np.arange(1, longest + 1), np.arange(longest)] = 1
    companion[:, 0, 0] = 1 - phi
    for d, s in zip(delays, shares, strict=True):
        companion[:, 0, d] -= psi * s
    return np.abs(np.linalg.eigvals(companion)).max(axis=1)


@finding("better", "section III", "the gains (phi, psi) are (1.5, 0.5)", "t_refwa.delays")
def better_gains() -> Answer:
    radius = [float(spectral_radius(TRefwaDelayed(phi=1.0, psi=0.5, delay=d))) for d in range(7)]
    law = [0.5 ** (1 / (d + 1)) for d in range(7)]
    queue = TRefwaDelayed(phi=1.0, psi=0.5).equilibrium()["Q"] / TRefwaDelayed().values()["buffer"]
    return Answer(
        "phi = 1, psi = 0.5 is stable at every delay, with radius 0.5^(1/(d+1)), and settles at Q = B/3",
        f"radius for 0 to 6 intervals: {listed(radius)}; Q = {queue:.4f} B",
        near(radius, law, 9) and near(queue, 1 / 3, 9),
        {"radius": radius, "rest": float(queue)},
    )


@finding(
    "rest",
    "abstract, section III",
    "rate matched to capacity plus total buffer size; small buffer sizes",
    "t_refwa.rest",
)
def readings_of_rest() -> Answer:
    queues = []
    for model in (
        TRefwaDelayed(delay=1, buffer=100.0),
        TRefwaMeasuredRtt(buffer=100.0),
        TRefwaIntegrating(buffer=100.0),
    ):
        queues.append(float(trajectory(model, [400]).Q.values[-1]) / 100)
    return Answer(
        "the queue settles at psi B/(phi+psi) = B/4 if RTT_avg is without queueing, at B if it is measured, "
        "and at B if the "
        "queue integrates: the two statements belong to different interpretations",
        f"iterated from an empty network: {listed(queues, 4)} B",
        near(queues, [0.25, 1, 1], 9),
        {
            "rest": queues,
            "queue": [queues[1], queues[0]],
            "readings": ["smoothed", "least"],
            "axis": "round trip in the code",
        },
    )


@finding(
    "continuous",
    "section III, reference to REFWA's analysis",
    "stable, by the same analysis as REFWA",
    "t_refwa.continuous",
)
def continuous() -> Answer:
    abscissa, late = (
        float(spectral_abscissa(model(phi=PHI, psi=PSI))) for model in (TRefwaContinuous, TRefwaQueueDelayed)
    )
    queue = stability_chart(TRefwaQueueDelayed(phi=PHI, psi=np.linspace(0.2, 2.4, 12))).boundary_psi.values
    edge = np.sort(stability_chart(TRefwaContinuous(phi=np.linspace(0.3, 1.6, 14), psi=0.5)).boundary_phi.values)
    return Answer(
        "in continuous time, as XCP is analysed, (1.5, 0.5) is unstable: psi = 0.5 needs 0.695 < phi < 1.172; where "
        "only the queue is late it is stable, for psi < 1.775",
        f"abscissa {abscissa:+.4f} and {late:+.4f} per RTT; boundaries at phi = {listed(edge)}, psi = {listed(queue)}",
        abscissa > 0 > late and near(edge, [0.695, 1.172]) and near(queue, [1.775]) and _on_the_edge(np.pi / 4),
        {
            "abscissa": [abscissa, late],
            "edge": edge.tolist(),
            "queue_edge": queue.tolist(),
            "readings": ["window and queue", "the queue alone"],
            "axis": "late in continuous time",
        },
    )


def _on_the_edge(w: float) -> bool:
    """Whether the characteristic function vanishes at i w where phi = w sin w and psi = w^2 cos w."""
    model = TRefwaContinuous(phi=w * np.sin(w), psi=w**2 * np.cos(w))
    return abs(complex(model.characteristic(1j * w))) < 1e-12


@finding(
    "two links",
    "section IV, Fig. 5",
    "feedbacks grow until the first bottleneck is fully used (routers that go by the window they command)",
    "t_refwa.two_links",
)
def two_bottlenecks() -> Answer:
    buffers = [0.0, 10.0, 38.0, 39.0]
    used = _utilisation(TRefwaTwoLinksCommanded, buffers)
    kinds = (TRefwaTwoLinksCommanded, TRefwaTwoLinksMeasured)
    full = [_utilisation(kind, [100.0])[0] for kind in kinds]
    printed = [_used(kind, [100.0], (PHI, PSI), list(range(3901, 4001)))[0] for kind in kinds]
    smallest = TRefwaTwoLinksCommanded(bdp_1=100.0, bdp_3=100.0, buffer_1=0.0, buffer_3=0.0).least_buffer()
    return Answer(
        "with the commanded window in eq. (3) it stays under-used unless buffers hold 0.386 of the "
        "bandwidth-delay product: "
        "0.899 without a buffer, 0.925 with 10 %; with one bandwidth-delay product, as printed, it is full at rest, "
        "and at the printed gains not always",
        f"iterated: utilisation {listed(used)} with buffers of {', '.join(f'{b:g}' for b in buffers)} % of "
        f"it; least buffer "
        f"{smallest:.3f}; at the printed gains {listed(printed)} with one bandwidth-delay product",
        near(used[:2], [0.899, 0.925]) and near([used[3], *full], 1.0, 6) and used[2] < 1 and near(smallest, 0.386),
        {
            "used": used,
            "least": float(smallest),
            "full": full,
            "at_printed_gains": printed,
            "readings": ["as commanded", "as measured"],
            "axis": "Upsilon(n-1)",
        },
    )


@finding(
    "two links, measured",
    "section IV, Fig. 5",
    "feedbacks grow until the first bottleneck is fully used (routers that go by the window they measure)",
    "t_refwa.two_links",
)
def two_bottlenecks_measured() -> Answer:
    used = _utilisation(TRefwaTwoLinksMeasured, [0.0, 10.0])
    return Answer(
        "with the measured window in eq. (3) both links are full whatever the buffer",
        f"iterated: utilisation {listed(used)} without a buffer and with 10 %",
        near(used, [1, 1], 6),
        {"used": used},
    )


def _utilisation(kind: type[TRefwaTwoLinksCommanded | TRefwaTwoLinksMeasured], buffers: list[float]) -> list[float]:
    """Of L1 after 4000 intervals, at gains that converge (0.75, 0.25): the fixed point depends on their ratio only."""
    return _used(kind, buffers, (0.75, 0.25), [4000])


def _used(
    kind: type[TRefwaTwoLinksCommanded | TRefwaTwoLinksMeasured],
    buffers: list[float],
    gains: tuple[float, float],
    times: list[int],
) -> list[float]:
    """Mean utilisation of L1 at some intervals."""
    sizes = xr.DataArray(buffers, dims="buffer")
    phi, psi = gains
    model = kind(phi=phi, psi=psi, bdp_1=100.0, bdp_3=100.0, buffer_1=sizes, buffer_3=sizes)
    used = trajectory(model, times).utilisation_1.mean("time")
    return [float(share) for share in used.values]


#: In the order of the report.
FINDINGS = (
    equal_rates,
    code_error,
    even_error,
    code_fairness,
    code_table,
    table_two,
    marginal,
    two_cycle,
    even_delays,
    any_delay,
    better_gains,
    readings_of_rest,
    continuous,
    two_bottlenecks,
    two_bottlenecks_measured,
)
