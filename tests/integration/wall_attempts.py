"""Every way into the gateway, as somebody who has no business there would try it.

Braces in a path or body name something of another's: ``{task}``, ``{session}``, ``{approval}``, ``{hook}``, ``{key}``,
``{letter}``, ``{tool}``, ``{file}``, ``{tenant}``. Whoever adds a route or a method adds its row here, or says in
``OPEN`` why it holds nothing of anybody's: ``test_gateway_walls`` fails for what is missing.
"""

import re
from typing import NamedTuple, cast

from shared.domain.exact_json import Json, JsonObject

NEW, OLD = "1.0", "0.3"


class EarlierAttempt(NamedTuple):
    """One request. ``form``: it comes from a page of the console, by somebody who is signed in there."""

    method: str
    path: str
    body: Json = None
    version: str = ""
    form: bool = False


Rows = dict[str, tuple[EarlierAttempt, ...]]


def _rpc(method: str, params: JsonObject, version: str = "") -> EarlierAttempt:
    return EarlierAttempt("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, version)


def _said(text: str = "go on", **more: Json) -> JsonObject:
    return {"role": "ROLE_USER", "messageId": "{fresh}", "parts": [{"text": text}], **more}


def _said_0_3(text: str = "go on", **more: Json) -> JsonObject:
    parts: Json = [{"kind": "text", "text": text}]
    return {"kind": "message", "role": "user", "messageId": "{fresh}", "parts": parts, **more}


def _legacy(text: str, **more: Json) -> JsonObject:
    return {"id": "{task}", "message": {"role": "user", "parts": [{"type": "text", "text": text}]}, **more}


TASK: JsonObject = {"id": "{task}"}
HOOK: JsonObject = {"url": "https://receiver.example/hook"}
ONE_HOOK: JsonObject = {"taskId": "{task}", "id": "{hook}"}
OLD_ONE_HOOK: JsonObject = {"id": "{task}", "pushNotificationConfigId": "{hook}"}


def _by_method(*attempts: EarlierAttempt) -> Rows:
    rows: Rows = {}
    for attempt in attempts:
        method = cast("dict[str, str]", attempt.body)["method"]
        rows[method] = (*rows.get(method, ()), attempt)
    return rows


METHODS = _by_method(
    _rpc("tasks/send", _legacy("go on")),
    _rpc("tasks/send", _legacy("approve")),
    _rpc("tasks/send", _legacy("go on", metadata={"principal": {"id": "casey", "roles": ["operator"]}})),
    _rpc("tasks/sendSubscribe", _legacy("approve")),
    *(_rpc(f"tasks/{act}", TASK, version) for act in ("get", "cancel", "resubscribe") for version in ("", OLD)),
    _rpc("message/send", {"message": _said_0_3(taskId="{task}")}, OLD),
    _rpc("message/send", {"message": _said_0_3("approve", taskId="{task}", contextId="{session}")}, OLD),
    _rpc("message/send", {"message": _said_0_3("look", referenceTaskIds=["{task}"])}, OLD),
    _rpc("message/stream", {"message": _said_0_3("approve", taskId="{task}")}, OLD),
    _rpc("SendMessage", {"message": _said(taskId="{task}")}, NEW),
    _rpc("SendMessage", {"message": _said("approve", taskId="{task}", contextId="{session}")}, NEW),
    _rpc("SendMessage", {"message": _said("look", referenceTaskIds=["{task}"])}, NEW),
    _rpc("SendMessage", {"tenant": "{tenant}", "message": _said(taskId="{task}")}, NEW),
    _rpc("SendStreamingMessage", {"message": _said(taskId="{task}")}, NEW),
    _rpc("GetTask", TASK, NEW),
    _rpc("GetTask", {**TASK, "tenant": "{tenant}"}, NEW),
    _rpc("CancelTask", TASK, NEW),
    _rpc("ListTasks", {}, NEW),
    _rpc("ListTasks", {"contextId": "{session}", "pageSize": 1}, NEW),
    _rpc("ListTasks", {"tenant": "{tenant}"}, NEW),
    _rpc("SubscribeToTask", TASK, NEW),
    _rpc("tasks/pushNotification/set", {"id": "{task}", "pushNotificationConfig": HOOK}),
    _rpc("tasks/pushNotification/get", TASK),
    _rpc("tasks/pushNotificationConfig/set", {"taskId": "{task}", "pushNotificationConfig": HOOK}, OLD),
    _rpc("tasks/pushNotificationConfig/get", TASK, OLD),
    _rpc("tasks/pushNotificationConfig/get", OLD_ONE_HOOK, OLD),
    _rpc("tasks/pushNotificationConfig/list", TASK, OLD),
    _rpc("tasks/pushNotificationConfig/delete", OLD_ONE_HOOK, OLD),
    _rpc("CreateTaskPushNotificationConfig", {**ONE_HOOK, **HOOK}, NEW),
    _rpc("GetTaskPushNotificationConfig", ONE_HOOK, NEW),
    _rpc("ListTaskPushNotificationConfigs", {"taskId": "{task}"}, NEW),
    _rpc("DeleteTaskPushNotificationConfig", ONE_HOOK, NEW),
    _rpc("agent/getAuthenticatedExtendedCard", {}, OLD),
    _rpc("GetExtendedAgentCard", {}, NEW),
)


def _route(way: str, body: Json = None, version: str = "", *, queries: str = "") -> Rows:
    """The way itself, and once more with each query; its own parameters name what is another's."""
    method, path = way.split()
    filled = re.sub(r"\{(\w+)\}", lambda found: "{" + _NAMES.get(found[1], found[1]) + "}", path)
    return {way: tuple(EarlierAttempt(method, filled + query, body, version) for query in ("", *queries.split()))}


def _routes(method: str, paths: str, body: Json = None, version: str = "") -> Rows:
    rows: Rows = {}
    for path in paths.split():
        rows |= _route(f"{method} {path}", body, version)
    return rows


def _both(rows: Rows) -> Rows:
    """Paths of 1.0 and, for a tenant's own callers alone, the same behind the tenant's name."""
    behind = {way: [one._replace(path="/{tenant}" + one.path) for one in attempts] for way, attempts in rows.items()}
    return {way: (*attempts, *behind[way]) for way, attempts in rows.items()}


def _pages(rows: Rows, **fields: Json) -> Rows:
    return {way: tuple(one._replace(body=fields, form=True) for one in attempts) for way, attempts in rows.items()}


_NAMES = {
    **{f"{name}_id": name for name in ("task", "file", "approval", "assessment", "letter", "key")},
    "config_id": "hook",
    "request_id": "key",
    "name": "tool",
}
_HOOKS = "/tasks/{task_id}/pushNotificationConfigs"
_RUN = "/console/learning/assessments/{assessment}/runs/1?turn=1"
ROUTES: Rows = {
    "POST /": (),  # each method has its row
    **_both(_routes("POST", "/message:send /message:stream", {"message": _said(taskId="{task}")}, NEW)),
    **_routes("POST", "/v1/message:send /v1/message:stream", {"message": _said_0_3(taskId="{task}")}, OLD),
    **_both(_route("GET /tasks", None, NEW, queries="?contextId={session}&pageSize=1 ?tenant={tenant}")),
    **_route("GET /v1/tasks", None, OLD, queries="?contextId={session}&pageSize=1"),
    **_both(_routes("GET", "/tasks/{task_id}:subscribe /extendedAgentCard", None, NEW)),
    **_both(_routes("POST", "/tasks/{task_id}:cancel /tasks/{task_id}:subscribe", {}, NEW)),
    **_both(_route(f"POST {_HOOKS}", HOOK, NEW)),
    **_both(_routes("GET", _HOOKS + " " + _HOOKS + "/{config_id}", None, NEW)),
    **_both(_route(f"DELETE {_HOOKS}/{{config_id}}", None, NEW)),
    **_routes("GET", "/v1/tasks/{task_id} /v1/tasks/{task_id}:subscribe /v1/card", None, OLD),
    **_routes("POST", "/v1/tasks/{task_id}:cancel /v1/tasks/{task_id}:subscribe", {}, OLD),
    **_route(f"POST /v1{_HOOKS}", HOOK, OLD),
    **_routes("GET", f"/v1{_HOOKS} /v1{_HOOKS}/{{config_id}}", None, OLD),
    **_route(f"DELETE /v1{_HOOKS}/{{config_id}}", None, OLD),
    "GET /tasks/{task_id}": (
        *_both(_route("GET /tasks/{task_id}", None, NEW))["GET /tasks/{task_id}"],
        EarlierAttempt("GET", "/tasks/{task}"),
    ),
    **_routes(
        "GET",
        "/tasks/{task_id}/events /tasks/{task_id}/files/{file_id} /rl/status"
        " /approvals /approvals/{approval_id} /assessments /assessments/{assessment_id}"
        " /tenants/{tenant}/record",
    ),
    **_route("GET /audit", queries="?task={task} ?session={session}&format=ndjson"),
    **_routes(
        "POST",
        "/webhooks/secret /dlq/list /dlq/{letter_id}/show /dlq/{letter_id}/drop /learn/export /memory/cases"
        " /memory/facts /memory/entities /memory/accuracy /memory/forget/list /memory/forget/{request_id}/show"
        " /keys/list /keys/{key_id}/revoke /tools/made/list /tools/made/{name}/show /tools/made/{name}/remove"
        " /tenants/{tenant}/resume /tenants/{tenant}/show /tenants/{tenant}/record/show"
        " /tenants/{tenant}/record/history /tenants/{tenant}/record/withdraw",
        {},
    ),
    **_route("POST /tasks/{task_id}/resolve", {"call": "c1", "resolution": "applied"}),
    **_route("POST /api/a2a/purple-agent", {"task_id": "{task}", "prompt": "go on"}),
    **_route("POST /approvals/{approval_id}", {"decision": "approve"}),
    **_route("POST /assessments", {"assessment": {"name": "{assessment}"}}),
    **_route("POST /dlq/{letter_id}/requeue", {"again": True}),
    **_route("POST /learn/import", {"file": "{tenant}", "content": []}),
    **_route("POST /memory/forget", {"scope": "session", "subject": "{session}"}),
    **_route("POST /tenants/{tenant}/stop", {"reason": "mine now"}),
    **_route("POST /tenants/{tenant}/made-tools", {"on": True}),
    **_route("PUT /tenants/{tenant}/record", {"version": 0, "record": {}}),
    **_route("POST /tenants/{tenant}/record/restore", {"version": 1}),
    "GET /console/live": (),  # without end; it tells no more than that something changed: see its own tests
    **_pages(
        _routes(
            "GET",
            "/console/ /console/approvals /console/approvals/{approval_id} /console/tasks/{task_id}"
            " /console/tasks/{task_id}/files/{file_id} /console/tasks/{task_id}/live /console/learning"
            " /console/learning/cases /console/learning/facts /console/learning/entities"
            " /console/learning/assessments /console/learning/assessments/{assessment_id} /console/operations"
            " /console/operations/dead-letters /console/webhooks",
        )
        | _route("GET /console/tasks", queries="?session={session}")
        | _routes(
            "POST",
            "/console/learning/assessments/{assessment_id}/remove /console/tasks/{task_id}/cancel"
            " /console/operations/dead-letters/{letter_id}/requeue /console/operations/dead-letters/{letter_id}/drop",
        )
        | {"GET /console/learning/assessments/{assessment_id}/runs/{number}": (EarlierAttempt("GET", _RUN),)}
    ),
    **_pages(_route("POST /console/approvals/{approval_id}"), decision="approve"),
    **_pages(_route("POST /console/tasks/{task_id}/resolve"), call="c1", resolution="applied"),
}
OPEN: dict[str, str] = {
    "GET /.well-known/agent-card.json": "the public card",
    "GET /.well-known/agent.json": "the public card",
    "GET /.well-known/jwks.json": "the public keys that verify the card",
    "GET /health": "the process",
    "GET /ready": "the process",
    "GET /openapi.json": "the description of these paths",
    "GET /docs": "the description of these paths",
    "POST /keys/create": "makes a key of the caller's own tenant",
    "GET /console": "leads to the console",
    "GET /console/sign-in": "a form",
    "POST /console/sign-in": "a form",
    "POST /console/sign-out": "the caller's own cookie",
    "POST /console/theme": "the caller's own cookie",
    "GET /console/static/{version}/{name}": "files of the product",
}
