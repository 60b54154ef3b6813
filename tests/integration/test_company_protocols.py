"""The example company: a process with settings and faults, and its tools over both protocols."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from pydantic import JsonValue

from examples.company import ledger
from examples.company.__main__ import main
from examples.company.catalogue import TOOLS
from examples.company.faults import ToolFault
from examples.company.over_mcp import KEY
from examples.company.protocols import ToolProtocol
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.ports.tools import ToolAnswer, ToolServers, ToolSilent
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.company_stage import Company, company
from tests.each_row import each_row
from tests.forked_service import ForkedService, forked_service
from tests.http_client import open_http
from tests.integration.gateway_stage import list_at
from tests.refusals import refusal_of


class Stage(NamedTuple):
    """A company, and a client of one protocol that calls it."""

    company: Company
    servers: ToolServers

    async def call(self, tool: str, **arguments: Json) -> ToolAnswer:
        return await self.within(5, tool, arguments)

    async def within(self, seconds: float, tool: str, arguments: JsonObject) -> ToolAnswer:
        return await self.servers.call(self.company.connection, tool, arguments, seconds)

    async def record(self, tool: str, **arguments: Json) -> JsonObject:
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.content
        assert isinstance(answer.content, dict)
        return answer.content


@asynccontextmanager
async def stage(folder: Path, spoken: ToolProtocol) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(company(folder, protocol=ToolProtocol.BOTH))
        client = McpTools() if spoken is ToolProtocol.MCP else RestBridge()
        yield Stage(running, await stack.enter_async_context(client))


over_each = pytest.mark.parametrize("spoken", [ToolProtocol.MCP, ToolProtocol.REST])


@over_each
@pytest.mark.promise("company.both_protocols")
async def test_every_tool_is_published_and_of_its_class(tmp_path: Path, spoken: ToolProtocol) -> None:
    async with stage(tmp_path, spoken) as on:
        tools = await on.servers.discover(on.company.connection)

    assert [tool.name for tool in tools] == [*TOOLS]
    for tool in tools:
        notice = tool.name.startswith(("notify_", "send_"))
        reads = TOOLS[tool.name].hints.read_only
        assert tool.tool_class is (ToolClass.NOTIFY if notice else ToolClass.READ if reads else ToolClass.CHANGE)


@over_each
@pytest.mark.promise("company.both_protocols")
async def test_faults_act_the_same(tmp_path: Path, spoken: ToolProtocol) -> None:
    """Refused and not done; done and the reply lost; slow and done to the end; slow and given up."""
    async with stage(tmp_path, spoken) as on:
        on.company.faults.replace(
            {
                "close_ticket": ToolFault(fail="The desk is closed.", times=1),
                "approve_expense": ToolFault(lose_reply=True),
                "create_refund": ToolFault(delay_before_ms=300, ignore_disconnect=True),
                "cancel_order": ToolFault(delay_before_ms=1_000),
            }
        )
        refused = await on.call("close_ticket", ticket_id="TIC-2103", resolution="reset")
        with pytest.raises(ToolSilent):
            await on.call("approve_expense", expense_id="EXP-1001")
        for tool in ("create_refund", "cancel_order"):
            given: JsonObject = {"order_id": "ORD-2006", "reason": "late"}
            amount: JsonObject = {"amount": 5} if tool == "create_refund" else {}
            with pytest.raises(ToolSilent):
                await on.within(0.1, tool, {**given, **amount})
        on.company.faults.replace({"get_refund": ToolFault(delay_before_ms=1_200)})
        await on.record("get_refund", refund_id="REF-3005")  # by when what was given up would have been done

    assert refused.is_error
    assert "The desk is closed." in str(refused.content)
    assert [write.tool for write in ledger.writes(on.company.database)] == ["approve_expense", "create_refund"]


@over_each
@pytest.mark.promise("company.drift")
async def test_a_renamed_column_has_its_new_name_everywhere(tmp_path: Path, spoken: ToolProtocol) -> None:
    """In what describes, in what queries, in records of reads and writes; the old name is refused."""
    async with stage(tmp_path, spoken) as on:
        on.company.faults.replace({}, {"invoices.amount": "invoice_total"})
        described = await on.record("describe_table", table="invoices")
        of_invoice: JsonObject = {"table": "invoices", "filter_column": "id", "filter_value": "INV-6001"}
        old = await on.call("query_table", columns=["id", "amount"], **of_invoice)
        new = await on.record("query_table", columns=["id", "invoice_total"], **of_invoice)
        all_of_it = await on.record("query_table", **of_invoice)
        one = await on.record("get_invoice", invoice_id="INV-6001")
        page = await on.record("list_invoices", limit=1)
        other = await on.record("get_purchase_order", purchase_order_id="PO-7001")
        on.company.faults.replace({})
        healed = await on.record("get_invoice", invoice_id="INV-6001")

    columns = list_at(described, "columns")
    names = [column["name"] for column in columns if isinstance(column, dict)]
    assert ("invoice_total" in names, "amount" in names) == (True, False)
    assert old.is_error
    assert "no such column: amount" in str(old.content)
    assert new["rows"] == [{"id": "INV-6001", "invoice_total": "10481.37"}]
    assert (one["invoice_total"], "amount" in one) == ("10481.37", False)
    for listed in (all_of_it["rows"], page["invoices"]):
        assert isinstance(listed, list)
        assert listed == [one]
    assert (other["amount"], healed["amount"]) == ("10250.00", "10481.37")


@each_row(
    ("body", "status", "answer"),
    ({"tool": "get_invoice", "params": {"invoice_id": "INV-1"}, "session_id": "s"}, 200, []),
    ({"tool": "get_employee", "params": {"employee_id": "EMP-1"}}, 200, {"found": False, "error": "no employee EMP-1"}),
    (
        {"tool": "approve_purchase_order", "params": {"purchase_order_id": "PO-7001"}},
        200,
        {
            "error": "CONSTRAINT_VIOLATION",
            "type": "CONSTRAINT_VIOLATION",
            "message": "Purchase order PO-7001 is already received.",
        },
    ),
    (
        {"tool": "pay_invoice", "params": {"invoice_id": "INV-6010", "amount": "1"}},
        200,
        {"error": "Invoice INV-6010 is over 4350.00, not 1.00."},
    ),
    ({"tool": "get_invoice", "params": {"invoice": "INV-1"}}, 422, None),
    ({"tool": "get_invoice", "params": []}, 422, None),
    ({"tool": "invent_money"}, 422, None),
    ({"tool": 5}, 422, None),
)
async def test_the_bridge_answers_without_envelope(
    tmp_path: Path, body: JsonValue, status: int, answer: JsonValue
) -> None:
    """Nothing found is an empty list or says so; a second time is a constraint violation; a malformed call a 422."""
    async with company(tmp_path, protocol=ToolProtocol.BOTH) as running, open_http() as http:
        said = await http.post(f"{running.url}/mcp", json=body)

    assert said.status_code == status
    if answer is not None:
        assert said.json() == answer


@pytest.mark.promise("company.drift")
async def test_the_process_takes_protocol_and_renames_from_its_settings_and_at_run_time(tmp_path: Path) -> None:
    """A rename of what is not there, or onto a name that is, is refused and changes nothing."""
    renames = '{"rename": {"vendors.trade": "business"}, "get_order": {"fail": "down"}}'
    options = {"DATABASE": str(tmp_path / "c.db"), "COMPANY_FAULTS": renames, "COMPANY_PROTOCOL": "rest"}
    async with started("--reset", "--allow-faults", **options) as (_, url), open_http() as http:
        asked = {"tool": "get_vendor", "params": {"vendor_id": "VEN-601"}}
        shown = (await http.post(f"{url}/mcp", json=asked)).json()
        for wrong in ({"vendors.colour": "color"}, {"vendors.trade": "email"}, {"vendors.trade": "no name"}):
            assert (await http.post(f"{url}/faults", json={"rename": wrong})).status_code == 422
        table = (await http.get(f"{url}/faults")).json()

    assert (shown["business"], "trade" in shown) == ("stationery", False)
    assert table == {"get_order": {"fail": "down"}, "rename": {"vendors.trade": "business"}}


REFUND: JsonObject = {"order_id": "ORD-2001", "amount": "10.00", "reason": "late"}


@pytest.mark.promise("I3.our_key")
async def test_over_the_bridge_there_is_no_place_for_a_key(tmp_path: Path) -> None:
    async with company(tmp_path, protocol=ToolProtocol.REST) as running, RestBridge() as servers:
        tools = await servers.discover(running.connection)
        refund = next(tool for tool in tools if tool.name == "create_refund")
        assert KEY not in str(refund.input_schema)
        assert (await servers.call(running.connection, "create_refund", {**REFUND, KEY: "k1"}, 5)).is_error
    assert ledger.count(running.database, "create_refund") == 0


START_SECONDS = 90


@asynccontextmanager
async def started(*options: str, **environ: str) -> AsyncIterator[tuple[ForkedService, str]]:
    """A running company and its URL; it is killed at the end if it has not ended before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with forked_service("examples.company", *options, PORT=str(port), **environ) as process:
        async with asyncio.timeout(START_SECONDS):
            await answers(url)
        yield process, url


async def answers(url: str) -> None:
    transport = httpx.AsyncHTTPTransport()
    async with httpx.AsyncClient(transport=transport) as http:
        while True:
            try:
                (await http.get(f"{url}/health")).raise_for_status()
            except httpx.TransportError:
                await asyncio.sleep(0.02)  # there is no event to wait for: the process is another one
            else:
                return


@each_row(
    ("environ", "name"),
    ({}, "DATABASE"),
    ({"DATABASE": ""}, "DATABASE"),
    ({"DATABASE": "/dev/null/company.db"}, "DATABASE"),
    ({"DATABASE": "x.db", "PORT": "many"}, "PORT"),
    ({"DATABASE": "x.db", "COMPANY_FAULTS": '{"a": {"explode": 1}}'}, "COMPANY_FAULTS"),
    ({"DATABASE": "x.db", "COMPANY_FAULTS": "nonsense"}, "COMPANY_FAULTS"),
)
def test_a_wrong_setting_stops_the_start_with_one_sentence_that_names_it(environ: Mapping[str, str], name: str) -> None:
    ended = refusal_of(main, environ)

    assert ended.code == 2
    assert ended.said.startswith(name)
    assert ended.said.count("\n") == 1


async def test_faults_are_not_to_be_changed_unless_allowed(tmp_path: Path) -> None:
    async with started(DATABASE=str(tmp_path / "company.db"), RESET="true") as (_, url), open_http() as http:
        assert (await http.post(f"{url}/faults", json={})).status_code == 404
