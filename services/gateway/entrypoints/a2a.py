"""Protocols 0.3 and 1.0 through the official SDK, on our own task desk."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as sdk
from starlette.requests import Request
from typing_extensions import override

from services.gateway.core import errors
from services.gateway.core.desk import TaskDesk
from services.gateway.core.message import ClientMessage
from services.gateway.entrypoints.a2a_view import a2a_view
from services.gateway.ports import Caller, StoreUnavailable
from shared.contracts.task import TaskRecord

SCOPE_KEY = "purple.request"
_ERRORS: dict[type[Exception], type[sdk.A2AError]] = {
    errors.InvalidField: sdk.InvalidParamsError,
    errors.UnknownTask: sdk.TaskNotFoundError,
    errors.NotCancelable: sdk.TaskNotCancelableError,
    errors.PushUnsupported: sdk.PushNotificationNotSupportedError,
    errors.Unsupported: sdk.UnsupportedOperationError,
    errors.TaskHasEnded: sdk.UnsupportedOperationError,
    errors.TenantStopped: sdk.InternalError,
    errors.UnsupportedContent: sdk.ContentTypeNotSupportedError,
    StoreUnavailable: sdk.InternalError,
}


class Understood:
    """What was read from a request before the SDK saw it: who calls, and the message if it brings one."""

    def __init__(self, caller: Caller, message: ClientMessage | None) -> None:
        self.caller, self.message = caller, message


class ContextBuilder(DefaultServerCallContextBuilder):
    """Hands what we understood on to the handler, through the SDK's dispatchers."""

    @override
    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state[SCOPE_KEY] = request.scope[SCOPE_KEY]
        return context


class DeskHandler(RequestHandler):
    """The SDK's handler interface on the task desk. Nothing lives in this process between two calls."""

    def __init__(self, desk: TaskDesk, notice: str) -> None:
        self._desk, self._notice = desk, notice

    @override
    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task | pb.Message:
        understood = _understood(context)
        if understood.message is None:
            raise sdk.InvalidParamsError(message="params.message: is required")
        with _translated():
            ticket = await self._desk.submit(understood.message, understood.caller)
            if params.configuration.return_immediately:
                return self._view(ticket.record, params.configuration)
            return self._view(await self._desk.wait(ticket, understood.caller), params.configuration)

    @override
    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task | None:
        with _translated():
            return self._view(await self._desk.read(params.id, _understood(context).caller), params)

    @override
    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task | None:
        with _translated():
            return a2a_view(await self._desk.cancel(params.id, _understood(context).caller), self._notice)

    @override
    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        raise _no_streams()
        yield

    @override
    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        raise _no_streams()
        yield

    @override
    async def on_list_tasks(self, params: pb.ListTasksRequest, context: ServerCallContext) -> pb.ListTasksResponse:
        raise sdk.UnsupportedOperationError(message="listing tasks is not offered")

    @override
    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        raise _no_push()

    @override
    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        raise _no_push()

    @override
    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        raise _no_push()

    @override
    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        raise _no_push()

    @override
    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        raise sdk.UnsupportedOperationError(message="there is no extended card")

    def _view(self, record: TaskRecord, limits: pb.SendMessageConfiguration | pb.GetTaskRequest) -> pb.Task:
        length = limits.history_length if limits.HasField("history_length") else None
        return a2a_view(record, self._notice, length)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (errors.Refusal, StoreUnavailable) as fault:
        raise _ERRORS[type(fault)](message=str(fault)) from fault


def _understood(context: ServerCallContext) -> Understood:
    found = context.state[SCOPE_KEY]
    if not isinstance(found, Understood):
        raise TypeError(f"expected what was understood of the request, got {type(found).__name__}")
    return found


def _no_streams() -> sdk.A2AError:
    return sdk.UnsupportedOperationError(message="streaming over JSON-RPC is not offered; read GET /tasks/{id}/events")


def _no_push() -> sdk.A2AError:
    return sdk.PushNotificationNotSupportedError(message=str(errors.PushUnsupported()))
