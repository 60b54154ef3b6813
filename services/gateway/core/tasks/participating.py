"""Who listens for what assessors say, before a message is taken for a task."""

from typing import Protocol

from typing_extensions import override

from services.gateway.core.tasks.message import ClientMessage
from services.gateway.ports.identity import Caller
from shared.contracts.task import TaskRecord


class Participating(Protocol):
    async def hear(self, message: ClientMessage, caller: Caller) -> ClientMessage | TaskRecord:
        """The message as a task is to be made of it; what asks for none is done, and its answer is given at once.

        That answer is the record of a task that nobody keeps. Raises ``Refusal`` and ``StoreUnavailable``.
        """
        ...


class NoneHeard(Participating):
    @override
    async def hear(self, message: ClientMessage, caller: Caller) -> ClientMessage:
        return message
