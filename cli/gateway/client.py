"""A client of the gateway's public surface: messages over A2A, events over SSE."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from urllib.parse import quote

import httpx
from httpx_sse import aconnect_sse

from cli.console import Complaint
from cli.gateway.messages import Event, TaskView, Utterance, task_view
from shared.domain.exact_json import JsonObject, dumps, loads_object

TIMEOUT = httpx.Timeout(30.0, connect=5.0)
SILENCE = httpx.Timeout(60.0, connect=5.0)  # the gateway sends a comment every 15 seconds


class GatewayClient:
    """Raises ``Complaint`` for whatever a person should be told."""

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self.url = url.rstrip("/")
        self._http = http

    async def send(self, utterance: Utterance) -> TaskView:
        """Hand a message over; returns as soon as it is accepted for good."""
        return task_view(await self._rpc("message/send", utterance.as_params()))

    async def task(self, task_id: str) -> TaskView:
        return task_view(await self._rpc("tasks/get", {"id": task_id}))

    async def cancel(self, task_id: str) -> TaskView:
        return task_view(await self._rpc("tasks/cancel", {"id": task_id}))

    async def record(self, task_id: str) -> JsonObject:
        """The task as its gateway shows it to operators: ``GET /tasks/{id}``."""
        return await self._rest("GET", f"/tasks/{quote(task_id, safe='')}")

    async def resolve(self, task_id: str, word: JsonObject) -> JsonObject:
        """Hand over an operator's word on a write in doubt; the task as it then stands."""
        return await self._rest("POST", f"/tasks/{quote(task_id, safe='')}/resolve", word)

    async def tenant(self, tenant: str, action: str, body: JsonObject) -> JsonObject:
        """Let an operator ``stop``, ``resume`` or ``show`` a tenant; the tenant as it then stands."""
        return await self._rest("POST", f"/tenants/{quote(tenant, safe='')}/{action}", body)

    async def dead_letters(self, path: str, body: JsonObject) -> JsonObject:
        """What an operator asks about dead letters: ``list``, or ``ID/show``, ``ID/requeue``, ``ID/drop``."""
        return await self._rest("POST", f"/dlq/{quote(path)}", body)

    async def events(self, task_id: str, after: str = "") -> AsyncIterator[Event]:
        """The task's events after that one, until the task has ended or waits for somebody."""
        headers = {"Last-Event-ID": after} if after else {}
        try:
            async with aconnect_sse(
                self._http, "GET", f"{self.url}/tasks/{task_id}/events", headers=headers, timeout=SILENCE
            ) as source:
                if not source.response.is_success:
                    raise Complaint(f"{self.url} shows no events of task {task_id} ({source.response.status_code}).")
                async for line in source.aiter_sse():
                    if line.data:
                        yield _event(line.id, line.event, loads_object(line.data))
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def _rpc(self, method: str, params: JsonObject) -> JsonObject:
        body = dumps({"jsonrpc": "2.0", "id": "cli", "method": method, "params": params})
        try:
            answer = await self._http.post(
                f"{self.url}/", content=body, headers={"Content-Type": "application/json"}, timeout=TIMEOUT
            )
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        return _result(method, answer)

    async def _rest(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        content = None if body is None else dumps(body)
        headers = {"Content-Type": "application/json"}
        try:
            answer = await self._http.request(
                method, f"{self.url}{path}", content=content, headers=headers, timeout=TIMEOUT
            )
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        return _object(method, path, answer)

    def _unreachable(self, error: httpx.TransportError) -> Complaint:
        sentence = f"No gateway answers at {self.url} ({type(error).__name__}): start one with `purple up`."
        return Complaint(sentence)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[GatewayClient]:
    async with httpx.AsyncClient(trust_env=False) as http:
        yield GatewayClient(url, http)


def _result(method: str, answer: httpx.Response) -> JsonObject:
    try:
        body = loads_object(answer.text)
    except ValueError as error:
        raise Complaint(f"{answer.url} answered {method} with {answer.status_code} and no JSON.") from error
    result, problem = body.get("result"), body.get("error")
    if isinstance(result, dict):
        return result
    sentence = problem.get("message") if isinstance(problem, dict) else f"HTTP {answer.status_code}"
    raise Complaint(f"The gateway refused {method}: {sentence}")


def _object(method: str, path: str, answer: httpx.Response) -> JsonObject:
    try:
        body = loads_object(answer.text)
    except ValueError as error:
        raise Complaint(f"{answer.url} answered {method} with {answer.status_code} and no JSON.") from error
    if answer.is_success:
        return body
    raise Complaint(f"The gateway refused {method} {path}: {body.get('error')}")


def _event(event_id: str, kind: str, body: JsonObject) -> Event:
    data = body.get("data")
    at = datetime.fromisoformat(str(body["at"])) if "at" in body else datetime.now().astimezone()
    return Event(event_id, str(body.get("kind", kind)), at, data if isinstance(data, dict) else {})
