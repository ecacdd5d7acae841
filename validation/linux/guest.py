"""The first process of the guest: builds the network of `case.json`, runs its flows, writes down their packets.

Runs inside the guest, by the host's interpreter and its standard library alone. Its folder is the one place on the
host that it can write to: everything else is mounted for reading.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import json
import mmap
import os
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
HERE = "/run/case"
PORT = 5000
#: First part of a sender's address on its first route; two more on each further one.
FIRST_ADDRESS = 10
#: Of <linux/if_packet.h>, <linux/tcp.h>, <sched.h>, <sys/mount.h>.
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, TPACKET_V3 = 263, 5, 6, 10, 2
TCP_INFO, TCP_CONGESTION, TCP_NOTSENT_LOWAT, TCP_RTO_MAX_MS = 11, 13, 25, 44
SO_ATTACH_FILTER, SO_MAX_PACING_RATE, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 26, 47, 32, 33
SO_MEMINFO, FIONREAD = 55, 0x541B
CLONE_NEWNET, MS_RDONLY, MS_REMOUNT, MS_BIND = 0x40000000, 1, 32, 4096
#: Of <linux/rtnetlink.h> and <linux/netlink.h>.
RTM_NEWQDISC, RTM_GETQDISC, NLMSG_ERROR, NLMSG_DONE = 36, 38, 2, 3
#: The second with the mark of attributes that hold others.
TCA_KIND, TCA_OPTIONS, TCA_XSTATS = 1, 2 | 0x8000, 4
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x300, 0x200, 0x400
#: What DualPI2 says of itself, in order (tc_dualpi2_xstats of <linux/pkt_sched.h>).
DUALPI2 = (
    "prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq", "ecn_mark", "step_marks", "credit",
    "memory_used", "max_memory_used", "memory_limit",
)  # fmt: skip
IPPROTO_MPTCP, SOL_MPTCP, MPTCP_TCPINFO, MPTCP_SUBFLOW_ADDRS = 262, 284, 2, 3
#: A captured packet is cut after the TCP header without options; with Multipath TCP, after all options; of a program,
#: after what distinguishes it from others.
SNAP, OPTIONS, SNAP_OF_PROGRAMS = 54, 40, 128
BLOCK, BLOCKS = 1 << 20, 8
#: IPv6 sends nothing by itself through the scenario's queues: no solicitations; reports of groups at once, beforehand.
NO_IPV6 = {"conf/default/disable_ipv6": "1"}
SILENT_IPV6 = {
    "conf/default/accept_dad": "0", "conf/default/dad_transmits": "0", "conf/default/router_solicitations": "0",
    "conf/default/addr_gen_mode": "1", "conf/default/mldv2_unsolicited_report_interval": "1",
    "conf/default/forwarding": "1", "conf/all/forwarding": "1",
}  # fmt: skip
DATA = bytes(1 << 18)


def check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()))


def begin(folder: str) -> Any:
    """Mount what is needed and read the case."""
    mount("proc", "/proc", "proc")
    mount("sys", "/sys", "sysfs")
    mount("tmp", "/run", "tmpfs")
    os.makedirs(HERE)
    os.makedirs("/run/netns")
    mount("none", HERE, "hostfs", 0, folder)
    libc.prctl(29, 1, 0, 0, 0)  # sleep to the nanosecond
    setting("fs/nr_open", "4000000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4_000_000, 4_000_000))  # a flow has two, `ip` needs two for a wire
    with open(f"{HERE}/case.json") as file:
        return json.load(file)


def setting(name: str, value: str) -> None:
    with open(f"/proc/sys/{name}", "w") as file:
        file.write(value)


def make_network(case: Any) -> dict[str, int]:
    """Network namespaces by name, with links, addresses, routes and queues."""
    spaces = {"": os.open("/proc/self/ns/net", os.O_RDONLY)}
    setting("net/core/netdev_max_backlog", "1000000")
    # TCP may take all memory: what it refuses while a socket is said to be writable would be asked for without end.
    pages = str(case["memory"] * 256)
    setting("net/ipv4/tcp_mem", f"{pages} {pages} {pages}")
    setting("net/core/rmem_max", "1000000000")
    setting("net/core/wmem_max", "1000000000")
    for name, settings in case["spaces"].items():
        check(libc.unshare(CLONE_NEWNET))
        for key, value in (SILENT_IPV6 if case["ipv6"] else NO_IPV6).items():
            setting(f"net/ipv6/{key}", value)
        path = f"/run/netns/{name}"
        os.close(os.open(path, os.O_CREAT))
        mount("/proc/self/ns/net", path, "none", MS_BIND)
        spaces[name] = os.open(path, os.O_RDONLY)
        for key, value in settings.items():
            if "/" in key:
                setting(f"net/{key}", value)
    for relay in case["relays"]:
        relay["files"] = []
        for name, device in relay["ends"]:
            enter(spaces, name)
            relay["files"].append(tunnel(device))
    enter(spaces, "")
    for number, (tool, space, lines) in enumerate(case["batches"]):
        path = f"/run/batch{number}"
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")
        within = ["-n", space] if space else []
        done = subprocess.run([case[tool], *within, "-batch", path], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{tool} in {space or 'the first space'}: {done.stderr.strip()[-400:]}")
    for one in case["disciplines"]:
        enter(spaces, one["space"])
        add_discipline(one)
    enter(spaces, "")
    return spaces


def add_discipline(one: Any) -> None:
    """Add a queue discipline whose name `tc` does not know."""
    body = struct.pack("BxxxiIII", 0, socket.if_nametoindex(one["device"]), one["handle"], one["parent"], 0)
    body += attribute(TCA_KIND, one["kind"].encode() + b"\0") + attribute(TCA_OPTIONS, bytes.fromhex(one["options"]))
    list(netlink(RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, body))


def attribute(number: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), number) + value + bytes(-len(value) % 4)


def netlink(kind: int, flags: int, body: bytes) -> Iterator[bytes]:
    """Ask this space's network, and what it answers."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
        one.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        while True:
            got = one.recv(1 << 16)
            while got:
                length, answer = struct.unpack_from("IH", got)
                if answer == NLMSG_ERROR:
                    number = -struct.unpack_from("i", got, 16)[0]
                    if number:
                        raise OSError(number, f"netlink: {os.strerror(number)}")
                if answer in (NLMSG_ERROR, NLMSG_DONE):
                    return
                yield got[16:length]
                got = got[(length + 3) & ~3 :]


def tunnel(device: str) -> int:
    """A device whose packets this program carries."""
    if not os.path.exists("/run/tun"):
        os.mknod("/run/tun", stat.S_IFCHR | 0o600, os.makedev(10, 200))
    file = os.open("/run/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH14x", device.encode(), 0x1001))  # IP packets, nothing before them
    return file


def enter(spaces: dict[str, int], name: str) -> None:
    check(libc.setns(spaces[name], CLONE_NEWNET))


class Capture:
    """Packets that a space's devices see, cut after so many bytes, with their times."""

    def __init__(self, path: str, program: list[tuple[int, int, int, int]], snap: int) -> None:
        self.stride = STRIDE - SNAP + snap
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # all devices
        self.socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        ring = struct.pack("7I", BLOCK, BLOCKS, 2048, BLOCK // 2048 * BLOCKS, 5000, 0, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
        self.socket.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
        )
        self.ring = mmap.mmap(self.socket.fileno(), BLOCK * BLOCKS)
        self.file = open(path, "wb")
        self.next = 0

    def read(self, last: bool = False) -> None:
        """Write down the blocks that are full, and at the end the one that is not."""
        while True:
            at = self.next * BLOCK
            status, count, first, _ = struct.unpack_from("4I", self.ring, at + 8)
            if not status & 1:
                break
            self._write(at, count, first)
            struct.pack_into("I", self.ring, at + 8, 0)
            self.next = (self.next + 1) % BLOCKS
        if last:
            _, count, first, _ = struct.unpack_from("4I", self.ring, self.next * BLOCK + 8)
            self._write(self.next * BLOCK, count, first)
            self.file.close()

    def _write(self, at: int, count: int, first: int) -> None:
        if not count:
            return
        at += first
        if self.stride != STRIDE:
            self._write_each(at, count)
            return
        stride = struct.unpack_from("I", self.ring, at)[0] if count > 1 else STRIDE
        if stride != STRIDE:
            raise RuntimeError(f"a captured packet takes {stride} bytes, not {STRIDE}")
        self.file.write(self.ring[at : at + count * STRIDE])

    def _write_each(self, at: int, count: int) -> None:
        """Packets of unlike lengths, each filled up."""
        for _ in range(count):
            step, _, _, length = struct.unpack_from("4I", self.ring, at)
            self.file.write(self.ring[at : at + PLACE + length].ljust(self.stride, b"\0"))
            at += step

    def lost(self) -> int:
        """Packets that found the ring full."""
        words = struct.unpack("3I", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12))
        return int(words[1])


#: What stands before a captured packet in the ring (its head, the place of an address, padding), and all it takes.
PLACE, STRIDE = 82, 136

#: Socket filters: (code, if true, if false, number); the last number is what is kept of a packet.
LOAD_HALF, LOAD_BYTE, EQUAL, RETURN = 0x28, 0x30, 0x15, 0x06


def tcp_only(snap: int) -> list[tuple[int, int, int, int]]:
    return [(LOAD_HALF, 0, 0, 12), (EQUAL, 0, 3, 0x0800), (LOAD_BYTE, 0, 0, 23), (EQUAL, 0, 1, 6),
            (RETURN, 0, 0, snap), (RETURN, 0, 0, 0)]  # fmt: skip


def data_only(snap: int) -> list[tuple[int, int, int, int]]:
    """TCP that comes in, to the receivers' port."""
    kind = 0xFFFFF000 + 4
    return [(LOAD_HALF, 0, 0, kind), (EQUAL, 0, 7, 0), (LOAD_HALF, 0, 0, 12), (EQUAL, 0, 5, 0x0800),
            (LOAD_BYTE, 0, 0, 23), (EQUAL, 0, 3, 6), (LOAD_HALF, 0, 0, 36), (EQUAL, 0, 1, PORT),
            (RETURN, 0, 0, snap), (RETURN, 0, 0, 0)]  # fmt: skip


def all_of_ip(snap: int) -> list[tuple[int, int, int, int]]:
    return [
        (LOAD_HALF, 0, 0, 12), (EQUAL, 1, 0, 0x0800), (EQUAL, 0, 1, 0x86DD), (RETURN, 0, 0, snap), (RETURN, 0, 0, 0),
    ]  # fmt: skip


class Relay:
    """A wire whose packets are counted, and some of them lost."""

    def __init__(self, files: list[int], lost: set[int]) -> None:
        self.source, self.target = files
        self.lost, self.count = lost, 0

    def carry(self) -> None:
        try:
            while packet := os.read(self.source, 1 << 16):
                reports = packet[0] >> 4 == 6 and packet[24] == 0xFF  # of groups, by IPv6 itself
                if reports or self.count not in self.lost:
                    os.write(self.target, packet)
                self.count += not reports
        except BlockingIOError:
            return


def join(group: str) -> None:
    """Enter a control group."""
    with open(f"/run/groups/{group}/cgroup.procs", "w") as file:
        file.write("0")


def copy_files(source: str, target: str) -> None:
    """Copy what a program wrote to the host: files alone, up to the bytes that it may write, holes counted."""
    left = FILES_OF_PROGRAM
    with contextlib.suppress(OSError, RecursionError):
        for folder, _, names in os.walk(source):
            place = target + folder[len(source) :]
            for name in sorted(names):
                status = os.lstat(f"{folder}/{name}")
                if stat.S_ISREG(status.st_mode) and status.st_size <= left:
                    left -= status.st_size
                    os.makedirs(place, exist_ok=True)
                    shutil.copyfile(f"{folder}/{name}", f"{place}/{name}", follow_symlinks=False)


class Programs:
    """Servers and clients of flows that are programs, each pair in a control group that bounds it."""

    def __init__(self, case: Any, spaces: dict[str, int], poll: select.epoll) -> None:
        self.case, self.all_spaces, self.poll = case, spaces, poll
        self.flows = [i for i, flow in enumerate(case["flows"]) if "client" in flow]
        self.spaces = {case["flows"][i][key] for i in self.flows for key in ("space", "far")}
        #: A running program's descriptor -> flow, "server" or "client", the process; what became of those that ended.
        self.running: dict[int, tuple[int, str, Any]] = {}
        self.over: list[Any] = []
        self.stopped: set[int] = set()
        self.traits: dict[int, dict[str, Any]] = {}
        if self.flows:
            os.makedirs("/run/view")
            os.makedirs("/run/groups")
            mount("groups", "/run/groups", "cgroup2")
            with open("/run/groups/cgroup.subtree_control", "w") as file:
                file.write("+pids +memory")

    def serve(self) -> None:
        """Start the servers."""
        for i in self.flows:
            group = f"/run/groups/{i}"
            os.makedirs(group)
            memory = self.case["program_memory"] << 20
            bounds = {"pids.max": MOST_PROCESSES, "memory.max": memory, "memory.oom.group": 1}  # all of them end
            for name, value in bounds.items():
                with open(f"{group}/{name}", "w") as file:
                    file.write(str(value))
            self.start(i, "server", self.case["flows"][i]["space"])

    def start(self, i: int, what: str, space: str) -> None:
        """Start a program in a folder of its own, which is bounded and kept."""
        folder = f"/run/{i}-{what}"
        os.makedirs(folder)
        mount("tmp", folder, "tmpfs", 0, f"size={FILES_OF_PROGRAM},nr_inodes=1000")
        enter(self.all_spaces, space)
        flow = self.case["flows"][i]
        arguments = flow[what]
        environment = ENVIRONMENT | {"HOME": folder, "TMPDIR": folder}
        if shutil.which(arguments[0], path=ENVIRONMENT["PATH"]) is None:
            self.over.append(
                [i, what, "cannot be started: there is no such program; give its whole path", time.time_ns()]
            )
            return

        join(str(i))  # the program is born there
        # Without a function of ours between fork and exec Python calls vfork: the rings of captures are not copied.
        with open(f"{folder}/output", "wb") as output:
            one = subprocess.Popen(
                [sys.executable, "-IS", "-c", CONFINED, json.dumps([flow["refused"], self.case["view"]]), *arguments],
                cwd=folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        join("")
        enter(self.all_spaces, "")
        number = os.pidfd_open(one.pid)
        self.running[number] = (i, what, one)
        self.poll.register(number, select.EPOLLIN)

    def ended(self, number: int) -> None:
        """Note how a program ended."""
        i, what, one = self.running.pop(number)
        self.poll.unregister(number)
        os.close(number)
        status = one.wait()
        self.over.append([i, what, 0 if i in self.stopped else status, time.time_ns()])

    def end(self, i: int) -> None:
        """End all processes of a flow."""
        if i in self.flows:
            self.stopped.add(i)
            with open(f"/run/groups/{i}/cgroup.kill", "w") as file:
                file.write("1")

    def keep(self) -> None:
        """End what runs, and copy what programs wrote to the host."""
        for i in self.flows:
            self.traits[i] = self._traits(i)
            self.end(i)
            for what in ("server", "client"):
                copy_files(f"/run/{i}-{what}", f"{HERE}/flow{i}-{what}")

    def _traits(self, i: int) -> dict[str, Any]:
        """Of a flow's programs, what may make two runs part: most processes and threads, and where they lie."""
        with open(f"/run/groups/{i}/pids.peak") as file:
            traits: dict[str, Any] = {"processes and threads": int(file.read()), "addresses": []}
        with open(f"/run/groups/{i}/cgroup.procs") as file:
            processes = file.read().split()
        for process in processes:
            with contextlib.suppress(OSError), open(f"/proc/{process}/maps") as file:
                traits["addresses"].append(file.readline().split("-")[0])
        return traits


class Endpoints:
    """The sockets of all flows."""

    def __init__(self, case: Any, spaces: dict[str, int]) -> None:
        self.case, self.spaces, self.poll = case, spaces, select.epoll()
        self.sending: dict[int, tuple[socket.socket, int]] = {}
        self.left: dict[int, float] = {}
        self.listening: dict[int, socket.socket] = {}
        self.receiving: dict[int, socket.socket] = {}
        #: Receivers that have not seen a packet yet, and their flows; flows by their senders' addresses.
        self.fresh: dict[int, int] = {}
        self.number = {flow["source"]: i for i, flow in enumerate(case["flows"])}
        self.captures: dict[int, Capture] = {}
        self.of_flow: dict[int, socket.socket] = {}
        self.relays = {relay["files"][0]: Relay(relay["files"], set(relay["lost"])) for relay in case["relays"]}
        for number in self.relays:
            self.poll.register(number, select.EPOLLIN)
        self.programs = Programs(case, spaces, self.poll)
        for name in case["receivers"]:
            enter(spaces, name)
            if name in self.programs.spaces:
                self._capture(f"{HERE}/program-received-{name}", all_of_ip(SNAP_OF_PROGRAMS), SNAP_OF_PROGRAMS)
                continue
            server = socket.socket(proto=IPPROTO_MPTCP if name in case["multipath"] else 0)
            control = case["spaces"][name].get("control", "reno")
            server.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, control.encode())
            server.bind(("0.0.0.0", PORT))
            server.listen(4096)
            server.setblocking(False)
            self._watch(self.listening, server, select.EPOLLIN)
            snap = SNAP + OPTIONS * (name in case["multipath"])
            self._capture(f"{HERE}/received-{name}", data_only(snap), snap)
        several = {flow["space"] for flow in case["flows"] if flow["routes"] > 1}
        for name in case["senders"]:
            enter(spaces, name)
            if name in self.programs.spaces:
                self._capture(f"{HERE}/program-sent-{name}", all_of_ip(SNAP_OF_PROGRAMS), SNAP_OF_PROGRAMS)
                continue
            snap = SNAP + OPTIONS * (name in several)
            self._capture(f"{HERE}/sent-{name}", tcp_only(snap), snap)
        self.programs.serve()

    def _watch(self, table: Any, one: socket.socket, events: int) -> None:
        table[one.fileno()] = one
        self.poll.register(one.fileno(), events)

    def _capture(self, path: str, program: list[tuple[int, int, int, int]], snap: int) -> None:
        capture = Capture(path, program, snap)
        self.captures[capture.socket.fileno()] = capture
        self.poll.register(capture.socket.fileno(), select.EPOLLIN)

    def start(self, i: int) -> None:
        """Connect flow i; its SYN is sent here."""
        flow = self.case["flows"][i]
        if "client" in flow:
            self.programs.start(i, "client", flow["far"])
            return
        enter(self.spaces, flow["space"])
        one = socket.socket(proto=IPPROTO_MPTCP if flow["routes"] > 1 else 0)
        one.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, flow["control"].encode())
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, flow["mss"])
        one.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, self.case["buffer"])
        if flow["max_rto"]:
            one.setsockopt(socket.IPPROTO_TCP, TCP_RTO_MAX_MS, flow["max_rto"])
        if flow["paced"]:
            one.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", 1 << 40))
        if flow["stop"] is not None:  # what a socket has been given it sends: it gets few packets beforehand
            one.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, 4 * flow["payload"])
        one.setblocking(False)
        one.bind((flow["source"], PORT))
        one.connect_ex((flow["target"], PORT))
        self.of_flow[i] = one
        self.left[i] = float("inf") if flow["bytes"] is None else flow["bytes"]
        self.sending[one.fileno()] = (one, i)
        self.poll.register(one.fileno(), select.EPOLLOUT)

    def stop(self, i: int) -> None:
        """Give flow i no more to send."""
        self.left[i] = 0
        self.programs.end(i)

    def serve(self, timeout: float) -> None:
        """Wait for something to do and do it."""
        for number, _ in self.poll.poll(timeout):
            if number in self.sending:
                self._send(*self.sending[number])
            elif number in self.relays:
                self.relays[number].carry()
            elif number in self.receiving:
                self._receive(self.receiving[number])
            elif number in self.listening:
                self._accept(self.listening[number])
            elif number in self.programs.running:
                self.programs.ended(number)
            else:
                self.captures[number].read()

    def _send(self, one: socket.socket, i: int) -> None:
        size = self.case["flows"][i]["payload"]
        chunk = len(DATA) // size * size
        try:
            while self.left[i]:
                self.left[i] -= one.send(memoryview(DATA)[: int(min(chunk, self.left[i]))])
        except BlockingIOError:
            return
        except OSError as error:
            say(f"flow {i} ended: {error}")
        self.poll.unregister(one.fileno())
        del self.sending[one.fileno()]

    def _accept(self, server: socket.socket) -> None:
        one, (address, _) = server.accept()
        one.setblocking(False)
        self._watch(self.receiving, one, select.EPOLLIN)
        self.fresh[one.fileno()] = self.number[address]

    def _receive(self, one: socket.socket) -> None:
        flow = self.case["flows"][self.fresh[one.fileno()]] if one.fileno() in self.fresh else None
        if flow and flow["routes"] > 1:
            self._fit_buffer(one, flow)
        try:
            got = one.recv_into(SINK, 0, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        if flow:
            del self.fresh[one.fileno()]
        if flow and flow["routes"] == 1:
            self._limit(one, flow)
        if not got:
            self.poll.unregister(one.fileno())

    def _limit(self, one: socket.socket, flow: Any) -> None:
        """Set the advertised window: again, since Linux takes another one when it sees the first packet's size."""
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, flow["window"])
        if self.case["lazy"]:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(flow["window"] // 2, 1 << 16))

    def _fit_buffer(self, one: socket.socket, flow: Any) -> None:
        """Give a connection over several routes the buffer of its window: it takes no other bound.

        Linux advertises the share of a buffer that the first packet longer than 536 bytes has of the memory that it
        takes, in parts of 256.
        """
        size = flow["payload"]
        waiting = struct.unpack("I", fcntl.ioctl(one, FIONREAD, bytes(4)))[0]
        if size <= 536 or waiting < size:
            return
        charged = struct.unpack_from("I", one.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 64))[0]
        memory = charged // (waiting // size)
        buffer = -(-flow["window"] * 256 // (256 * size // memory))
        one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, (buffer + 1) // 2)

    def counters(self) -> list[Any]:
        """Of each flow and each of its routes: timeouts, retransmissions; nothing of those that have not begun."""
        by_flow: list[Any] = [[] for _ in self.case["flows"]]
        for i, one in self.of_flow.items():
            routes = self.case["flows"][i]["routes"]
            if routes == 1:
                by_flow[i] = [counts(one.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 512))]
            else:
                subflow_counts = map(counts, of_subflows(one, MPTCP_TCPINFO, 256))
                by_route = dict(zip(routes_there(one), subflow_counts, strict=True))
                by_flow[i] = [by_route.get(n, [0, 0]) for n in range(routes)]
        return by_flow

    def unplug(self) -> None:
        """From now on no sender's packet leaves it."""
        for name, device in self.case["plugs"]:
            enter(self.spaces, name)
            with socket.socket() as one:
                request = struct.pack("16sH14x", device.encode(), 0)
                fcntl.ioctl(one, 0x8914, request)


def counts(info: bytes) -> list[float]:
    """Timeouts, not a number where the kernel does not count them, and retransmissions of a connection."""
    timeouts = struct.unpack_from("H", info, 240)[0] if len(info) >= 242 else float("nan")
    return [timeouts, struct.unpack_from("I", info, 100)[0]]


def routes_there(one: socket.socket) -> list[int]:
    """Of each of a connection's routes that is there its number, by the sender's address."""
    return [(ends[4] - FIRST_ADDRESS) // 2 for ends in of_subflows(one, MPTCP_SUBFLOW_ADDRS, 256)]


def of_subflows(one: socket.socket, option: int, size: int) -> Iterator[bytes]:
    """What Linux says of each route of a connection."""
    room = ctypes.create_string_buffer(struct.pack("4I", 16, 0, 0, size), 16 + 8 * size)
    length = ctypes.c_uint(len(room))
    check(libc.getsockopt(one.fileno(), SOL_MPTCP, option, room, ctypes.byref(length)))
    for n in range(struct.unpack_from("4I", room)[1]):
        yield room.raw[16 + n * size : 16 + (n + 1) * size]


#: Of a flow that is a program: processes and threads, and bytes that each of the two may write.
MOST_PROCESSES, FILES_OF_PROGRAM = 400, 64 << 20
#: Becomes a program that sees neither the folder of the run nor the control groups, and cannot mount, restart, make
#: devices, load modules or set the clock: of root's rights it keeps those on files, ports, packets and processes. Given
#: a view, it sees the folders in it alone. Options of UDP that are refused to it are as on a kernel without them.
CONFINED = """
import ctypes, json, os, struct, sys, warnings
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *words):
    if getattr(libc, name)(*words) < 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")
refused, view = json.loads(sys.argv[1])
call("unshare", 0x20000)
call("mount", b"none", b"/", None, 0x44000, None)
for place in (b"/run/case", b"/run/groups"):
    call("umount2", place, 2)
call("mount", b"/proc/sys", b"/proc/sys", None, 0x1000, None)
if view:
    call("mount", b"none", b"/run/view", b"tmpfs", 0, b"size=1m")
    for place in [*view, os.getcwd()]:
        inside = f"/run/view{place}"
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        if os.path.islink(place):
            os.symlink(os.readlink(place), inside)
        elif os.path.isdir(place):
            os.makedirs(inside, exist_ok=True)
            call("mount", place.encode(), inside.encode(), None, 0x5000, None)
        elif os.path.isfile(place):
            open(inside, "w").close()
            call("mount", place.encode(), inside.encode(), None, 0x1000, None)
    folder = os.getcwd()
    os.chroot("/run/view")
    os.chdir(folder)
else:
    call("mount", None, b"/run", None, 0x1021, None)
call("mount", None, b"/proc/sys", None, 0x1021, None)
if refused:
    rules = [(0x20, 0, 0, 0), (0x15, 1, 0, 54), (0x15, 0, 6, 55), (0x20, 0, 0, 24), (0x15, 0, 4, 17), (0x20, 0, 0, 32),
             (0x15, 1, 0, refused[0]), (0x15, 0, 1, refused[-1]), (0x06, 0, 0, 0x50000 + 92), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    call("prctl", 22, 2, ctypes.c_char_p(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))), 0, 0)
for right in range(41):
    if right not in (0, 1, 2, 3, 4, 5, 6, 7, 10, 13):
        call("prctl", 24, right, 0, 0, 0)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"it cannot be started: {error.strerror}" + "; look at the view" * bool(view))
"""
#: The same at each run.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
}  # fmt: skip
SINK = bytearray(1 << 20)


def until(ends: Endpoints, moment: int) -> None:
    """Serve until a time [ns]. Polls may last a thousandth longer than asked: they end early, then others."""
    while (remaining := moment - time.time_ns()) > 0:
        if remaining > 3_000_000:
            ends.serve((remaining * 99 // 100_000_000 - 1) / 1000)
        else:
            select.select([ends.poll], [], [], remaining / 1e9)
            ends.serve(0)


def run(case: Any, ends: Endpoints) -> dict[str, Any]:
    """Run all flows; what is told beside the packets."""
    origin = (time.time_ns() // 1_000_000_000 + case["settle"]) * 1_000_000_000
    report: dict[str, Any] = {"origin": origin}
    events = list(moments(case))
    heapq.heapify(events)
    while events:
        moment, what, i = heapq.heappop(events)
        until(ends, origin + moment)
        if what == "start":
            ends.start(i)
        elif what == "stop":
            ends.stop(i)
        elif what == "end":
            report[what] = ends.counters()
            report["programs"] = list(ends.programs.over)
            ends.unplug()
            ends.programs.keep()
            report["traits"] = ends.programs.traits
        elif what == "warm":
            report[what] = ends.counters()
        elif what == "clock":
            with open(f"{HERE}/clock", "w") as file:
                file.write(f"{moment / case['duration']:.2f}")
    for capture in ends.captures.values():
        capture.read(last=True)
    report["lost"] = sum(capture.lost() for capture in ends.captures.values())
    return report


def moments(case: Any) -> Iterator[tuple[int, str, int]]:
    """Times [ns] from the origin at which something is to be done."""
    for i, flow in enumerate(case["flows"]):
        if flow["start"] <= case["duration"]:
            yield flow["start"], "start", i
            if flow["stop"] is not None and flow["stop"] <= case["duration"]:
                yield max(flow["start"], flow["stop"]), "stop", i
    if any("client" in flow for flow in case["flows"]):
        for part in range(1, 50):
            yield case["duration"] * part // 50, "clock", 0
    yield case["warm_up"], "warm", 0
    yield case["duration"], "end", 0
    yield case["duration"] + case["drain"], "over", 0


def statistics(case: Any, spaces: dict[str, int]) -> list[str]:
    """What each queue says of itself."""
    texts = []
    ours = {(one["space"], one["device"]) for one in case["disciplines"]}
    for space, device in case["queues"]:
        command = [case["tc"], "-n", space, "-s", "-d", "qdisc", "show", "dev", device]
        text = subprocess.run(command, capture_output=True, text=True).stdout
        if (space, device) in ours:
            enter(spaces, space)
            text += of_dualpi2(device)
        texts.append(text)
    return texts


def of_dualpi2(device: str) -> str:
    """The numbers of a DualPI2, with the kernel's names: `tc` says nothing of what it does not know."""
    index = socket.if_nametoindex(device)
    for answer in netlink(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, struct.pack("BxxxiIII", 0, index, 0, 0, 0)):
        answers = dict(attributes(answer[20:]))
        if struct.unpack_from("i", answer, 4)[0] == index and answers[TCA_KIND] == b"dualpi2\0":
            numbers = struct.unpack_from("8Ii3I", answers[TCA_XSTATS])
            return "  " + " ".join(f"{name} {n}" for name, n in zip(DUALPI2, numbers, strict=True)) + "\n"
    return ""


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and value of each attribute of an answer."""
    while len(data) >= 4:
        length, number = struct.unpack_from("HH", data)
        yield number, data[4:length]
        data = data[(length + 3) & ~3 :]


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a program may send it
    try:
        case = begin(os.path.dirname(os.path.realpath(sys.argv[0])))
        spaces = make_network(case)
        report = run(case, Endpoints(case, spaces))
        report["kernel"] = os.uname().release
        report["statistics"] = statistics(case, spaces)
        with open(f"{HERE}/told.part", "w") as file:
            json.dump(report, file)
        os.rename(f"{HERE}/told.part", f"{HERE}/told.json")
    except BaseException as error:
        say(f"guest: {type(error).__name__}: {error}")
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os.sync()
        libc.reboot(0x4321FEDC)


if __name__ == "__main__":
    main()
