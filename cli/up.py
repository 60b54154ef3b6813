"""`purple up`: the stack, staying up, with its URLs."""

import asyncio
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cli.console import Complaint, err, give_up, out
from cli.launcher import Stack, running, stop_on_signals
from cli.stack.plan import HOST, StackOptions
from cli.starting import Starting

EXAMPLE = "Which expense claims are pending? Answer with a JSON list of their ids."


class Profile(StrEnum):
    EMBEDDED = "embedded"
    PRODUCTION = "production"


def up(
    port: Annotated[int, typer.Option(help="The gateway's port.", min=1, max=65535)] = 9010,
    host: Annotated[str, typer.Option(help="The address the gateway listens on.")] = HOST,
    folder: Annotated[Path, typer.Option("--dir", help="Where data and logs are kept.")] = Path(".purple"),
    executors: Annotated[int, typer.Option(help="How many executors.", min=1, max=32)] = 1,
    profile: Annotated[Profile, typer.Option(help="How callers and tool servers are trusted.")] = Profile.EMBEDDED,
    assessor: Annotated[bool, typer.Option("--assessor", help="Also an assessor, to measure this agent.")] = False,
    assessor_port: Annotated[int, typer.Option(help="The assessor's port.", min=1, max=65535)] = 9060,
) -> None:
    """Start the whole stack on this machine and keep it up until Ctrl-C.

    What the environment does not name is supplied: REDIS_URL (an embedded server that keeps its data in --dir),
    GREEN_AGENT_MCP_URL (an example company) and ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL (a rule-based planner).

    Examples:

      purple up

      purple up --port 9110 --dir /var/tmp/purple --executors 2

      purple up --assessor

      GREEN_AGENT_MCP_URL=http://tools.example/mcp TENANT_FILE=policies.json ANTHROPIC_API_KEY=... purple up
    """
    measured = assessor_port if assessor else 0
    options = StackOptions(
        folder.resolve(), dict(os.environ), port, host, executors, profile.value, assessor_port=measured
    )
    try:
        asyncio.run(_stay_up(options))
    except Complaint as complaint:
        give_up(complaint)


async def _stay_up(options: StackOptions) -> None:
    """Until a signal, or until a process of the stack ends by itself (``Complaint``)."""
    stop_on_signals()
    try:
        with Starting(err) as starting:
            async with running(options, tell=starting) as stack:
                _show(stack)
                raise await stack.until_one_dies()
    except asyncio.CancelledError:  # a signal asked for the end, and everything is stopped by now
        err.print("Stopped.", style="dim")


def _show(stack: Stack) -> None:
    out.print(_table(stack))
    if stack.notice:
        out.print(f"Model: {stack.notice}. Set ANTHROPIC_API_KEY to use a real one.", style="bold yellow")
    out.print(f"Console (approvals, tasks): {stack.url('gateway')}/console", soft_wrap=True)
    out.print(f'Logs: {stack.logs}   Try: purple send "Which expense claims are pending?" --url {stack.url("gateway")}')
    if stack.redis and "keys" in os.environ.get("AUTHENTICATION", ""):
        out.print(f"The first key: REDIS_URL={stack.redis_url} purple keys first NAME", soft_wrap=True)
    if stack.options.assessor_port:
        agent, assessor = stack.url("gateway"), stack.url("assessor")
        measuring = f"purple assess --scenario inbox_triage --agent {agent} --assessor {assessor} --keep-at {agent}"
        out.print(f"Measure it: {measuring}", soft_wrap=True)
    out.print("Ctrl-C stops everything.", style="dim")


def _table(stack: Stack) -> Table:
    table = Table("process", "url", "pid", title="Purple Agent is up")
    for child in stack.children:
        table.add_row(child.spec.name, child.spec.url, str(child.pid))
    table.add_row("redis", stack.redis_url, str(stack.redis.pid) if stack.redis else "")
    if stack.queue:
        table.add_row("queue", stack.queue.url, str(stack.queue.pid))
    return table
