"""What the T-REFWA paper prints and says, beside packets: Table III, and statements on Figs. 2, 3 and 5."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from tcpdynamics.models.fairness import measured_jain

#: Table III: link -> protocol -> (fairness, utilisation).
PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    "T3": {"Reno": (0.74, 0.635), "NewReno": (0.74, 0.691), "Westwood": (0.80, 0.691), "T-REFWA": (0.96, 0.790)},
    "OC3": {"Reno": (0.86, 0.835), "NewReno": (0.84, 0.888), "Westwood": (0.90, 0.878), "T-REFWA": (1.00, 0.959)},
    "OC12": {"Reno": (0.86, 0.856), "NewReno": (0.85, 0.899), "Westwood": (0.90, 0.905), "T-REFWA": (1.00, 0.967)},
    "OC48": {"Reno": (0.86, 0.842), "NewReno": (0.83, 0.899), "Westwood": (0.91, 0.901), "T-REFWA": (1.00, 0.972)},
}

#: Statements, by name. "Alike": the slowest group has 0.9 of the fastest at least. "Almost no": one packet in 1000.
STATEMENTS = {
    "fairest": "T-REFWA has the highest fairness index (Table III)",
    "fullest": "T-REFWA has the highest utilisation (Table III)",
    "alike": "with T-REFWA all groups have nearly the same throughput (Fig. 2)",
    "greedy": "with the others short round-trip times win (Fig. 2)",
    "drops": "T-REFWA has almost no drops",
    "smooth": "over RED the others' throughput falls smoothly as the RTT grows (Fig. 3)",
    "beats RED": "T-REFWA over drop-tail is fairer than the others over RED (Fig. 3)",
    "both used": "L1 and L3 are highly utilised with T-REFWA (Fig. 5)",
    "price": "without it L1 is used as well, at the price of fairness (Fig. 5)",
    "stable": "with (1.5, 0.5) the system always converges (section III)",
    "losses": "without it losses are more and queues longer (Fig. 5)",
}


def judged(table: xr.Dataset, red: xr.DataArray, fig5: Mapping[str, xr.Dataset], cases: xr.Dataset) -> xr.Dataset:
    """Which statements hold, over all links and readings that were run, and the numbers behind it.

    Parameters
    ----------
    table : Dataset
        `fairness`, `utilisation`, `loss` over `mean`, `link`, `protocol`; `group_rate` also over `group`.
    red : DataArray over `protocol` and `group`
        Throughput over RED [bit/s].
    fig5 : {"with": Dataset, "without": Dataset}
        Replications of the two bottlenecks.
    cases : Dataset over `case`
        `measured` beside the models, of which those of the part "cycle" are looked at.

    Returns
    -------
    Dataset over `statement`: `holds`, `evidence` (str).
    """
    ours, others = table.sel(protocol="T-REFWA"), table.drop_sel(protocol="T-REFWA")
    rates = others.group_rate
    ends = (rates.isel(group=0) / rates.isel(group=-1)).values
    alike = ours.group_rate.min("group") / ours.group_rate.max("group")
    steps = np.diff(red.values, axis=1)
    over_red = measured_jain(red.values)
    own = float(ours.fairness.sel(link=red.attrs["link"]).isel(mean=0))
    use = {
        name: runs.link_utilisation.sel(link=["a->b", "c->d"]).mean("replication").values for name, runs in fig5.items()
    }
    drops = {name: float((runs.dropped.sum() / runs.sent.sum()).item()) for name, runs in fig5.items()}
    queues = {name: float(runs.link_mean_queue.sel(link=["a->b", "c->d"]).mean()) for name, runs in fig5.items()}
    first = {name: _jain_of_first(runs) for name, runs in fig5.items()}
    found = {
        "fairest": _lead(ours.fairness, others.fairness),
        "fullest": _lead(ours.utilisation, others.utilisation),
        "alike": (bool((alike >= 0.9).all()), f"slowest over fastest group {_by_mean(alike.min('link'))} at least"),
        "greedy": (bool((ends > 1).all()), f"first over last group {ends.min():.2f} to {ends.max():.2f}"),
        "drops": (bool((ours.loss < 1e-3).all()), f"loss {_by_mean(ours.loss.max('link'), '.2%')} at most"),
        "smooth": (bool((steps < 0).all()), f"{int((steps < 0).sum())} of {steps.size} steps fall"),
        "beats RED": (bool(own > over_red.max()), f"{own:.3f} against {over_red.min():.3f} to {over_red.max():.3f}"),
        "both used": (bool((use["with"] > 0.95).all()), f"{use['with'][0]:.1%} and {use['with'][1]:.1%}"),
        "price": (
            bool(use["without"][0] > 0.95 and first["without"] < first["with"]),
            f"L1 {use['without'][0]:.1%}, fairness there {first['without']:.2f} against {first['with']:.2f}",
        ),
        "stable": _converges(cases),
        "losses": (
            drops["without"] > drops["with"] and queues["without"] > queues["with"],
            f"loss {drops['without']:.2%} against {drops['with']:.2%}, queue {queues['without']:.0f} against "
            f"{queues['with']:.0f} packets",
        ),
    }
    return xr.Dataset(
        {
            "holds": ("statement", [found[name][0] for name in STATEMENTS]),
            "evidence": ("statement", [found[name][1] for name in STATEMENTS]),
        },
        {"statement": list(STATEMENTS.values())},
    )


def _lead(ours: xr.DataArray, others: xr.DataArray) -> tuple[bool, str]:
    """Is ours the highest everywhere? By how much it leads, at least."""
    lead = ours - others.max("protocol")
    return bool((lead > 0).all()), f"ahead of the best other by {_by_mean(lead.min('link'), '+.3f')} at least"


def _by_mean(values: xr.DataArray, form: str = ".2f") -> str:
    """Numbers by the reading of the mean round-trip time."""
    return ", ".join(
        f"{value:{form}} ({mean})" for mean, value in zip(values["mean"].values, values.values, strict=True)
    )


def _converges(cases: xr.Dataset) -> tuple[bool, str]:
    left = {c: float(cases.measured.sel(case=c)) for c in cases.case.values if str(c).startswith("(1.5, 0.5)")}
    return all(share < 0.5 for share in left.values()), ", ".join(
        f"of an alternation {share:.0%} is left with the {case.split(', ')[-1]}" for case, share in left.items()
    )


def _jain_of_first(runs: xr.Dataset) -> float:
    """Fairness of the nine flows on L1."""
    rates = runs.goodput_rate.isel(flow=slice(0, 9)).mean("replication").values
    return float(measured_jain(rates))
