"""Protocol 1.0 spoken over either of its bindings, with the same words for what comes back."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import NamedTuple, Protocol, cast
from uuid import uuid4

import httpx

from shared.domain.exact_json import Json, JsonObject, loads, loads_object
from tests.conformance.replicas import Replicas
from tests.http_client import rpc_body
from tests.integration.gateway_stage import at, object_at

NEW = {"A2A-Version": "1.0"}
REASONS: Mapping[int, str] = {
    -32700: "INVALID_REQUEST",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32001: "TASK_NOT_FOUND",
    -32002: "TASK_NOT_CANCELABLE",
    -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    -32004: "UNSUPPORTED_OPERATION",
    -32005: "CONTENT_TYPE_NOT_SUPPORTED",
    -32007: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    -32009: "VERSION_NOT_SUPPORTED",
}


class Reply(NamedTuple):
    """``refused`` is the reason in A2A's words; empty where ``value`` is the answer."""

    value: JsonObject
    refused: str
    response: httpx.Response


UNTOLD = "UNTOLD"  # of a refusal over REST the client of 0.3 shows the status alone


def is_refused(reply: Reply, reason: str) -> bool:
    return reply.refused in (reason, UNTOLD)


class Event(NamedTuple):
    """One update of a stream and its id."""

    event_id: str
    value: JsonObject


class Speaker(Protocol):
    """One binding. ``headers`` replace what is usual."""

    async def call(self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW) -> Reply: ...

    async def call_as_nobody(self, method: str, params: JsonObject) -> httpx.Response: ...

    def stream(
        self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW
    ) -> AsyncGenerator[Event, None]: ...


class Rpc:
    def __init__(self, replicas: Replicas) -> None:
        self._http = replicas.http

    async def call(self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW) -> Reply:
        return rpc_reply(await self._http.post("/", json=rpc_body(method, params), headers=headers))

    async def call_as_nobody(self, method: str, params: JsonObject) -> httpx.Response:
        return await self._http.post("/", json=rpc_body(method, params), headers={**NEW, "Authorization": ""})

    async def stream(
        self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW
    ) -> AsyncGenerator[Event, None]:
        async with self._http.stream("POST", "/", json=rpc_body(method, params), headers=headers) as response:
            async for event in _events(response):
                result = event.value.get("result")
                assert isinstance(result, dict), event
                yield event._replace(value=result)


class Rest:
    """``prefix``: what stands before each path."""

    def __init__(self, replicas: Replicas, prefix: str = "") -> None:
        self._http, self._prefix = replicas.http, prefix

    async def call(self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW) -> Reply:
        return rest_reply(await self.ask(method, params, headers))

    async def ask(self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW) -> httpx.Response:
        return await self._http.send(self._request(method, params, headers))

    async def call_as_nobody(self, method: str, params: JsonObject) -> httpx.Response:
        return await self._http.send(self._request(method, params, {**NEW, "Authorization": ""}))

    async def stream(
        self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW
    ) -> AsyncGenerator[Event, None]:
        response = await self._http.send(self._request(method, params, headers), stream=True)
        try:
            async for event in _events(response):
                yield event
        finally:
            await response.aclose()

    def _request(self, method: str, params: JsonObject, headers: Mapping[str, str]) -> httpx.Request:
        rest = dict(params)
        verb, path = _PATHS[method]
        for name, key in (("{id}", "id"), ("{task}", "taskId")):
            if name in path:
                path = path.replace(name, str(rest.pop(key, "")))
        if "{config}" in path:
            path = path.replace("{config}", str(rest.pop("id", "")))
        path = f"{self._prefix}{path}"
        if verb == "POST":
            return self._http.build_request(verb, path, json=rest, headers=headers)
        return self._http.build_request(verb, path, params=_query(rest), headers=headers)


_HOOKS = "/tasks/{task}/pushNotificationConfigs"
_PATHS = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
    "CreateTaskPushNotificationConfig": ("POST", _HOOKS),
    "GetTaskPushNotificationConfig": ("GET", f"{_HOOKS}/{{config}}"),
    "ListTaskPushNotificationConfigs": ("GET", _HOOKS),
    "DeleteTaskPushNotificationConfig": ("DELETE", f"{_HOOKS}/{{config}}"),
}


async def old_call(replicas: Replicas, method: str, params: JsonObject) -> JsonObject:
    """A call of JSON-RPC that names no version, as those of 0.3 and before: the whole answer."""
    return loads_object((await replicas.http.post("/", json=rpc_body(method, params))).text)


async def old_stream(replicas: Replicas, method: str, params: JsonObject) -> AsyncIterator[JsonObject]:
    """The results of such a call that is answered with a stream."""
    async with replicas.http.stream("POST", "/", json=rpc_body(method, params)) as response:
        async for event in _events(response):
            yield cast(JsonObject, event.value["result"])


def rpc_reply(response: httpx.Response) -> Reply:
    value = loads_object(response.text)
    error = value.get("error")
    if error is None:
        result = value["result"]
        return Reply(result if isinstance(result, dict) else {"result": result}, "", response)
    code = at(error, "code")
    return Reply({}, REASONS[int(str(code))], response)


def rest_reply(response: httpx.Response) -> Reply:
    value = loads_object(response.text) if response.text else {}
    if response.is_success:
        return Reply(value, "", response)
    return Reply({}, str(at(value, "error.details.0.reason")), response)


def message(message_id: str = "", text: str = "hello", /, **more: Json) -> JsonObject:
    """A message of 1.0; ``message_id`` may be only how it begins."""
    return {"messageId": f"{message_id}-{uuid4().hex[:8]}", "role": "ROLE_USER", "parts": [{"text": text}], **more}


def old_message(message_id: str = "tck-complete-task", /, **more: Json) -> JsonObject:
    """A message of 0.3."""
    said: JsonObject = {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
    return {**said, "messageId": f"{message_id}-{uuid4().hex[:8]}", **more}


def blocking(said: JsonObject) -> JsonObject:
    """The params of ``message/send`` whose answer is waited for."""
    return {"message": said, "configuration": {"blocking": True}}


async def sent(speaker: Speaker, message_id: str = "tck-complete-task", **more: Json) -> JsonObject:
    """The task that a message made."""
    reply = await speaker.call("SendMessage", {"message": message(message_id, "hello", **more)})
    assert reply.refused == "", reply.response.text
    return object_at(reply.value, "task")


async def held(replicas: Replicas, speaker: Speaker) -> Json:
    """The id of a task that works until the worker is released."""
    replicas.worker.release.clear()
    count = len(replicas.worker.works)
    params: JsonObject = {"message": message("held", "hold on"), "configuration": {"returnImmediately": True}}
    task_id = at((await speaker.call("SendMessage", params)).value, "task.id")
    await replicas.worker.has_begun(count + 1)
    return task_id


async def _events(response: httpx.Response) -> AsyncIterator[Event]:
    assert response.headers["content-type"].startswith("text/event-stream"), await response.aread()
    event_id = ""
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            event_id = line.removeprefix("id: ")
        elif line.startswith("data: "):
            value = loads(line.removeprefix("data: "))
            assert isinstance(value, dict)
            yield Event(event_id, value)


def _query(params: JsonObject) -> dict[str, str]:
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in params.items()}
