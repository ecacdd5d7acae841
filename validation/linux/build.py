"""Make the kernel: once per machine, some minutes, into the user's cache, from Debian's source package."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tcpdynamics.errors import LinuxError

from .kernel import OPTIONS, RANDOMNESS, cache, fingerprint, kernels, manifest

#: Program -> Debian's package that has it.
TOOLS = {
    "gcc": "gcc", "ld": "binutils", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "tar": "tar",
    "xz": "xz-utils",
}  # fmt: skip
#: Where Debian's package `linux-source` puts its archive.
SOURCES = Path("/usr/src")
#: Steps of a build, by which progress is told.
STEPS = 1290
#: The one option that has no question: the ticks of the clock, by which TCP's timers are rounded. User-mode Linux has
#: 100 a second; a definition that comes first, with our number, wins.
TICKS = "config HZ\n\tint\n\tdefault {}\n"
#: Bytes that a build takes on the way.
SPACE = 2_500_000_000
#: Of Linux 6.1: clocks that do not compile with the other options.
FOR_OLD = "CONFIG_PTP_1588_CLOCK=n\n"
#: Options without which nothing works.
NEEDED = (
    "UML_TIME_TRAVEL_SUPPORT", "HOSTFS", "NET_NS", "VETH", "PACKET", "NET_SCH_NETEM", "NET_SCH_TBF", "INET", "TMPFS",
)  # fmt: skip
#: What would otherwise stand in the kernel of when, where and by whom it was built; it takes that for randomness.
NEUTRAL = {
    "KBUILD_BUILD_TIMESTAMP": "2024-01-01", "KBUILD_BUILD_USER": "tcpdynamics", "KBUILD_BUILD_HOST": "tcpdynamics",
    "KBUILD_BUILD_VERSION": "1", "LC_ALL": "C",
}  # fmt: skip

Tell = Callable[[str, float], None]


def build(source: Path | None = None, jobs: int = 1, tell: Tell = lambda what, share: None) -> Path:
    """Make the kernel, or find it made.

    What was begun and interrupted, also by a kill, is taken up again: the source is unpacked under a temporary
    name, and `make` knows what it has made.

    Parameters
    ----------
    source : Path, optional
        A tree, an archive `.tar.xz` of one, or Debian's package `.deb`. Default: the newest `linux-source` below
        /usr/src.
    jobs : int
        Compilers at a time.
    tell : function of a text and a share in [0, 1]
        Hears what is being done and how far it is.

    Returns
    -------
    Path
        The kernel's folder.

    Raises
    ------
    LinuxError
        If something is missing, or a step fails; the message has its last lines.
    """
    if source is None and kernels() and not list(SOURCES.glob("linux-source-*.tar.xz")):
        return kernels()[-1]
    source = newest_source() if source is None else source.absolute()
    if not source.exists():
        raise LinuxError(f"--source {source}: there is no such file or folder")
    for folder in kernels():
        if manifest(folder).get("source") == _name(source):
            tell(f"Linux {manifest(folder)['version']} is made", 1.0)
            return folder
    _check_tools(source)
    cache().mkdir(parents=True, exist_ok=True)
    work = cache() / f"work-{_name(source)}"
    with _alone(work):
        tree = source if source.is_dir() else _unpacked(source, work, tell)
        version = _version(tree)
        folder = cache() / fingerprint(version)
        if (folder / "manifest.json").exists():
            shutil.rmtree(work, ignore_errors=True)
            tell(f"Linux {version} is made", 1.0)
            return folder
        objects = work / "build"
        missing = _configure(tree, objects, tell)
        _make(tree, objects, jobs, tell)
        _finish(objects, folder, version, missing, _name(source))
        shutil.rmtree(work)
    tell(f"Linux {version} is made", 1.0)
    return folder


def newest_source() -> Path:
    """Debian's newest archive of Linux below /usr/src. Raises LinuxError."""
    archives = sorted(SOURCES.glob("linux-source-*.tar.xz"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])
    if not archives:
        raise LinuxError(
            "there is no source of Linux below /usr/src; install Debian's package linux-source, or give --source with "
            "a tree, a .tar.xz or a .deb"
        )
    return archives[-1]


def _check_tools(source: Path) -> None:
    tools = TOOLS | ({"dpkg-deb": "dpkg"} if source.suffix == ".deb" else {})
    missing = [name for name in tools if shutil.which(name) is None]
    if missing:
        packages = " ".join(dict.fromkeys(tools[name] for name in missing))
        raise LinuxError(f"to build Linux, {', '.join(missing)} must be there; install {packages}")


def _name(source: Path) -> str:
    """What tells one source from another, without reading it all."""
    status = source.stat()
    text = f"{source} {status.st_size} {0 if source.is_dir() else status.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """One build at a time in a folder; the lock falls with the process, however it ends."""
    work.mkdir(exist_ok=True)
    with work.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LinuxError("Linux is being built by another process; wait for it") from None
        work.mkdir(exist_ok=True)
        try:
            yield
        finally:
            if not work.exists():
                work.with_suffix(".lock").unlink(missing_ok=True)


def _unpacked(source: Path, work: Path, tell: Tell) -> Path:
    """The tree of an archive, complete or not there."""
    tree = work / "tree"
    if tree.exists():
        return tree
    free = shutil.disk_usage(work).free
    if free < SPACE:
        raise LinuxError(
            f"building Linux takes {SPACE / 1e9:g} GB in {cache()} for a while, {free / 1e9:.1f} GB are free; make "
            "room, or set XDG_CACHE_HOME"
        )
    tell("unpacking", 0.0)
    part = work / "tree.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    archive = source
    if source.suffix == ".deb":
        _call(["dpkg-deb", "-x", str(source), str(part)], "unpacking")
        archives = list(part.glob("usr/src/linux-source-*.tar.xz"))
        if len(archives) != 1:
            raise LinuxError(f"--source {source}: the package holds no linux-source-*.tar.xz")
        archive = archives[0]
    _call(["tar", "-xf", str(archive), "-C", str(part)], "unpacking")
    trees = [path.parent for path in part.glob("*/Kbuild")]
    if len(trees) != 1:
        raise LinuxError(f"--source {source}: the archive holds no source of Linux")
    trees[0].rename(tree)
    shutil.rmtree(part)
    return tree


def _version(tree: Path) -> str:
    """Version of a tree, such as 6.1.5."""
    try:
        head = (tree / "Makefile").read_text(encoding="utf-8")[:2000]
        words = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$", head, re.MULTILINE))
        return f"{words['VERSION']}.{words['PATCHLEVEL']}.{words['SUBLEVEL']}{words['EXTRAVERSION']}"
    except (OSError, KeyError):
        raise LinuxError(f"--source {tree}: that is no source of Linux") from None


def _configure(tree: Path, made: Path, tell: Tell) -> list[str]:
    """Set the options; those that this version does not have."""
    tell("options", 0.02)
    made.mkdir(exist_ok=True)
    options = re.findall(r"^CONFIG_(\w+)=[y\d]", OPTIONS.read_text(), re.MULTILINE)
    stamp = made / "configured"
    ticks = TICKS.format(re.findall(r"^CONFIG_HZ=(\d+)", OPTIONS.read_text(), re.MULTILINE)[0])
    kconfig = (tree / "Kconfig").read_text()
    (made / "Kconfig").write_text(re.sub(r"(?m)^mainmenu .*\n", lambda line: f"{line[0]}\n{ticks}\n", kconfig))
    if not stamp.exists() or stamp.read_text() != fingerprint(""):
        _call(_command(tree, made, "tinyconfig"), "options")
        with (made / ".config").open("a") as file:
            file.write(OPTIONS.read_text() + FOR_OLD * (int(_version(tree).split(".")[0]) < 7))
        _call(_command(tree, made, "olddefconfig"), "options")
        stamp.write_text(fingerprint(""))
    got = set(re.findall(r"^CONFIG_(\w+)=", (made / ".config").read_text(), re.MULTILINE))
    if ticks.split()[-1] not in re.findall(r"(?m)^CONFIG_HZ=(\d+)", (made / ".config").read_text()):
        raise LinuxError("this source of Linux does not let the ticks of its clock be set; take another")
    missing = [name for name in options if name not in got]
    lacking = [name for name in NEEDED if name in missing]
    if lacking:
        raise LinuxError(f"this source of Linux has no {', '.join(lacking)}; take a newer one")
    return missing


def _command(tree: Path, made: Path, *words: str) -> list[str]:
    return ["make", "-C", str(tree), f"O={made}", "ARCH=um", f"KBUILD_KCONFIG={made / 'Kconfig'}", *words]


def _make(tree: Path, made: Path, jobs: int, tell: Tell) -> None:
    """Compile; each line of `make` that names a file is a step."""
    done = 0
    before = sum(1 for _ in made.rglob("*.o"))

    def hear(line: str) -> None:
        nonlocal done
        if re.match(r"  [A-Z]", line):
            done += 1
            tell(f"step {before + done} of about {STEPS}", min(0.03 + 0.96 * (before + done) / STEPS, 0.99))

    _call(_command(tree, made, f"-j{jobs}", "linux"), "compiling", hear)


#: If the process that builds is killed, so is `make`, which takes away what is half written. A program of its own sets
#: that, since Python's way to do it between fork and exec is refused beside other threads.
_END_WITH_PARENT = (
    f"import ctypes, os, sys; ctypes.CDLL(None).prctl(1, {int(signal.SIGTERM)}, 0, 0, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


def _call(command: list[str], what: str, hear: Callable[[str], None] = lambda line: None) -> None:
    """Run a step; its processes end with this one."""
    last: list[str] = []
    process = subprocess.Popen(
        [sys.executable, "-IS", "-c", _END_WITH_PARENT, *command],
        env={"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/")} | NEUTRAL,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                last = [*last[-15:], line.rstrip()]
                hear(line)
        status = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)  # make takes away what is half written
        process.wait()
        raise
    if status:
        output = " | ".join(line for line in last if line)[-900:]
        raise LinuxError(f"{what} Linux failed with status {status}; it said: ...{output}")


def _finish(made: Path, folder: Path, version: str, missing: list[str], source: str) -> None:
    """Put kernel and manifest under their name, all at once."""
    part = Path(tempfile.mkdtemp(prefix="part-", dir=folder.parent))
    try:
        shutil.copy(made / "linux", part / "linux")
        library = str(part / "randomness.so")
        _call(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", library, str(RANDOMNESS)], "compiling")
        told = {
            "version": version, "fingerprint": fingerprint(version),
            "sha256": hashlib.sha256((part / "linux").read_bytes()).hexdigest(), "options_missing": missing,
        }  # fmt: skip
        (part / "manifest.json").write_text(json.dumps(told, indent=1))
        part.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    assert manifest(folder)["version"] == version
