"""The official clients as speakers: of 1.x over 1.0 and, by its own converters, over 0.3; of the 0.3 line over 0.3.

All are told and answer in the words of 1.0, so that one test asks each of them the same.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple, cast

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.compat.v0_3 import conversions as convert, types as old
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from pydantic import BaseModel
from typing_extensions import override

from shared.domain.exact_json import Json, JsonObject, loads_object, to_builtins, to_exact
from tests.conformance.replicas import PATIENCE, Replicas
from tests.conformance.speaking import NEW, REASONS, UNTOLD, Event, Reply, Speaker
from tests.contracts.sdk_of_0_3 import PYTHON
from tests.http_client import open_http

_OLD_SCRIPT = Path(__file__).with_name("old_client.py")
_NOT_SENT = httpx.Response(0)  # a client shows no response
_REQUESTS: Mapping[str, type[Message]] = {
    "SendMessage": pb.SendMessageRequest,
    "SendStreamingMessage": pb.SendMessageRequest,
    "GetTask": pb.GetTaskRequest,
    "ListTasks": pb.ListTasksRequest,
    "CancelTask": pb.CancelTaskRequest,
    "SubscribeToTask": pb.SubscribeToTaskRequest,
    "CreateTaskPushNotificationConfig": pb.TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": pb.GetTaskPushNotificationConfigRequest,
    "ListTaskPushNotificationConfigs": pb.ListTaskPushNotificationConfigsRequest,
    "DeleteTaskPushNotificationConfig": pb.DeleteTaskPushNotificationConfigRequest,
    "GetExtendedAgentCard": pb.GetExtendedAgentCardRequest,
}
_STREAMS = ("SendStreamingMessage", "SubscribeToTask")


def _request(method: str, params: JsonObject) -> Message:
    return ParseDict(cast("dict[str, object]", to_builtins(params)), _REQUESTS[method]())


def _shown(message: Message | None) -> JsonObject:
    return cast(JsonObject, to_exact(MessageToDict(message))) if message is not None else {}


class _ClientSpeaker(Speaker):
    """What all official clients have in common: no headers of ours, and errors that are raised."""

    def events(self, method: str, params: JsonObject) -> AsyncGenerator[JsonObject, None]:
        """What a stream tells; raises ``_Refused``."""
        raise NotImplementedError

    async def value(self, method: str, params: JsonObject) -> JsonObject:
        """An answer; raises ``_Refused``."""
        raise NotImplementedError

    @override
    async def call(self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW) -> Reply:
        assert headers is NEW, "a client has its own headers"
        try:
            if method not in _STREAMS:
                return Reply(await self.value(method, params), "", _NOT_SENT)
            async for _ in self.events(method, params):
                pass
        except _Refused as refused:
            return Reply({}, refused.reason, _NOT_SENT)
        return Reply({}, "", _NOT_SENT)

    @override
    async def stream(
        self, method: str, params: JsonObject, headers: Mapping[str, str] = NEW
    ) -> AsyncGenerator[Event, None]:
        assert headers is NEW, "a client has its own headers"
        async for value in self.events(method, params):
            yield Event("", value)

    @override
    async def call_as_nobody(self, method: str, params: JsonObject) -> httpx.Response:
        raise NotImplementedError("a client shows no response")


class _Refused(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NewClient(_ClientSpeaker):
    """The client of 1.x. ``polls`` answers at once, ``streams`` follows."""

    def __init__(self, polls: Client, streams: Client) -> None:
        self._polls, self._streams = polls, streams

    @override
    async def value(self, method: str, params: JsonObject) -> JsonObject:
        request = _request(method, params)
        try:
            if method == "SendMessage":
                (event,) = [one async for one in self._polls.send_message(cast(pb.SendMessageRequest, request))]
                return _shown(event)
            return _shown(await self._act(method)(request))
        except A2AError as error:
            raise _Refused(REASONS[JSON_RPC_ERROR_CODE_MAP[type(error)]]) from error

    @override
    async def events(self, method: str, params: JsonObject) -> AsyncGenerator[JsonObject, None]:
        request = _request(method, params)
        send: Callable[..., AsyncIterator[pb.StreamResponse]] = self._streams.send_message
        try:
            async for event in (send if method == "SendStreamingMessage" else self._streams.subscribe)(request):
                yield _shown(event)
        except A2AError as error:
            raise _Refused(REASONS[JSON_RPC_ERROR_CODE_MAP[type(error)]]) from error

    def _act(self, method: str) -> Callable[..., "asyncio.Future[Message | None]"]:
        client = self._polls
        acts = {
            "GetTask": client.get_task,
            "ListTasks": client.list_tasks,
            "CancelTask": client.cancel_task,
            "CreateTaskPushNotificationConfig": client.create_task_push_notification_config,
            "GetTaskPushNotificationConfig": client.get_task_push_notification_config,
            "ListTaskPushNotificationConfigs": client.list_task_push_notification_configs,
            "DeleteTaskPushNotificationConfig": client.delete_task_push_notification_config,
            "GetExtendedAgentCard": client.get_extended_agent_card,
        }
        return cast("Callable[..., asyncio.Future[Message | None]]", acts[method])


@asynccontextmanager
async def new_client(
    full: Replicas, binding: str, version: str, *, tenant: str = "", person: str = "casey"
) -> AsyncIterator[NewClient]:
    """``binding`` as cards name it; ``version`` is that of the interface, 1.0 or 0.3, and ``tenant`` its tenant."""
    interface = pb.AgentInterface(url=full.url, protocol_binding=binding, protocol_version=version, tenant=tenant)
    abilities = pb.AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True)
    card = pb.AgentCard(name="purple", version="1", supported_interfaces=[interface], capabilities=abilities)
    headers = full.headers_of(person)
    async with open_http(timeout=PATIENCE, trust_env=False, headers=headers) as http:
        made = [
            ClientFactory(
                ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
            ).create(card)
            for streaming in (False, True)
        ]
        yield NewClient(*made)


class _OldMethod(NamedTuple):
    """What turns a request into the old client's words, and its answer into those of 1.0."""

    ask: Callable[..., BaseModel]
    read: Callable[[JsonObject], Message | None]


def _old_task(value: JsonObject) -> Message:
    return convert.to_core_task(old.Task.model_validate(value))


def _old_event(value: JsonObject) -> Message:
    return convert.to_core_stream_response(old.SendStreamingMessageSuccessResponse.model_validate({"result": value}))


def _old_card(value: JsonObject) -> Message:
    return convert.to_core_agent_card(old.AgentCard.model_validate(value))


def _old_hook(value: JsonObject) -> Message:
    return convert.to_core_task_push_notification_config(old.TaskPushNotificationConfig.model_validate(value))


_OLD: Mapping[str, _OldMethod] = {
    "SendMessage": _OldMethod(convert.to_compat_send_message_request, _old_event),
    "SendStreamingMessage": _OldMethod(convert.to_compat_send_message_request, _old_event),
    "GetTask": _OldMethod(convert.to_compat_get_task_request, _old_task),
    "CancelTask": _OldMethod(convert.to_compat_cancel_task_request, _old_task),
    "SubscribeToTask": _OldMethod(convert.to_compat_subscribe_to_task_request, _old_event),
    "CreateTaskPushNotificationConfig": _OldMethod(
        convert.to_compat_create_task_push_notification_config_request, _old_hook
    ),
    "GetTaskPushNotificationConfig": _OldMethod(convert.to_compat_get_task_push_notification_config_request, _old_hook),
    "GetExtendedAgentCard": _OldMethod(convert.to_compat_get_extended_agent_card_request, _old_card),
}


class OldClient(_ClientSpeaker):
    """The client of the 0.3 line, in a process of its own: one call at a time, a line of JSON each way."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @override
    async def value(self, method: str, params: JsonObject) -> JsonObject:
        values = [value async for value in self.events(method, params)]
        return values[-1] if values else {}

    @override
    async def events(self, method: str, params: JsonObject) -> AsyncGenerator[JsonObject, None]:
        known = _OLD[method]
        asked = known.ask(_request(method, params), 1).model_dump(mode="json", by_alias=True, exclude_none=True)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"method": method, "params": asked.get("params")}).encode() + b"\n")
        while line := await stdout.readline():
            said = loads_object(line)
            if "value" not in said:
                break
            yield _shown(known.read(_plain(said["value"])))
        else:
            raise EOFError("the old client has ended")
        if refused := said.get("refused"):
            raise _Refused(REASONS.get(int(str(refused)), UNTOLD))


def _plain(value: Json) -> JsonObject:
    return cast(JsonObject, json.loads(json.dumps(to_builtins(cast(JsonObject, value)))))


class OldClients:
    """The old client over each binding, begun when it is first asked for."""

    def __init__(self, full: Replicas) -> None:
        self._full, self._begun = full, dict[str, OldClient]()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "OldClients":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def over(self, binding: str) -> OldClient:
        if binding not in self._begun:
            self._begun[binding] = OldClient(await self._begin(binding))
        return self._begun[binding]

    async def _begin(self, binding: str) -> asyncio.subprocess.Process:
        pipe, token = asyncio.subprocess.PIPE, self._full.tokens["casey"]
        command = (str(PYTHON), str(_OLD_SCRIPT), self._full.url, binding, token)
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=2**20)
        self._stack.push_async_callback(process.wait)
        self._stack.callback(process.kill)
        return process
