"""The ``Participant`` port over A2A: protocol 0.3 or 1.0, whichever the agent's card offers; JSON-RPC over HTTP."""

import asyncio
from uuid import uuid4

import httpx
from pydantic import JsonValue
from typing_extensions import override

from services.assessor.adapters.a2a_replies import read_replies
from services.assessor.adapters.agent_http import PATIENCE_SECONDS, AgentHttpClient
from services.assessor.ports.participants import Agent, Participant, ParticipantFailed
from shared.contracts.assessment.messages import AssessmentMessage, JsonObject
from shared.domain import span_names as names
from shared.ports.tracing import NO_TRACER, SpanKind, Tracer

_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_TELL_SECONDS = 10.0
_POLL_SECONDS = 0.5
_RETRY_SHARE = 0.9  # of a turn's time: then an agent that takes no connection is given up, so that it is told apart
_METHODS = {"0.3": ("message/send", "tasks/get"), "1.0": ("SendMessage", "GetTask")}


class A2aParticipant(Participant):
    """One assessment is one context: each message carries its id. ``http`` is shared and closed by whoever made it.

    A question is asked again, with the same id, of an agent that takes no connection for up to ``patience`` seconds.
    """

    def __init__(
        self,
        agent: Agent | str,
        http: httpx.AsyncClient,
        poll_seconds: float = _POLL_SECONDS,
        tracer: Tracer = NO_TRACER,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._agent = Agent(agent) if isinstance(agent, str) else agent
        self._line = AgentHttpClient(self._agent, http, tracer, patience)
        self._tracer = tracer
        self._poll = poll_seconds
        self._context_id = str(uuid4())
        self._endpoint: tuple[str, str] | None = None

    @property
    @override
    def url(self) -> str:
        return self._agent.url

    @override
    async def tell(self, message: AssessmentMessage) -> None:
        """Sends a message without waiting for its reply; an agent that does not answer in time counts as told."""
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                with self._tracer.open_span(_make_message_id(message), SpanKind.CLIENT):
                    await self._send_message(message, blocking=False, until=0.0)
        except TimeoutError:
            return

    @override
    async def ask(self, message: AssessmentMessage, timeout: float) -> JsonObject:
        try:
            async with asyncio.timeout(timeout):
                with self._tracer.open_span(_make_message_id(message), SpanKind.CLIENT):
                    return await self._await_reply_data(message, _now() + timeout * _RETRY_SHARE)
        except TimeoutError as error:
            raise ParticipantFailed("timeout", f"no answer came within {timeout:g} seconds") from error

    async def _await_reply_data(self, message: AssessmentMessage, until: float) -> JsonObject:
        """The data of the participant's reply. While its task still works, it is asked for again.

        Raises ``ParticipantFailed`` if the reply has no data. ``until``: on the event loop's clock, when requests are
        no longer repeated.
        """
        reading = read_replies(await self._send_message(message, blocking=True, until=until))
        while reading.data is None and reading.working_task is not None:
            await asyncio.sleep(self._poll)
            reading = read_replies(await self._get_task(reading.working_task, until))
        if reading.data is None:
            raise ParticipantFailed("protocol_error", reading.problem)
        return reading.data

    async def _send_message(self, message: AssessmentMessage, blocking: bool, until: float) -> JsonValue:
        url, version = await self._find_endpoint()
        params = _build_params(message.to_json(), version, str(uuid4()), self._context_id, blocking)
        return await self._call_method(url, version, _METHODS[version][0], params, until)

    async def _get_task(self, task_id: str, until: float) -> JsonValue:
        url, version = await self._find_endpoint()
        return await self._call_method(url, version, _METHODS[version][1], {"id": task_id}, until)

    async def _call_method(self, url: str, version: str, method: str, params: JsonObject, until: float) -> JsonValue:
        body: JsonObject = {"jsonrpc": "2.0", "id": str(uuid4()), "method": method, "params": params}
        headers = {"A2A-Version": version} if version == "1.0" else {}
        answer = await self._line.post(url, body, headers, until)
        if not isinstance(answer, dict):
            raise ParticipantFailed("protocol_error", "the answer is no JSON-RPC response")
        error = answer.get("error")
        if error is not None:
            error_message = error.get("message") if isinstance(error, dict) else error
            raise ParticipantFailed("protocol_error", f"the agent answered with an error: {str(error_message)[:300]}")
        return answer.get("result")

    async def _find_endpoint(self) -> tuple[str, str]:
        """The agent's URL for messages and its protocol version; read from its card once."""
        if self._endpoint is None:
            url, version = await self._endpoint_from_card()
            self._line.require_key_may_go_to(url)
            self._endpoint = url, version
        return self._endpoint

    async def _endpoint_from_card(self) -> tuple[str, str]:
        """The URL and version in the agent's card; without a card its own URL, and 0.3."""
        for path in _CARDS:
            card = await self._line.fetch_card(path)
            if card is not None:
                return _choose_endpoint(card, self.url)
        return self.url, "0.3"


def _make_message_id(message: AssessmentMessage) -> str:
    return names.AGENT.format(message=message.to_json()["message_type"])


def _now() -> float:
    return asyncio.get_running_loop().time()


def _build_params(data: JsonObject, version: str, message_id: str, context_id: str, blocking: bool) -> JsonObject:
    if version == "1.0":
        return {
            "message": {
                "messageId": message_id,
                "contextId": context_id,
                "role": "ROLE_USER",
                "parts": [{"data": data}],
            },
            "configuration": {"returnImmediately": not blocking},
        }
    return {
        "message": {
            "kind": "message",
            "messageId": message_id,
            "contextId": context_id,
            "role": "user",
            "parts": [{"kind": "data", "data": data}],
        },
        "configuration": {"blocking": blocking},
    }


def _choose_endpoint(card: JsonValue, url: str) -> tuple[str, str]:
    """The URL and version of a card's 0.3 endpoint if it has one, since participants were written for it, else of 1.0.

    ``url``: the agent's own, which counts as 0.3 for a card that names none.
    """
    if not isinstance(card, dict):
        return url, "0.3"
    listed = card.get("supportedInterfaces")
    interfaces = [interface for interface in listed if isinstance(interface, dict)] if isinstance(listed, list) else []
    urls_by_version = {
        str(interface.get("protocolVersion")): str(interface.get("url"))
        for interface in interfaces
        if str(interface.get("protocolBinding", "JSONRPC")).upper() == "JSONRPC"
    }
    for version in ("0.3", "0.3.0", "1.0"):
        if version in urls_by_version:
            return urls_by_version[version], version[:3]
    main = card.get("url")
    return (main if isinstance(main, str) and main else url), "0.3"
