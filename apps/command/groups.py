"""Groups of commands: one that suggests names, and the first, which imports a command when it is run."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from tcpdynamics.errors import shown, suggestion


class SuggestingGroup(click.Group):
    """A group that suggests a name where one is unknown."""

    kind = "command"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; an unknown name gets a suggestion."""
        word = args[0].replace("_", "-") if args else "-"
        if not word.startswith("-") and self.get_command(ctx, word) is None:
            close = suggestion(word, self.list_commands(ctx))
            raise click.UsageError(
                f"there is no {self.kind} {shown(args[0], 80)}{close}; `{ctx.command_path} --help` lists them"
            )
        return super().resolve_command(ctx, args)


class LaterGroup(SuggestingGroup):
    """Commands that are modules of this package, imported when they are run; `lines` has one for each in the help."""

    def __init__(self, *args: Any, lines: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the lines."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in self.lines:
            return None
        command: click.Command = getattr(importlib.import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line each, without any import."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))
