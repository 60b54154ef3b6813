"""The clients of a chaos run: messages over A2A to either gateway, again until one of them answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import httpx

from cli.gateway.messages import Speaker, TaskView, Utterance, task_view
from shared.domain.exact_json import JsonObject, dumps, loads_object
from tools.chaos.balancer import Balancer

_TIMEOUT = httpx.Timeout(20.0, connect=2.0)  # a cancel is answered when the task has ended, or after 15 seconds
_PAUSE = 0.25  # seconds between two attempts
_BUSY = (500, 502, 503, 504)
_INTERNAL = -32603  # the gateway understood, and could not: Redis does not answer


class RpcRefused(Exception):
    """A gateway understood, and said no; the message is its reason."""


class NoAnswer(Exception):
    """This attempt came to nothing: the gateway is down, slow, or says that it cannot now."""


@dataclass(frozen=True)
class AcceptedTask:
    task_id: str
    session_id: str


class GatewayCaller:
    """The gateways. Each call goes on until it is answered: whoever calls bounds it."""

    def __init__(self, urls: Sequence[str], http: httpx.AsyncClient, balancer: Balancer | None = None) -> None:
        """With a balancer it chooses among the gateways; without one they are tried in turn."""
        self._urls = tuple(urls)
        self._http = http
        self._balancer = balancer
        self.attempts = 0
        self.failed: list[str] = []  # requests that came to nothing

    async def send(self, utterance: Utterance, message_id: str, first: int = 0) -> AcceptedTask:
        """Hand a message over under that id, for good. Raises ``RpcRefused``."""
        params = utterance.as_params()
        message = params["message"]
        if isinstance(message, dict):
            message["messageId"] = message_id
        result = await self._ask_until_answered("message/send", params, first)
        return AcceptedTask(str(result.get("id")), str(result.get("contextId")))

    async def view(self, task_id: str, speaker: Speaker) -> TaskView:
        params: JsonObject = {"id": task_id, "metadata": {"principal": speaker.as_json()}}
        return task_view(await self._ask_until_answered("tasks/get", params, 0))

    async def cancel(self, task_id: str, speaker: Speaker) -> TaskView:
        params: JsonObject = {"id": task_id, "metadata": {"principal": speaker.as_json()}}
        return task_view(await self._ask_until_answered("tasks/cancel", params, 0))

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        """A plain POST of JSON to a gateway. Raises ``RpcRefused``."""
        return await self._ask_again(lambda url: self._body(f"{url}{path}", body), 0)

    async def _ask_until_answered(self, method: str, params: JsonObject, first: int) -> JsonObject:
        body: JsonObject = {"jsonrpc": "2.0", "id": "chaos", "method": method, "params": params}
        return await self._ask_again(lambda url: self._call_rpc(url, body), first)

    async def _ask_again(self, ask: Callable[[str], Awaitable[JsonObject]], first: int) -> JsonObject:
        attempt = first
        while True:
            try:
                return await ask(self._url(attempt))
            except NoAnswer as failure:
                self.failed.append(str(failure))
                attempt += 1
                await asyncio.sleep(_PAUSE)

    def _url(self, attempt: int) -> str:
        if self._balancer is None:
            return self._urls[attempt % len(self._urls)]
        if url := self._balancer.choose():
            return url
        raise NoAnswer("no gateway is ready")

    async def _call_rpc(self, url: str, body: JsonObject) -> JsonObject:
        answer = await self._body(f"{url}/", body)
        result, problem = answer.get("result"), answer.get("error")
        if isinstance(result, dict):
            return result
        raise _fault(problem if isinstance(problem, dict) else {"message": dumps(answer)})

    async def _body(self, url: str, body: JsonObject) -> JsonObject:
        self.attempts += 1
        try:
            answer = await self._http.post(
                url, content=dumps(body), headers={"Content-Type": "application/json"}, timeout=_TIMEOUT
            )
            said = loads_object(answer.text)
        except (httpx.TransportError, ValueError) as error:
            raise NoAnswer(f"{type(error).__name__}: {error}") from error
        if answer.status_code in _BUSY:
            raise NoAnswer(f"HTTP {answer.status_code}")
        if isinstance(said.get("error"), str):
            raise RpcRefused(f"HTTP {answer.status_code}: {said['error']}")
        return said


def _fault(problem: JsonObject) -> Exception:
    sentence = str(problem.get("message"))
    return NoAnswer(sentence) if problem.get("code") == _INTERNAL else RpcRefused(sentence)
