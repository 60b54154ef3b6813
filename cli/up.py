"""`purple up`: start the whole stack on this machine and keep it up until Ctrl-C."""

import asyncio
import os
import sys
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.prompt import Prompt
from rich.table import Table

from cli.console import StartupProgress, err, find_own_command_name, out
from cli.launcher import UNRULED_WORDS, UNRULED_WRITES, Stack, are_unruled_writes_undecided, run_stack, stop_on_signals
from cli.stack.plan import HOST, StackOptions
from cli.stack.reachable import find_unreachable_servers
from cli.stack.registry import RunningStack, register_stack
from shared.infra.redis_address import hide_password

EXAMPLE_TASK = "Which expense claims are pending? Answer with a JSON list of their ids."

_UNRULED_WRITES_QUESTION = (
    "{server} is a tool server of your own. What does a write there need that no rule of yours speaks about?\n"
    "  approve  a person's yes, each time\n"
    "  allow    nothing: it is made\n"
    "It is asked once and kept in the stack's folder; UNRULED_WRITES says it without asking."
)


class TrustProfile(StrEnum):
    EMBEDDED = "embedded"
    PRODUCTION = "production"


def up(
    port: Annotated[int, typer.Option(help="The gateway's port.", min=1, max=65535, envvar="PURPLE_PORT")] = 9010,
    host: Annotated[str, typer.Option(help="The address the gateway listens on.")] = HOST,
    folder: Annotated[Path, typer.Option("--dir", help="Where data and logs are kept.", envvar="PURPLE_DIR")] = Path(
        ".purple"
    ),
    executors: Annotated[int, typer.Option(help="How many executors.", min=1, max=32)] = 1,
    profile: Annotated[
        TrustProfile, typer.Option(help="How callers and tool servers are trusted.")
    ] = TrustProfile.EMBEDDED,
    assessor: Annotated[bool, typer.Option("--assessor", help="Also an assessor, to measure this agent.")] = False,
    assessor_port: Annotated[int, typer.Option(help="The assessor's port.", min=1, max=65535)] = 9060,
) -> None:
    """Start the whole stack on this machine and keep it up until Ctrl-C.

    What the environment does not name is supplied: REDIS_URL (an embedded server that keeps its data in --dir),
    GREEN_AGENT_MCP_URL (an example company) and ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL (a rule-based planner).

    With a GREEN_AGENT_MCP_URL of your own, UNRULED_WRITES (approve or allow) says what a write needs that no rule
    speaks about; at a terminal it is asked for, once. An address other than this machine's own (--host) takes
    AUTHENTICATION=keys or jwt, or ALLOW_OPEN=yes.

    Examples:

      purple up

      purple up --port 9110 --dir /var/tmp/purple --executors 2

      purple up --assessor

      GREEN_AGENT_MCP_URL=http://tools.example/mcp TENANT_FILE=policies.json ANTHROPIC_API_KEY=... purple up
    """
    options = StackOptions(folder.resolve(), dict(os.environ), port, host, executors, profile.value)
    if assessor:
        options = replace(options, assessor_port=assessor_port)
    asyncio.run(_run_until_stopped(_ask_about_unruled_writes(options)))


def _ask_about_unruled_writes(options: StackOptions) -> StackOptions:
    """The options; if undecided, the user is asked at the terminal whether writes that no rule covers need approval."""
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if not (at_terminal and are_unruled_writes_undecided(options)):
        return options
    err.print(_UNRULED_WRITES_QUESTION.format(server=options.environ["GREEN_AGENT_MCP_URL"]), soft_wrap=True)
    word = Prompt.ask("Unruled writes need", console=err, choices=list(UNRULED_WORDS), default=UNRULED_WORDS[0])
    return replace(options, environ={**options.environ, UNRULED_WRITES: word})


async def _run_until_stopped(options: StackOptions) -> None:
    """Run the stack until a signal, restarting processes that end; raises ``CommandError`` if its Redis ends."""
    stop_on_signals()
    try:
        with StartupProgress(err) as starting:
            async with run_stack(options, tell=starting) as stack:
                with register_stack(RunningStack(stack.get_url("gateway"), options.folder, stack.open_environ)):
                    _print_stack(stack)
                    for warning in await find_unreachable_servers(options.environ):
                        err.print(warning, style="bold yellow", soft_wrap=True)
                    raise await stack.keep_running(partial(err.print, style="bold yellow", soft_wrap=True))
    except asyncio.CancelledError:  # a signal asked for the end, and everything is stopped by now
        err.print("Stopped.", style="dim")


def _print_stack(stack: Stack) -> None:
    out.print(_build_process_table(stack))
    if stack.model_notice:
        out.print(f"Model: {stack.model_notice}. Set ANTHROPIC_API_KEY to use a real one.", style="bold yellow")
    out.print(f"Console (approvals, tasks): {stack.get_url('gateway')}/console", soft_wrap=True)
    out.print(f"Logs: {stack.logs}", soft_wrap=True)
    out.print(f"Try: {suggest_command(stack.options)}", soft_wrap=True)
    if stack.redis and "keys" in os.environ.get("AUTHENTICATION", ""):
        out.print(
            f"The first key: REDIS_URL={stack.redis_url} {find_own_command_name()} keys first NAME", soft_wrap=True
        )
    if stack.options.assessor_port:
        agent, assessor = stack.get_url("gateway"), stack.get_url("assessor")
        command = f"assess --scenario inbox_triage --agent {agent} --assessor {assessor} --keep-at {agent}"
        out.print(f"Measure it: {find_own_command_name()} {command}", soft_wrap=True)
    out.print("A process that ends by itself is started again. Ctrl-C stops everything.", style="dim")


def suggest_command(options: StackOptions) -> str:
    """A first command to try; for tools other than the example's, a dry run, which writes nothing."""
    command = find_own_command_name()
    if options.uses_example_company:
        return f'{command} send "{EXAMPLE_TASK}"'
    return f'{command} send "..." --dry-run (a task for your tools: its plan is shown, and nothing is written)'


def _build_process_table(stack: Stack) -> Table:
    table = Table("process", "url", "pid", title="Purple Agent is up")
    for child in stack.children:
        table.add_row(child.spec.name, child.spec.url, str(child.pid))
    table.add_row("redis", hide_password(stack.redis_url), str(stack.redis.pid) if stack.redis else "")
    if stack.queue:
        table.add_row("queue", stack.queue.url, str(stack.queue.pid))
    return table
