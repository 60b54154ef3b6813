"""The clients of a chaos run: messages over A2A to either gateway, again until one of them answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import httpx

from cli.gateway.messages import OutgoingMessage, Speaker, TaskView, parse_task_view
from shared.domain.exact_json import JsonObject, dumps, loads_object
from tools.chaos.balancer import Balancer
from tools.chaos.tenants import FIRST, TenantTokens

_TIMEOUT = httpx.Timeout(20.0, connect=2.0)  # a cancel is answered when the task has ended, or after 15 seconds
_PAUSE = 0.25  # seconds between two attempts
_SEND = "message/send"
_TOO_MANY = 429
_BUSY = (500, 502, 503, 504)
_INTERNAL = -32603  # the gateway understood, and could not: Redis does not answer


class RpcRefused(Exception):
    """A gateway understood, and said no; the message is its reason."""


class NoAnswer(Exception):
    """This attempt came to nothing: the gateway is down, slow, or says that it cannot now."""


class TooManyForNow(NoAnswer):
    """The gateway takes no more for now: nothing was stored."""


@dataclass(frozen=True)
class AcceptedTask:
    task_id: str
    session_id: str
    tenant: str = FIRST


class GatewayCaller:
    """The gateways. Each call goes on until it is answered: whoever calls bounds it."""

    def __init__(
        self,
        urls: Sequence[str],
        http: httpx.AsyncClient,
        balancer: Balancer | None = None,
        keyring: TenantTokens | None = None,
    ) -> None:
        """With a balancer it chooses among the gateways; without one they are tried in turn."""
        self._keyring = keyring or TenantTokens()
        self._urls = tuple(urls)
        self._http = http
        self._balancer = balancer
        self.attempts = 0
        self.failed: list[str] = []  # requests that came to nothing

    async def send(
        self, utterance: OutgoingMessage, message_id: str, first: int = 0, tenant: str = FIRST
    ) -> AcceptedTask:
        """Hand a message over under that id, for good. Raises ``RpcRefused``."""
        params = _set_message_id(utterance.build_params(), message_id)
        headers = self._keyring.headers(tenant, utterance.speaker.name)
        result = await self._ask_until_answered(_SEND, params, first, headers)
        return AcceptedTask(str(result.get("id")), str(result.get("contextId")), tenant)

    async def send_once(self, url: str, utterance: OutgoingMessage, message_id: str, tenant: str) -> AcceptedTask:
        """One attempt. Raises ``NoAnswer``, ``TooManyForNow`` and ``RpcRefused``."""
        params = _set_message_id(utterance.build_params(), message_id)
        body: JsonObject = {"jsonrpc": "2.0", "id": "chaos", "method": _SEND, "params": params}
        result = await self._call_rpc(url, body, self._keyring.headers(tenant, utterance.speaker.name))
        return AcceptedTask(str(result.get("id")), str(result.get("contextId")), tenant)

    async def view(self, task: AcceptedTask, speaker: Speaker) -> TaskView:
        return parse_task_view(await self.ask_about_task(task.task_id, "tasks/get", speaker, task.tenant))

    async def cancel(self, task: AcceptedTask, speaker: Speaker) -> TaskView:
        return parse_task_view(await self.ask_about_task(task.task_id, "tasks/cancel", speaker, task.tenant))

    async def post(self, path: str, body: JsonObject, speaker: Speaker, tenant: str) -> JsonObject:
        """A plain POST of JSON to a gateway. Raises ``RpcRefused``."""
        headers = self._keyring.headers(tenant, speaker.name)
        return await self._ask_again(lambda url: self._post_once(f"{url}{path}", body, headers), 0)

    async def ask_about_task(self, task_id: str, method: str, speaker: Speaker, tenant: str) -> JsonObject:
        """Ask about a task with the tenant's key. Raises ``RpcRefused``, as where the task is another tenant's."""
        params: JsonObject = {"id": task_id, "metadata": {"principal": speaker.build_metadata()}}
        return await self._ask_until_answered(method, params, 0, self._keyring.headers(tenant, speaker.name))

    async def _ask_until_answered(
        self, method: str, params: JsonObject, first: int, headers: Mapping[str, str]
    ) -> JsonObject:
        body: JsonObject = {"jsonrpc": "2.0", "id": "chaos", "method": method, "params": params}
        return await self._ask_again(lambda url: self._call_rpc(url, body, headers), first)

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

    async def _call_rpc(self, url: str, body: JsonObject, headers: Mapping[str, str]) -> JsonObject:
        answer = await self._post_once(f"{url}/", body, headers)
        result, problem = answer.get("result"), answer.get("error")
        if isinstance(result, dict):
            return result
        raise _rpc_fault(problem if isinstance(problem, dict) else {"message": dumps(answer)})

    async def _post_once(self, url: str, body: JsonObject, headers: Mapping[str, str]) -> JsonObject:
        self.attempts += 1
        try:
            told = {"Content-Type": "application/json", **headers}
            answer = await self._http.post(url, content=dumps(body), headers=told, timeout=_TIMEOUT)
            said = loads_object(answer.text)
        except (httpx.TransportError, ValueError) as error:
            raise NoAnswer(f"{type(error).__name__}: {error}") from error
        if answer.status_code == _TOO_MANY:
            raise TooManyForNow(f"HTTP {answer.status_code}")
        if answer.status_code in _BUSY:
            raise NoAnswer(f"HTTP {answer.status_code}")
        if isinstance(said.get("error"), str):
            raise RpcRefused(f"HTTP {answer.status_code}: {said['error']}")
        return said


def _set_message_id(params: JsonObject, message_id: str) -> JsonObject:
    message = params["message"]
    return {**params, "message": {**message, "messageId": message_id} if isinstance(message, dict) else message}


def _rpc_fault(problem: JsonObject) -> Exception:
    sentence = str(problem.get("message"))
    return NoAnswer(sentence) if problem.get("code") == _INTERNAL else RpcRefused(sentence)
