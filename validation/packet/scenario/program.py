"""Programs that send in place of a sender of ours: what they are called with."""

from __future__ import annotations

from dataclasses import dataclass

from tcpdynamics.errors import ScenarioError, check, shown

from .fields import FORBID, described, key

#: Bounds of a list of arguments.
MOST_ARGUMENTS, LONGEST_ARGUMENT = 100, 4096
#: What stands in arguments for the server's address, the port that is the flow's own, the client's address, and the
#: seconds that the scenario has from the flow's start on.
PLACES = ("{address}", "{port}", "{client}", "{seconds}")


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
        (), "The program that sends, and its arguments, without a shell. In each `{address}`, `{port}`, `{client}` and"
        " `{seconds}` stand for the server's address, a port of the flow's own, the client's address, and the time from"
        " the flow's start to the scenario's end. It runs where the flow starts.",
        kind="tuple of str",
    )  # fmt: skip
    client: tuple[str, ...] = key(
        (), "The same of the program that receives. It runs where the flow ends, from the flow's start on.",
        kind="tuple of str",
    )  # fmt: skip

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
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
