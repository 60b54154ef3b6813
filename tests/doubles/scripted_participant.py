"""An agent over A2A that answers as a function says: what an assessor measures, in tests."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from uuid import uuid4

from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shared.contracts.assessment.messages import JsonObject

Script = Callable[[JsonObject], Awaitable[JsonObject]]
Wrapping = Callable[[JsonObject], JsonValue]


def as_message(data: JsonObject) -> JsonValue:
    return {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "data", "data": data}]}


def as_artifact(data: JsonObject) -> JsonValue:
    artifact: JsonObject = {"artifactId": "a", "parts": [{"kind": "data", "data": data}]}
    return _task({"artifacts": [artifact], "status": {"state": "completed"}})


def as_artifact_text(data: JsonObject) -> JsonValue:
    artifact: JsonObject = {"artifactId": "a", "parts": [{"kind": "text", "text": json.dumps(data)}]}
    return _task({"artifacts": [artifact], "status": {"state": "completed"}})


def as_status_message(data: JsonObject) -> JsonValue:
    message: JsonObject = {
        "kind": "message",
        "messageId": "m",
        "role": "agent",
        "parts": [{"kind": "data", "data": data}],
    }
    return _task({"status": {"state": "completed", "message": message}})


def as_working_text(data: JsonObject) -> JsonValue:
    """As older agents answer: a text in the status of a task that still works."""
    parts: list[JsonValue] = [{"kind": "text", "text": json.dumps(data)}]
    message: JsonObject = {"kind": "message", "messageId": "m", "role": "agent", "parts": parts}
    return _task({"status": {"state": "working", "message": message}})


def as_history(data: JsonObject) -> JsonValue:
    said: JsonObject = {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "data", "data": data}]}
    asked: JsonObject = {
        "kind": "message",
        "messageId": "u",
        "role": "user",
        "parts": [{"kind": "data", "data": {"not": "this"}}],
    }
    return _task({"status": {"state": "completed"}, "history": [said, asked]})


def as_new_message(data: JsonObject) -> JsonValue:
    """Protocol 1.0."""
    return {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"data": data}]}}


def as_new_task(data: JsonObject) -> JsonValue:
    artifact: JsonObject = {"artifactId": "a", "parts": [{"data": data}]}
    return {"task": {"id": "t", "contextId": "c", "artifacts": [artifact], "status": {"state": "TASK_STATE_COMPLETED"}}}


def _task(fields: JsonObject) -> JsonValue:
    return {"kind": "task", "id": "t", "contextId": "c", **fields}


class ScriptedParticipant:
    """``heard``: messages' data; ``contexts``: their context ids; ``headers``: their requests'. The script is asked
    only for turns.

    ``late``: turns come back as a working task first, and as the answer when that task is asked for.
    """

    def __init__(
        self, script: Script, wrapping: Wrapping = as_message, version: str = "0.3", late: bool = False
    ) -> None:
        self.heard: list[JsonObject] = []
        self.contexts: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.url = ""
        self._script = script
        self._wrapping = wrapping
        self._version = version
        self._late = late
        self._waiting: dict[str, JsonValue] = {}

    def app(self) -> Starlette:
        card = Route("/.well-known/agent-card.json", self._card)
        return Starlette(routes=[card, Route("/", self._called, methods=["POST"])])

    async def _card(self, _: Request) -> Response:
        interface = {"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": self._version}
        return JSONResponse({"name": "scripted", "url": self.url, "supportedInterfaces": [interface]})

    async def _called(self, request: Request) -> Response:
        body = await request.json()
        if body["method"] in ("tasks/get", "GetTask"):
            return _answered(body, self._waiting[body["params"]["id"]])
        message = body["params"]["message"]
        data = message["parts"][0]["data"]
        self.heard.append(data)
        self.contexts.append(message["contextId"])
        self.headers.append(request.headers)
        if data["message_type"] != "turn_start":
            return _answered(body, as_message({"message_type": "noted"}))
        return _answered(body, self._kept(self._wrapping(await self._script(data))))

    def _kept(self, answer: JsonValue) -> JsonValue:
        if not self._late:
            return answer
        task_id = str(uuid4())
        self._waiting[task_id] = answer
        return {"kind": "task", "id": task_id, "contextId": "c", "status": {"state": "working"}}


class Hanging:
    """A script that never answers, until it is let go."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()

    async def __call__(self, _: JsonObject) -> JsonObject:
        await self.let_go.wait()
        return {"message_type": "turn_complete"}


def _answered(body: JsonObject, result: JsonValue) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": body.get("id"), "result": result})
