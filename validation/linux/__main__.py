"""`python -m tcpdynamics.validation.linux build`: make the kernel that judges."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tcpdynamics.errors import TcpDynamicsError

from .build import build, newest_source
from .kernel import absent, fingerprint, kernels, manifest
from .stacks import build_stack, stacks


def main(words: list[str] | None = None) -> int:
    """Run the command; its exit code.

    Examples
    --------
    >>> main(["where"])
    0
    """
    parser = argparse.ArgumentParser(prog="python -m tcpdynamics.validation.linux", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser(
        "build",
        help="make the kernel, some minutes once",
        description=(
            "Make the kernel, once: 5 to 15 minutes and 2.5 GB for a while. It needs gcc, make, flex, bison, bc and "
            "xz, and the kernel's source (Debian's package linux-source, or --source)."
        ),
    )
    making.add_argument("--source", type=Path, help="a tree, a .tar.xz or a .deb; default: the newest below /usr/src")
    making.add_argument("--jobs", type=int, default=1, help="compilers at a time")
    building = commands.add_parser("stack", help="build ready stacks for `tcpdynamics testbed`, or list them")
    building.add_argument("names", nargs="*", metavar="NAME", help="such as quinn; none: list all")
    key = commands.add_parser("key", help="print what a kernel would be built of, as a key for a cache")
    key.add_argument("--source", type=Path, help="as of build")
    commands.add_parser("where", help="say which kernels are made, and in which folders")
    arguments = parser.parse_args(words)
    if arguments.command == "where":
        for folder in kernels():
            print(f"Linux {manifest(folder)['version']}: {folder}")
        if not kernels():
            print(absent(), file=sys.stderr)
        return 0
    try:
        if arguments.command == "key":
            archive = arguments.source or newest_source()
            print(fingerprint(f"{archive.name} {archive.stat().st_size}"))
            return 0
        if arguments.command == "stack":
            for name in arguments.names:
                print(f"{name}: {build_stack(name)}")
            if not arguments.names:
                for name, stack in stacks().items():
                    print(f"{name:10} {'built' if stack.built else '-':6} {stack.about}")
            return 0
        folder = build(arguments.source, max(1, arguments.jobs), Progress())
    except TcpDynamicsError as error:
        print(f"\nError: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"\nError: {error.filename}: {error.strerror}; look at XDG_CACHE_HOME", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nError: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    print(f"\n{folder}")
    return 0


class Progress:
    """One line on a terminal, written again each time; elsewhere a line now and then."""

    def __init__(self) -> None:
        self.last = -10.0

    def __call__(self, what: str, share: float) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            print(f"\r{100 * share:5.1f} %  {what:<40}", end="", file=sys.stderr, flush=True)
        elif now - self.last > 10 or share == 1.0:
            print(f"{100 * share:5.1f} %  {what}", file=sys.stderr, flush=True)
            self.last = now


if __name__ == "__main__":
    sys.exit(main())
