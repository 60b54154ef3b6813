"""The command line of Purple Agent."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import typer
from typer._click import Command, Context  # typer exports neither, and a group's methods are typed by them
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from cli.console import CommandError, err, out
from shared.domain.version import VERSION

_ANY_ARGUMENTS = {"ignore_unknown_options": True, "allow_extra_args": True}
_FIRST_COMMANDS = ("demo", "up", "send", "approvals")  # the others follow by their names
_HELP_IN_DOCSTRING_PATTERN = re.compile(r'"""`purple (?P<name>[a-z]+)`: (?P<help>[^\n]+?)(?:"""|\n)')
_CHECKOUT_COMMANDS = ("bench", "chaos")  # which only a checkout of the project has, in its folder ``tools``
_NEEDS_CHECKOUT_TEXT = "Only in a checkout of the project."


class CommandEntry(NamedTuple):
    """The module and help line of a command. ``module``: None if the command needs a checkout of the project."""

    module: str | None
    help: str


def list_commands() -> Mapping[str, CommandEntry]:
    """All commands by name. Outside a checkout, commands that need one only print so and exit with code 2."""
    tools = _find_tools_folder()
    entries = {name: CommandEntry(None, _NEEDS_CHECKOUT_TEXT) for name in _CHECKOUT_COMMANDS}
    entries |= dict(_find_commands(tools, "tools")) if tools else {}
    for package in ("cli", "examples"):
        entries |= dict(_find_commands(Path(__file__).parents[1] / package, package))
    names = [*(name for name in _FIRST_COMMANDS if name in entries), *sorted(entries.keys() - {*_FIRST_COMMANDS})]
    return {name: entries[name] for name in names}


def _find_tools_folder() -> Path | None:
    """The project's folder ``tools``; None if this is no checkout, or ``tools`` is another's package."""
    try:
        specs = [find_spec(f"tools.{name}.command") for name in _CHECKOUT_COMMANDS]
    except ModuleNotFoundError:
        return None
    files = [Path(spec.origin) for spec in specs if spec and spec.origin]
    return files[0].parents[1] if len(files) == len(_CHECKOUT_COMMANDS) else None


def _find_commands(folder: Path, package: str) -> Iterator[tuple[str, CommandEntry]]:
    for file in (*folder.glob("*.py"), *folder.glob("*/command.py")):
        with file.open(encoding="utf-8") as source:
            heading = _HELP_IN_DOCSTRING_PATTERN.match(source.readline())
        if heading:
            module = ".".join((package, *file.relative_to(folder).with_suffix("").parts))
            yield heading["name"], CommandEntry(module, f"{heading['help'][0].upper()}{heading['help'][1:]}")


def load_command(name: str, entry: CommandEntry) -> Command:
    """Import a command's module and return the command."""
    command = getattr(import_module(entry.module), name) if entry.module else _report_missing_checkout
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.callback()(lambda: None)  # with one, a single command is a group's, too
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name, context_settings=None if entry.module else _ANY_ARGUMENTS)(command)
    return cast(TyperGroup, typer.main.get_command(app)).commands[name]


def _report_missing_checkout(ctx: typer.Context) -> None:
    sentence = f"purple {ctx.info_name} needs a checkout of the project: the folder tools is not installed here."
    err.print(sentence, style="red", soft_wrap=True)
    raise typer.Exit(2)


_PYDANTIC_PREFIX = "Value error, "  # how the words of an option's own check begin in typer's complaint


class LazyCommands(TyperGroup):
    """A group that imports only the command that is called, since importing all of them takes seconds."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  # whatever typer gives a group
        super().__init__(**options)
        self._entries = list_commands()
        self.commands = {name: TyperCommand(name, help=entry.help) for name, entry in self._entries.items()}

    @override
    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        name, command, remaining = super().resolve_command(ctx, args)
        return name, load_command(name, self._entries[name]) if name and command else None, remaining

    @override
    def invoke(self, ctx: Context) -> object:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_PYDANTIC_PREFIX)
            raise
        except CommandError as complaint:
            complaint.print_to_stderr()
            raise typer.Exit(complaint.code) from complaint


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Purple Agent: an AI worker that carries out business processes end to end.

    You give it a task in plain words. It reads what it needs, computes,
    checks the policy, asks a person where a rule says so, writes, proves
    each write by reading it back, tells whom it concerns, and answers.

    [bold]See it work[/] (a stack of its own, nothing to configure, half a minute):

      purple demo

    [bold]Use it[/] (in one terminal the stack, in another the tasks):

      purple up

      purple send "Which expense claims are pending? Answer with a JSON list of their ids."

      purple send "Approve expense claim EXP-1001."

      purple approvals list

      purple approvals approve ID --as dana --level manager

    [bold]Your own tools and model[/]:

      purple tools --endpoint http://tools.example/mcp

      GREEN_AGENT_MCP_URL=http://tools.example/mcp ANTHROPIC_API_KEY=... purple up

    Without a model's key a rule-based planner does the thinking, and every result says so.
    `purple COMMAND --help` explains a command, with examples.""",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        out.print(f"purple {VERSION}")
        raise typer.Exit


@app.callback()
def purple(
    version: Annotated[  # its callback has said it
        bool, typer.Option("--version", help="Say the version and end.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the whole command line."""


if __name__ == "__main__":
    app()
