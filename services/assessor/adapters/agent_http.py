"""HTTP to the agent that is measured: with its key, to its own origin alone, and patient while it restarts."""

import asyncio
import json

import httpx
from pydantic import JsonValue

from services.assessor.ports.participants import Agent, ParticipantFailed
from shared.contracts.assessment.messages import ErrorType, JsonObject
from shared.ports.tracing import NO_TRACER, Tracer

PATIENCE_SECONDS = 30.0  # a lone process's restart
_CARD_SECONDS = 10.0
_MOST_BYTES = 8 * 1024 * 1024
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0
_NOT_LET_IN = (401, 403)
_KEY_SHOWN = "[the agent's key]"


class AgentHttpClient:
    """Sends requests to the assessed agent. ``http`` is shared and closed by whoever made it.

    A request is sent again only if no connection came about, so that the agent cannot have it already. ``patience``:
    the total seconds of such tries until the agent answers again.
    """

    def __init__(
        self, agent: Agent, http: httpx.AsyncClient, tracer: Tracer = NO_TRACER, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._agent = agent
        self._http = http
        self._tracer = tracer
        self._patience = patience
        self._away_since: float | None = None

    def require_key_may_go_to(self, url: str) -> None:
        """Raises ``ParticipantFailed`` for an endpoint that the key must not go to."""
        if self._agent.key and _origin_of(url) != _origin_of(self._agent.url):
            where = f"{url[:200]}, another origin than {self._agent.url}"
            raise ParticipantFailed("protocol_error", f"its card says that the agent is at {where}: no key goes there")

    async def fetch_card(self, path: str) -> JsonValue:
        """The JSON at a path; None where there is none. Tried once, without waiting for the agent.

        Raises ``ParticipantFailed`` if the agent does not answer, or with what is no JSON.
        """
        url = self._agent.url.rstrip("/") + path
        try:
            async with self._http.stream("GET", url, headers=self._headers(url), timeout=_CARD_SECONDS) as answer:
                content = await _read_bounded(answer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _as_failure(error) from error
        return self._parse_and_redact_answer(content, answer.status_code) if answer.is_success else None

    async def post(self, url: str, body: JsonObject, headers: dict[str, str], until: float) -> JsonValue:
        """The answer's JSON; raises ``ParticipantFailed`` if there is none.

        ``until``: the loop's time after which nothing is tried again. Only a connection that cannot be made is tried
        again.
        """
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._post_once(url, body, headers)
            except httpx.ConnectError as error:
                if (seconds_left := self._seconds_left(until)) <= 0:
                    raise _as_failure(error) from error
                await asyncio.sleep(min(pause, seconds_left))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise _as_failure(error) from error
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _seconds_left(self, until: float) -> float:
        """Seconds for which an agent that takes no connection is still waited for."""
        now = asyncio.get_running_loop().time()
        if self._away_since is None:
            self._away_since = now
        return min(until, self._away_since + self._patience) - now

    async def _post_once(self, url: str, body: JsonObject, headers: dict[str, str]) -> JsonValue:
        sent = {**headers, **self._headers(url)}
        async with self._http.stream("POST", url, json=body, headers=sent, timeout=None) as answer:  # the caller's
            self._away_since = None
            content = await _read_bounded(answer)
        if answer.status_code >= 500:
            raise ParticipantFailed("communication_error", f"the agent answered {answer.status_code}")
        if answer.status_code in _NOT_LET_IN:
            lacks = "does not take the key that it was shown" if self._agent.key else "wants a key, and none was given"
            raise ParticipantFailed("protocol_error", f"the agent answered {answer.status_code}: it {lacks}")
        return self._parse_and_redact_answer(content, answer.status_code)

    def _headers(self, url: str) -> dict[str, str]:
        here = self._tracer.traceparent()
        headers = {"traceparent": here} if here else {}
        if self._agent.key and _origin_of(url) == _origin_of(self._agent.url):
            headers["Authorization"] = f"Bearer {self._agent.key}"
        return headers

    def _parse_and_redact_answer(self, content: bytes, status: int) -> JsonValue:
        """The agent's answer as JSON, with the agent's key replaced, since the answer is logged, told and kept.

        Raises ``ParticipantFailed`` if the answer is no JSON.
        """
        try:
            value: JsonValue = json.loads(content)
            if self._agent.key and self._agent.key in (plain := json.dumps(value, ensure_ascii=False)):
                value = json.loads(plain.replace(self._agent.key, _KEY_SHOWN))
        except (ValueError, RecursionError) as error:
            raise ParticipantFailed("protocol_error", f"the agent answered {status} with what is no JSON") from error
        return value


def _origin_of(url: str) -> tuple[str, str, int | None]:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ParticipantFailed("protocol_error", "the agent's address is no URL") from error
    return parsed.scheme, parsed.host, parsed.port


async def _read_bounded(answer: httpx.Response) -> bytes:
    content = bytearray()
    async for chunk in answer.aiter_bytes():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise ParticipantFailed("protocol_error", f"the answer is larger than {_MOST_BYTES} bytes")
    return bytes(content)


def _as_failure(error: httpx.HTTPError | httpx.InvalidURL) -> ParticipantFailed:
    kind: ErrorType = "timeout" if isinstance(error, httpx.TimeoutException) else "communication_error"
    return ParticipantFailed(kind, f"the agent could not be reached: {str(error) or type(error).__name__}")
