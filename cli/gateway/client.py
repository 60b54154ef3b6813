"""A client of the gateway's public API (messages over A2A, events over SSE), and what commands that use it share."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

import httpx
import typer
from httpx_sse import ServerSentEvent, aconnect_sse
from rich.table import Table

from cli.console import CommandError, out, print_answer
from cli.gateway.messages import Event, OutgoingMessage, Speaker, TaskView, parse_task_view
from cli.stack.registry import find_gateway_url
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads_object, objects_in
from shared.domain.words import Role
from shared.infra.tls import load_client_tls_context

REQUEST_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
API_KEY_VARIABLE = "PURPLE_API_KEY"
_KEY_NEEDED_SENTENCE = "{url} lets nobody in without a good API key in PURPLE_API_KEY: {problem}"
STREAM_TIMEOUT = httpx.Timeout(60.0, connect=5.0)  # the gateway sends a comment every 15 seconds
MOST_RECONNECTS = 10  # in a row, before a person is told
RECONNECT_SECONDS = 0.5


class GatewayUnreachable(CommandError):
    """No gateway answers at the URL."""


class GatewayClient:
    """Sends requests to one gateway. Raises ``CommandError`` for whatever a person should be told."""

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self.url, self._http = url.rstrip("/"), http

    async def send_message(self, message: OutgoingMessage) -> TaskView:
        """Send a message; returns the task as soon as it is durably accepted."""
        return parse_task_view(await self._call_rpc("message/send", message.build_params()))

    async def get_task(self, task_id: str) -> TaskView:
        return parse_task_view(await self._call_rpc("tasks/get", {"id": task_id}))

    async def cancel_task(self, task_id: str, claim: JsonObject) -> TaskView:
        """Cancel the task before its next call; writes already made stay. ``claim``: says who asks for it."""
        return parse_task_view(await self._call_rpc("tasks/cancel", {"id": task_id, **claim}))

    async def request_json(self, verb: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """Send a request to one of the gateway's own paths, and return its JSON answer; ``build_path`` builds paths.

        Raises ``CommandError`` for a refusal, or if the gateway does not answer.
        """
        call_action, reply = await self._send_request(verb, path, body, verb)
        if call_action.is_success:
            return reply
        raise _build_refusal(f"{verb} {path}", call_action, reply.get("error"))

    async def read_all_pages(self, path: str, name: str, parameters: dict[str, str]) -> JsonObject:
        """Read all pages of a list; returns the last one without its token, and with all rows under ``name``."""
        rows: list[Json] = []
        while True:
            page = await self.request_json("GET", f"{path}?{urlencode(parameters)}")
            rows += objects_in(page.get(name))
            if not (token := page.pop("token", "")):
                return {**page, name: rows}
            parameters = {**parameters, "token": str(token)}

    async def stream_events(self, task_id: str, after: str = "") -> AsyncIterator[Event]:
        """Yields the task's events after the event id ``after``, until the task has ended or waits for a person.

        If the stream breaks, it is resumed after the last event; if no gateway answers, raises ``GatewayUnreachable``.
        """
        tries_left, is_interrupted = MOST_RECONNECTS, True
        while is_interrupted and tries_left:
            is_interrupted = False
            try:
                async with aclosing(self._stream_sse_events(task_id, after)) as lines:
                    async for line in lines:
                        is_interrupted = is_interrupted or line.retry is not None  # the replica's last words
                        if line.data and line.event != "snapshot":  # in place of events that are kept no longer
                            yield _parse_event(line.id, line.event, loads_object(line.data))
                            after, tries_left = line.id or after, MOST_RECONNECTS
            except httpx.TransportError as error:
                if tries_left == 1 or not after:
                    raise self._build_unreachable_error(error) from error
                is_interrupted = True
            tries_left -= 1
            await asyncio.sleep(RECONNECT_SECONDS if is_interrupted else 0)

    async def _stream_sse_events(self, task_id: str, after: str) -> AsyncGenerator[ServerSentEvent]:
        headers = {"Last-Event-ID": after} if after else {}
        url = f"{self.url}{build_path('tasks', task_id, 'events')}"
        async with aconnect_sse(self._http, "GET", url, headers=headers, timeout=STREAM_TIMEOUT) as source:
            if not source.response.is_success:
                raise CommandError(f"{self.url} shows no events of task {task_id} ({source.response.status_code}).")
            async for line in source.aiter_sse():
                yield line

    async def _call_rpc(self, method: str, params: JsonObject) -> JsonObject:
        call: JsonObject = {"jsonrpc": "2.0", "id": "cli", "method": method, "params": params}
        call_action, reply = await self._send_request("POST", "/", call, method)
        result, problem = reply.get("result"), reply.get("error")
        if isinstance(result, dict):
            return result
        raise _build_refusal(method, call_action, problem.get("message") if isinstance(problem, dict) else problem)

    async def _send_request(
        self, verb: str, path: str, body: JsonObject | None, request_name: str
    ) -> tuple[httpx.Response, JsonObject]:
        """Send a request; returns the response and its JSON object. ``request_name`` is for errors."""
        content = None if body is None else dumps(body)
        headers, url = {"Content-Type": "application/json"}, f"{self.url}{path}"
        try:
            call_action = await self._http.request(verb, url, content=content, headers=headers, timeout=REQUEST_TIMEOUT)
            return call_action, loads_object(call_action.text)
        except httpx.TransportError as error:
            raise self._build_unreachable_error(error) from error
        except ValueError as error:
            sentence = f"{call_action.url} answered {request_name} with {call_action.status_code} and no JSON."
            raise CommandError(sentence) from error

    def _build_unreachable_error(self, error: httpx.TransportError) -> GatewayUnreachable:
        sentence = f"No gateway answers at {self.url} ({type(error).__name__}): start one with `purple up`."
        return GatewayUnreachable(sentence)


def require_http_url(url: str, service: str) -> str:
    """The URL of a service, such as ``gateway``; raises ``CommandError`` unless it is an HTTP URL with a host."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise CommandError(f"{url} is no {service}'s URL: it has to begin with http:// or https:// and a host.")
    return url


def read_key_variable(variable: str) -> str:
    """The key in a variable of the environment, without white space around it; empty if there is none.

    Raises ``CommandError`` for what no header can carry.
    """
    key = os.environ.get(variable, "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise CommandError(f"{variable} holds a blank, a line break or a letter that no key has.")
    return key


def build_path(*segments: str) -> str:
    """A URL path of these segments, each quoted, since ids are chosen by clients."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


@asynccontextmanager
async def connect_gateway(url: str) -> AsyncIterator[GatewayClient]:
    """Yields a client that sends the key in ``PURPLE_API_KEY``, if set. An empty ``url``: that of the local stack."""
    key = read_key_variable(API_KEY_VARIABLE)
    headers, tls = {"Authorization": f"Bearer {key}"} if key else None, load_client_tls_context()
    async with httpx.AsyncClient(trust_env=False, headers=headers, verify=tls) as http:
        yield GatewayClient(require_http_url(url or find_gateway_url(), "gateway"), http)


def _build_refusal(request_name: str, call_action: httpx.Response, problem: Json) -> CommandError:
    if call_action.status_code == 401:
        return CommandError(_KEY_NEEDED_SENTENCE.format(url=call_action.url, problem=problem))
    return CommandError(f"The gateway refused {request_name}: {problem or f'HTTP {call_action.status_code}'}")


def _parse_event(event_id: str, kind: str, body: JsonObject) -> Event:
    moment = datetime.fromisoformat(str(body["at"])) if "at" in body else datetime.now().astimezone()
    return Event(event_id, str(body.get("kind", kind)), moment, as_object(body.get("data")))


T = TypeVar("T")
SpeakerName = Annotated[str, typer.Option("--as", help="Who speaks (believed in the embedded profile only).")]
Gateway = Annotated[
    str,
    typer.Option(
        "--url",
        help="The gateway; without it the stack that runs here, or http://127.0.0.1:9010.",
        envvar="PURPLE_URL",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]


def ask_gateway(url: str, verb: str, path: str, body: JsonObject | None = None) -> JsonObject:
    """Send a request to one of the gateway's own paths, and return its JSON answer."""
    return run_with_gateway(url, lambda client: client.request_json(verb, path, body))


def ask_as_operator(url: str, speaker: str, *segments: str, body: JsonObject | None = None) -> JsonObject:
    """POST to the path of these segments as the operator ``speaker``, and return the JSON answer."""
    return ask_gateway(url, "POST", build_path(*segments), {**(body or {}), **build_speaker_claim(speaker)})


def run_with_gateway(url: str, action: Callable[[GatewayClient], Awaitable[T]]) -> T:
    """Call ``action`` with a client of the gateway, and return its result."""

    async def call_action() -> T:
        async with connect_gateway(url) as client:
            return await action(client)

    return asyncio.run(call_action())


def build_speaker(name: str, roles: tuple[str, ...], levels: tuple[str, ...] = ()) -> Speaker:
    """The speaker of a message; without a name, the user who runs the command. A key says by itself who speaks."""
    return Speaker("" if read_key_variable(API_KEY_VARIABLE) else name or os.environ.get("USER", "cli"), roles, levels)


def build_speaker_claim(name: str, role: Role = Role.OPERATOR, levels: tuple[str, ...] = ()) -> JsonObject:
    """The part of a request's body that says who sends it (believed in the embedded profile only)."""
    return {"metadata": {"principal": build_speaker(name, (role.value,), levels).build_metadata()}}


def print_rows(
    call_action: JsonObject,
    name: str,
    build_table: Callable[[list[JsonObject]], Table],
    empty_text: str,
    *,
    as_json: bool,
) -> None:
    """Print ``call_action`` as JSON, or its rows under ``name`` as a table; without rows, ``empty_text``."""
    rows = objects_in(call_action.get(name))
    print_answer(call_action, lambda _: out.print(build_table(rows) if rows else empty_text), as_json=as_json)
