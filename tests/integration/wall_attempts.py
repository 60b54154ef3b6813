"""Every way into the gateway, as somebody who has no business there would try it.

Braces in a path or body name something of another's: ``{task}``, ``{session}``, ``{approval}``, ``{hook}``, ``{key}``,
``{letter}``, ``{tool}``, ``{file}``, ``{tenant}``. Whoever adds a route or a method adds its row here, or says in
``OPEN`` why it holds nothing of anybody's: ``test_gateway_walls`` fails for what is missing.
"""

from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject

NEW, OLD = "1.0", "0.3"


class Attempt(NamedTuple):
    """One request. ``form``: it comes from a page of the console, by somebody who is signed in there."""

    method: str
    path: str
    body: Json = None
    version: str = ""
    form: bool = False


def _rpc(method: str, params: JsonObject, version: str = "") -> Attempt:
    return Attempt("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, version)


def _said(text: str = "go on", **more: Json) -> JsonObject:
    return {"role": "ROLE_USER", "messageId": "{fresh}", "parts": [{"text": text}], **more}


def _said_0_3(text: str = "go on", **more: Json) -> JsonObject:
    parts: Json = [{"kind": "text", "text": text}]
    return {"kind": "message", "role": "user", "messageId": "{fresh}", "parts": parts, **more}


def _legacy(text: str, **more: Json) -> JsonObject:
    return {"id": "{task}", "message": {"role": "user", "parts": [{"type": "text", "text": text}]}, **more}


TASK: JsonObject = {"id": "{task}"}
HOOK: JsonObject = {"url": "https://receiver.example/hook"}
LEGACY_HOOK: JsonObject = {"id": "{task}", "pushNotificationConfig": HOOK}
OLD_HOOK: JsonObject = {"taskId": "{task}", "pushNotificationConfig": HOOK}
ONE_HOOK: JsonObject = {"taskId": "{task}", "id": "{hook}"}
OLD_ONE_HOOK: JsonObject = {"id": "{task}", "pushNotificationConfigId": "{hook}"}

METHODS: dict[str, tuple[Attempt, ...]] = {
    "tasks/send": (
        _rpc("tasks/send", _legacy("go on")),
        _rpc("tasks/send", _legacy("approve")),
        _rpc("tasks/send", _legacy("go on", metadata={"principal": {"id": "casey", "roles": ["operator"]}})),
    ),
    "tasks/sendSubscribe": (_rpc("tasks/sendSubscribe", _legacy("approve")),),
    "tasks/get": (_rpc("tasks/get", TASK), _rpc("tasks/get", TASK, OLD)),
    "tasks/cancel": (_rpc("tasks/cancel", TASK), _rpc("tasks/cancel", TASK, OLD)),
    "tasks/resubscribe": (_rpc("tasks/resubscribe", TASK), _rpc("tasks/resubscribe", TASK, OLD)),
    "message/send": (
        _rpc("message/send", {"message": _said_0_3(taskId="{task}")}, OLD),
        _rpc("message/send", {"message": _said_0_3("approve", taskId="{task}", contextId="{session}")}, OLD),
        _rpc("message/send", {"message": _said_0_3("look", referenceTaskIds=["{task}"])}, OLD),
    ),
    "message/stream": (_rpc("message/stream", {"message": _said_0_3("approve", taskId="{task}")}, OLD),),
    "SendMessage": (
        _rpc("SendMessage", {"message": _said(taskId="{task}")}, NEW),
        _rpc("SendMessage", {"message": _said("approve", taskId="{task}", contextId="{session}")}, NEW),
        _rpc("SendMessage", {"message": _said("look", referenceTaskIds=["{task}"])}, NEW),
        _rpc("SendMessage", {"tenant": "{tenant}", "message": _said(taskId="{task}")}, NEW),
    ),
    "SendStreamingMessage": (_rpc("SendStreamingMessage", {"message": _said(taskId="{task}")}, NEW),),
    "GetTask": (_rpc("GetTask", TASK, NEW), _rpc("GetTask", {**TASK, "tenant": "{tenant}"}, NEW)),
    "CancelTask": (_rpc("CancelTask", TASK, NEW),),
    "ListTasks": (
        _rpc("ListTasks", {}, NEW),
        _rpc("ListTasks", {"contextId": "{session}", "pageSize": 1}, NEW),
        _rpc("ListTasks", {"tenant": "{tenant}"}, NEW),
    ),
    "SubscribeToTask": (_rpc("SubscribeToTask", TASK, NEW),),
    "tasks/pushNotification/set": (_rpc("tasks/pushNotification/set", LEGACY_HOOK),),
    "tasks/pushNotification/get": (_rpc("tasks/pushNotification/get", TASK),),
    "tasks/pushNotificationConfig/set": (_rpc("tasks/pushNotificationConfig/set", OLD_HOOK, OLD),),
    "tasks/pushNotificationConfig/get": (
        _rpc("tasks/pushNotificationConfig/get", TASK, OLD),
        _rpc("tasks/pushNotificationConfig/get", OLD_ONE_HOOK, OLD),
    ),
    "tasks/pushNotificationConfig/list": (_rpc("tasks/pushNotificationConfig/list", TASK, OLD),),
    "tasks/pushNotificationConfig/delete": (_rpc("tasks/pushNotificationConfig/delete", OLD_ONE_HOOK, OLD),),
    "CreateTaskPushNotificationConfig": (_rpc("CreateTaskPushNotificationConfig", {**ONE_HOOK, **HOOK}, NEW),),
    "GetTaskPushNotificationConfig": (_rpc("GetTaskPushNotificationConfig", ONE_HOOK, NEW),),
    "ListTaskPushNotificationConfigs": (_rpc("ListTaskPushNotificationConfigs", {"taskId": "{task}"}, NEW),),
    "DeleteTaskPushNotificationConfig": (_rpc("DeleteTaskPushNotificationConfig", ONE_HOOK, NEW),),
    "agent/getAuthenticatedExtendedCard": (_rpc("agent/getAuthenticatedExtendedCard", {}, OLD),),
    "GetExtendedAgentCard": (_rpc("GetExtendedAgentCard", {}, NEW),),
}


def _both(method: str, path: str, body: Json = None) -> tuple[Attempt, ...]:
    """A path of 1.0 and, for its own tenant's callers alone, the same behind the tenant's name."""
    return (Attempt(method, path, body, NEW), Attempt(method, "/{tenant}" + path, body, NEW))


def _one(method: str, path: str, body: Json = None, version: str = "") -> tuple[Attempt, ...]:
    return (Attempt(method, path, body, version),)


def _page(method: str, path: str, **fields: Json) -> tuple[Attempt, ...]:
    return (Attempt(method, path, fields, form=True),)


_RPC = "POST /"
ROUTES: dict[str, tuple[Attempt, ...]] = {
    _RPC: (),  # each method has its row
    "POST /message:send": _both("POST", "/message:send", {"message": _said(taskId="{task}")}),
    "POST /message:stream": _both("POST", "/message:stream", {"message": _said(taskId="{task}")}),
    "POST /v1/message:send": _one("POST", "/v1/message:send", {"message": _said_0_3(taskId="{task}")}, OLD),
    "POST /v1/message:stream": _one("POST", "/v1/message:stream", {"message": _said_0_3(taskId="{task}")}, OLD),
    "GET /tasks": (
        *_both("GET", "/tasks"),
        *_both("GET", "/tasks?contextId={session}&pageSize=1"),
        *_both("GET", "/tasks?tenant={tenant}"),
    ),
    "GET /v1/tasks": (
        *_one("GET", "/v1/tasks", None, OLD),
        *_one("GET", "/v1/tasks?contextId={session}&pageSize=1", None, OLD),
    ),
    "GET /tasks/{task_id}": (*_both("GET", "/tasks/{task}"), *_one("GET", "/tasks/{task}")),
    "GET /tasks/{task_id}/events": _one("GET", "/tasks/{task}/events"),
    "GET /tasks/{task_id}/files/{file_id}": _one("GET", "/tasks/{task}/files/{file}"),
    "GET /v1/tasks/{task_id}": _one("GET", "/v1/tasks/{task}", None, OLD),
    "POST /tasks/{task_id}:cancel": _both("POST", "/tasks/{task}:cancel", {}),
    "POST /v1/tasks/{task_id}:cancel": _one("POST", "/v1/tasks/{task}:cancel", {}, OLD),
    "GET /tasks/{task_id}:subscribe": _both("GET", "/tasks/{task}:subscribe"),
    "POST /tasks/{task_id}:subscribe": _both("POST", "/tasks/{task}:subscribe", {}),
    "GET /v1/tasks/{task_id}:subscribe": _one("GET", "/v1/tasks/{task}:subscribe", None, OLD),
    "POST /v1/tasks/{task_id}:subscribe": _one("POST", "/v1/tasks/{task}:subscribe", {}, OLD),
    "POST /tasks/{task_id}/pushNotificationConfigs": _both("POST", "/tasks/{task}/pushNotificationConfigs", HOOK),
    "GET /tasks/{task_id}/pushNotificationConfigs": _both("GET", "/tasks/{task}/pushNotificationConfigs"),
    "GET /tasks/{task_id}/pushNotificationConfigs/{config_id}": _both(
        "GET", "/tasks/{task}/pushNotificationConfigs/{hook}"
    ),
    "DELETE /tasks/{task_id}/pushNotificationConfigs/{config_id}": _both(
        "DELETE", "/tasks/{task}/pushNotificationConfigs/{hook}"
    ),
    "POST /v1/tasks/{task_id}/pushNotificationConfigs": _one(
        "POST", "/v1/tasks/{task}/pushNotificationConfigs", HOOK, OLD
    ),
    "GET /v1/tasks/{task_id}/pushNotificationConfigs": _one(
        "GET", "/v1/tasks/{task}/pushNotificationConfigs", None, OLD
    ),
    "GET /v1/tasks/{task_id}/pushNotificationConfigs/{config_id}": _one(
        "GET", "/v1/tasks/{task}/pushNotificationConfigs/{hook}", None, OLD
    ),
    "DELETE /v1/tasks/{task_id}/pushNotificationConfigs/{config_id}": _one(
        "DELETE", "/v1/tasks/{task}/pushNotificationConfigs/{hook}", None, OLD
    ),
    "GET /tasks/{task_id}/webhooks": _one("GET", "/tasks/{task}/webhooks"),
    "GET /webhooks": _one("GET", "/webhooks"),
    "POST /webhooks/secret": _one("POST", "/webhooks/secret", {}),
    "GET /extendedAgentCard": _both("GET", "/extendedAgentCard"),
    "GET /v1/card": _one("GET", "/v1/card", None, OLD),
    "POST /tasks/{task_id}/resolve": _one("POST", "/tasks/{task}/resolve", {"call": "c1", "resolution": "applied"}),
    "POST /api/a2a/purple-agent": _one("POST", "/api/a2a/purple-agent", {"task_id": "{task}", "prompt": "go on"}),
    "GET /rl/status": _one("GET", "/rl/status"),
    "GET /rl/history": _one("GET", "/rl/history"),
    "GET /audit": (
        *_one("GET", "/audit"),
        *_one("GET", "/audit?task={task}"),
        *_one("GET", "/audit?session={session}&format=ndjson"),
    ),
    "GET /approvals": _one("GET", "/approvals"),
    "GET /approvals/{approval_id}": _one("GET", "/approvals/{approval}"),
    "POST /approvals/{approval_id}": _one("POST", "/approvals/{approval}", {"decision": "approve"}),
    "POST /assessments": _one("POST", "/assessments", {"assessment": {"name": "{assessment}"}}),
    "GET /assessments": _one("GET", "/assessments"),
    "GET /assessments/{assessment_id}": _one("GET", "/assessments/{assessment}"),
    "POST /dlq/list": _one("POST", "/dlq/list", {}),
    "POST /dlq/{letter_id}/show": _one("POST", "/dlq/{letter}/show", {}),
    "POST /dlq/{letter_id}/requeue": _one("POST", "/dlq/{letter}/requeue", {"again": True}),
    "POST /dlq/{letter_id}/drop": _one("POST", "/dlq/{letter}/drop", {}),
    "POST /learn/export": _one("POST", "/learn/export", {}),
    "POST /learn/import": _one("POST", "/learn/import", {"file": "{tenant}", "content": []}),
    "POST /memory/cases": _one("POST", "/memory/cases", {}),
    "POST /memory/facts": _one("POST", "/memory/facts", {}),
    "POST /memory/entities": _one("POST", "/memory/entities", {}),
    "POST /memory/accuracy": _one("POST", "/memory/accuracy", {}),
    "POST /memory/forget": _one("POST", "/memory/forget", {"scope": "session", "subject": "{session}"}),
    "POST /memory/forget/list": _one("POST", "/memory/forget/list", {}),
    "POST /memory/forget/{request_id}/show": _one("POST", "/memory/forget/{key}/show", {}),
    "POST /keys/list": _one("POST", "/keys/list", {}),
    "POST /keys/{key_id}/revoke": _one("POST", "/keys/{key}/revoke", {}),
    "POST /tools/made/list": _one("POST", "/tools/made/list", {}),
    "POST /tools/made/{name}/show": _one("POST", "/tools/made/{tool}/show", {}),
    "POST /tools/made/{name}/remove": _one("POST", "/tools/made/{tool}/remove", {}),
    "POST /tenants/{tenant}/stop": _one("POST", "/tenants/{tenant}/stop", {"reason": "mine now"}),
    "POST /tenants/{tenant}/resume": _one("POST", "/tenants/{tenant}/resume", {}),
    "POST /tenants/{tenant}/show": _one("POST", "/tenants/{tenant}/show", {}),
    "POST /tenants/{tenant}/made-tools": _one("POST", "/tenants/{tenant}/made-tools", {"on": True}),
    "GET /tenants/{tenant}/record": _one("GET", "/tenants/{tenant}/record"),
    "PUT /tenants/{tenant}/record": _one("PUT", "/tenants/{tenant}/record", {"version": 0, "record": {}}),
    "POST /tenants/{tenant}/record/show": _one("POST", "/tenants/{tenant}/record/show", {}),
    "POST /tenants/{tenant}/record/history": _one("POST", "/tenants/{tenant}/record/history", {}),
    "POST /tenants/{tenant}/record/withdraw": _one("POST", "/tenants/{tenant}/record/withdraw", {}),
    "POST /tenants/{tenant}/record/restore": _one("POST", "/tenants/{tenant}/record/restore", {"version": 1}),
    "GET /console/": _page("GET", "/console/"),
    "GET /console/live": (),  # without end; it tells no more than that something changed: see its own tests
    "GET /console/approvals": _page("GET", "/console/approvals"),
    "GET /console/approvals/{approval_id}": _page("GET", "/console/approvals/{approval}"),
    "POST /console/approvals/{approval_id}": _page("POST", "/console/approvals/{approval}", decision="approve"),
    "GET /console/tasks": (*_page("GET", "/console/tasks"), *_page("GET", "/console/tasks?session={session}")),
    "GET /console/tasks/{task_id}": _page("GET", "/console/tasks/{task}"),
    "GET /console/tasks/{task_id}/files/{file_id}": _page("GET", "/console/tasks/{task}/files/{file}"),
    "GET /console/tasks/{task_id}/live": _page("GET", "/console/tasks/{task}/live"),
    "GET /console/learning": _page("GET", "/console/learning"),
    "GET /console/learning/cases": _page("GET", "/console/learning/cases"),
    "GET /console/learning/facts": _page("GET", "/console/learning/facts"),
    "GET /console/learning/entities": _page("GET", "/console/learning/entities"),
    "GET /console/learning/assessments": _page("GET", "/console/learning/assessments"),
    "GET /console/learning/assessments/compare": _page(
        "GET", "/console/learning/assessments/compare?a={assessment}&b={assessment}"
    ),
    "GET /console/learning/assessments/{assessment_id}": _page("GET", "/console/learning/assessments/{assessment}"),
    "GET /console/learning/assessments/{assessment_id}/runs/{number}": _page(
        "GET", "/console/learning/assessments/{assessment}/runs/1?turn=1"
    ),
    "POST /console/learning/assessments/{assessment_id}/remove": _page(
        "POST", "/console/learning/assessments/{assessment}/remove"
    ),
    "GET /console/operations": _page("GET", "/console/operations"),
    "GET /console/operations/dead-letters": _page("GET", "/console/operations/dead-letters"),
    "POST /console/operations/dead-letters/{letter_id}/requeue": _page(
        "POST", "/console/operations/dead-letters/{letter}/requeue"
    ),
    "POST /console/operations/dead-letters/{letter_id}/drop": _page(
        "POST", "/console/operations/dead-letters/{letter}/drop"
    ),
    "GET /console/webhooks": _page("GET", "/console/webhooks"),
    "POST /console/tasks/{task_id}/resolve": _page(
        "POST", "/console/tasks/{task}/resolve", call="c1", resolution="applied"
    ),
    "POST /console/tasks/{task_id}/cancel": _page("POST", "/console/tasks/{task}/cancel"),
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
