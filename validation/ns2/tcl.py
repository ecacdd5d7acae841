"""A scenario as a Tcl script for ns-2.35. Reading it is the best answer to "what exactly did ns-2 run?".

A script is a program, so no text of a scenario reaches it: nodes, links and flows are numbers in it, every value is a
number or one of the words that stand in this file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tcpdynamics.errors import check

from ..packet.scenario.link import FAST, Link
from ..packet.scenario.losses import read_loss
from ..packet.scenario.scenario import Scenario
from .number import number, truth, whole
from .plan import Plan, PlannedFlow, plan
from .queues import CLASSES, NO_LIMIT, is_random
from .queues import settings as queue_settings
from .sources import HEADERS, source

#: Files that the script writes in its working directory.
TRACE, COUNTERS, WINDOWS = "trace", "counters", "windows"
#: Rate [bit/s] at which a transmission time vanishes in every sum of times, so that no packet waits for another.
NO_WAIT = 1e24
#: ns-2's seeds are positive 31-bit numbers; 0 would take the time of day.
SEEDS = 2**31 - 2

AGENTS = {"tahoe": "TCP", "reno": "TCP/Reno", "newreno": "TCP/Newreno", "sack": "TCP/Sack1"}

#: Parameters of window rules -> ns-2's variables. Those of HighSpeed TCP are read once, when an agent is made.
HSTCP = {
    "low_window": "low_window_", "high_window": "high_window_", "high_p": "high_p_", "high_decrease": "high_decrease_",
}  # fmt: skip
VEGAS = {"alpha": "v_alpha_", "beta": "v_beta_", "gamma": "v_gamma_"}


def tcl(scenario: Scenario, seed: int | None = None) -> str:
    """The Tcl script of a scenario.

    Run by `ns` it writes two files. `trace` has a line for each packet that enters the first link of a flow,
    leaves its last or is lost anywhere. `counters` has each sender's timeouts at the end of the warm-up and
    of the run, and the time at which all its data is acknowledged. With `record.windows` it also
    writes `windows`: time, flow, cwnd and ssthresh.

    Parameters
    ----------
    scenario : Scenario
        Of flows with `rules` "ns2" and control "reno", "hstcp" or "vegas".
    seed : int, optional
        Of the random choices. Default: the scenario's own. With a single flow and nothing random it is not
        passed on, so that the flow's clock has the phase that ns-2 draws by default.

    Returns
    -------
    str

    Raises
    ------
    ScenarioError
        Naming the key that cannot be translated.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> script = tcl(Scenario((Flows(sender="newreno", rtt=0.2),), Bottleneck(1e6, 50)))
    >>> [line for line in script.splitlines() if "queue-limit" in line or "Newreno" in line][0]
    '$ns queue-limit $node(0) $node(1) 50'
    """
    seed = scenario.seed if seed is None else seed
    check("seed", seed, 0, 2**128, "give a whole number", whole=True)
    return script(scenario, plan(scenario, seed), seed)


def script(scenario: Scenario, made: Plan, seed: int) -> str:
    """The Tcl script of a plan."""
    lines = [
        "remove-all-packet-headers", f"add-packet-header IP TCP Flags{_headers(made)}",
        *([f"ns-random {whole(1 + seed % SEEDS)}"] if _random(made) else []), "set ns [new Simulator]",
        f"set trace [open {TRACE} w]", f"set counters [open {COUNTERS} w]",
        *(f"set node({i}) [$ns node]" for i in range(len(made.nodes))),
    ]  # fmt: skip
    places = {name: i for i, name in enumerate(made.nodes)}
    first, last = ({flow.there[end] for flow in made.flows} for end in (0, -1))
    for i, link in enumerate(made.links):
        ends = f"$node({places[link.source]}) $node({places[link.target]})"
        lines += _link(made, i, link, ends, i in first, i in last)
    for i, flow in enumerate(made.flows):
        lines += _flow(i, flow, places, scenario.duration)
    lines += [
        "proc count {when} {",
        "    global counters tcp",
        f"    {_over_tcp(made)} {{",
        '        puts $counters "$when $i [$tcp($i) set nrexmit_]"',
        "    }",
        "}",
        *(
            ["proc over {i} {", "    global counters ns", '    puts $counters "over $i [$ns now]"', "}"]
            if any(_ends(flow) for flow in made.flows)
            else []
        ),
        "proc finish {} {",
        "    global counters trace",
        "    count end",
        "    close $counters",
        "    close $trace",
        "    exit 0",
        "}",
        *_sampling(scenario, made),
        f'$ns at {number(scenario.warm_up)} "count warm"',
        f'$ns at {number(scenario.duration)} "finish"',
        "$ns run",
    ]
    return "\n".join(lines) + "\n"


def _sampling(scenario: Scenario, made: Plan) -> Iterator[str]:
    """Where windows are recorded at an interval, those of all senders, from 0 on."""
    if not scenario.record.windows:
        return
    yield f"set windows [open {WINDOWS} w]"
    yield "proc sample {} {"
    yield "    global ns tcp windows"
    yield f"    {_over_tcp(made)} {{"
    yield '        puts $windows "[$ns now] $i [$tcp($i) set cwnd_] [$tcp($i) set ssthresh_]"'
    yield "    }"
    yield f'    $ns after {number(scenario.record.windows)} "sample"'
    yield "}"
    yield '$ns at 0 "sample"'


def _random(made: Plan) -> bool:
    """Whether ns-2 has anything to draw that shows in a run."""
    chance = any(link.loses or is_random(link) for link in made.links)
    chance = chance or any(flow.settings["overhead"] or flow.settings["on_time"] for flow in made.flows)
    return chance or len(made.flows) > 1


def _speed(made: Plan, i: int, link: Link) -> tuple[float, float]:
    """Rate and delay in ns-2. On an infinitely fast link a packet takes its time at `FAST`, and waits for no other."""
    if link.rate is not None:
        return link.rate, link.delay
    sizes = {flow.settings["packet_size"] for flow in made.flows if i in flow.there}
    sizes = sizes or {flow.settings["ack_size"] for flow in made.flows}
    # Without any rate ns-2's NewReno divides by the time between two ACKs, and crashes if that is 0.
    if len(sizes) > 1 or all(one.rate is None for one in made.links):
        return FAST, link.delay
    return NO_WAIT, link.delay + 8.0 * sizes.pop() / FAST


def _link(made: Plan, i: int, link: Link, ends: str, first: bool, last: bool) -> Iterator[str]:
    rate, delay = _speed(made, i, link)
    yield f"# link {i}"
    yield f"$ns simplex-link {ends} {number(rate)} {number(delay)} {CLASSES[link.queue]}"
    yield f"set link [$ns link {ends}]"
    limited = link.rate is not None and (link.buffer is not None or link.buffer_bytes is not None)
    if link.queue != "droptail":
        limited = True
        yield from (f"[$link queue] set {key} {value}" for key, value in queue_settings(link, number))
    elif limited and link.buffer_bytes is not None:
        # The limit is limit_ * mean_pktsize_ bytes.
        yield "[$link queue] set queue_in_bytes_ true"
        yield f"[$link queue] set mean_pktsize_ {whole(link.buffer_bytes)}"
        yield f"$ns queue-limit {ends} 1"
    else:
        limit = link.buffer if limited and link.buffer is not None else NO_LIMIT
        yield f"$ns queue-limit {ends} {whole(limit)}"
    # What is put at the head last comes first: a packet is seen, lost if chosen, lost by chance, queued.
    if link.loses:
        yield from _loss(link, ends)
    if i in made.lost:
        yield "set chosen [new ErrorModel/List]"
        yield f"$chosen droplist {{{' '.join(whole(packet) for packet in made.lost[i])}}}"
        yield f"$ns lossmodel $chosen {ends}"
    if first:
        yield f"set seen [$ns create-trace Enque $trace {ends}]"
        # The tagged format alone has times with 15 digits; the usual one rounds to a microsecond.
        yield "$seen tagged 1"
        yield "$link add-to-head $seen"
    if last:
        yield f"set got [$ns create-trace Recv $trace {ends}]"
        yield "$got tagged 1"
        yield "$got target [[$link set ttl_] target]"
        yield "[$link set ttl_] target $got"
    yield from _changes(link, ends)
    if limited or link.loses or i in made.lost:
        yield f"set lost [$ns create-trace Drop $trace {ends}]"
        yield "$lost tagged 1"
        yield "$lost target [$ns set nullAgent_]"
        yield "[$link set drophead_] target $lost"


def _loss(link: Link, ends: str) -> Iterator[str]:
    """Losses by chance. In ns-2's model of states the state changes first, then the packet is lost or not."""
    file, values = read_loss(link.loss, "links.loss")
    if file is None:
        yield f"$ns lossmodel [new ErrorModel/Uniform {number(values['loss'])} pkt] {ends}"
        return
    p, r = values["p"], values["r"]
    for state in ("good", "bad"):
        yield f"set {state} [new ErrorModel/Uniform {number(values[state])} pkt]"
    moves = f"{{{{{number(1 - p)} {number(p)}}} {{{number(r)} {number(1 - r)}}}}}"
    yield f'$ns lossmodel [new ErrorModel/MultiState "$good $bad" {{0 0}} {moves} pkt pkt 2 $good] {ends}'


def _changes(link: Link, ends: str) -> Iterator[str]:
    if not link.changes:
        return
    if not link.reorder:
        yield "[$link link] set avoidReordering_ true"
    before: tuple[float, ...] = (0.0, link.rate or 0.0, link.delay)
    for row in link.course:
        what = (("bandwidth", 1), ("delay", 2))
        yield from (
            f'$ns at {number(row[0])} "$ns {name} {ends} {number(row[i])}"' for name, i in what if row[i] != before[i]
        )
        before = row


def _flow(i: int, flow: PlannedFlow, places: dict[str, int], duration: float) -> Iterator[str]:
    s = flow.settings
    yield f"# flow {i}"
    if not _is_tcp(flow):
        making, times = source(i, s, flow.control, flow.segments, flow.start, duration)
        yield from (*making, *_join(i, flow, places), *times)
        return
    agent = f"Agent/{'TCP/Vegas' if s['control'] == 'vegas' else AGENTS[s['sender']]}"
    if s["control"] == "hstcp":
        yield f"{agent} set windowOption_ 8"
        yield from (f"{agent} set {HSTCP[name]} {number(x)}" for name, x in flow.control.items() if name in HSTCP)
    yield f"set tcp({i}) [new {agent}]"
    if s["control"] == "hstcp":
        yield f"{agent} set windowOption_ 1"
    elif s["control"] == "vegas":
        yield f"$tcp({i}) set delay_growth_ false"
        yield from (f"$tcp({i}) set {VEGAS[name]} {number(x)}" for name, x in flow.control.items())
    options = {
        "fid_": i,
        # With headers of its own ns-2 would leave out those of segment 0, and add more for timestamps.
        "useHeaders_": "false",
        "packetSize_": whole(s["packet_size"]),
        "tcpip_base_hdr_size_": whole(s["ack_size"]),  # of the handshake
        "window_": whole(s["window_limit"]),
        "windowInit_": whole(s["initial_window"]),
        "syn_": truth(s["handshake"]),
        "singledup_": int(s["limited_transmit"]),
        "overhead_": number(s["overhead"]),
        "timestamps_": truth(s["timestamps"]),
        "minrto_": number(s["min_rto"]),
        "maxrto_": number(s["max_rto"]),
        "rtxcur_init_": number(s["initial_rto"]),
        "tcpTick_": number(s["timer_granularity"]),
    }
    if s["ecn"]:
        options["ecn_"] = "true"
    yield from (f"$tcp({i}) set {key} {value}" for key, value in options.items())
    yield f"set sink [new Agent/TCPSink{'/Sack1' if s['sack'] else ''}{'/DelAck' if s['delayed_ack'] else ''}]"
    yield f"$sink set packetSize_ {whole(s['ack_size'])}"
    if s["delayed_ack"]:
        yield f"$sink set interval_ {number(s['delayed_ack'])}"
    yield from _join(i, flow, places)
    yield f"set ftp({i}) [new Application/FTP]"
    yield f"$ftp({i}) attach-agent $tcp({i})"
    if _ends(flow):
        yield f"$tcp({i}) proc done {{}} {{over {i}}}"
    # A flow whose turn comes after the end never starts. The SYN comes on top of what is produced: the agent
    # adds one when it sends it.
    if flow.start <= duration:
        what = "start" if flow.segments is None else f"produce {whole(flow.segments)}"
        yield f'$ns at {number(flow.start)} "$ftp({i}) {what}"'
    if s["stop"] is not None and flow.start < s["stop"] <= duration:
        # FTP's own stop forgets the last segment sent: if it is lost, nothing sends it again.
        last = f"[expr [$tcp({i}) set maxseq_] + 1]"
        # With nothing under way no acknowledgement comes to tell that all is done.
        over = f"if {{[$tcp({i}) set ack_] >= [$tcp({i}) set maxseq_]}} {{over {i}}}"
        yield f"$ns at {number(s['stop'])} {{$ftp({i}) produce {last}; {over}}}"


def _join(i: int, flow: PlannedFlow, places: dict[str, int]) -> Iterator[str]:
    yield f"$ns attach-agent $node({places[flow.source]}) $tcp({i})"
    yield f"$ns attach-agent $node({places[flow.target]}) $sink"
    yield f"$ns connect $tcp({i}) $sink"


def _over_tcp(made: Plan) -> str:
    """The loop over flows that repeat segments; where all do, as in the scripts whose runs are on record."""
    counted = [i for i, flow in enumerate(made.flows) if _is_tcp(flow)]
    if len(counted) == len(made.flows):
        return f"for {{set i 0}} {{$i < {len(counted)}}} {{incr i}}"
    return f"foreach i {{{' '.join(whole(i) for i in counted)}}}"


def _is_tcp(flow: PlannedFlow) -> bool:
    return flow.settings["sender"] in AGENTS


def _headers(made: Plan) -> str:
    senders = {flow.settings["sender"] for flow in made.flows}
    return "".join(f" {HEADERS[name]}" for name in sorted(senders & set(HEADERS)))


def _ends(flow: PlannedFlow) -> bool:
    """Whether a flow has an end of its own; the script of others says nothing about it."""
    return flow.segments is not None or flow.settings["stop"] is not None
