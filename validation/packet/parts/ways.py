"""What links lose, and tables of their rates and delays: records, random streams, addresses of hooks."""

from __future__ import annotations

from typing import Any

from ..hops import on_clock
from ..kernel import changes, hooks, loss_models
from ..kernel import records as k
from ..kernel.streams import first_draw, stream
from ..scenario.link import Link
from ..scenario.losses import read_loss
from ..scenario.scenario import Scenario, refuse_above
from .draft import Draft


def fill(draft: Draft) -> None:
    """Append to the memory the records of links that lose in bursts, or change, and write where they are."""
    scenario, links, memory, word = draft.scenario, draft.links, draft.memory, draft.word
    tables: dict[Any, int] = {}  # both directions of a link have one
    for i, way in enumerate(scenario.ways):
        if way.loses and not way.loses_alike:
            links["channel"][i] = memory.append(_channel(way.loss, word, 2 * i))
            if way.ack_loss is not None:
                memory.append(_channel(way.ack_loss, word, 2 * i + 1))
                links["ack_channel"][i] = 1
        if way.changes:
            links["departs"][i] = hooks.addresses([changes], changes.HOOKS)[0, 0]
            if way.course not in tables:
                refuse_above(float(memory.size + 24 * len(way.course)), "tables of changes", "give shorter ones")
                tables[way.course] = memory.append(_table(scenario, way))
            links["table"][i] = tables[way.course]
            links["course"][i] = memory.append(_state(scenario, way))
    memory.check("losses and changes of links", "take fewer links with them")


def _channel(loss: Any, word: int, number: int) -> Any:
    """The record of one loss process, with a random stream of its own."""
    file, values = read_loss(loss, "links.loss")
    record = k.zeroed(1, loss_models.HEAD if file is None else file.STATE)
    if file is None:
        record["loss"] = values["loss"]
        return record
    for name, value in values.items():
        record[name] = value
    record["hook"] = hooks.addresses([file], loss_models.HOOKS)[0, 0]
    record["key"] = stream(word, k.CHANNEL, number)
    file.begin(record[0], first_draw(word, k.CHANNEL, number))
    return record


def _table(scenario: Scenario, way: Link) -> Any:
    """Rows from time 0 on, with times and delays on the clock's grid."""
    rows = way.course
    table = k.zeroed(len(rows), changes.ROW)
    for name, column in zip(("time", "rate", "delay"), zip(*rows, strict=True), strict=True):
        table[name] = column if name == "rate" or scenario.exact else [on_clock(scenario, x) for x in column]
    return table


def _state(scenario: Scenario, way: Link) -> Any:
    state = k.zeroed(1, changes.STATE)
    state["rows"] = len(way.course)
    state["by_bits"] = way.changes_by == "bit"
    state["overtakes"] = way.reorder
    state["first"] = on_clock(scenario, way.delay)
    return state
