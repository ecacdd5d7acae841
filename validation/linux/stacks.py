"""Ready stacks: programs of others with small pairs of ours, each built once from its registry, in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache as cached
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import LinuxError, ScenarioError, listed, shown

from ..packet.scenario.program import Program
from .kernel import HERE, cache

if TYPE_CHECKING:
    from ..packet.scenario.flows import Flows
    from ..packet.scenario.scenario import Scenario

#: A folder of each stack, with its `stack.toml` and the sources of its pair.
FOLDER = HERE / "programs"
#: Longest time that a step of a build takes [s].
LONGEST_STEP = 1800.0


@dataclass(frozen=True)
class Stack:
    """A ready stack.

    Attributes
    ----------
    name, about : str
    server, client : tuple of str    As of `Program`; `{stack}` stands for the folder in which it was built.
    build : tuple of tuple of str    Commands, run one after the other in a copy of its folder.
    needs : tuple of str             Programs that must be on the path.
    version : tuple of str           A command whose first line is a version, where the package is not pinned.
    """

    name: str
    about: str
    server: tuple[str, ...]
    client: tuple[str, ...]
    build: tuple[tuple[str, ...], ...] = ()
    needs: tuple[str, ...] = ()
    version: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where it is built; another one when its files change."""
        digest = hashlib.sha256()
        for path in sorted(path for path in (FOLDER / self.name).rglob("*") if path.is_file()):
            digest.update(path.relative_to(FOLDER).as_posix().encode() + b"\0" + path.read_bytes())
        return cache() / "stacks" / f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def built(self) -> bool:
        """Whether it can be run."""
        return (self.folder / "manifest.json").exists()


@cached
def stacks() -> dict[str, Stack]:
    """All ready stacks by name.

    Examples
    --------
    >>> sorted(stacks())
    ['aioquic', 'iperf3', 'nginx', 'ngtcp2', 'quic-go', 'quinn']
    """
    ready = {}
    for path in sorted(FOLDER.glob("*/stack.toml")):
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
        facts["build"] = tuple(tuple(command) for command in facts.get("build", ()))
        lists = {name: tuple(value) for name, value in facts.items() if name != "about"}
        ready[path.parent.name] = Stack(path.parent.name, facts["about"], **lists)
    return ready


def build_stack(name: str) -> Path:
    """Build a ready stack, or find it built.

    Parameters
    ----------
    name : str

    Returns
    -------
    Path
        Its folder, with `manifest.json`.

    Raises
    ------
    LinuxError
        There is no such stack, a program that it needs is missing, or a step fails.

    Examples
    --------
    >>> build_stack("pigeon")
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.LinuxError: there is no stack 'pigeon'; ready are aioquic, iperf3, nginx, ngtcp2, quic-go, quinn
    """
    if name not in stacks():
        raise LinuxError(f"there is no stack {shown(name)}; ready are {listed(stacks())}")
    stack = stacks()[name]
    if missing := [tool for tool in stack.needs if _tool(tool) is None]:
        raise LinuxError(
            f"to build {name}, {listed(missing)} must be installed; the documentation's page on the testbed lists them"
        )
    with _alone(stack.folder):
        if not stack.built:
            shutil.rmtree(stack.folder, ignore_errors=True)
            shutil.copytree(FOLDER / name, stack.folder)
            for command in stack.build:
                _run(command, stack)
            version = _run(stack.version, stack).partition("\n")[0].strip() if stack.version else ""
            part = stack.folder / "manifest.part"
            part.write_text(json.dumps({"name": name, "about": stack.about, "version": version}))
            part.replace(stack.folder / "manifest.json")
    return stack.folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One build at a time in a folder."""
    import fcntl

    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _tool(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def _run(command: tuple[str, ...], stack: Stack) -> str:
    """Run a step of a build; what it printed."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    done = subprocess.run(
        command, cwd=stack.folder, env=os.environ | {"PATH": path}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST_STEP, check=False,
    )  # fmt: skip
    if done.returncode:
        output = " ".join(done.stdout.split())[-600:]
        raise LinuxError(f"{stack.name}: {' '.join(command[:3])} ended with status {done.returncode}: ...{output}")
    return done.stdout


def resolved(program: Program | None) -> Program | None:
    """A program with a ready stack's arguments in place of its name.

    Raises
    ------
    ScenarioError
        There is no such stack.
    LinuxError
        It is not built.

    Examples
    --------
    >>> resolved(Program(server=("iperf3", "-s"), client=("iperf3", "-c", "{address}"))).server
    ('iperf3', '-s')
    """
    if program is None or not program.stack:
        return program
    if program.stack not in stacks():
        raise ScenarioError(
            f"flows.program.stack: there is no {shown(program.stack)}; ready are {listed(stacks())}; give server and "
            "client for another"
        )
    stack = stacks()[program.stack]
    if not stack.built:
        raise LinuxError(
            f"the stack {stack.name} is not built; run python -m tcpdynamics.validation.linux stack {stack.name}, "
            "a minute or less, once"
        )
    server, client = (
        tuple(argument.replace("{stack}", str(stack.folder)) for argument in arguments)
        for arguments in (stack.server, stack.client)
    )
    return replace(program, stack="", server=server, client=client)


def flow(sender: str, **others: Any) -> Flows:
    """A flow of a ready stack, or of the kernel with Linux's own delayed acknowledgements; its RTT is 40 ms.

    Examples
    --------
    >>> flow("quinn").program.stack, flow("cubic", control="cubic").control
    ('quinn', 'cubic')
    """
    from ..packet import Flows

    if sender in stacks():
        return Flows(rtt=0.04, packet_size=1514, program=Program(stack=sender), **others)
    return Flows(rtt=0.04, packet_size=1514, window_limit=1000, delayed_ack=0.04, **others)


def beside_cubic(name: str) -> Scenario:
    """The ready scenario of a stack: one flow beside the kernel's CUBIC, on 10 Mbit/s, 40 ms and a buffer of two BDP.

    Examples
    --------
    >>> beside_cubic("quinn").flows[1].program.stack
    'quinn'
    """
    from ..packet import Bottleneck, Scenario

    groups = (flow("cubic", control="cubic"), flow(name))
    return Scenario(groups, Bottleneck(1e7, 67), 20.0, 5.0, f"{name} beside CUBIC", epoch=1.0)
