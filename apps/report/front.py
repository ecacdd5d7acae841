"""The report's first screen: what became of five papers, three findings; and what two papers print beside our numbers.

All numbers are those of the ledger's record, or were computed for this page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tcpdynamics.charts.look import BLUE, GREEN, GREY, ORANGE, RED
from tcpdynamics.paper_figures import ledger, rules
from tcpdynamics.validation.comparisons.comparison import Verdict

from .. import ledger_rows

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Verdict -> its class in the page, and its colour in a picture.
CLASSES = {
    rules.HOLDS: "holds", rules.CONDITIONS: "conditions", rules.FAILS: "fails", rules.OPEN: "open",
    ledger_rows.NOT_YET: "open",
}  # fmt: skip
COLOURS = {rules.HOLDS: GREEN, rules.CONDITIONS: ORANGE, rules.FAILS: RED, rules.OPEN: GREY}
#: Paper -> claims of its table of numbers, its title, and the axis.
TABLES = {
    "leap": ("leap.table1.", "Table 1: transfers finished, by density", "fraction of transfers that finish"),
    "mtcp": ("mtcp.table4.", "Table 4: throughput, by loss of ACKs", "throughput [Mbit/s]"),
}
#: The rows of Table 1 at the highest load: the paper's headline.
BUSIEST = {"Reno": "leap.table1.reno.3_50", "LEAP": "leap.table1.leap.3_50"}


def with_bars(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The papers' tables with a bar each: verdict, how many statements have it, class."""
    for table in tables:
        verdicts = [one["verdict"] for one in table["statements"]]
        table["bar"] = [(v, verdicts.count(v), name) for v, name in CLASSES.items() if v in verdicts]
        table["total"] = len(verdicts)
    return tables


def totals(tables: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many statements of all papers have each verdict."""
    verdicts = [one["verdict"] for table in tables for one in table["statements"]]
    return {name: sum(CLASSES[v] == name for v in verdicts) for name in dict.fromkeys(CLASSES.values())}


def chain_finding(result: xr.Dataset, figure: go.Figure) -> tuple[str, dict[str, Any]]:
    """At how many loads the printed chain is near the packets, by link; and P(silent) against the loss."""
    verdicts = result.verdict.sel(chain="full")
    matches = {
        str(k): int(verdicts.sel(link=k).isin([Verdict.AGREES, Verdict.CLOSE]).sum()) for k in result.link.values
    }
    text = (
        f"The published chain matches packets at {matches['spread']} of {result.sizes['flows']} loads when RTTs "
        f"are spread by 5 %. Where all its assumptions hold, it matches at {matches['independent']}. Errors cancel."
    )
    if matches["spread"] < matches["independent"] + 2:
        text = text.removesuffix(" Errors cancel.")
    undecided = int((verdicts.sel(link=["spread", "independent"]) == Verdict.UNDECIDED).sum())
    text += f" These runs leave {undecided} of the verdicts undecided." if undecided else ""
    names = {"full": "the chain", "spread": "packets, spread RTTs", "independent": "packets, its assumptions hold"}
    data = [
        one | {"name": names[one["legendgroup"]], "showlegend": True}
        for one in json.loads(figure.to_json())["data"]
        if one["xaxis"] == "x" and one["legendgroup"] in names
    ]
    return text, {"data": data, "layout": _axes("packet-loss probability", "silent epochs", "xy")}


def leap_finding() -> tuple[str, dict[str, Any]]:
    """LEAP's headline, printed and in packets under the first reading of the paper."""
    printed, ours, ends = {}, {}, {}
    for sender, claim in BUSIEST.items():
        printed[sender] = float(ledger.get_claim(claim).published_text)
        row = ledger.recorded()["rows"][claim]
        ours[sender] = float(row["readings"][0][2])
        packets = row["packets"] if row["shown"] == row["readings"][0][0] else None
        ends[sender] = f" ({100 * packets['low']:.1f} to {100 * packets['high']:.1f})" if packets else ""
    text = (
        f"LEAP is said to lift finished transfers in congestion from {100 * printed['Reno']:.0f} % to "
        f"{100 * printed['LEAP']:.0f} %. Packets give {100 * ours['Reno']:.0f} %{ends['Reno']} with Reno and "
        f"{100 * ours['LEAP']:.0f} %{ends['LEAP']} with LEAP."
    )
    data = [
        {"type": "bar", "name": name, "x": list(table), "y": list(table.values()), "marker": {"color": colour}}
        for name, table, colour in (("printed", printed, GREY), ("packets", ours, BLUE))
    ]
    return text, {"data": data, "layout": _axes("", "transfers that finish", "y")}


def linux_finding(verdicts: Mapping[str, list[str]]) -> tuple[str, dict[str, Any]]:
    """How many statements of the sub-packet paper hold for each sender of Linux; of the default in words."""
    default = next(name for name in verdicts if "CUBIC" in name)
    text = (
        f"On Linux as it ships, with CUBIC, {verdicts[default].count(rules.HOLDS)} of {len(verdicts[default])} "
        "statements on TCP with tiny fair shares still hold."
    )
    names = [name.rpartition(", ")[2] for name in verdicts]
    data = [
        {
            "type": "bar", "orientation": "h", "name": verdict, "y": names, "marker": {"color": COLOURS[verdict]},
            "x": [column.count(verdict) for column in verdicts.values()],
            "text": [str(column.count(verdict)) for column in verdicts.values()],
        }
        for verdict in (rules.HOLDS, rules.FAILS, rules.OPEN)
    ]  # fmt: skip
    return text, {"data": data, "layout": _axes("statements", "") | {"barmode": "stack"}}


def stability_finding(published: list[dict[str, Any]], chart: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """T-REFWA's gains, under each interpretation of its equation: the third finding of a quick report."""
    continuous = [row for row in published if row["reading"].startswith("continuous")]
    kinds = [row for row in published if row not in continuous], continuous
    steps, others = (f"{sum(row['verdict'] == 'stable' for row in rows)} of {len(rows)}" for rows in kinds)
    return (
        f"T-REFWA's gains are called stable for any network. They are stable under {steps} interpretations of its "
        f"equation in steps (star) and {others} in continuous time. The explorer shows one more in steps.",
        chart,
    )


def table_figure(paper: str) -> dict[str, Any]:
    """A paper's table of numbers beside ours, with the intervals of the record, under the reading that is on show."""
    start, title, axis = TABLES[paper]
    rows = ledger.recorded()["rows"]
    claims = [one for name, one in ledger.claims(paper).items() if name.startswith(start) and name.count(".") == 3]
    measured = [one for one in claims if (rows.get(one.id) or {}).get("packets")]
    senders = list(dict.fromkeys(one.case["sender"] for one in measured))
    places = [" ".join(v for k, v in one.case.items() if k != "sender") for one in measured]
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"height": 300, "annotations": [], "title": {"text": title}}
    for i, sender in enumerate(senders):
        mine = [(place, one) for place, one in zip(places, measured, strict=True) if one.case["sender"] == sender]
        x, y = (f"{way}{i + 1 if i else ''}" for way in "xy")
        low = i / len(senders)
        at = {"x": [place for place, _ in mine], "xaxis": x, "yaxis": y, "showlegend": i == 0, "mode": "markers"}
        ours = [rows[one.id]["packets"] for _, one in mine]
        half = [(n["high"] - n["low"]) / 2 if n["high"] is not None else 0 for n in ours]
        printed = [float(one.published_text) for _, one in mine]
        data += [
            at | {"name": "printed", "y": printed, "marker": {"color": RED, "size": 11, "symbol": "diamond-open"}},
            at | {"name": "packets", "y": [n["mean"] for n in ours], "error_y": {"array": half},
                  "marker": {"color": BLUE, "size": 7, "symbol": "circle"}},
        ]  # fmt: skip
        domain = [low, low + 0.8 / len(senders)]
        layout |= {
            f"xaxis{x[1:]}": {"domain": domain, "anchor": y},
            f"yaxis{y[1:]}": {"anchor": x, "rangemode": "tozero"} | ({"tickformat": "~%"} if paper == "leap" else {}),
        }
        layout[f"yaxis{y[1:]}"] |= {"matches": "y", "showticklabels": False} if i else {"title": {"text": axis}}
        layout["annotations"].append(
            {"text": sender, "x": sum(domain) / 2, "y": 1, "xref": "paper", "yref": "paper", "showarrow": False}
        )
    return {"data": data, "layout": layout}


def _axes(x: str, y: str, percent: str = "") -> dict[str, Any]:
    """Both axes from 0; in per cent those of fractions: "", "x", "y" or "xy"."""
    return {
        **{
            f"{way}axis": {"title": {"text": words}, "rangemode": "tozero"}
            | ({"tickformat": "~%"} if way in percent else {})
            for way, words in (("x", x), ("y", y))
        },
        "height": 190,
    }  # fmt: skip
