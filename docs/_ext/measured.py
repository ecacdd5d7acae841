"""Tables that pages include: parameters from the mechanisms' files, validation from the records, losses from runs.

Each is a fragment in `docs/reference/written/tables`. Those that take more than a second keep until the code or the
records that they come from change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
HERE = ROOT / "docs" / "reference" / "written" / "tables"
Tables = dict[str, list[str]]
#: Wide tables in folded parts scroll, with their first column readable.
STYLE = """details.sd-dropdown td { white-space: nowrap; font-size: 0.85rem }
details.sd-dropdown th { font-size: 0.85rem }
details.sd-dropdown td:first-child { white-space: normal; min-width: 11rem }
details.sd-dropdown .pst-scrollable-table-container { overflow-x: auto }
"""
#: A cell without a number.
NOTHING = "\N{EN DASH}"
#: Page -> claims whose records its table shows.
CLAIMED = {
    "leap": ("leap.sec61.most.reno.3_50", "leap.sec8.times.reno", "leap.fig9.unharmed.reno.50"),
    "logistic": (
        "logistic.sec32.packets.bound.10", "logistic.sec32.packets.bound.20", "logistic.sec32.packets.time",
        "logistic.fig6.lossless", "logistic.fig7.lossless",
    ),
}  # fmt: skip
SENDERS = ("tahoe", "reno", "newreno", "sack")
#: Run of the lock-out -> what it removes.
REMOVED = {
    "as in the paper": "nothing", "spread RTTs": "equal RTTs (5 % to either side)",
    "very different RTTs": "equal RTTs (100 to 300 ms)",
    "jitter": "phase: a random delay of up to one transmission time",
    "more jitter": "phase: of up to ten transmission times", "priority": "drops of retransmissions (priority)",
    "long timeout": "timeouts below 1 s", "no backoff": "backoff",
    "independent": "the queue: independent losses at the same rate",
}  # fmt: skip


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def _range(low: float, mean: float, high: float, digits: int = 2) -> str:
    """A mean with half of its interval."""
    return NOTHING if np.isnan(mean) else f"{mean:.{digits}f} ± {(high - low) / 2:.{digits}f}"


def _number(value: float) -> str:
    """Short, such as 83000, 1e6, 1e-7."""
    mantissa, e, power = f"{value:.5g}".partition("e")
    return f"{mantissa}{e}{int(power)}" if e else mantissa


def parameters() -> Tables:
    """Of window rules, TFRC and M/TCP: what their files state."""
    from tcpdynamics.validation.packet.kernel.paced import PACED
    from tcpdynamics.validation.packet.kernel.parameters import parameters_of
    from tcpdynamics.validation.packet.kernel.windows import RULES

    files = {f"control_{name}": file for name, file in RULES.items()}
    files |= {f"tfrc_{rules}": file for rules, file in PACED["tfrc"].items()} | {"mtcp": PACED["mtcp"]["rfc"]}
    head = ("parameter", "unit", "meaning", "default", "bounds")
    return {
        name: _rows(head, (
            (f"`{p.name}`", p.unit or "1", p.meaning, _number(p.default), f"{_number(p.low)} to {_number(p.high)}")
            for p in parameters_of(file)
        ))
        for name, file in files.items() if parameters_of(file)
    }  # fmt: skip


def with_sender(name: str, sender: str) -> Any:
    """A run of 4 s of a built-in scenario, whose flow has another sender."""
    from tcpdynamics.validation.packet import load_scenario, ready_scenarios, simulate

    ready = load_scenario(ready_scenarios()[name])
    return simulate(replace(ready, flows=(replace(ready.flows[0], sender=sender),), duration=4.0))


def in_a_cell(run: Any) -> str:
    """Timeouts, retransmissions and segments acknowledged of a run."""
    repeats = run["sent_by_kind"].drop_sel(kind="new").sum()
    return f"{run['timeouts'].item()} / {repeats.item()} / {run['transferred'].item()}"


def chosen_losses() -> Tables:
    """What each sender does on the scenarios made for it."""
    names = ("one_loss", "two_losses", "burst_loss", "many_losses", "lost_retransmission")
    rows = [(f"`{name}`", *(in_a_cell(with_sender(name, sender)) for sender in SENDERS)) for name in names]
    return {"chosen_losses": _rows(("scenario", *SENDERS), rows)}


def chains() -> Tables:
    """How a sender's chain grows with its window, and where it collapses."""
    from tcpdynamics.validation.sender_chain import Sender
    from tcpdynamics.validation.sender_chain.chain import compiled
    from tcpdynamics.validation.sender_chain.collapse import collapse
    from tcpdynamics.validation.sender_chain.explore import explore

    rows = []
    for rules in ("rfc", "ns2"):
        for sender in SENDERS:
            row = [f'{sender}, `"{rules}"`']
            for window in (2, 3, 4) if sender == "tahoe" else (3, 4):
                chain = compiled(explore(Sender(sender=sender, rules=rules, window=window, loss=0.1).setting()))
                row.append(f"{chain.explored:,}; {len(chain.instants)}")
            rows.append(row if sender == "tahoe" else [row[0], "as Tahoe", *row[1:]])
    windows = range(1, 6)
    settings = {"SACK": {}, "SACK, limited transmit": {"limited_transmit": True}, "SACK, LEAP": {"leap": True}}
    found = {
        name: ["" if "leap" in more and n < 2 else f"{collapse('sack', n, rules='rfc', **more):.4f}" for n in windows]
        for name, more in settings.items()
    }
    return {
        "chain_growth": _rows(("states; classes at window", "2", "3", "4"), rows),
        "collapse": _rows(("p_c at window", *map(str, windows)), ([name, *row] for name, row in found.items())),
    }


def controls(result: Any = None) -> Tables:
    """Each control and queue in Linux and in the simulator, of a result of `LinuxControls` or of its record."""
    from tcpdynamics.validation.comparisons import LinuxControls

    result = LinuxControls().run() if result is None else result
    senders = ("Linux", "simulator, Linux's rules", "simulator, RFCs")

    def cell(one: Any, sender: str) -> str:
        use, loss, delay = (float(one["mean"].sel(sender=sender)[i]) for i in range(3))
        if np.isnan(use):
            return NOTHING
        agree = "" if sender == "Linux" else f" ({int((one.verdict.sel(ours=sender) == 'agrees').sum())} of 5)"
        return f"{use:.3f}; {100 * loss:.2f} %; {1e3 * delay:.1f}{agree}"

    rows = []
    for label in map(str, result.cell.values):
        one = result.sel(cell=label)
        jain = one["mean"].sel(quantity="Jain's index", sender=list(senders)).values
        equal = ", ".join(NOTHING if np.isnan(x) else f"{x:.3f}" for x in jain)
        rows.append((label, *(cell(one, sender) for sender in senders), equal))
    return {"linux_controls": _rows(("cell", *senders, "Jain's index, in this order"), rows)}


def sends() -> Tables:
    """Our senders beside Linux's, packet by packet."""
    from tcpdynamics.validation.comparisons import LinuxSends
    from tcpdynamics.validation.comparisons.linux_sends import OURS as ours
    from tcpdynamics.validation.comparisons.linux_sends import SENDERS as senders
    from tcpdynamics.validation.comparisons.linux_sends import SWITCHED, SWITCHES
    from tcpdynamics.validation.comparisons.send_difference import Kind

    study = LinuxSends()
    result = study.run()
    agree = result.kind == Kind.NONE.value
    rows = []
    for sender in senders:
        row = [sender]
        for name in ours:
            one = result.sel(sender=sender, ours=name)
            before, lists = float(one["prefix"].sum() / one.sends.sum()), agree.sel(sender=sender, ours=name)
            row.append(f"{int(lists.sum())}; {int(one.same_segments.sum())}; {100 * before:.0f} %")
        rows.append(row)
    last = result.sel(ours="RFCs, least timeout 0.3 s")
    causes = []
    for kind in list(Kind)[1:]:
        chosen = last.kind == kind.value
        late = 1e3 * last["size"].values[chosen.values]
        late = late[np.isfinite(late)]
        if int(chosen.sum()):
            by = f"{late.min():.0f} to {late.max():.0f}, median {np.median(late):.0f}" if late.size else ""
            causes.append((str(kind), *(str(int(chosen.sel(sender=name).sum())) for name in senders), by))
    count = lambda data: str(round(float(data) * study.switched))  # noqa: E731
    switches = [
        (name, *(count(result.changed.sel(switch=name, sender=one)) for one in senders),
         count(result.followed.sel(switch=name).sum()) if name in SWITCHED else NOTHING)
        for name in SWITCHES
    ]  # fmt: skip
    return {
        "linux_sends": _rows(("sender", *ours), rows),
        "linux_causes": _rows(("cause", *senders, "Linux later by [ms]"), causes),
        "linux_features": _rows(("feature", *senders, "reproduced, of 32"), switches),
    }


def shares() -> Tables:
    """BBR against CUBIC, and pairs of stacks."""
    from tcpdynamics.validation.comparisons import BbrVsCubic, LinuxStacks
    from tcpdynamics.validation.comparisons.linux_stacks import LINKS

    bbr = BbrVsCubic().run()
    ends = (bbr[name].values.tolist() for name in ("buffer", "low", "share", "high", "published"))
    rows = [
        (f"{buffer:g}", _range(low, share, high, 3), f"{published:.3f}")
        for buffer, low, share, high, published in zip(*ends, strict=True)
    ]
    stacks = LinuxStacks().run()
    names = [str(name) for name in stacks.sender.values]
    of_stacks: list[str] = []
    for link in LINKS:
        one = 100 * stacks[["share", "share_high"]].sel(link=link).transpose("sender", "beside")
        pairs = zip(names, one.share.values, (one.share_high - one.share).values, strict=True)
        of_link = [[f"**{name}**", *map("{:.0f} ± {:.0f}".format, shares, halves)] for name, shares, halves in pairs]
        of_stacks += [f":::{{dropdown}} {link}", *_rows(("[%]", *names), of_link), ":::", ""]
    return {"bbr_cubic": _rows(("buffer [BDP]", "BBR's fraction", "published model"), rows), "stacks": of_stacks}


#: Columns of the sub-packet tables.
COLUMNS = {
    "Linux, switches off": "Linux, features off", "Linux as it comes, Reno": "Linux, Reno",
    "Linux as it comes, CUBIC": "Linux, CUBIC", "Linux as it comes, BBR": "Linux, BBR",
    "simulator, RFCs": "simulator, RFC", "simulator, ns-2": "simulator, ns-2",
}  # fmt: skip
#: Quantity of a record -> its words, of the tables of Fig. 3 and of silences.
SLICES = {
    "loss rate": "loss rate", "0 sent": "silent round trips", "Jain's index, 20 s": "Jain's index, 20 s",
    "locked out for 20 s": "flows with nothing in 20 s (0.3)", "most active in 20 s": "most active in any 20 s (0.7)",
    "goodput of the richest 40 %": "goodput of the richest 40 % (0.8)",
    "goodput of the next 30 %": "of the next 30 % (0.2)",
    "goodput of the last 30 %": "of the last 30 % (0)", "Jain's index, whole run": "Jain's index, whole run",
}  # fmt: skip


def cells(link: Any, quantity: str, digits: int = 2) -> list[str]:
    """A quantity of each sender."""
    one = link.sel(quantity=quantity)
    ends = (one[name].sel(sender=list(COLUMNS)).values for name in ("mean_low", "mean", "mean_high"))
    return [_range(*map(float, three), digits) for three in zip(*ends, strict=True)]


def sub_packet() -> Tables:
    """The sub-packet paper's figures on Linux."""
    from tcpdynamics.paper_figures.sub_packet import today
    from tcpdynamics.validation.comparisons import LinuxSubPacket
    from tcpdynamics.validation.comparisons.crowded_laws import CHAINS
    from tcpdynamics.validation.comparisons.crowded_links import HANGS, LINKS

    result = LinuxSubPacket().run()
    of = {name: result.sel(link=name) for name in LINKS}
    head = COLUMNS.values()
    fairness = []
    jain = "Jain's index, 20 s"
    for name in (name for name in LINKS if 2 in LINKS[name].figures):
        exact = of[name].jain_predicted.values
        ends = f"{np.nanmin(exact):.2f} to {np.nanmax(exact):.2f}"
        fairness.append((f"{name}: {LINKS[name].share / 1e3:.0f} kbit/s each", *cells(of[name], jain), ends))
    slices = [
        (f"{words}; {phase}", *cells(of[name], quantity))
        for quantity, words in SLICES.items() for phase, name in today.PHASES.items()
    ]  # fmt: skip
    packets = []
    for name in (name for name in LINKS if {9, 10, 11} & set(LINKS[name].figures)):
        one = of[name].sel(sender=list(COLUMNS))
        packets.append((f"{name}: loss", *cells(one, "loss rate", 3)))
        packets.append(("silent round trips", *cells(one, "0 sent")))
        packets.append(("printed chain, silent", *(f"{x:.2f}" for x in one.predicted.isel(chain=0, packets=0).values)))
        for i, words in enumerate(("distance from the printed chain", "from the sender's chain")[: len(CHAINS)]):
            low, mean, high = (one[f"distance{end}"].isel(chain=i).values for end in ("_low", "", "_high"))
            packets.append((words, *(f"{m:.2f} [{a:.2f}, {b:.2f}]" for a, m, b in zip(low, mean, high, strict=True))))
    silences = (*HANGS, "hang above 60 s", "longest hang of four flows, median", "longest hang of four flows, 90 %")
    hangs = [
        (f"{n} flows: {quantity}", *cells(of[f"1 Mbit/s, {n} flows"], quantity, 2 if "above" in quantity else 1))
        for n in (40, 100, 200) for quantity in silences
    ]  # fmt: skip
    queues = [name for name in LINKS if name.startswith("gateway")]
    gateways = [(name.removeprefix("gateway, "), *cells(of[name], jain)) for name in queues]
    claims = []
    for one in today.STATEMENTS:
        found = today.answers(one, result)
        marked = (today.cell(found[name]).replace(" -", " \N{MINUS SIGN}") for name in COLUMNS)
        claims.append((f"{one.of_ledger.place}: {one.words}", one.of_ledger.published_text, *marked))
    agree = ((result.low <= 0) & (result.high >= 0)).sum("quantity")
    known = np.isfinite(result.difference).any(("quantity", "pair"))
    rules = [
        (name, *(str(int(x)) for x in agree.sel(link=name).values)) for name in LINKS if bool(known.sel(link=name))
    ]
    return {
        "today_fairness": _rows(("Jain's index in 20 s", *head, "exact chain at these losses"), fairness),
        "today_slices": _rows(("100 flows (printed)", *head), slices),
        "today_packets": _rows(("", *head), packets),
        "today_hangs": _rows(("longest time without a send [s]", *head), hangs),
        "today_gateways": _rows(("Jain's index in 20 s", *head), gateways),
        "today_claims": _rows(("statement", "published", *head), claims),
        "today_rules": _rows(("link", "features off", "Reno", "CUBIC"), rules),
    }


def features() -> Tables:
    """Linux's features one by one where a flow's share is small."""
    from tcpdynamics.validation.comparisons import PacketsVsLinux
    from tcpdynamics.validation.comparisons.packets_vs_linux import PAIRS, QUANTITIES

    result = PacketsVsLinux().run()
    busy = result.sel(flows=100)
    rows = [
        (name, *cells(busy, name, 3)) if unit == "1" else (f"{name} [{unit}]", *cells(busy, name, 1))
        for name, unit in QUANTITIES.items()
    ]
    rows.append(("printed chain, silent", *(f"{x:.3f}" for x in busy.printed.sel(sender=list(COLUMNS)).values)))
    rows.append(("the sender's chain, silent", *(f"{x:.3f}" for x in busy.compiled.sel(sender=list(COLUMNS)).values)))
    moved = ("loss rate", "silent round trips", "locked out for 20 s", "timeouts")
    effects = []
    for name in map(str, result.switch.values):
        one = result.sel(switch=name)
        ends = ([float(one[f"effect{end}"].sel(quantity=q)) for end in ("_low", "", "_high")] for q in moved)
        effects.append((name, *(f"{mean:+.3f} ± {(high - low) / 2:.3f}" for low, mean, high in ends)))
    equal = ((result.low <= 0) & (result.high >= 0)).sum("quantity").transpose("pair", "flows")
    held = [(f"{PAIRS[ours]} less {ours}", *map(str, equal.sel(pair=ours).values)) for ours in PAIRS]
    return {
        "features_senders": _rows(("100 flows", *COLUMNS.values()), rows),
        "features_effects": _rows(("turned on", *moved[:3], "timeouts [1/s]"), effects),
        "features_rules": _rows((f"of {len(QUANTITIES)}", "40 flows", "100 flows", "200 flows"), held),
    }


def lock_out() -> Tables:
    """Flows with nothing in 20 s, with one cause removed at a time, from runs."""
    from tcpdynamics.validation.comparisons import LockOut

    result = LockOut().run()
    rows = []
    for run, words in REMOVED.items():
        one = result.sel(run=run)
        parts = ((100 * float(one[f"{kind}{end}"]) for end in ("_low", "", "_high")) for kind in ("locked_out", "ns2"))
        losses = (f"{float(one[name]):.3f}" for name in ("loss", "loss_timeout"))
        chains = (f"{100 * x:.1f}" for x in one.predicted.values[:2])
        ours, theirs = (_range(*three, 1).replace(" ", "\N{NO-BREAK SPACE}") for three in parts)
        rows.append((words, ours, theirs, *losses, *chains))
    head = (
        "removed",
        "nothing in 20 s [%]",
        "ns-2 [%]",
        "drops",
        "drops after timeouts",
        "chain [%]",
        "chain, two [%]",
    )
    return {"lock_out": _rows(head, rows)}


def windows() -> Tables:
    """Mean windows of the window rules under random losses, from runs."""
    from tcpdynamics.validation.comparisons import WindowRulesVsFormulas

    result = WindowRulesVsFormulas().run()
    rows = []
    for rule in map(str, result.rule.values):
        for loss in result.loss.values:
            one = result.sel(rule=rule, loss=loss)
            ends = (float(one[f"measured{end}"].max()) for end in ("_low", "", "_high"))
            formulas = [NOTHING if np.isnan(x) else f"{x:.1f}" for x in one.predicted.values]
            rows.append((f"`{rule}`", _number(loss), _range(*ends, 1), *formulas))
    head = ("control", "loss probability", "mean window, packets", "published formula", "fluid equilibrium")
    return {"windows": _rows(head, rows)}


def _time(seconds: float) -> str:
    """Two digits, with a prefix."""
    unit, scale = next(
        (u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)) if seconds >= s or s < 1e-8
    )
    return f"{float(f'{seconds / scale:.2g}'):g} {unit}"


def _interval(values: Sequence[float]) -> str:
    middle, low, high = (f"{float(f'{value:.2g}'):g}" for value in values)
    return middle if low == high else f"{middle} ({low} to {high})"


def performance() -> Tables:
    """Times of our routes and of the peers', by the last run of each benchmark."""
    kept = json.loads((ROOT / "benchmarks" / "measured.json").read_text(encoding="utf-8"))
    rows = []
    for title, work in kept["works"].items():
        for place, row in enumerate(work["rows"]):
            name = f"{row['route']} ({row['package']})" if "package" in row else row["route"]
            first = f"{title}, {work['part']}" if place == 0 else ""
            if "missing" in row:
                rows.append((first, name, row["missing"], *[NOTHING] * 4))
                continue
            ratios = (NOTHING, NOTHING) if place == 0 else (_interval(row["ratio_cpu"]), _interval(row["ratio_clock"]))
            error = NOTHING if row["error"] is None else f"{row['error']:.0e}"
            rows.append((first, name, _time(row["cpu"][0]), _time(row["clock"][0]), *ratios, error))
    head = ("work", "route", "CPU", "clock", "CPU, ratio to ours", "clock, ratio to ours", "largest error")
    machine = kept["machine"]
    about = (
        f"Measured on {machine['date']}: {machine['processors']} processors of {machine['processor']}, Python "
        f"{machine['python']}, NumPy {machine['numpy']}."
    )
    return {"performance": [about, "", *_rows(head, rows)]}


def claimed() -> Tables:
    """What packets gave where a paper has a number, from the records of the claims."""
    from tcpdynamics.apps import ledger_rows
    from tcpdynamics.paper_figures import ledger

    known, recorded = ledger.claims(), ledger.recorded()["rows"]
    tables = {}
    for page, names in CLAIMED.items():
        cells = [ledger_rows.row(known[name], recorded[name]) for name in names]
        rows = [tuple(cell[key] for key in ("quantity", "published", "packets", "verdict")) for cell in cells]
        tables[f"claimed_{page}"] = _rows(("quantity", "paper", "packets", "verdict"), rows)
    return tables


def _mark() -> str:
    """Of all that the long tables come from."""
    files = [*(ROOT / "validation").rglob("*.py"), *(ROOT / "validation").rglob("*.json"), Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def write(app: Any) -> None:
    """Write the tables, each only where it has changed."""
    HERE.mkdir(parents=True, exist_ok=True)
    (HERE.parent / "static").mkdir(exist_ok=True)
    (HERE.parent / "static" / "measured.css").write_text(STYLE, encoding="utf-8")
    mark, kept = _mark(), HERE / "made_from"
    makers: list[Callable[[], Tables]] = [
        features, sub_packet, sends, controls, chains, shares, chosen_losses, windows, lock_out,
    ]  # fmt: skip
    made = [parameters(), performance(), claimed()]
    if not kept.exists() or kept.read_text(encoding="utf-8") != mark:
        with ProcessPoolExecutor(2) as pool:
            made += [one.result() for one in [pool.submit(maker) for maker in makers]]
    for tables in made:
        for name, lines in tables.items():
            path, text = HERE / f"{name}.txt", "\n".join(lines) + "\n"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
    kept.write_text(mark, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """For Sphinx."""
    app.connect("config-inited", lambda app, config: write(app))
    app.add_css_file("measured.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
