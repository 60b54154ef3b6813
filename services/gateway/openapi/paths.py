"""The paths as data: what each takes beside its path, and what it answers."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from services.gateway.edge.replies import HEADER, MEDIA_TYPE
from services.gateway.features.audit.service import MOST as MOST_AUDITED
from services.gateway.features.tasks.listing import MOST
from services.gateway.openapi.schemas import Schema

_JSON, _EVENTS = "application/json", "text/event-stream"


class Errors(Enum):
    """In whose words a path refuses."""

    NEW = "1.0"
    OLD = "0.3"
    OWN = "own"
    RPC = "json-rpc"


class Place(NamedTuple):
    name: str
    schema: Schema
    required: bool = False


class Answer(NamedTuple):
    """``media``: media type -> names of the schemas that fit; nothing for an answer without a body."""

    status: int
    media: Mapping[str, tuple[str, ...]]


class Operation(NamedTuple):
    """``body``: the name of its schema, empty where none is read. ``refusals``: statuses beside the usual ones."""

    answers: tuple[Answer, ...]
    errors: Errors = Errors.OWN
    body: str = "Anything"
    body_needed: bool = False
    query: tuple[Place, ...] = ()
    headers: tuple[Place, ...] = ()
    refusals: tuple[int, ...] = ()
    unready: bool = False  # 503 says more than a refusal


_NEW = Place(HEADER, {"type": "string", "enum": ["1.0"]}, required=True)
_MAYBE_NEW = Place(HEADER, {"type": "string", "enum": ["1.0"]})
_OLD = Place(HEADER, {"type": "string", "enum": ["0.3"]})
_LAST = Place("Last-Event-ID", {"type": "string"})
_BASE = Place("If-Match", {"type": "string", "pattern": '^"[0-9]{1,9}"$'})
_LENGTH = Place("historyLength", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1})
_STATES = ("SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "REJECTED", "FAILED", "CANCELED")
_LIST = (
    Place("contextId", {"type": "string"}),
    Place("status", {"type": "string", "enum": [f"TASK_STATE_{state}" for state in _STATES]}),
    Place("pageSize", {"type": "integer", "minimum": 1, "maximum": MOST}),
    Place("pageToken", {"type": "string"}),
    _LENGTH,
    Place("statusTimestampAfter", {"type": "string", "format": "date-time"}),
    Place("includeArtifacts", {"type": "boolean"}),
)
_AUDIT = (
    Place("since", {"type": "string", "format": "date-time"}),
    Place("until", {"type": "string", "format": "date-time"}),
    Place("task", {"type": "string", "maxLength": 512}),
    Place("session", {"type": "string", "maxLength": 512}),
    Place("limit", {"type": "integer", "minimum": 1, "maximum": MOST_AUDITED}),
    Place("token", {"type": "string", "maxLength": 512}),
    Place("format", {"type": "string", "enum": ["json", "ndjson"]}),
)
OWN = Operation((Answer(200, {_JSON: ("Anything",)}),), refusals=(409,))


def _new(schema: str, body: str = "Anything", query: tuple[Place, ...] = ()) -> Operation:
    needed = body not in ("", "Anything")
    answers = (Answer(200, {MEDIA_TYPE: (schema,), _JSON: (schema,)}),)
    return Operation(answers, Errors.NEW, body, needed, query, (_NEW,))


def _old(*schemas: str, body: str = "Anything", query: tuple[Place, ...] = ()) -> Operation:
    needed = body not in ("", "Anything")
    return Operation((Answer(200, {_JSON: schemas}),), Errors.OLD, body, needed, query, (_OLD,), (409,))


def _stream(errors: Errors, header: Place, body: str) -> Operation:
    answers = (Answer(200, {_EVENTS: ("text",)}),)
    needed = body != ""
    return Operation(answers, errors, body, needed, headers=(header, _LAST), refusals=() if needed else (409,))


_CARD = Operation((Answer(200, {_JSON: ("AgentCard",)}), Answer(304, {})), headers=(_MAYBE_NEW,), body="")
_ALL = "/tasks/{task_id}/pushNotificationConfigs"
_ONE = _ALL + "/{config_id}"
_WEBHOOK, _WEBHOOKS = "TaskPushNotificationConfig", "ListTaskPushNotificationConfigsResponse"

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("POST", "/"): Operation(
        (Answer(200, {_JSON: ("RpcReply",), _EVENTS: ("text",)}),), Errors.RPC, "RpcCall", body_needed=True
    ),
    ("GET", "/.well-known/agent-card.json"): _CARD,
    ("GET", "/.well-known/agent.json"): _CARD,
    ("GET", "/.well-known/jwks.json"): Operation((Answer(200, {_JSON: ("Anything",)}),), body=""),
    ("GET", "/extendedAgentCard"): _new("AgentCard", body=""),
    ("GET", "/v1/card"): _old("Anything", body=""),
    ("POST", "/message:send"): _new("SendMessageResponse", body="SendMessageRequest"),
    ("POST", "/message:stream"): _stream(Errors.NEW, _NEW, "SendMessageRequest"),
    ("GET", "/tasks"): _new("ListTasksResponse", body="", query=_LIST),
    ("POST", "/tasks/{task_id}:cancel"): _new("Task"),
    ("GET", "/tasks/{task_id}:subscribe"): _stream(Errors.NEW, _NEW, ""),
    ("POST", "/tasks/{task_id}:subscribe"): _stream(Errors.NEW, _NEW, ""),
    ("POST", _ALL): _new(_WEBHOOK, body=_WEBHOOK),
    ("GET", _ALL): _new(_WEBHOOKS, body=""),
    ("GET", _ONE): _new(_WEBHOOK, body=""),
    ("DELETE", _ONE): _new("Anything", body=""),
    ("POST", "/v1/message:send"): _old("V03SendMessageResponse", "Anything", body="V03SendMessageRequest"),
    ("POST", "/v1/message:stream"): _stream(Errors.OLD, _OLD, "V03SendMessageRequest"),
    ("GET", "/v1/tasks"): _old("V03Tasks", body="", query=_LIST),
    ("GET", "/v1/tasks/{task_id}"): _old("V03Task", body="", query=(_LENGTH,)),
    ("POST", "/v1/tasks/{task_id}:cancel"): _old("V03Task"),
    ("GET", "/v1/tasks/{task_id}:subscribe"): _stream(Errors.OLD, _OLD, ""),
    ("POST", "/v1/tasks/{task_id}:subscribe"): _stream(Errors.OLD, _OLD, ""),
    ("POST", f"/v1{_ALL}"): _old("V03Webhook", body="Anything"),
    ("GET", f"/v1{_ALL}"): _old("V03Webhooks", body=""),
    ("GET", f"/v1{_ONE}"): _old("V03Webhook", body=""),
    ("DELETE", f"/v1{_ONE}"): _old("Anything", body=""),
    ("GET", "/tasks/{task_id}"): Operation(
        (Answer(200, {_JSON: ("TaskRecord",), MEDIA_TYPE: ("Task",)}),),
        Errors.NEW,
        body="",
        query=(_LENGTH,),
        headers=(_MAYBE_NEW,),
    ),
    ("GET", "/tasks/{task_id}/events"): Operation((Answer(200, {_EVENTS: ("text",)}),), body="", headers=(_LAST,)),
    ("GET", "/tasks/{task_id}/files/{file_id}"): Operation(
        (Answer(200, {"application/octet-stream": ("text",)}),), body=""
    ),
    ("GET", "/health"): Operation((Answer(200, {_JSON: ("Anything",)}),), body=""),
    ("GET", "/ready"): Operation((Answer(200, {_JSON: ("Anything",)}),), body="", unready=True),
    ("POST", "/api/a2a/purple-agent"): Operation(OWN.answers, refusals=(409, 422, 502, 504)),
    ("POST", "/keys/create"): Operation((Answer(201, {_JSON: ("Anything",)}),)),
    ("POST", "/tasks/{task_id}/resolve"): Operation(
        (Answer(200, {_JSON: ("TaskRecord",)}), Answer(202, {_JSON: ("TaskRecord",)})), refusals=(409,)
    ),
    ("GET", "/tenants/{tenant}/record"): Operation(OWN.answers, body=""),
    ("PUT", "/tenants/{tenant}/record"): Operation(OWN.answers, headers=(_BASE,), refusals=(412, 428)),
    ("POST", "/tenants/{tenant}/record/restore"): Operation(OWN.answers, headers=(_BASE,), refusals=(412,)),
    ("POST", "/tenants/{tenant}/record/withdraw"): Operation(OWN.answers, headers=(_BASE,), refusals=(412,)),
    ("GET", "/audit"): Operation(
        (Answer(200, {_JSON: ("Anything",), "application/x-ndjson": ("text",)}),), body="", query=_AUDIT
    ),
    ("POST", "/assessments"): Operation((Answer(201, {_JSON: ("Anything",)}),)),
    ("POST", "/approvals/{approval_id}"): Operation(
        (Answer(200, {_JSON: ("Anything",)}), Answer(202, {_JSON: ("Anything",)})), refusals=(409,)
    ),
}
