"""The gateway as a stateless MCP server, with tools that send and read tasks and decide approvals as the caller."""

from collections.abc import Mapping
from typing import ClassVar, Literal, cast
from uuid import uuid4

import structlog
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from starlette.requests import Request
from starlette.routing import Route

from services.gateway.edge.errors import GatewayRefusal, InvalidField
from services.gateway.edge.replies import INTERNAL_ERROR_TEXT
from services.gateway.features.identity.middleware import count_message, get_identified_caller
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.services import FeatureServices
from services.gateway.features.tasks.listing import TaskQuery
from services.gateway.features.tasks.message import MessageDecision, parse_message
from services.gateway.features.tasks.views import build_public_view
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject, dumps, to_exact
from shared.domain.version import VERSION
from shared.domain.words import A2aVersion
from shared.ports.store import StoreUnavailable

_ID_FIELD = Field(min_length=1, max_length=256)


class ToolCall(BaseModel):
    """The arguments of one MCP tool. ``name``, ``description``, ``is_read_only``: of the tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: ClassVar[str]
    description: ClassVar[str]
    is_read_only: ClassVar[bool] = False


class SendTask(ToolCall):
    name = "send_task"
    description = (
        "Give the agent a task in plain words, or a message in a task that waits for input. It may read and change "
        "business records through its tenant's tools; what needs an approval waits for one."
    )

    text: str = Field(min_length=1, description="the task, with all that it needs")
    idempotency_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="two calls with the same key, in one session, are one task",
    )
    session_id: str | None = Field(
        default=None, min_length=1, max_length=256, description="the session that it belongs to; a new one without"
    )
    task_id: str | None = Field(
        default=None, min_length=1, max_length=256, description="the task that is answered, where it waits for input"
    )
    wait: bool = Field(
        default=True, description="whether to wait, for a while, until the task ends or asks; else look with get_task"
    )


class GetTask(ToolCall):
    name = "get_task"
    description = (
        "How a task stands: its state, answer or question, its writes with their proof, and what it waits for."
    )
    is_read_only = True

    task_id: str = _ID_FIELD


class _PagedToolCall(ToolCall):
    page_size: int = Field(default=20, ge=1, le=100)
    page_token: str = ""


class ListTasks(_PagedToolCall):
    name = "list_tasks"
    description = "The tasks that the caller may see, the last changed first."
    is_read_only = True

    session_id: str | None = Field(default=None, min_length=1, max_length=256)


class ListApprovals(_PagedToolCall):
    name = "list_approvals"
    description = (
        "The approvals that wait, the nearest deadline first: calls, reasons, and whether the caller may decide."
    )
    is_read_only = True


class DecideApproval(ToolCall):
    name = "decide_approval"
    description = (
        "Approve or reject the calls of one approval, as list_approvals shows it. It takes an approver's key; nobody "
        "approves what they asked for themselves."
    )

    approval_id: str = _ID_FIELD
    decision: Literal["approve", "reject"]
    comment: str = Field(default="", max_length=2000)


TOOL_CALLS: tuple[type[ToolCall], ...] = (SendTask, GetTask, ListTasks, ListApprovals, DecideApproval)


MCP_PATH = "/mcp"
log = structlog.get_logger()

ToolResultFields = dict[str, JsonValue]
_ARGUMENTS_BY_FIELD = {
    "message.parts": "text",
    "message.messageId": "idempotency_key",
    "message.contextId": "session_id",
    "message.taskId": "task_id",
    "pageToken": "page_token",
    "token": "page_token",
}  # what the fields of other protocols are called here


class McpEndpoint:
    """The MCP endpoint. ``route`` serves requests while the context of ``open`` lasts.

    ``model_notice``: the text about the model that is shown with each task.
    """

    def __init__(self, services: FeatureServices, identity: Identity, model_notice: str) -> None:
        self._services = services
        self._identity = identity
        self._model_notice = model_notice
        server: Server[object] = Server(
            "purple-agent", version=VERSION, on_list_tools=_list_tools, on_call_tool=self._call_tool
        )
        sessions = StreamableHTTPSessionManager(server, stateless=True, json_response=True)
        self.route, self.open = Route(MCP_PATH, StreamableHTTPASGIApp(sessions)), sessions.run

    async def _call_tool(
        self, context: ServerRequestContext[object], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            call = _parse_tool_call(params)
            request = cast(Request, context.request)
            if isinstance(call, SendTask):
                await count_message(request)
            result = await self._carry_out_call(call, self._identity.caller_of(get_identified_caller(request), {}))
        except ValidationError as error:  # the path and the error of each field, without its value
            faults = error.errors(include_input=False, include_url=False)
            places = ((".".join(map(str, fault["loc"])) or "arguments", fault["msg"]) for fault in faults)
            return _build_error_result("; ".join(f"{path}: {problem}" for path, problem in places))
        except InvalidField as fault:
            return _build_error_result(
                str(fault).replace(fault.field, _ARGUMENTS_BY_FIELD.get(fault.field, fault.field), 1)
            )
        except (GatewayRefusal, StoreUnavailable) as fault:
            return _build_error_result(str(fault))
        except Exception:  # the outermost edge of a request: the client is owed an answer
            log.exception("request_failed", path=MCP_PATH)
            return _build_error_result(INTERNAL_ERROR_TEXT)
        return types.CallToolResult(
            content=[types.TextContent(text=dumps(to_exact(result)))], structured_content=result
        )

    async def _carry_out_call(self, call: ToolCall, caller: Caller) -> ToolResultFields:
        match call:
            case SendTask():
                return await self._send_task(call, caller)
            case GetTask():
                return self._build_task_result(await self._services.tasks.get_task(call.task_id, caller))
            case ListTasks():
                return await self._list_tasks(call, caller)
            case ListApprovals():
                approvals = self._services.approvals
                page = await approvals.list_waiting(caller, call.page_size, call.page_token)
                views: list[JsonValue] = [approvals.show_request(request, caller) for request in page.requests]
                return {"approvals": views, "next_page_token": page.next_token}
            case DecideApproval():
                return await self._decide_approval(call, caller)
            case _:
                raise TypeError(f"{call.name} has no answer")

    async def _send_task(self, call: SendTask, caller: Caller) -> ToolResultFields:
        message: JsonObject = {"messageId": call.idempotency_key or str(uuid4()), "parts": [{"text": call.text}]}
        ids: JsonObject = {"contextId": call.session_id, "taskId": call.task_id}
        message |= {name: value for name, value in ids.items() if value is not None}
        accepted = await self._services.tasks.submit_message(
            parse_message({"message": message}, A2aVersion.A2A_1_0), caller
        )
        if not call.wait:
            return self._build_task_result(accepted.record)
        return self._build_task_result(await self._services.tasks.wait_for_answer(accepted))

    async def _list_tasks(self, call: ListTasks, caller: Caller) -> ToolResultFields:
        query = TaskQuery(session_id=call.session_id, size=call.page_size, page_token=call.page_token)
        page = await self._services.lists.list_tasks(query, caller)
        summaries: list[JsonValue] = [
            {
                "task_id": record.task_id,
                "session_id": record.session_id,
                "state": record.state.value,
                "reason": record.reason,
                "updated_at": record.updated_at.isoformat(),
            }
            for record in page.records
        ]
        return {"tasks": summaries, "next_page_token": page.next_token, "total": page.total}

    async def _decide_approval(self, call: DecideApproval, caller: Caller) -> ToolResultFields:
        answer = MessageDecision(call.decision, call.comment)
        request, has_effect = await self._services.approvals.submit_answer(call.approval_id, answer, caller)
        return {**self._services.approvals.show_request(request, caller), "heeded": has_effect}

    def _build_task_result(self, record: TaskRecord) -> ToolResultFields:
        return {
            name: value for name, value in build_public_view(record, self._model_notice).items() if name != "history"
        }


async def _list_tools(_: object, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_describe_tool(call) for call in TOOL_CALLS])


def _describe_tool(call: type[ToolCall]) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=call.is_read_only, destructive_hint=not call.is_read_only, open_world_hint=False
    )
    schema = {name: value for name, value in call.model_json_schema().items() if name != "title"}
    return types.Tool(name=call.name, description=call.description, input_schema=schema, annotations=hints)


def _parse_tool_call(params: types.CallToolRequestParams) -> ToolCall:
    """Parse a call of a tool; raises ``ValidationError``, and ``GatewayRefusal`` for an unknown tool."""
    calls_by_name: Mapping[str, type[ToolCall]] = {call.name: call for call in TOOL_CALLS}
    if params.name not in calls_by_name:
        raise GatewayRefusal(f"there is no tool {params.name[:100]!r}; there are {', '.join(calls_by_name)}")
    return calls_by_name[params.name].model_validate(params.arguments or {})


def _build_error_result(reason: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=reason)], is_error=True)
