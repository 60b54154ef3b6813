"""`purple bench planner`: what a call of the rule-based planner costs over many records."""

from collections.abc import Mapping
from time import process_time
from typing import Annotated

import typer
from rich.table import Table

from cli.console import err, out, print_json
from services.planner.core.request import CALL_NOTE, parse_request
from services.planner.core.roles import reply
from services.planner.entrypoints.messages import count_input_tokens
from shared.domain.exact_json import Json, JsonObject, dumps, to_exact

MOST_MS = 50.0
_TIMES = 3  # each call is made so often: the least counts
_STATES = ("open", "shipped", "cancelled")
_KINDS = "invoice shipment refund ticket product vendor claim employee contract device".split()
_TASKS = (
    "Cancel every open order of customer CUS-2.",
    "Refund every cancelled order over 100.00 and notify the customer.",
    "How many orders are open, and what do they come to in total?",
    "Cancel {all} and notify each customer.",
    "Which customer has the largest total of shipped orders?",
    "Cancel order ORD-0003 if it is not shipped; otherwise notify the customer that it is on the way.",
)


def planner_command(
    orders: Annotated[int, typer.Option(help="How many orders have been read.", min=1, max=1000)] = 36,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1, naming each missed target.")] = False,
) -> None:
    """CPU of a call of the planner over many orders, read in one list or one by one, for tasks of several kinds.

    Examples:

      purple bench planner

      purple bench planner --orders 100 --check --json
    """
    figures = measure_calls(orders)
    missed = find_missed(figures)
    if as_json:
        print_json(dumps({"orders": orders, "cpu_ms": to_exact(figures), "missed": [*missed]}))
    else:
        table = Table("task", "CPU, ms", title=f"planner: a call over {orders} orders")
        for name, ms in figures.items():
            table.add_row(name, f"{ms:g}")
        out.print(table)
    if missed:
        err.print("\n".join(f"Missed: {sentence}" for sentence in missed), style="yellow", soft_wrap=True)
        raise typer.Exit(int(check))


def measure_calls(orders: int) -> dict[str, float]:
    """Milliseconds by task and by how the orders were read."""
    rows = [_make_order(number) for number in range(orders)]
    ways = {"in one list": _read_in_a_list(rows), "one by one": _read_singly(rows)}
    named = ", ".join(str(row["order_id"]) for row in rows)
    return {
        f"{task.format(all='all by name')} ({way})": _least_ms(_make_body(task.format(all=named), facts))
        for task in _TASKS
        for way, facts in ways.items()
    }


def find_missed(figures: Mapping[str, float]) -> list[str]:
    return [f"{name}: {ms:g} ms, target at most {MOST_MS:g}" for name, ms in figures.items() if ms > MOST_MS]


def _least_ms(body: JsonObject) -> float:
    spent: list[float] = []
    for _ in range(_TIMES):
        began = process_time()
        reply(parse_request(body))
        count_input_tokens(body)
        spent.append(process_time() - began)
    return round(min(spent) * 1000, 1)


def _make_order(number: int) -> JsonObject:
    items: list[Json] = [
        {"sku": f"SKU-{number}-{place}", "name": "Lamp of oak", "quantity": place + 1, "price": "12.50"}
        for place in range(4)
    ]
    return {
        "order_id": f"ORD-{number:04}",
        "customer_id": f"CUS-{number % 5}",
        "status": _STATES[number % 3],
        "total": f"{number * 7 + 12}.50",
        "placed_on": f"2026-03-{1 + number % 28:02}",
        "note": "Leave it at the door, please; ring twice.",
        "items": items,
    }


def _read_in_a_list(rows: list[JsonObject]) -> list[Json]:
    return [_make_fact(1, "list_orders", {}, {"orders": [*rows]})]


def _read_singly(rows: list[JsonObject]) -> list[Json]:
    return [_make_fact(place, "get_order", {"order_id": row["order_id"]}, row) for place, row in enumerate(rows, 1)]


def _make_fact(number: int, tool: str, given: JsonObject, result: Json) -> JsonObject:
    return {"ref": f"r{number}", "tool": tool, "arguments": given, "result": result}


def _make_body(task: str, facts: list[Json]) -> JsonObject:
    """As a loop asks that shows what was read so far as data."""
    said = f"<task>\n{task}\n</task>\n\n<so_far>\n{dumps(facts)}\n</so_far>"
    return {"system": "Rules.", "messages": [{"role": "user", "content": said}], "tools": _tools()}


def _tools() -> list[Json]:
    """Some thirty: of orders and customers, and of other things that a company has."""
    others: list[Json] = [_make_tool(f"get_{kind}", f"{kind}_id") for kind in _KINDS]
    others += [_make_tool(f"close_{kind}", f"{kind}_id", writes=True) for kind in _KINDS]
    return [
        _make_tool("list_orders"),
        _make_tool("get_order", "order_id"),
        _make_tool("list_customers"),
        _make_tool("get_customer", "customer_id"),
        _make_tool("cancel_order", "order_id", writes=True),
        _make_tool("refund_order", "order_id", "amount", writes=True),
        _make_tool("notify_customer", "customer_id", "message", writes=True),
        _make_tool("calculate"),
        *others,
    ]


def _make_tool(name: str, *fields: str, writes: bool = False) -> JsonObject:
    """A write takes the object that a proposal carries."""
    note: JsonObject = {CALL_NOTE: {"type": "object"}} if writes else {}
    properties: JsonObject = {**{field: {"type": "string"} for field in fields}, **note}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*fields]}
    return {"name": name, "description": "", "input_schema": schema}
