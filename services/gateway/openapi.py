"""Builds ``/openapi.json`` and the page ``/docs``: each path with its parameters, body, responses and schemas."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from copy import deepcopy
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, cast

from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import JsonValue
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from services.gateway.edge.replies import A2A_MEDIA_TYPE, VERSION_HEADER
from services.gateway.features.approvals.approvals import MOST_LISTED_APPROVALS
from services.gateway.features.audit import LONGEST_TOKEN, MOST_AUDITED_TASKS
from services.gateway.features.identity.api_paths import CALLERS_KEY, OPERATORS_TEXT
from services.gateway.features.tasks.listing import MOST_LISTED_TASKS
from shared.domain.version import VERSION
from shared.domain.words import TaskState

Schema = dict[str, JsonValue]

_INTEGER_TYPES = frozenset({FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32})
_FRACTION_TYPES = frozenset({FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT})
_SCHEMAS_OF_WELL_KNOWN_TYPES: dict[str, Schema] = {
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.Value": {},
    "google.protobuf.ListValue": {"type": "array"},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
}


def _build_schema_reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _add_message_schemas(schemas: Schema, kind: Descriptor, prefix: str) -> None:
    """Add the schemas of a message type and of the types in it to ``schemas``, unless it is there already."""
    if prefix + kind.name not in schemas:
        properties: Schema = {}
        schemas[prefix + kind.name] = {"type": "object", "properties": properties}
        properties |= {field.json_name: _build_field_schema(schemas, field, prefix) for field in kind.fields}


def _build_field_schema(schemas: Schema, field: FieldDescriptor, prefix: str) -> Schema:
    if field.message_type and field.message_type.GetOptions().map_entry:
        of_values = _build_element_schema(schemas, field.message_type.fields_by_name["value"], prefix)
        return {"type": "object", "additionalProperties": of_values}
    single = _build_element_schema(schemas, field, prefix)
    return {"type": "array", "items": single} if field.is_repeated else single


def _build_element_schema(schemas: Schema, field: FieldDescriptor, prefix: str) -> Schema:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        well_known = _SCHEMAS_OF_WELL_KNOWN_TYPES.get(field.message_type.full_name)
        if well_known is None:
            _add_message_schemas(schemas, field.message_type, prefix)
        return _build_schema_reference(prefix + field.message_type.name) if well_known is None else well_known
    if field.type == FieldDescriptor.TYPE_ENUM:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    if field.type == FieldDescriptor.TYPE_BOOL:
        return {"type": "boolean"}
    if field.type in _FRACTION_TYPES:
        return {"type": "number"}
    return {"type": "integer"} if field.type in _INTEGER_TYPES else {"type": "string"}


def _build_all_schemas() -> Schema:
    """The schemas of the protocols' messages and, from a file, of what protobuf does not describe."""
    schemas: Schema = {}
    for prefix, kinds in (("", _MESSAGES_1_0), ("V03", _MESSAGES_0_3)):
        for kind in kinds:
            _add_message_schemas(schemas, kind, prefix)
    own_schemas: Schema = json.loads(Path(__file__).with_name("openapi_schemas.json").read_text("utf-8"))
    return schemas | own_schemas


_MESSAGES_1_0 = (
    new.SendMessageRequest.DESCRIPTOR,
    new.SendMessageResponse.DESCRIPTOR,
    new.ListTasksResponse.DESCRIPTOR,
    new.AgentCard.DESCRIPTOR,
    new.ListTaskPushNotificationConfigsResponse.DESCRIPTOR,
)
_MESSAGES_0_3 = (old.SendMessageRequest.DESCRIPTOR, old.SendMessageResponse.DESCRIPTOR)


_JSON, _EVENTS = "application/json", "text/event-stream"
_ERROR_1_0, _ERROR_0_3 = "Status", "V03Error"


class ParameterShape(NamedTuple):
    """A query parameter or header that a path takes."""

    name: str
    schema: Schema
    is_required: bool = False


# By status: for each media type the names of fitting schemas.
ResponseSchemas = Mapping[int, Mapping[str, tuple[str, ...]]]
_JSON_OBJECT: Mapping[str, tuple[str, ...]] = {_JSON: ("Anything",)}


class PathShape(NamedTuple):
    """What a path takes and answers. ``errors``, ``body``: names of the schemas of its errors and its body.

    A body that may be any object may be left out; any other is required, such as ``Fields``: an object with a field.

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


def _build_shape_1_0(schema: str, body: str = "Anything", query: tuple[ParameterShape, ...] = ()) -> PathShape:
    answers = {200: {A2A_MEDIA_TYPE: (schema,), _JSON: (schema,)}}
    return PathShape(answers, _ERROR_1_0, body, query, (_VERSION_1_0_PARAMETER,))


def _build_shape_0_3(*schemas: str, body: str = "Anything", query: tuple[ParameterShape, ...] = ()) -> PathShape:
    return PathShape({200: {_JSON: schemas}}, _ERROR_0_3, body, query, (_VERSION_0_3_PARAMETER,), (409,))


def _build_stream_shape(errors: str, header: ParameterShape, body: str) -> PathShape:
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
    ("GET", "/extendedAgentCard"): _build_shape_1_0("AgentCard", body=""),
    ("GET", "/v1/card"): _build_shape_0_3("Anything", body=""),
    ("POST", "/message:send"): _build_shape_1_0("SendMessageResponse", body="SendMessageRequest"),
    ("POST", "/message:stream"): _build_stream_shape(_ERROR_1_0, _VERSION_1_0_PARAMETER, "SendMessageRequest"),
    ("GET", "/tasks"): _build_shape_1_0("ListTasksResponse", body="", query=_LIST_QUERY),
    ("POST", "/tasks/{task_id}:cancel"): _build_shape_1_0("Task"),
    ("GET", "/tasks/{task_id}:subscribe"): _build_stream_shape(_ERROR_1_0, _VERSION_1_0_PARAMETER, ""),
    ("POST", "/tasks/{task_id}:subscribe"): _build_stream_shape(_ERROR_1_0, _VERSION_1_0_PARAMETER, ""),
    ("POST", _WEBHOOKS_PATH): _build_shape_1_0(_WEBHOOK, body=_WEBHOOK),
    ("GET", _WEBHOOKS_PATH): _build_shape_1_0(_WEBHOOKS, body=""),
    ("GET", _WEBHOOK_PATH): _build_shape_1_0(_WEBHOOK, body=""),
    ("DELETE", _WEBHOOK_PATH): _build_shape_1_0("Anything", body=""),
    ("POST", "/v1/message:send"): _build_shape_0_3("V03SendMessageResponse", "Anything", body="V03SendMessageRequest"),
    ("POST", "/v1/message:stream"): _build_stream_shape(_ERROR_0_3, _VERSION_0_3_PARAMETER, "V03SendMessageRequest"),
    ("GET", "/v1/tasks"): _build_shape_0_3("V03Tasks", body="", query=_LIST_QUERY),
    ("GET", "/v1/tasks/{task_id}"): _build_shape_0_3("V03Task", body="", query=(_HISTORY_LENGTH_PARAMETER,)),
    ("POST", "/v1/tasks/{task_id}:cancel"): _build_shape_0_3("V03Task"),
    ("GET", "/v1/tasks/{task_id}:subscribe"): _build_stream_shape(_ERROR_0_3, _VERSION_0_3_PARAMETER, ""),
    ("POST", "/v1/tasks/{task_id}:subscribe"): _build_stream_shape(_ERROR_0_3, _VERSION_0_3_PARAMETER, ""),
    ("POST", f"/v1{_WEBHOOKS_PATH}"): _build_shape_0_3("V03Webhook", body="Anything"),
    ("GET", f"/v1{_WEBHOOKS_PATH}"): _build_shape_0_3("V03Webhooks", body=""),
    ("GET", f"/v1{_WEBHOOK_PATH}"): _build_shape_0_3("V03Webhook", body=""),
    ("DELETE", f"/v1{_WEBHOOK_PATH}"): _build_shape_0_3("Anything", body=""),
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
    ("POST", "/api/a2a/purple-agent"): PathShape(body="Fields", refusals=(409, 422, 502, 504)),
    ("POST", "/keys/create"): PathShape({201: _JSON_OBJECT}, body="Fields"),
    ("POST", "/learn/import"): OWN_API_SHAPE._replace(body="Fields"),
    ("POST", "/memory/forget"): OWN_API_SHAPE._replace(body="Fields"),
    ("POST", "/tenants/{tenant}/made-tools"): OWN_API_SHAPE._replace(body="Fields"),
    ("POST", "/tasks/{task_id}/resolve"): PathShape(
        {200: {_JSON: ("TaskRecord",)}, 202: {_JSON: ("TaskRecord",)}}, body="Fields", refusals=(409,)
    ),
    ("GET", "/tenants/{tenant}/record"): PathShape(body=""),
    ("PUT", "/tenants/{tenant}/record"): PathShape(body="Fields", headers=(_IF_MATCH_PARAMETER,), refusals=(412, 428)),
    ("POST", "/tenants/{tenant}/record/restore"): PathShape(
        body="Fields", headers=(_IF_MATCH_PARAMETER,), refusals=(412,)
    ),
    ("POST", "/tenants/{tenant}/record/withdraw"): PathShape(headers=(_IF_MATCH_PARAMETER,), refusals=(412,)),
    ("GET", "/audit"): PathShape(
        {200: {**_JSON_OBJECT, "application/x-ndjson": ("text",)}}, body="", query=_AUDIT_QUERY
    ),
    ("POST", "/assessments"): PathShape({201: _JSON_OBJECT}, body="Fields"),
    ("GET", "/approvals"): PathShape(body="", query=_APPROVALS_QUERY),
    ("POST", "/approvals/{approval_id}"): PathShape(
        {200: _JSON_OBJECT, 202: _JSON_OBJECT}, body="Fields", refusals=(409,)
    ),
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


def _describe_callers(method: str, path: str) -> str:
    """Who may call a path, as a phrase; for paths whose router does not say it."""
    fits = (
        callers for verb, begin, callers in _CALLERS_BY_PATH_PREFIX if verb in ("", method) and path.startswith(begin)
    )
    return next(fits, _CALLERS_OF_OTHER_PATHS)


_STATUSES_OF_ALL = (400, 401, 403, 404, 414, 429, 431, 500, 503)
_STATUSES_WITH_BODY = (408, 413, 415)


class DescribedApp(FastAPI):
    """A FastAPI application with the complete OpenAPI document, and with its own middleware in front.

    ``outermost_app``: the outermost middleware, which passes requests on to ``serve_routes``. It takes the place of
    Starlette's middleware stack, which would wrap each message of each request four times.
    """

    outermost_app: ASGIApp | None = None

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.outermost_app is None or scope["type"] != "http":
            return await self.serve_routes(scope, receive, send)
        scope["app"] = self
        return await self.outermost_app(scope, receive, send)

    async def serve_routes(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(scope, receive, send)

    @override
    def openapi(self) -> Schema:
        if not self.openapi_schema:
            self.openapi_schema = cast("dict[str, object]", _build_document(self))
        return cast(Schema, self.openapi_schema)


def _build_document(app: FastAPI) -> Schema:
    document = get_openapi(title=app.title, version=VERSION, routes=app.routes)
    paths = {
        path: {
            method: _describe_operation(method, path, _add_path_parameters(path, dict(operation)))
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    return {**document, "paths": paths, "components": {"schemas": _build_all_schemas()}}


def _describe_operation(method: str, path: str, operation: Schema) -> Schema:
    shape = SHAPES_BY_PATH.get((method.upper(), path), OWN_API_SHAPE)
    takes_body = method in ("post", "put", "patch") and shape.body != ""
    parameters = [*cast("list[JsonValue]", operation.get("parameters", []))]
    parameters += [_describe_parameter(parameter, "query") for parameter in shape.query]
    parameters += [_describe_parameter(parameter, "header") for parameter in shape.headers]
    description: Schema = {
        **operation,
        "summary": _cut_first_sentence(operation.get("description")),
        CALLERS_KEY: operation.get(CALLERS_KEY) or _describe_callers(method.upper(), path),
        "responses": _describe_responses(shape, takes_body=takes_body),
    }
    if parameters:
        description["parameters"] = parameters
    if takes_body:
        content: JsonValue = {"application/json": {"schema": _build_schema_reference(shape.body)}}
        description["requestBody"] = {"required": shape.body != "Anything", "content": content}
    return description


def _cut_first_sentence(description: JsonValue) -> str:
    """The first sentence of a description, without the full stop."""
    text = " ".join(str(description or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


def _add_path_parameters(path: str, operation: Schema) -> Schema:
    """The operation with its path parameters, which FastAPI does not know if the endpoint reads them itself."""
    if "parameters" in operation:
        return deepcopy(operation)
    names = re.findall(r"{(\w+)}", path)
    parameters: list[JsonValue] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
    ]
    return {**deepcopy(operation), "parameters": parameters}


def _describe_parameter(shape: ParameterShape, place: str) -> JsonValue:
    return {"name": shape.name, "in": place, "required": shape.is_required, "schema": shape.schema}


def _describe_responses(shape: PathShape, *, takes_body: bool) -> Schema:
    """The responses of a path: its answers, and errors, which are of its protocol's or of the common schema."""
    error_statuses = (*_STATUSES_OF_ALL, *shape.refusals, *(_STATUSES_WITH_BODY if takes_body else ()))
    names = tuple(dict.fromkeys((shape.errors, "Refusal")))
    answers: Schema = {
        str(status): _build_response_schema(status, {"application/json": names}) for status in error_statuses
    }
    answers |= {str(status): _build_response_schema(status, media) for status, media in shape.answers.items()}
    if shape.may_be_unready:
        answers["503"] = _build_response_schema(503, {"application/json": ("Anything",)})
    return dict(sorted(answers.items()))


def _build_response_schema(status: int, schemas_by_type: Mapping[str, tuple[str, ...]]) -> Schema:
    content: Schema = {kind: {"schema": _build_any_of_schemas(names)} for kind, names in schemas_by_type.items()}
    return {"description": HTTPStatus(status).phrase, **({"content": content} if content else {})}


def _build_any_of_schemas(names: tuple[str, ...]) -> Schema:
    if names == ("text",):
        return {"description": "Server-sent events; the data of each is JSON."}
    return (
        _build_schema_reference(names[0])
        if len(names) == 1
        else {"anyOf": [_build_schema_reference(name) for name in names]}
    )


_STYLE_SHEET = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "section{border-top:1px solid #8888;padding:.5rem 0}h2{font-size:1rem;margin:.3rem 0}h2 b{margin-right:.6rem}"
    "code{overflow-wrap:anywhere}p,ul{margin:.3rem 0}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE_SHEET.encode()).digest()).decode()
_PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def build_docs_page(description: Schema) -> HTMLResponse:
    """An HTML page with each path: what it does, its parameters, and who may call it."""
    from jinja2 import Template  # it takes long to load, and few ask for the page

    template = Template(Path(__file__).with_name("docs.html").read_text("utf-8"), autoescape=True)
    body = template.render(paths=description["paths"], callers_key=CALLERS_KEY, style_sheet=_STYLE_SHEET)
    return HTMLResponse(body, headers=_PAGE_HEADERS)
