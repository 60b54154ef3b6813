"""The port for clients' own task ids, and for recognising repeated messages."""

from typing import NamedTuple, Protocol

from shared.contracts.task import TaskRecord


class MessageKey(NamedTuple):
    """Identifies a message of a task. ``alias``: the client's id of the task; ``fingerprint``: of the message."""

    tenant: str
    alias: str
    fingerprint: str = ""


class FoundTask(NamedTuple):
    """The newest task with a client's id, and what is recorded of one message with that id.

    ``signalled``: the turn of a decision that was already stored. ``answered``: the last turn whose answer the client
    has received; before that, an equal message is a repeat.
    """

    key: MessageKey
    record: TaskRecord | None = None
    signalled: str = ""
    answered: str = ""


class ClientIds(Protocol):
    """Maps clients' own task ids to tasks, and records messages' turns. All methods may raise ``StoreUnavailable``."""

    async def find(self, key: MessageKey) -> FoundTask: ...

    async def record_task(self, key: MessageKey, task_id: str) -> None: ...

    async def record_signal(self, key: MessageKey, turn_id: str) -> None: ...

    async def record_answer_received(self, key: MessageKey, turn_id: str) -> None: ...
