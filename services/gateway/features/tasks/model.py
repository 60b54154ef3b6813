"""The gateway's port to clients' own ids."""

from typing import NamedTuple, Protocol

from shared.contracts.task import TaskRecord


class MessageKey(NamedTuple):
    """Under what is noted what became of a message: what its client calls the task, and the message's fingerprint."""

    tenant: str
    alias: str
    fingerprint: str = ""


class FoundTask(NamedTuple):
    """The newest task that a client's id leads to, and what is noted of one message under that id.

    ``signalled``: the decision already passed on. ``answered``: the last turn whose answer the client received; until
    then the same message is the same turn.
    """

    key: MessageKey
    record: TaskRecord | None = None
    signalled: str = ""
    answered: str = ""


class ClientIds(Protocol):
    """Where clients' own task ids lead, and what became of messages. All methods may raise ``StoreUnavailable``."""

    async def find(self, key: MessageKey) -> FoundTask: ...

    async def note_task(self, key: MessageKey, task_id: str) -> None: ...

    async def note_signal(self, key: MessageKey, turn_id: str) -> None: ...

    async def note_answer(self, key: MessageKey, turn_id: str) -> None: ...
