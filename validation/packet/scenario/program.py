"""Programs that send in place of a sender of ours: what they are called with."""

from __future__ import annotations

from dataclasses import dataclass

from tcpdynamics.errors import ScenarioError, check, shown

from .fields import FORBID, check_keys, described, key

#: Bounds of a list of arguments.
MOST_ARGUMENTS, LONGEST_ARGUMENT = 100, 4096
#: What stands in arguments for the server's address, the same as in a URL, the port that is the flow's own, the
#: client's address, and the seconds that the scenario has from the flow's start on.
PLACES = ("{address}", "{host}", "{port}", "{client}", "{seconds}")


@described
@dataclass(frozen=True)
class Program:
    """A server and its client, unmodified programs of Linux.

    Raises
    ------
    ScenarioError
        A list that is empty or has something else than texts.

    Examples
    --------
    >>> Program(server=("iperf3", "-s", "-p", "{port}"), client=("iperf3", "-c", "{address}", "-p", "{port}")).server[0]
    'iperf3'
    """

    server: tuple[str, ...] = key(
        (), "The program that sends, and its arguments, without a shell. In each `{address}`, `{host}`, `{port}`,"
        " `{client}` and `{seconds}` stand for the server's address, the same as in a URL, a port of the flow's own,"
        " the client's address, and the time from the flow's start to the scenario's end. It runs where the flow"
        " starts.",
        kind="tuple of str",
    )  # fmt: skip
    client: tuple[str, ...] = key(
        (), "The same of the program that receives. It runs where the flow ends, from the flow's start on.",
        kind="tuple of str",
    )  # fmt: skip

    stack: str = key(
        "", "In place of `server` and `client`, the name of a ready stack, such as `quinn`; see `docs/testbed.md`."
    )
    ipv6: bool = key(False, "Whether the two talk over IPv6; the addresses are those of IPv6 then.")
    gso: bool = key(True, "Whether a program may give the kernel several datagrams of UDP at a time (`UDP_SEGMENT`).")
    gro: bool = key(True, "Whether it may be given several at a time (`UDP_GRO`).")

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        check_keys(self, "flows.program.")
        if not isinstance(self.stack, str):
            raise ScenarioError(f"flows.program.stack must be the name of a ready stack, got {shown(self.stack)}")
        if self.stack:
            if self.server or self.client:
                raise ScenarioError("flows.program.stack stands for server and client; give one or the other")
            return
        for name in ("server", "client"):
            arguments = getattr(self, name)
            at = f"flows.program.{name}"
            if isinstance(arguments, str) or not isinstance(arguments, tuple | list) or not arguments:
                example = '["iperf3", "-s"]'
                raise ScenarioError(
                    f"{at} must list a program and its arguments, such as {example}, got {shown(arguments)}"
                )
            check(f"{at} (number)", len(arguments), 1, MOST_ARGUMENTS, "shorten the list", whole=True)
            for argument in arguments:
                if not isinstance(argument, str) or "\0" in argument or not argument:
                    raise ScenarioError(f"{at} must list texts that are not empty, got {shown(argument)}")
                check(f"{at} (characters of an argument)", len(argument), 1, LONGEST_ARGUMENT, "shorten it", whole=True)
            object.__setattr__(self, name, tuple(arguments))
