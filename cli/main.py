"""The command line of Purple Agent."""

from typing import Annotated

import typer

from cli.commands import LazyCommands
from cli.console import out
from shared.domain.version import VERSION

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


def _say_version(asked: bool) -> None:
    if asked:
        out.print(f"purple {VERSION}")
        raise typer.Exit


@app.callback()
def purple(
    version: Annotated[  # its callback has said it
        bool, typer.Option("--version", help="Say the version and end.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the whole command line."""


if __name__ == "__main__":
    app()
