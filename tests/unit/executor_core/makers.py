"""Small makers of the core's own values, for tests of its pure parts."""

from datetime import UTC, datetime

from services.executor.core.session.dossier import Dossier
from services.executor.core.session.values import Fact, NamedValue, Operand
from services.executor.core.tools.toolbox import Toolbox, build_toolbox
from services.executor.ports.tools import Tool
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import ToolClass, WriteStatus

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def fact(
    result: Json, ref: str = "f1", tool: str = "get_claim", ok: bool = True, asked: JsonObject | None = None
) -> Fact:
    given, shown = dumps(asked or {}), dumps(result)
    return Fact(ref=ref, connection_id="office", tool=tool, arguments_json=given, result_json=shown, ok=ok)


def value(name: str, operation: str, stated: str, *operands: Operand) -> NamedValue:
    return NamedValue(name=name, operation=operation, operands=operands, value=stated)


def from_fact(path: str, ref: str = "f1") -> Operand:
    return Operand(source="result", ref=ref, path=path)


def from_task(literal: str) -> Operand:
    return Operand(source="task", literal=literal)


def from_value(name: str) -> Operand:
    return Operand(source="value", ref=name)


def call(
    arguments: JsonObject,
    call_id: str = "c1",
    tool_class: ToolClass = ToolClass.CHANGE,
    tool: str = "approve_claim",
    **more: object,
) -> PlannedCall:
    planned = PlannedCall(
        call_id=call_id, connection_id="office", tool=tool, tool_class=tool_class, arguments_json=dumps(arguments)
    )
    return planned.model_copy(update=more)


def plan(*calls: PlannedCall) -> WritePlan:
    return WritePlan(task_id="task-1", calls=calls)


def dossier(*facts: Fact, values: tuple[NamedValue, ...] = ()) -> Dossier:
    return Dossier(facts=facts, values=values)


def verdict(**more: object) -> Verdict:
    return Verdict.model_validate(
        {"passed": True, "policy_hash": "p", "context_hash": "c", "plan_hash": "w", "binding": True, **more}
    )


def tool(name: str, tool_class: ToolClass, schema: JsonObject | None = None, connection: str = "office") -> Tool:
    shape: JsonObject = schema if schema is not None else {"type": "object"}
    return Tool(connection, name, f"{name}.", shape, tool_class, "by its name", CatalogueEntry())


def tools(*some: Tool) -> Toolbox:
    ids = sorted({each.connection_id for each in some} | {"office"})
    return build_toolbox(
        (Connection(id=id_, url=f"http://{id_}"), [each for each in some if each.connection_id == id_]) for id_ in ids
    )


def entry(
    status: WriteStatus, tool_class: ToolClass = ToolClass.CHANGE, call_id: str = "c1", of: PlannedCall | None = None
) -> LedgerEntry:
    planned = of or call({"claim_id": "C-1"}, call_id, tool_class)
    return LedgerEntry(
        key=planned.call_id,
        call=planned,
        arguments_json=planned.arguments_json,
        plan_hash="w",
        status=status,
        note="a note",
    )


def approval(planned: WritePlan, **more: object) -> Approval:
    """One that waits for anybody."""
    told = {"approval_id": "a1", "task_id": planned.task_id, "plan": planned, "plan_hash": planned.hash, "level": None}
    asked = {"verdict_hash": "v", "requester_id": "clerk", "reasons": (), "asked_at": NOON, "deadline": NOON}
    return Approval.model_validate({**told, **asked, **more})
