"""Runs assessments: connects to an assessor, or starts one, sends a request, and follows its events to the results."""

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

from cli.console import CommandError
from cli.gateway.client import read_key_variable, require_http_url
from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import HOST, ProcessSpec, build_local_url, find_free_ports
from shared.contracts.assessment.messages import JsonObject, Update
from shared.contracts.assessment.results import AGENT_KEY_HEADER, AssessmentResults
from shared.contracts.base import describe_first_error
from shared.infra.tls import load_client_tls_context

API_KEY_VARIABLE = "ASSESSOR_API_KEY"
AGENT_KEY_VARIABLE = "AGENT_API_KEY"
READY_SECONDS = 45.0


@asynccontextmanager
async def connect_assessor(
    url: str, scenarios: Path | None, agent_key: str = ""
) -> AsyncIterator[tuple[str, httpx.AsyncClient]]:
    """Yields an assessor's URL, and an HTTP client for it.

    The client sends the assessor's key from ``ASSESSOR_API_KEY``, and the measured agent's key in a second header. If
    ``url`` is empty, an assessor is started, and stopped at the end of the context. Raises ``CommandError``.
    """
    key = read_key_variable(API_KEY_VARIABLE)
    keys_by_header = {"X-API-Key": key if url else "", AGENT_KEY_HEADER: agent_key}
    headers = {name: value for name, value in keys_by_header.items() if value}
    async with httpx.AsyncClient(trust_env=False, headers=headers, verify=load_client_tls_context()) as http:
        if url:
            yield require_http_url(url, "assessor"), http
            return
        async with _start_assessor(scenarios) as own_url:
            yield own_url, http


@asynccontextmanager
async def _start_assessor(scenarios: Path | None) -> AsyncIterator[str]:
    with TemporaryDirectory(prefix="assess-") as folder:
        child = Child.start(_plan_assessor_process(find_free_ports(1)[0], scenarios), Path(folder))
        try:
            await wait_until_ready((child,), READY_SECONDS)
            yield child.spec.url
        finally:
            await child.stop()


def _plan_assessor_process(port: int, scenarios: Path | None) -> ProcessSpec:
    """The process of a local assessor. It requires no API key, since only this machine can reach it."""
    address: Sequence[str] = ("--host", HOST, "--port", str(port))
    folder = ("--scenarios-dir", str(scenarios.resolve())) if scenarios else ()
    inherited = {name: value for name, value in os.environ.items() if name != AGENT_KEY_VARIABLE}
    environ = {**inherited, "AUTHENTICATION": "off", "PYTHONUNBUFFERED": "1"}
    arguments = ("services.assessor", *address, *folder)
    return ProcessSpec("assessor", arguments, build_local_url(port), stop_rank=1, environ=environ)


ReportUpdate: TypeAlias = Callable[[Update], None]

CONNECT_SECONDS = 5.0
CANCEL_SECONDS = 5.0
TURN_SECONDS = 300.0  # what an assessor lets a turn take, if nobody says otherwise
JUDGING_SECONDS = 660.0  # an assessor judges for ten minutes at most, if nobody says otherwise
_UPDATE_ADAPTER: TypeAdapter[Update] = TypeAdapter(Annotated[Update, Field(discriminator="message_type")])
_RESULTS_TYPE = "assessment_results"


class RunParameters(NamedTuple):
    """The parameters of one run; the assessor chooses those that are ``None``."""

    scenario: str
    agent: str
    max_turns: int | None = None
    turn_timeout: float | None = None
    seed: int | None = None

    def build_request(self) -> JsonObject:
        limits = {"max_turns": self.max_turns, "turn_timeout": self.turn_timeout, "seed": self.seed}
        config: JsonObject = {name: value for name, value in limits.items() if value is not None}
        participants: JsonObject = {"personal_assistant": self.agent}
        return {"participants": participants, "config": {"scenario_id": self.scenario, **config}}

    @property
    def patience_seconds(self) -> float:
        """After how many seconds without an event from the assessor the run is given up."""
        return (self.turn_timeout or TURN_SECONDS) + JUDGING_SECONDS


class ProgressEvent(NamedTuple):
    """One event from the assessor: its task, the task's state, and the data parts and text that came with it."""

    task_id: str
    state: str
    data: tuple[JsonObject, ...]
    text: str


async def run_assessment(
    url: str, http: httpx.AsyncClient, parameters: RunParameters, follow: ReportUpdate
) -> AssessmentResults:
    """Run one assessment and return its results; ``follow`` is called with each update.

    If this is cancelled or fails, the assessor's task is cancelled too. Raises ``CommandError`` if the assessment ends
    without results.
    """
    task_id, results = "", None
    try:
        async with aclosing(_stream_progress_events(url, http, parameters)) as events:
            async for event in events:
                task_id = event.task_id or task_id
                for data in event.data:
                    results = _parse_results(data) or results
                    _report_update(data, follow)
                if event.state in ("failed", "canceled", "rejected"):
                    task_id = ""
                    raise CommandError(event.text or f"The assessment ended as {event.state}, without a reason.")
        if results is None:
            raise CommandError(f"The assessor at {url} ended its answer without results.")
        task_id = ""
        return results
    except httpx.TransportError as error:
        if not task_id and isinstance(error, httpx.ConnectError):
            raise CommandError(f"No assessor answers at {url}: start one with `purple up --assessor`.") from error
        raise CommandError(f"The assessor at {url} was lost on the way ({type(error).__name__}).") from error
    finally:
        if task_id:
            await _cancel_task(url, http, task_id)


async def _stream_progress_events(
    url: str, http: httpx.AsyncClient, parameters: RunParameters
) -> AsyncGenerator[ProgressEvent]:
    part: JsonObject = {"kind": "data", "data": parameters.build_request()}
    message: JsonObject = {"kind": "message", "messageId": str(uuid4()), "role": "user", "parts": [part]}
    patience = httpx.Timeout(parameters.patience_seconds, connect=CONNECT_SECONDS)
    body = _build_rpc_request("message/stream", {"message": message})
    async with aconnect_sse(http, "POST", url, json=body, timeout=patience) as stream:
        answer = stream.response
        if not answer.is_success or "text/event-stream" not in answer.headers.get("content-type", ""):
            await answer.aread()
            raise CommandError(
                f"The assessor at {url} did not take the request ({answer.status_code}).", answer.text[:500]
            )
        async for event in stream.aiter_sse():
            yield _parse_progress(url, _get_object_or_empty(_parse_json(event.data)))


async def _cancel_task(url: str, http: httpx.AsyncClient, task_id: str) -> None:
    """Ask the assessor to cancel a task; an assessor that cannot be reached is ignored."""
    try:
        async with asyncio.timeout(CANCEL_SECONDS):
            await http.post(url, json=_build_rpc_request("tasks/cancel", {"id": task_id}), timeout=CANCEL_SECONDS)
    except (httpx.TransportError, TimeoutError):
        return


def _build_rpc_request(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": "assess", "method": method, "params": params}


def _parse_progress(url: str, body: JsonObject) -> ProgressEvent:
    if problem := _get_object_or_empty(body.get("error")):
        raise CommandError(f"The assessor at {url} refused: {problem.get('message')}")
    result = _get_object_or_empty(body.get("result"))
    status = _get_object_or_empty(result.get("status"))
    parts = [*_list_message_parts(status.get("message")), *_list_message_parts(result.get("artifact"))]
    data = [
        _get_object_or_empty(part.get("data")) or _get_object_or_empty(_parse_json(part.get("text"))) for part in parts
    ]
    text = " ".join(str(part.get("text")) for part in parts if part.get("kind") == "text")
    task_id = result.get("taskId") or result.get("id") or ""
    return ProgressEvent(str(task_id), str(status.get("state", "")), tuple(filter(None, data)), text)


def _list_message_parts(holder: JsonValue) -> list[JsonObject]:
    parts = _get_object_or_empty(holder).get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _get_object_or_empty(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _parse_json(text: JsonValue) -> JsonValue:
    """The value of a JSON text; None for anything else."""
    try:
        value: JsonValue = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value


def _parse_results(data: JsonObject) -> AssessmentResults | None:
    if data.get("message_type") != _RESULTS_TYPE:
        return None
    try:
        return AssessmentResults.model_validate(data)
    except ValidationError as error:
        raise CommandError(f"The assessor's results cannot be read: {describe_first_error(error)}") from error


def _report_update(data: JsonObject, follow: ReportUpdate) -> None:
    """Call ``follow`` with the update in ``data``; an update of an unknown kind is ignored."""
    try:
        update = _UPDATE_ADAPTER.validate_python(data)
    except ValidationError:
        return
    follow(update)
