"""The A2A handler of the assessor: a message with a credential in it is refused before anything of it is kept."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.types.a2a_pb2 import Message, SendMessageRequest, Task
from a2a.utils.errors import InvalidParamsError
from typing_extensions import override

from services.assessor.entrypoints.request import KeyInMessage, check_no_credential


class CredentialRefusingHandler(DefaultRequestHandler):
    @override
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        _refuse_credential(params)
        answer: Message | Task = await super().on_message_send(params, context)
        return answer

    @override
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        _refuse_credential(params)
        async with aclosing(super().on_message_send_stream(params, context)) as events:
            async for event in events:
                yield event


def _refuse_credential(params: SendMessageRequest) -> None:
    try:
        check_no_credential(params.message)
    except KeyInMessage as error:
        raise InvalidParamsError(str(error)) from None
