"""`--set`: the value at a path changes and nothing else does."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.apps.overrides import override
from tcpdynamics.errors import InputError

TABLE: dict[str, Any] = {
    "duration": "60s",
    "bottleneck": {"rate": "1Mbit/s", "buffer": 20},
    "flows": [{"count": 2, "rtt": ["190ms", "210ms"]}, {"count": 1}],
    "drops": [],
}


def changed(*settings: str) -> dict[str, Any]:
    table = copy.deepcopy(TABLE)
    for setting in settings:
        override(table, setting)
    return table


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100s", "100s"),
        ("20", 20),
        ("0.1", 0.1),
        ("true", True),
        ('"20"', "20"),
        ("[1, 2]", [1, 2]),
        ('{rate = "2Mbit/s"}', {"rate": "2Mbit/s"}),
        ("2Mbit/s", "2Mbit/s"),
        ("a=b", "a=b"),
        ("", ""),
        ("__import__('os').getcwd()", "__import__('os').getcwd()"),
        ("1\nseed = 9", "1\nseed = 9"),
    ],
)
def test_values_are_toml_or_else_text(text: str, value: object) -> None:
    assert changed(f"duration={text}") == {**TABLE, "duration": value}


def test_paths_reach_into_lists_and_make_tables() -> None:
    assert changed("flows.1.sender=newreno")["flows"][1] == {"count": 1, "sender": "newreno"}
    assert changed("flows.0.rtt.1=1s")["flows"][0]["rtt"] == ["190ms", "1s"]
    assert changed("record.windows=0.1", "record.sends=true")["record"] == {"windows": 0.1, "sends": True}


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("duration", "takes key=value"),
        ("=5", "takes key=value"),
        ("flows..count=5", "takes key=value"),
        ("flows.2.count=5", "flows.2: flows has the indices 0 to 1"),
        ("flows.-1.count=5", "flows is a list; give an index from 0"),
        ("flows.99999999999999999999=5", "the indices 0 to 1"),
        ("flows.count=5", "such as flows.0.count"),
        ("drops.0.flow=1", "drops has no entries"),
        ("duration.x=5", "duration is '60s', which has nothing below it"),
        ("flows.0.count.x.y=5", "flows.0.count is 2"),
    ],
)
def test_wrong_paths_are_refused_by_name(setting: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        changed(setting)


@given(
    st.text("abcxyz_", min_size=1),
    st.one_of(st.booleans(), st.integers(-(2**62), 2**62), st.lists(st.integers(0, 9)), st.floats(-1e9, 1e9)),
)
def test_any_value_of_json_and_toml_comes_through(name: str, value: object) -> None:
    table = changed(f"extra.{name}={json.dumps(value)}")
    assert table == {**TABLE, "extra": {name: value}}


@given(st.text(), st.text())
def test_no_text_breaks_it_otherwise_than_by_name(path: str, value: str) -> None:
    try:
        table = changed(f"{path}={value}")
    except InputError:
        return
    assert table != TABLE or any(value.strip() in str(v) for v in TABLE.values())


def test_entries_of_lists_are_named_as_in_messages() -> None:
    table = {"flows": [{}, {}], "links": [{"source": "s", "target": "r"}, {"source": "r", "target": "d"}]}
    override(table, "flows[1].rtt=0.1")
    assert table["flows"][1] == {"rtt": 0.1}
    with pytest.raises(InputError, match=r"links is a list; give an index from 0, such as links\.1$"):
        override(table, "links.r->d.rate=3Mbit/s")
