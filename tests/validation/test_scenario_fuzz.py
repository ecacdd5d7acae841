"""Whatever stands in a scenario file, reading it gives a scenario or one sentence, soon, and never a traceback."""

import json
import os
import string
import subprocess
import sys
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import Scenario, ScenarioError, load_scenario, parse_scenario, ready_scenarios
from tcpdynamics.validation.packet.scenario.toml import MAX_BYTES, read_toml

READY = [path.read_text("utf-8") for path in ready_scenarios().values()]
KEYS = sorted(
    {"flows", "links", "drops", "record", "bottleneck", "topology", "nodes", "kind", "rtt", "rate", "buffer", "delay"}
    | {"source", "target", "route", "count", "duration", "warm_up", "slice", "epoch", "seed", "name", "sender"}
    | {"parameters", "segments", "window_limit", "duplex", "loss", "link", "packet", "segment", "windows", "queues"}
    | {"rates", "delays", "access_rate", "clock", "scheduler", "control", "rules", "stop", "min_rto", "max_backoff"}
)

#: Values as TOML, kind and hostile.
VALUES = [
    "1", "0", "-1", "2.5", "true", "false", '"1s"', '"2 Mbit/s"', '"200ms"', '"5%"', '"a"', '""', "inf", "-inf", "nan",
    "1e400", "9" * 401, "-" + "9" * 400, "9" * 4301, "0x" + "f" * 5000, "1979-05-27", "07:32:00", 
    "1979-05-27T07:32:00Z",
    "[]", "[1]", '["200ms"]', '["190ms", "210ms"]', '["a", "b"]', "[1, 2, 3]", "[[1], [2]]", "[true, 0.2]", "[nan]",
    "{}",
    "{a = 1}", '{kind = "star"}', '{kind = ["star"]}', '{kind = {a = 1}}', '{kind = "dumbbell", flows = 2, rtt = [1]}',
    '{kind = "dumbbell", flows = 2, rtt = [1, 2, 3]}', '{kind = "dumbbell", flows = 2, rtt = []}',
    '{kind = "dumbbell", flows = 2, rtt = true}', '{kind = "two_paths", rates = 1}', 
    '{kind = "parking_lot", rates = []}',
    '"""\nexec\n"""', '"\\u0000"', '"\\u202e"', '"' + "x" * 5000 + '"', "[" * 40 + "]" * 40, "[" * 3000 + "]" * 3000,
    "{a = " * 40 + "1" + "}" * 40, '"star"', '"sack"', '"grid"', '"n0"', '["n0", "n1"]', '"n0->hub"', "1_000", "+1",
    "1e9",
]  # fmt: skip
values = st.sampled_from(VALUES) | st.floats().map(repr) | st.integers().map(str) | st.text(max_size=30).map(json.dumps)
keys = (
    st.sampled_from(KEYS)
    | st.text(string.ascii_letters + "_-", min_size=1, max_size=8)
    | st.text(max_size=5).map(json.dumps)
)
dotted = st.lists(keys, min_size=1, max_size=3).map(".".join) | st.just(".".join("a" * 50))
lines = st.one_of(
    st.tuples(dotted, values).map(" = ".join),
    dotted.map("[{}]".format),
    dotted.map("[[{}]]".format),
    st.sampled_from(["[[flows]]", "[[links]]", "[bottleneck]", "[topology]", "[record]", "[[drops]]"]),
    st.text(max_size=20),
)


@st.composite
def changed(draw):
    """A ready scenario with lines replaced, doubled, left out or put in, or with other bytes."""
    text = draw(st.sampled_from(READY)).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        what = draw(st.sampled_from(["value", "line", "drop", "double", "cut"]))
        if what == "line" or at == len(text):
            text.insert(at, draw(lines))
        elif what == "value":
            text[at] = f"{text[at].partition('=')[0]}= {draw(values)}"
        elif what == "double":
            text.insert(at, text[at])
        elif what == "drop":
            del text[at]
        else:
            text[at] = text[at][: draw(st.integers(0, len(text[at])))]
    return "\n".join(text).encode("utf-8", "surrogatepass")


files = st.one_of(
    changed(),
    st.lists(lines, max_size=8).map(lambda text: ("[[flows]]\n" + "\n".join(text)).encode("utf-8", "surrogatepass")),
    st.lists(lines, max_size=8).map(lambda text: "\n".join(text).encode("utf-8", "surrogatepass")),
    st.binary(max_size=60),
    st.tuples(st.binary(max_size=5), changed()).map(b"".join),
)


def check_read(path, content):
    path.write_bytes(content)
    try:
        scenario = load_scenario(path)
    except ScenarioError as error:
        message = str(error)
        assert len(message) < 700 and message.strip(), message
        assert "Traceback" not in message
        return
    assert isinstance(scenario, Scenario)
    # What was accepted is finite and can be described again.
    assert parse_scenario(json.loads(json.dumps(_plain(scenario)))) == scenario


def _plain(scenario):
    from tcpdynamics.validation.packet.result import table

    return table(scenario)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "scenario.toml"


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=files)
def test_any_file_is_a_scenario_or_one_sentence(place, content):
    check_read(place, content)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=files)
def test_any_of_many_files_is_a_scenario_or_one_sentence(place, content):
    check_read(place, content)


tables = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.just(10**401) | st.just("1s"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    table=st.dictionaries(st.sampled_from(KEYS) | keys, tables, max_size=4),
    flow=st.dictionaries(keys, tables, max_size=2),
)
def test_any_mapping_is_a_scenario_or_one_sentence(table, flow):
    for changed_table in (table, {"flows": [flow], **table}):
        try:
            parse_scenario(changed_table)
        except ScenarioError as error:
            assert len(str(error)) < 700


FLOW = b"duration = 10\nwarm_up = 1\n[[flows]]\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xef\xbb\xbf" + FLOW, "byte-order mark"),
        (b"\xff\xfe" + FLOW, "not UTF-8"),
        (FLOW + b"rtt\x00 = 1\n", "not TOML"),
        (FLOW + b"rtt = 60 ms  # base", 'put values with units in quotes, such as rtt = "60 ms"'),
        (b"[flows]\ncount = 2\n", "flows is one table, and there may be several; write [[flows]]"),
        (FLOW + b"a." * 20_000 + b"a = 1\n", "line 4 is nested more than 16 deep"),
        (FLOW + b'"a" . ' * 20_000 + b"a = 1\n", "line 4 is nested more than 16 deep"),
        (FLOW + b"rtt = " + b"[" * 3000 + b"]" * 3000, "nested more than 32 deep"),
        (FLOW + b"rtt = " + b"{a=" * 3000 + b"1" + b"}" * 3000, "nested more than 32 deep"),
        (FLOW + b"count = " + b"9" * 401, "(401 characters)"),
        (FLOW + b"rtt = " + b"9" * 401, "(401 characters)"),
        (FLOW + b"count = " + b"9" * 4301, "a whole number has thousands of digits; write a shorter one"),
        (FLOW + b"count = 0x" + b"f" * 5000, "digits"),
        (FLOW + b"rtt = []", "rtt"),
        (FLOW + b"rtt = [1]", "rtt"),
        (FLOW + b"rtt = [1, 2, 3]", "rtt"),
        (FLOW + b"rtt = true", "flows.rtt must be a number or text, got True"),
        (FLOW + b"rtt = [true, 1]", "flows.rtt must be a number or text"),
        (FLOW + b"parameters = [true]", "flows.parameters must be a number or text"),
        (FLOW + b"rtt = 1979-05-27", "flows.rtt must be a number"),
        (FLOW + b"rtt = inf", "flows.rtt must be a number in"),
        (FLOW + b"rtt = nan", "got nan"),
        (FLOW + b"rtt = 1\nrtt = 1", "not TOML"),
        (FLOW + b'rtt = "' + b"1" * 100_000 + b' x x"', "(100006 characters)"),
        (FLOW + b"x" * 100_000 + b" = 1", "unknown key flows.0.'xxx"),
        (FLOW + b'sender = "' + b"x" * 100_000 + b'"', "characters)"),
        (FLOW + b'control = "' + b"x" * 100_000 + b'"', "characters)"),
        (FLOW + b'[topology]\nkind = ["star"]', "topology.kind must be one of dumbbell, star"),
        (FLOW + b"[topology]\nkind = {a = 1}", "topology.kind must be one of dumbbell, star"),
        (FLOW + b'[topology]\nkind = "dumbbell"\nflows = 2\nrtt = true', "topology.rtt must be a number"),
        (FLOW + b'[topology]\nkind = "dumbbell"\nflows = true', "topology.flows must be a whole number"),
        (FLOW + b'[topology]\nkind = "dumbbell"\nflows = 2\nrtt = []', "topology.rtt must be one value or a pair"),
        (FLOW + b'[topology]\nkind = "dumbbell"\nflows = 2\nrtt = [1]', "topology.rtt must be one value or a pair"),
        (FLOW + b'[topology]\nkind = "dumbbell"\nflows = 2\nrtt = [1, 2, 3]', "topology.rtt must be one value"),
        (FLOW + b'[topology]\nkind = "dumbbell"\nflows = 2\nrtt = ' + b"9" * 401, "topology.rtt"),
        (FLOW + b'[topology]\nkind = "two_paths"\nrates = 1', "topology.rates must have two values"),
        (b"flows = [" + b"{}," * 100_001 + b"]", "100,001 entries"),
        (b"#" * (MAX_BYTES + 1), f"at most {MAX_BYTES:,} are read"),
        (b'name = "a\\nb"\n' + FLOW, "name must be a name of 1 to 100 printable characters"),
        # A string may end in quotes of its own: what stands behind it is no string.
        (b"flows = [{}]\na = ['''x'''', {" + b".".join([b"a"] * 9999) + b"=1}]", "line 2 is nested"),
        (b'flows = [{}]\na = ["""x""""", {' + b".".join([b"a"] * 9999) + b"=1}]", "line 2 is nested"),
        (b"flows = [{}]\na = ['''x'''', " + b"[" * 9999, "line 2 is nested"),
    ],
    ids=range(42),
)
def test_hostile_files_are_refused_in_one_sentence(tmp_path, content, says):
    path = tmp_path / "scenario.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert says in str(caught.value) and len(str(caught.value)) < 700


def test_only_ordinary_files_are_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", "/dev/null", tmp_path):
        with pytest.raises(ScenarioError, match="no ordinary file"):
            load_scenario(path)
    with pytest.raises(ScenarioError, match="no file name"):
        load_scenario("a\0b")
    with pytest.raises(FileNotFoundError):
        load_scenario(tmp_path / "missing")


def test_a_large_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "scenario.toml"
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole of a terabyte
    with pytest.raises(ScenarioError, match="1,000,000,000,000 bytes"):
        load_scenario(path)


@pytest.mark.parametrize(
    "text",
    ['a = "[[[["', "a = '''\n[[[[\n'''", 'a = """\n[[{.....\n"""', "# " + "[" * 100 + "\na = 1", 
     "a = [1.5, 2.5, 3.5]",
     'a = "\\"[[["', "a = 1.0\n" + "\n".join(f"b{i} = 0.5" for i in range(100)),
     'a = """"quoted" [["""', "a = [[1, 2], [3, 4]]", "a.b.c.d = 1\nb.c.d = 2"],
)  # fmt: skip
def test_only_nesting_counts_as_nesting(text):
    assert read_toml(text) == tomllib.loads(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(lines, max_size=6).map("\n".join))
def test_bounds_on_nesting_change_nothing_else(text):
    """Where nothing is deep, the bounded reader is Python's."""
    try:
        mine = read_toml(text)
    except tomllib.TOMLDecodeError:
        mine = None
    except ScenarioError:
        return
    try:
        theirs = tomllib.loads(text)
    except ValueError:
        theirs = None
    if mine != theirs:  # not a number among them; Python prints no whole number of 4,301 digits
        assert repr(mine) == repr(theirs)


@pytest.mark.parametrize("words", [["--set", "flows.0.count=" + "9" * 4301], ["--set", "a." * 9999 + "a=1"],
                                   ["--set", "flows.0.rtt=" + "[" * 3000 + "]" * 3000]])  # fmt: skip
def test_the_command_line_refuses_in_one_sentence(words):
    done = subprocess.run(
        [sys.executable, "-m", "tcpdynamics", "simulate", "one_loss", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and len(done.stderr) < 700
