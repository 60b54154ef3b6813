"""Runs assessments: an assessor for the length of a command, requests to it, and its reports until the end."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple, TypeAlias
from uuid import uuid4

import httpx
from httpx_sse import aconnect_sse
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from cli.console import Complaint
from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import HOST, ProcessSpec, free_ports, url_of
from shared.contracts.assessment.messages import JsonObject, Update
from shared.contracts.assessment.results import AGENT_KEY_HEADER, AssessmentResults
from shared.contracts.base import first_fault
from shared.infra.tls import trusted_certificates

API_KEY = "ASSESSOR_API_KEY"
AGENT_KEY = "AGENT_API_KEY"
READY_SECONDS = 45.0


@asynccontextmanager
async def assessor_at(
    url: str, scenarios: Path | None, agent_key: str = ""
) -> AsyncIterator[tuple[str, httpx.AsyncClient]]:
    """Yields an assessor's address, and a client that sends it the key in ``ASSESSOR_API_KEY``.

    The client also sends the measured agent's key, in a header. Without a ``url`` an assessor is started, whose
    simulators end with it. Raises ``Complaint``.
    """
    key = os.environ.get(API_KEY, "")
    headers = {**({"X-API-Key": key} if key and url else {}), **({AGENT_KEY_HEADER: agent_key} if agent_key else {})}
    async with httpx.AsyncClient(trust_env=False, headers=headers, verify=trusted_certificates()) as http:
        if url:
            yield url, http
            return
        async with _start_assessor(scenarios) as own:
            yield own, http


@asynccontextmanager
async def _start_assessor(scenarios: Path | None) -> AsyncIterator[str]:
    with TemporaryDirectory(prefix="assess-") as folder:
        child = Child.start(_build_spec(free_ports(1)[0], scenarios), Path(folder))
        try:
            await wait_until_ready((child,), READY_SECONDS)
            yield child.spec.url
        finally:
            await child.stop()


def _build_spec(port: int, scenarios: Path | None) -> ProcessSpec:
    """The process of an assessor. It asks for no key, since only this machine can reach it."""
    where: Sequence[str] = ("--host", HOST, "--port", str(port))
    what = ("--scenarios-dir", str(scenarios.resolve())) if scenarios else ()
    inherited = {name: value for name, value in os.environ.items() if name != AGENT_KEY}
    environ = {**inherited, "AUTHENTICATION": "off", "PYTHONUNBUFFERED": "1"}
    arguments = ("services.assessor", *where, *what)
    return ProcessSpec("assessor", arguments, url_of(port), stops=1, environ=environ)


Follow: TypeAlias = Callable[[Update], None]

CONNECT_SECONDS = 5.0
CANCEL_SECONDS = 5.0
TURN_SECONDS = 300.0  # what an assessor lets a turn take, if nobody says otherwise
JUDGING_SECONDS = 660.0  # an assessor judges for ten minutes at most, if nobody says otherwise
_UPDATE: TypeAdapter[Update] = TypeAdapter(Annotated[Update, Field(discriminator="message_type")])
_RESULTS = "assessment_results"


class WantedRun(NamedTuple):
    """The parameters of one run; the assessor chooses those that are ``None``."""

    scenario: str
    agent: str
    max_turns: int | None = None
    turn_timeout: float | None = None
    seed: int | None = None

    def request(self) -> JsonObject:
        limits = {"max_turns": self.max_turns, "turn_timeout": self.turn_timeout, "seed": self.seed}
        config: JsonObject = {name: value for name, value in limits.items() if value is not None}
        participants: JsonObject = {"personal_assistant": self.agent}
        return {"participants": participants, "config": {"scenario_id": self.scenario, **config}}

    @property
    def silence(self) -> float:
        """After how many seconds without a message the assessor is given up."""
        return (self.turn_timeout or TURN_SECONDS) + JUDGING_SECONDS


class ToldProgress(NamedTuple):
    """One progress event: the task, its state, and the data and texts of the event."""

    task_id: str
    state: str
    data: tuple[JsonObject, ...]
    said: str


async def run_assessment(url: str, http: httpx.AsyncClient, wanted: WantedRun, follow: Follow) -> AssessmentResults:
    """The results of one assessment; if this is cancelled or fails, the assessor's task is cancelled.

    Raises ``Complaint`` if it ends without results.
    """
    task_id, results = "", None
    try:
        async with aclosing(_stream_events(url, http, wanted)) as events:
            async for told in events:
                task_id = told.task_id or task_id
                for data in told.data:
                    results = _parse_results(data) or results
                    _pass_update(data, follow)
                if told.state in ("failed", "canceled", "rejected"):
                    task_id = ""
                    raise Complaint(told.said or f"The assessment ended as {told.state}, without a reason.")
        if results is None:
            raise Complaint(f"The assessor at {url} ended its answer without results.")
        task_id = ""
        return results
    except httpx.TransportError as error:
        if not task_id and isinstance(error, httpx.ConnectError):
            raise Complaint(f"No assessor answers at {url}: start one with `purple up --assessor`.") from error
        raise Complaint(f"The assessor at {url} was lost on the way ({type(error).__name__}).") from error
    finally:
        if task_id:
            await _cancel(url, http, task_id)


async def _stream_events(url: str, http: httpx.AsyncClient, wanted: WantedRun) -> AsyncGenerator[ToldProgress]:
    part: JsonObject = {"kind": "data", "data": wanted.request()}
    message: JsonObject = {"kind": "message", "messageId": str(uuid4()), "role": "user", "parts": [part]}
    patience = httpx.Timeout(wanted.silence, connect=CONNECT_SECONDS)
    body = _rpc_request("message/stream", {"message": message})
    async with aconnect_sse(http, "POST", url, json=body, timeout=patience) as stream:
        answer = stream.response
        if not answer.is_success or "text/event-stream" not in answer.headers.get("content-type", ""):
            await answer.aread()
            raise Complaint(
                f"The assessor at {url} did not take the request ({answer.status_code}).", answer.text[:500]
            )
        async for event in stream.aiter_sse():
            yield _read_progress(url, _read_object(_parse_json(event.data)))


async def _cancel(url: str, http: httpx.AsyncClient, task_id: str) -> None:
    """Ask the assessor to cancel a task; an assessor that cannot be reached is ignored."""
    try:
        async with asyncio.timeout(CANCEL_SECONDS):
            await http.post(url, json=_rpc_request("tasks/cancel", {"id": task_id}), timeout=CANCEL_SECONDS)
    except (httpx.TransportError, TimeoutError):
        return


def _rpc_request(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": "assess", "method": method, "params": params}


def _read_progress(url: str, body: JsonObject) -> ToldProgress:
    if problem := _read_object(body.get("error")):
        raise Complaint(f"The assessor at {url} refused: {problem.get('message')}")
    result = _read_object(body.get("result"))
    status = _read_object(result.get("status"))
    parts = [*_message_parts(status.get("message")), *_message_parts(result.get("artifact"))]
    data = [_read_object(part.get("data")) or _read_object(_parse_json(part.get("text"))) for part in parts]
    said = " ".join(str(part["text"]) for part in parts if part.get("kind") == "text")
    task_id = result.get("taskId") or result.get("id") or ""
    return ToldProgress(str(task_id), str(status.get("state", "")), tuple(one for one in data if one), said)


def _message_parts(holder: JsonValue) -> list[JsonObject]:
    parts = _read_object(holder).get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _read_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _parse_json(text: JsonValue) -> JsonValue:
    """The value of a JSON text; None for anything else."""
    try:
        value: JsonValue = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value


def _parse_results(data: JsonObject) -> AssessmentResults | None:
    if data.get("message_type") != _RESULTS:
        return None
    try:
        return AssessmentResults.model_validate(data)
    except ValidationError as error:
        raise Complaint(f"The assessor's results cannot be read: {first_fault(error)}") from error


def _pass_update(data: JsonObject, follow: Follow) -> None:
    """Call ``follow`` with an update; one of an unknown kind is ignored."""
    try:
        update = _UPDATE.validate_python(data)
    except ValidationError:
        return
    follow(update)
