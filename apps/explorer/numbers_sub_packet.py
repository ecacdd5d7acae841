"""The numbers of each picture of the sub-packet page.

`source` is the loss, or the link whose users lose it; `shapes` has the fields of each chain; `sender` those of the
simulator's own sender, or None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.sub_packet_chains import CHAINS, COLUMNS, loss_limit, loss_of, without_law
from tcpdynamics.apps.explorer.sub_packet_points import GROUPS, points
from tcpdynamics.solvers import stationary
from tcpdynamics.solvers.markov.flows import flow_program
from tcpdynamics.solvers.programs.straightline import run

Shapes = dict[str, dict[str, int]]


def models(losses: Any, base_timeout: float, shapes: Shapes, sender: dict[str, Any] | None) -> dict[str, Any]:
    """The chains at losses, each up to the loss at which its distribution ends, and the sender's."""
    listed = {}
    for kind in COLUMNS:
        own = losses if kind == "exact" else losses[losses < loss_limit(kind)]
        if own.size:
            listed[kind] = CHAINS[kind](loss=own, base_timeout=base_timeout, **shapes[kind])
    if sender:
        from tcpdynamics.validation.sender_chain import Sender

        listed["sender"] = Sender(loss=losses, **sender)
    return listed


def packets(source: Any, base_timeout: float, shapes: Shapes, sender: dict[str, Any] | None = None) -> pd.DataFrame:
    """The bars of the chains that have a stationary distribution at this loss; packets are measured by the button."""
    loss = loss_of(source)
    table = pd.DataFrame({"packets sent in a round trip": range(shapes["exact"]["w_max"] + 1)})
    table = table.assign(**dict.fromkeys(COLUMNS, np.nan))
    if without_law("exact", loss):
        return table
    for name, model in models(np.array([loss]), base_timeout, shapes, sender).items():
        table[name] = pd.Series(model.observe(stationary(model.chain())).sent.isel(loss=0).values)
    return table


def along(losses: Any, quantity: str, base_timeout: float, shapes: Shapes, sender: Any = None) -> pd.DataFrame:
    """ "goodput" or "silence" against loss; of chains that end at a loss, up to there."""
    table = pd.DataFrame({"loss rate": losses})
    for name, model in models(losses, base_timeout, shapes, sender).items():
        observed = model.observe(stationary(model.chain()))
        table[name] = pd.Series((observed.goodput if quantity == "goodput" else observed.sent.sel(packets=0)).values)
    return table


def goodput(
    source: Any, count: int, base_timeout: float, shapes: Shapes, sender: dict[str, Any] | None = None
) -> pd.DataFrame:
    """Packets delivered per round trip."""
    table = along(0.005 + 0.005 * np.arange(count), "goodput", base_timeout, shapes, sender)
    return table if isinstance(source, float) else table.assign(**{"share of each user": float(source.share())})


def silence(count: int, base_timeout: float, shapes: Shapes, sender: dict[str, Any] | None = None) -> pd.DataFrame:
    """The fraction of epochs without a packet."""
    return along(0.005 + 0.005 * np.arange(count), "silence", base_timeout, shapes, sender)


def measured(group: str, quantity: str, base_timeout: float, shapes: Shapes) -> pd.DataFrame:
    """ "goodput" or "silence" against loss: the chains, and what was measured, with 95 % intervals."""
    series = {name: points()[name] for name in GROUPS[group]}
    losses = [row["loss"][0] for rows in series.values() for row in rows]
    table = along(np.unique([*(0.005 + 0.005 * np.arange(99)), *losses]), quantity, base_timeout, shapes)
    for name, rows in series.items():
        by_loss = {row["loss"][0]: row["goodput"] if quantity == "goodput" else row["sent"][0] for row in rows}
        for column, part in ((name, 0), (f"{name}, low", 1), (f"{name}, high", 2)):
            table[column] = [by_loss[p][part] if p in by_loss else np.nan for p in table["loss rate"]]
    return table


def measured_law(source: Any, group: str, base_timeout: float, shapes: Shapes) -> pd.DataFrame:
    """Packets sent in a round trip at the load whose loss is nearest: measured, and by the chains at that loss."""
    name = GROUPS[group][0]
    row = min(points()[name], key=lambda one: abs(one["loss"][0] - loss_of(source)))
    table = packets(row["loss"][0], base_timeout, shapes)
    for column, part in ((name, 0), (f"{name}, low", 1), (f"{name}, high", 2)):
        table[column] = pd.Series([one[part] for one in row["sent"]][: len(table)])
    return table


def diagram(source: Any, kind: str, base_timeout: float, shapes: Shapes) -> pd.DataFrame:
    """The fraction of time in each state, and how often each transition is taken."""
    loss = loss_of(source)
    # Swept, so that loss and timeout are symbols, p and m_0.
    flows = flow_program(CHAINS[kind](loss=[0.1, 0.2], base_timeout=[2.0, 3.0], **shapes[kind]).chain())
    names = [*flows.states, *(f"{flows.states[a]} to {flows.states[b]}" for a, b in flows.edges)]
    numbers = np.nan if without_law(kind, loss) else run(flows.program, {"p": loss, "m_0": base_timeout})
    return pd.DataFrame({"state or transition": names, "fraction of time or transitions per round trip": numbers})


def lengths(source: Any, base_timeout: float, shapes: Shapes) -> pd.DataFrame:
    """How long silences are in the exact chain, and their fraction of the silent time."""
    loss = loss_of(source)
    none = bool(without_law("exact", loss))  # lengths alone are there
    silent = CHAINS["exact"](loss=0.1 if none else loss, base_timeout=base_timeout, **shapes["exact"]).silence_lengths()
    columns = {"of silences": silent.probability, "of the silent time": silent.time_fraction}
    columns |= dict.fromkeys(columns, np.nan) if none else {}
    return pd.DataFrame({"length of a silence [RTT]": silent.length} | columns)
