"""A flow whose stop comes before its start; queues that lose hundreds of packets at once; files that are links."""

import warnings

import numpy as np
import pytest

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.packet import Bottleneck, Flows, Record, Scenario, load_scenario, read_trace, simulate


@pytest.mark.parametrize(
    "settings",
    [
        {"sender": "tfrc"},
        {"sender": "sack"},
        {"sender": "sack", "rules": "rfc", "segments": 10},
        {"sender": "cbr", "rate": 1e5},
        {"sender": "poisson", "rate": 1e5, "on_time": 0.1, "off_time": 0.1},
    ],
    ids=["tfrc", "sack", "finite", "cbr", "bursts"],
)
def test_a_flow_that_would_start_after_its_stop_never_does(settings):
    flows = Flows(count=5, start_spread=10.0, stop=3.0, **settings)
    run = simulate(Scenario((flows,), Bottleneck(1e6, 50), duration=20.0, warm_up=0.0, epoch=0.1))
    late = run.start.values > 3.0
    assert 0 < late.sum() < 5
    assert (run.sent.values[late] == 0).all() and np.isnan(run.finish.values[late]).all()
    assert (run.sent.values[~late] > 0).all()
    assert not (run.completion_time.values < 0).any()


@pytest.mark.parametrize(
    ("queue", "buffer"),
    [("fq_codel", {"buffer": 1000}), ("sfq", {"buffer_bytes": 41_000}), ("priority", {"buffer_bytes": 41_000})],
)
def test_a_queue_that_loses_hundreds_of_packets_at_once_is_written_down_whole(queue, buffer):
    """Senders with tiny windows, so that what one event may write is not bounded by them."""
    small = Flows(sender="cbr", rtt=0.1, packet_size=41, rate=1e6, priority=1)
    large = Flows(sender="cbr", rtt=0.1, packet_size=40_000, rate=1e6)
    link = Bottleneck(1e4, queue=queue, **buffer)
    run = simulate(Scenario((small, large), link, duration=3.0, warm_up=0.0, epoch=0.5, record=Record(drops=True)))
    assert run.sizes["drop"] == int(run.link_dropped.sum()) > 1000
    _, at_once = np.unique(run.drop_time.values, return_counts=True)
    assert at_once.max() > 30


def test_flows_that_send_nothing_warn_of_nothing():
    silent = Flows(6, "poisson", rate="10kbit/s", rate_steps=((0.0, 0.0), (5.0, 0.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulate(Scenario((silent,), Bottleneck(1e6, 20), duration=100.0, warm_up=10.0, epoch=0.1))
    assert run.attrs["warning"] == "" and int(run.sent.sum()) == 0


def test_a_trace_is_a_file_of_its_own(tmp_path):
    secret = tmp_path / "elsewhere"
    secret.write_text("root:x:0\n")
    folder = tmp_path / "scenario"
    folder.mkdir()
    (folder / "link.csv").symlink_to(secret)
    (folder / "s.toml").write_text('[bottleneck]\nrate = 1e6\ntrace = "link.csv"\n[[flows]]\n')
    with pytest.raises(ScenarioError, match="it is a link to another file") as refused:
        load_scenario(folder / "s.toml")
    assert "root:x" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["time_s,rate\n", 'time_s,rate\n0,"1', "time_s,rate\n0,1_0e5\n", "time_s,rate\n0,\u0661\n"]
)
def test_loose_tables_are_refused(tmp_path, text):
    file = tmp_path / "cell.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match="trace"):
        read_trace(file)
