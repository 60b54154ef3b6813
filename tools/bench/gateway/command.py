"""`purple bench gateway`: our gateway beside the official SDK's own in-memory server."""

import asyncio
from typing import Annotated

import typer
from rich.table import Table

from cli.console import err, out, print_json
from shared.domain.exact_json import dumps
from tools.bench.gateway.client import exact_loop
from tools.bench.gateway.load import GatewayFigures, Plan, measure_gateway


def gateway_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
    rounds: Annotated[int, typer.Option(help="How often each server has its turn.", min=1, max=100)] = 5,
    seconds: Annotated[float, typer.Option(help="How long a turn is.", min=0.1, max=60)] = 2.0,
    streams: Annotated[int, typer.Option(help="How many streams are held open.", min=1, max=2_000)] = 1000,
) -> None:
    """The gateway, durable on Redis, beside the A2A SDK's in-memory server: reads, accepted messages, streams.

    The two take turns in one run, so that what else the machine does falls on both. Requests a second are those of
    8 connections that ask again at once; p50 and p99 are at one rate for both, 80 % of what the SDK's server answered,
    from when a request was due.

    Examples:

      purple bench gateway

      purple bench gateway --rounds 10 --check --json
    """
    with asyncio.Runner(loop_factory=exact_loop) as runner:
        figures = runner.run(measure_gateway(Plan(rounds, seconds, streams)))
    if as_json:
        print_json(dumps(figures.as_json()))
    else:
        out.print(_table(figures))
    if figures.missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in figures.missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def _table(figures: GatewayFigures) -> Table:
    title = f"gateway beside the SDK's in-memory server, load average {figures.load:.1f}"
    table = Table("figure", "gateway", "SDK", "gateway / SDK", title=title)
    rows = {"GetTask": figures.get_task, "accept": figures.accept}
    for name, beside in rows.items():
        paced = f"at {beside.rate:,.0f}/s"
        for label, field in (
            ("requests/s", "a_second"),
            ("CPU ms each", "cpu_ms"),
            ("client, % of a core", "client_percent"),
            (f"p50 {paced}, ms", "p50_ms"),
            (f"p99 {paced}, ms", "p99_ms"),
            ("p99 at its limit, ms", "limit_p99_ms"),
        ):
            ours, sdk = getattr(beside.ours, field), getattr(beside.sdk, field)
            table.add_row(f"{name}, {label}", f"{ours:,.2f}", f"{sdk:,.2f}", f"{ours / sdk:.2f}")
    ours, sdk = figures.ours_streaming, figures.sdk_streaming
    table.add_row(
        "stream events/s", f"{ours.a_second:,.0f}", f"{sdk.a_second:,.0f}", f"{ours.a_second / sdk.a_second:.2f}"
    )
    table.add_row("CPU ms an event", f"{ours.cpu_ms:.3f}", f"{sdk.cpu_ms:.3f}", f"{ours.cpu_ms / sdk.cpu_ms:.2f}")
    held = figures.held
    table.add_row(f"{held.streams:,} open streams, MB", f"{held.memory_mb:,.0f}", "", "")
    table.add_row(f"{held.streams:,} open streams, % of a core", f"{held.cpu_percent:.1f}", "", "")
    return table
