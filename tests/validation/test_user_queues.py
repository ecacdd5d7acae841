"""Queue of one's own: as a built-in one, checked when it is registered, its line counted at the end of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba import njit

from tcpdynamics.validation.packet import (
    Bottleneck,
    ConservationError,
    Flows,
    Record,
    Scenario,
    ScenarioError,
    conservation,
    engine,
    simulate,
    sweep_scenarios,
)
from tcpdynamics.validation.packet.conservation import check_lines
from tcpdynamics.validation.packet.kernel import loop, queues, records
from tcpdynamics.validation.packet.kernel.queues.checks import check_discipline
from tcpdynamics.validation.packet.setup import build
from tcpdynamics.validation.packet.user_queues import (
    FIELDS,
    Parameter,
    droptail,
    event,
    lose_held,
    overfull,
    own_queues,
    queue_discipline,
)


@pytest.fixture(autouse=True)
def _only_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests draw from the tables."""
    before = dict(queues.DISCIPLINES), dict(queues.MECHANISMS)
    yield
    for table, kept in zip((queues.DISCIPLINES, queues.MECHANISMS), before, strict=True):
        table.clear()
        table.update(kept)


def through(queue: str, duration: float = 20.0, **link: Any) -> Scenario:
    flows = Flows(8, "sack", rtt=(0.05, 0.1), packet_size=1000)
    link = {"rate": 4e6, "buffer": 30, **link}
    record = Record(queues=0.0, drops=True)
    return Scenario((flows,), Bottleneck(queue=queue, **link), duration=duration, warm_up=5.0, record=record)


def admit_all(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    return 1


def drop_first(w: Any, line: Any, slot: Any) -> None:
    droptail.put(w, line, slot)
    while line.waiting > 0 and overfull(line):
        lose_held(w, line, droptail.take(w, line))


def made(**parts: Any) -> Any:
    """A class with the hooks of drop from front, and these in their place."""
    return type("Made", (), {"admits": admit_all, "put": drop_first, "take": droptail.take, **parts})


@pytest.mark.parametrize(
    ("queue", "parameters"), [("drr", {"queues": 2}), ("codel", {"target": 0.01}), ("proportional", {"p_max": 0.5})]
)
def test_a_file_of_the_package_under_ones_own_name_gives_the_same_run(queue: str, parameters: Any) -> None:
    queue_discipline(f"my_{queue}")(queues.DISCIPLINES[queue])
    built_in, own = (simulate(through(name, queue_parameters=parameters)) for name in (queue, f"my_{queue}"))
    assert built_in["dropped"].sum() + built_in["link_marked"].sum() > 0
    assert list(own) == list(built_in)
    assert all(np.array_equal(own[name], built_in[name], equal_nan=True) for name in own if own[name].dtype.kind == "f")


def test_drop_from_front_loses_the_oldest() -> None:
    queue_discipline("drop_from_front")(made())
    run = simulate(through("drop_from_front"))
    assert run["dropped"].sum() == run["link_evicted"].sum() > 0
    assert run["queue_packets"].max() == 29


def test_a_queue_registered_again_replaces_the_old_one_in_later_runs() -> None:
    queue_discipline("again")(made())
    before = own_queues()["again"]
    queue_discipline("again")(made(admits=lambda w, line, slot, busy: 1 if line.waiting < 3 else 0))
    assert own_queues()["again"] != before
    assert simulate(through("again"))["queue_packets"].max() == 3


def test_a_store_knows_a_queue_of_ones_own_and_other_processes_do_not() -> None:
    queue_discipline("mine")(made())
    grid: dict[str, Any] = {"bottleneck.queue": ["droptail", "mine"]}
    short = dataclasses.replace(through("droptail", 6.0), record=Record())
    assert sweep_scenarios(short, grid, seeds=2).sizes["bottleneck.queue"] == 2
    with pytest.raises(ScenarioError, match="a rule or queue of one's own lives in this process alone"):
        sweep_scenarios(short, grid, seeds=2, processes=2)


drop_one = njit(drop_first)


def forgets(w: Any, line: Any, slot: Any) -> None:
    droptail.put(w, line, slot)
    if line.waiting > 0 and overfull(line):
        droptail.take(w, line)


def loses_none(w: Any, line: Any, slot: Any) -> None:
    droptail.put(w, line, slot)


def counts_twice(w: Any, line: Any, slot: Any) -> None:
    drop_one(w, line, slot)
    line.dropped += 1


@pytest.mark.parametrize(
    ("put", "message"),
    [
        (forgets, r"queue wrong: link 0 counts \d+ packets as waiting, \d+ are in its line; did `put` take one off"),
        (loses_none, r"queue wrong: \d+ packets wait at link 0, where at most 29 may; compare them in `admits`"),
        (counts_twice, r"link 0: arrived = refused \+ accepted fails by -?\d+; check the hooks of queue wrong"),
    ],
)
def test_a_line_that_does_not_balance_names_the_queue(put: Any, message: str) -> None:
    queue_discipline("wrong")(made(put=put))
    with pytest.raises(ConservationError, match=message):
        simulate(through("wrong"))


@pytest.mark.parametrize("queue", [name for name in queues.DISCIPLINES if name != "droptail"])
def test_counting_a_line_changes_nothing(queue: str) -> None:
    scenario = through(queue)
    sim = build(scenario, 1)
    loop.start(sim.world)
    sim, _ = engine._run(sim, scenario, 7.0, None, None)
    assert sim.links["waiting"].max() > 0
    before = [np.array(array) for array in sim]
    check_lines(sim)
    assert [array.tobytes() for array in before] == [array.tobytes() for array in sim]


def calls_wrongly(w: Any, line: Any, slot: Any) -> None:
    lose_held(w, slot)  # type: ignore[call-arg]


def misspells(w: Any, line: Any, slot: Any) -> None:
    event(w, slot).lenght = 1


def makes_a_list(w: Any, line: Any, slot: Any) -> None:
    found = [line]  # noqa: F841


def returns_nothing(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    if busy:
        return 1


def returns_a_number(w: Any, line: Any, slot: Any) -> Any:
    return 1


def unknown_name(w: Any, line: Any, slot: Any) -> None:
    lose_help(w, line, slot)  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("hook", "function", "message"),
    [
        ("put", calls_wrongly, "missing a required argument: 'slot' in the call of lose_held; correct its arguments"),
        ("put", misspells, "a record has no field 'lenght'; correct the name"),
        ("put", makes_a_list, "it makes a list or another Python object; use numbers and fields of records"),
        ("put", returns_a_number, "it must return nothing; leave out the value after `return`"),
        ("put", unknown_name, "NameError: name 'lose_help' is not defined"),
        ("admits", returns_nothing, "it must return a whole number on every path; add `return`"),
    ],
)
def test_a_hook_that_does_not_compile_is_refused_in_one_sentence(hook: str, function: Any, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        queue_discipline("wrong")(made(**{hook: function}))
    text, name = str(refused.value), function.__name__
    assert text.startswith(f"queue wrong: `{name}` in {__file__}, line ") and text.endswith(message)
    assert "\n" not in text and "wrong" not in queues.DISCIPLINES


TARGET = Parameter("target", "s", "a time", 0.1)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"admits": None}, "the hook `admits` is missing; write admits(w, line, slot, busy)"),
        ({"take": 3}, "`take` must be a function, got 3; write take(w, line)"),
        ({"put": lambda w, line: None}, "`put` must take 3 arguments, got 2; write put(w, line, slot)"),
        ({"prepare": lambda state: None}, "`prepare` must take 4 arguments, got 1; write prepare(state, lanes, "),
        ({"PARAMETERS": TARGET}, "PARAMETERS must be a tuple of Parameter, got Parameter("),
        ({"PARAMETERS": (TARGET,)}, "STATE must be a NumPy dtype with fields, got None; give it those that hooks"),
        ({"RECORDED": {"x": "s"}}, "RECORDED must be a dict of a name to (unit, meaning) with at most 4 names, got"),
        (
            {"RECORDED": {"x": ("s", "a time")}, "STATE": np.dtype([("y", np.float64)])},
            "the first fields of STATE must be those of RECORDED (x), as float64, got y",
        ),
    ],
)
def test_a_part_that_is_missing_or_wrong_is_named_with_its_file(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        check_discipline("wrong", made(**parts))
    assert str(refused.value).startswith(f"queue wrong ({__file__}): {message}")


@pytest.mark.parametrize("name", ["droptail", "retransmissions", "not a name", 3, "x" * 101])
def test_names_are_those_of_no_other(name: Any) -> None:
    with pytest.raises(ScenarioError, match="a queue's name must be an identifier of at most 100 characters"):
        queue_discipline(name)


def test_fields_for_hooks_are_there() -> None:
    dtypes = {"w": records.WORLD, "line": records.LINK, "event(w, slot)": records.EVENT}
    for name in ", ".join(FIELDS).replace("w, slot", "w; slot").split(", "):
        record, _, field = name.replace("w; slot", "w, slot").rpartition(".")
        assert field in (dtypes[record].names or ())


def test_a_long_line_is_counted_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conservation, "LONGEST", 3)
    queue_discipline("long")(made())
    assert simulate(through("long"))["queue_packets"].max() == 29
    queue_discipline("wrong")(made(put=forgets))
    with pytest.raises(ConservationError, match="queue wrong"):
        simulate(through("wrong"))
