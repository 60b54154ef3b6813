"""The commands by name: where each stands, and what the list says of it. One is loaded when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer._click import Command, Context  # typer exports neither, and a group's methods are typed by them
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from cli.checkout import has_tools

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


class CommandPlace(NamedTuple):
    """``place``: a module, a colon, and what in it is the command or the group; ``help`` its first paragraph."""

    place: str
    help: str


_PRODUCT: Mapping[str, CommandPlace] = {
    "demo": CommandPlace(
        "cli.demo.command:demo",
        "Run business tasks end to end and check the database afterwards. Exit code 0 only if all held.",
    ),
    "up": CommandPlace("cli.up:up", "Start the whole stack on this machine and keep it up until Ctrl-C."),
    "send": CommandPlace(
        "cli.send:send",
        "Send one task, watch it being done, read the answer. Exit code 1 if it failed or was refused.",
    ),
    "audit": CommandPlace(
        "cli.audit:audit",
        "Show for each write who asked, who approved it, what was sent, why it might be, what it came to, "
        "and the proof.",
    ),
    "replay": CommandPlace(
        "cli.replay:replay",
        "Run an archived task again, in memory, with today's code, prompts and templates. "
        "Nothing and nobody is called.",
    ),
    "restored": CommandPlace(
        "cli.restored:restored",
        "Note in the Redis of REDIS_URL that it was restored from a backup. Run it before any service connects.",
    ),
    "tools": CommandPlace(
        "cli.tools:tools",
        "Show what discovery finds at a tool server: its protocol, each tool's class and what decided it, the read "
        "that proves a write, and the arguments by which a list comes in parts.",
    ),
    "task": CommandPlace("cli.task:task", "Look at one task, and settle a write in doubt."),
    "webhooks": CommandPlace(
        "cli.webhooks:webhooks", "Webhooks: how a task's fare, which of a tenant's fail, the secret."
    ),
    "approvals": CommandPlace("cli.approvals:approvals", "What waits for a person's yes: list, look, approve, reject."),
    "dlq": CommandPlace("cli.dlq:dlq", "Dead letters: turns given up, and outcomes that nothing was learned from."),
    "tenant": CommandPlace("cli.tenant:tenant", "Stop a tenant, let it go on; what it says, what it spends."),
    "keys": CommandPlace("cli.keys:keys", "API keys: make one, list them, revoke one. PURPLE_API_KEY is yours."),
    "policy": CommandPlace("cli.policy:policy", "Try policies before they rule: what they mean, what they would do."),
    "learn": CommandPlace(
        "cli.learn.command:learn",
        "What is learned: reports; import and export as files; what is to be forgotten.",
    ),
    "assess": CommandPlace(
        "cli.assess.command:assess",
        "Measure an agent in a simulated world. Exit code 0 if every run was completed, whatever its points.",
    ),
}
_CHECKOUT: Mapping[str, CommandPlace] = {
    "chaos": CommandPlace(
        "tools.chaos.command:chaos", "Kill anything at any moment: is anything lost, does anything happen twice?"
    ),
    "bench": CommandPlace("tools.bench.command:bench", "Measure, and compare with the stated targets."),
}
_MISSING = "Only in a checkout of the project."


def all_commands() -> Mapping[str, CommandPlace]:
    """Where the checkout's own commands are missing, one of the same name says so and ends with 2."""
    missing = {name: CommandPlace("cli.checkout:needs_a_checkout", _MISSING) for name in _CHECKOUT}
    return {**_PRODUCT, **(_CHECKOUT if has_tools() else missing)}


def load_command(name: str, entry: CommandPlace) -> Command:
    """The command as it stands in its module."""
    module, _, variable = entry.place.partition(":")
    found = getattr(import_module(module), variable)
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.callback()(lambda: None)  # with one, a single command is a group's, too
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name)
    else:
        app.command(name, context_settings=_ANYTHING if entry.help == _MISSING else None)(found)
    return cast(TyperGroup, typer.main.get_command(app)).commands[name]


class LazyCommands(TyperGroup):
    """Lists every command by its entry, and loads the one that is called: loading all of them takes seconds."""

    def __init__(self, **known: Any) -> None:  # noqa: ANN401  # whatever typer gives a group
        super().__init__(**known)
        self._entries = all_commands()
        self.commands = {name: TyperCommand(name, help=entry.help) for name, entry in self._entries.items()}

    @override
    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name, self._entries[name]) if name and command else None, rest
