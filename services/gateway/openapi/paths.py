"""The paths as data for the OpenAPI document: their query, headers, body, answers and error statuses."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from services.gateway.edge.replies import A2A_MEDIA_TYPE, VERSION_HEADER
from services.gateway.features.approvals.approvals import MOST_LISTED_APPROVALS
from services.gateway.features.audit.export import LONGEST_TOKEN, MOST_AUDITED_TASKS
from services.gateway.features.identity.api_paths import OPERATORS_TEXT
from services.gateway.features.tasks.listing import MOST_LISTED_TASKS
from services.gateway.openapi.schemas import Schema
from shared.domain.words import TaskState

_JSON, _EVENTS = "application/json", "text/event-stream"
_ERROR_1_0, _ERROR_0_3 = "Status", "V03Error"


class ParameterShape(NamedTuple):
    name: str
    schema: Schema
    is_required: bool = False


# By status: for each media type the names of fitting schemas.
ResponseSchemas = Mapping[int, Mapping[str, tuple[str, ...]]]
_JSON_OBJECT: Mapping[str, tuple[str, ...]] = {_JSON: ("Anything",)}


class PathShape(NamedTuple):
    """What a path takes and answers. ``errors``, ``body``: names of the schemas of its errors and its body.

    A body of a schema of its own is required; one that may be any object may be left out.

    ``refusals``: error statuses in addition to the common ones.
    """

    answers: ResponseSchemas = MappingProxyType({200: _JSON_OBJECT})
    errors: str = "Refusal"
    body: str = "Anything"
    query: tuple[ParameterShape, ...] = ()
    headers: tuple[ParameterShape, ...] = ()
    refusals: tuple[int, ...] = ()
    may_be_unready: bool = False  # 503 says more than a refusal


_VERSION_1_0_PARAMETER = ParameterShape(VERSION_HEADER, {"type": "string", "enum": ["1.0"]}, is_required=True)
_OPTIONAL_VERSION_1_0_PARAMETER = ParameterShape(VERSION_HEADER, {"type": "string", "enum": ["1.0"]})
_VERSION_0_3_PARAMETER = ParameterShape(VERSION_HEADER, {"type": "string", "enum": ["0.3"]})
_LAST_EVENT_ID_PARAMETER = ParameterShape("Last-Event-ID", {"type": "string"})
_IF_MATCH_PARAMETER = ParameterShape("If-Match", {"type": "string", "pattern": '^"[0-9]{1,9}"$'})
_HISTORY_LENGTH_PARAMETER = ParameterShape("historyLength", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1})
_TASK_STATE_NAMES = (*TaskState.__members__, "AUTH_REQUIRED")
_LIST_QUERY = (
    ParameterShape("contextId", {"type": "string"}),
    ParameterShape("status", {"type": "string", "enum": [f"TASK_STATE_{state}" for state in _TASK_STATE_NAMES]}),
    ParameterShape("pageSize", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED_TASKS}),
    ParameterShape("pageToken", {"type": "string"}),
    _HISTORY_LENGTH_PARAMETER,
    ParameterShape("statusTimestampAfter", {"type": "string", "format": "date-time"}),
    ParameterShape("includeArtifacts", {"type": "boolean"}),
)
_AUDIT_QUERY = (
    ParameterShape("since", {"type": "string", "format": "date-time"}),
    ParameterShape("until", {"type": "string", "format": "date-time"}),
    ParameterShape("task", {"type": "string", "maxLength": 512}),
    ParameterShape("session", {"type": "string", "maxLength": 512}),
    ParameterShape("limit", {"type": "integer", "minimum": 1, "maximum": MOST_AUDITED_TASKS}),
    ParameterShape("token", {"type": "string", "maxLength": LONGEST_TOKEN}),
    ParameterShape("format", {"type": "string", "enum": ["json", "ndjson"]}),
)
_APPROVALS_QUERY = (
    ParameterShape("limit", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED_APPROVALS}),
    ParameterShape("token", {"type": "string"}),
)
OWN_API_SHAPE = PathShape(refusals=(409,))


def _shape_1_0(schema: str, body: str = "Anything", query: tuple[ParameterShape, ...] = ()) -> PathShape:
    answers = {200: {A2A_MEDIA_TYPE: (schema,), _JSON: (schema,)}}
    return PathShape(answers, _ERROR_1_0, body, query, (_VERSION_1_0_PARAMETER,))


def _shape_0_3(*schemas: str, body: str = "Anything", query: tuple[ParameterShape, ...] = ()) -> PathShape:
    return PathShape({200: {_JSON: schemas}}, _ERROR_0_3, body, query, (_VERSION_0_3_PARAMETER,), (409,))


def _shape_stream(errors: str, header: ParameterShape, body: str) -> PathShape:
    headers, refusals = (header, _LAST_EVENT_ID_PARAMETER), () if body else (409,)
    return PathShape({200: {_EVENTS: ("text",)}}, errors, body, headers=headers, refusals=refusals)


_CARD_SHAPE = PathShape({200: {_JSON: ("AgentCard",)}, 304: {}}, headers=(_OPTIONAL_VERSION_1_0_PARAMETER,), body="")
_WEBHOOKS_PATH = "/tasks/{task_id}/pushNotificationConfigs"
_WEBHOOK_PATH = _WEBHOOKS_PATH + "/{config_id}"
_WEBHOOK, _WEBHOOKS = "TaskPushNotificationConfig", "ListTaskPushNotificationConfigsResponse"

SHAPES_BY_PATH: Mapping[tuple[str, str], PathShape] = {
    ("POST", "/"): PathShape({200: {_JSON: ("RpcReply",), _EVENTS: ("text",)}}, "RpcReply", "RpcCall"),
    ("GET", "/.well-known/agent-card.json"): _CARD_SHAPE,
    ("GET", "/.well-known/agent.json"): _CARD_SHAPE,
    ("GET", "/.well-known/jwks.json"): PathShape(body=""),
    ("GET", "/extendedAgentCard"): _shape_1_0("AgentCard", body=""),
    ("GET", "/v1/card"): _shape_0_3("Anything", body=""),
    ("POST", "/message:send"): _shape_1_0("SendMessageResponse", body="SendMessageRequest"),
    ("POST", "/message:stream"): _shape_stream(_ERROR_1_0, _VERSION_1_0_PARAMETER, "SendMessageRequest"),
    ("GET", "/tasks"): _shape_1_0("ListTasksResponse", body="", query=_LIST_QUERY),
    ("POST", "/tasks/{task_id}:cancel"): _shape_1_0("Task"),
    ("GET", "/tasks/{task_id}:subscribe"): _shape_stream(_ERROR_1_0, _VERSION_1_0_PARAMETER, ""),
    ("POST", "/tasks/{task_id}:subscribe"): _shape_stream(_ERROR_1_0, _VERSION_1_0_PARAMETER, ""),
    ("POST", _WEBHOOKS_PATH): _shape_1_0(_WEBHOOK, body=_WEBHOOK),
    ("GET", _WEBHOOKS_PATH): _shape_1_0(_WEBHOOKS, body=""),
    ("GET", _WEBHOOK_PATH): _shape_1_0(_WEBHOOK, body=""),
    ("DELETE", _WEBHOOK_PATH): _shape_1_0("Anything", body=""),
    ("POST", "/v1/message:send"): _shape_0_3("V03SendMessageResponse", "Anything", body="V03SendMessageRequest"),
    ("POST", "/v1/message:stream"): _shape_stream(_ERROR_0_3, _VERSION_0_3_PARAMETER, "V03SendMessageRequest"),
    ("GET", "/v1/tasks"): _shape_0_3("V03Tasks", body="", query=_LIST_QUERY),
    ("GET", "/v1/tasks/{task_id}"): _shape_0_3("V03Task", body="", query=(_HISTORY_LENGTH_PARAMETER,)),
    ("POST", "/v1/tasks/{task_id}:cancel"): _shape_0_3("V03Task"),
    ("GET", "/v1/tasks/{task_id}:subscribe"): _shape_stream(_ERROR_0_3, _VERSION_0_3_PARAMETER, ""),
    ("POST", "/v1/tasks/{task_id}:subscribe"): _shape_stream(_ERROR_0_3, _VERSION_0_3_PARAMETER, ""),
    ("POST", f"/v1{_WEBHOOKS_PATH}"): _shape_0_3("V03Webhook", body="Anything"),
    ("GET", f"/v1{_WEBHOOKS_PATH}"): _shape_0_3("V03Webhooks", body=""),
    ("GET", f"/v1{_WEBHOOK_PATH}"): _shape_0_3("V03Webhook", body=""),
    ("DELETE", f"/v1{_WEBHOOK_PATH}"): _shape_0_3("Anything", body=""),
    ("GET", "/tasks/{task_id}"): PathShape(
        {200: {_JSON: ("TaskRecord",), A2A_MEDIA_TYPE: ("Task",)}},
        _ERROR_1_0,
        "",
        query=(_HISTORY_LENGTH_PARAMETER,),
        headers=(_OPTIONAL_VERSION_1_0_PARAMETER,),
    ),
    ("GET", "/tasks/{task_id}/events"): PathShape(
        {200: {_EVENTS: ("text",)}}, body="", headers=(_LAST_EVENT_ID_PARAMETER,)
    ),
    ("GET", "/tasks/{task_id}/files/{file_id}"): PathShape({200: {"application/octet-stream": ("text",)}}, body=""),
    ("GET", "/health"): PathShape(body=""),
    ("GET", "/ready"): PathShape(body="", may_be_unready=True),
    ("POST", "/api/a2a/purple-agent"): PathShape(refusals=(409, 422, 502, 504)),
    ("POST", "/keys/create"): PathShape({201: _JSON_OBJECT}),
    ("POST", "/tasks/{task_id}/resolve"): PathShape(
        {200: {_JSON: ("TaskRecord",)}, 202: {_JSON: ("TaskRecord",)}}, refusals=(409,)
    ),
    ("GET", "/tenants/{tenant}/record"): PathShape(body=""),
    ("PUT", "/tenants/{tenant}/record"): PathShape(headers=(_IF_MATCH_PARAMETER,), refusals=(412, 428)),
    ("POST", "/tenants/{tenant}/record/restore"): PathShape(headers=(_IF_MATCH_PARAMETER,), refusals=(412,)),
    ("POST", "/tenants/{tenant}/record/withdraw"): PathShape(headers=(_IF_MATCH_PARAMETER,), refusals=(412,)),
    ("GET", "/audit"): PathShape(
        {200: {**_JSON_OBJECT, "application/x-ndjson": ("text",)}}, body="", query=_AUDIT_QUERY
    ),
    ("POST", "/assessments"): PathShape({201: _JSON_OBJECT}),
    ("GET", "/approvals"): PathShape(body="", query=_APPROVALS_QUERY),
    ("POST", "/approvals/{approval_id}"): PathShape({200: _JSON_OBJECT, 202: _JSON_OBJECT}, refusals=(409,)),
}

_ANYBODY = "anybody, without a key"
_CLIENTS = "clients"
_TASK_OWNERS = "whoever asked for the task, and operators"
_CALLERS_OF_OTHER_PATHS = "whoever is let in, about what they may see"
# Method or any, how the path begins, who may call it; the first row that fits.
_CALLERS_BY_PATH_PREFIX: tuple[tuple[str, str, str], ...] = (
    ("", "/health", _ANYBODY),
    ("", "/ready", _ANYBODY),
    ("", "/.well-known/", _ANYBODY),
    ("POST", "/approvals/", "approvers of the approval's level who did not ask for it"),
    ("POST", "/assessments", "clients and operators"),
    ("POST", "/message:", _CLIENTS),
    ("POST", "/v1/message:", _CLIENTS),
    ("POST", "/api/a2a/purple-agent", _CLIENTS),
    ("POST", "/tasks/{task_id}/resolve", OPERATORS_TEXT),
    ("POST", "/tasks/{task_id}:cancel", _TASK_OWNERS),
    ("POST", "/v1/tasks/{task_id}:cancel", _TASK_OWNERS),
    ("", _WEBHOOKS_PATH, _TASK_OWNERS),
    ("", f"/v1{_WEBHOOKS_PATH}", _TASK_OWNERS),
    ("", "/audit", f"{OPERATORS_TEXT}; in the embedded profile anybody"),
)


def describe_callers(method: str, path: str) -> str:
    """Who may call a path, as a phrase; for paths whose router does not say it."""
    fits = (
        callers for verb, begin, callers in _CALLERS_BY_PATH_PREFIX if verb in ("", method) and path.startswith(begin)
    )
    return next(fits, _CALLERS_OF_OTHER_PATHS)
