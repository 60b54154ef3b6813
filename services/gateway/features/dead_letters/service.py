"""An operator's actions on dead letters: show, start again, requeue, drop."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.edge.errors import NotFound, WouldRepeatWrites
from services.gateway.edge.ids import derive_id
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.task import HistoryMessage, TaskRecord, Turn, TurnKind
from shared.ports.tasks import Tasks, Wakes


class LetterKind(StrEnum):
    TURN = "turn"
    OUTCOME = "outcome"


class DeadLetter(NamedTuple):
    """A turn that was given up, or an outcome that could not be learned from.

    ``content`` is a ``DeadTurn`` or a ``TaskOutcome``. If it cannot be read, ``tenant`` is None and there is no
    content.
    """

    letter_id: str
    kind: LetterKind
    at: datetime
    tenant: str | None = None
    session_id: str = ""
    task_id: str = ""
    reason: str = ""
    error: str = ""
    tries: int = 0
    content: str = ""


class DeadLetters(Protocol):
    """The dead letters. All methods may raise ``StoreUnavailable``.

    A letter whose tenant cannot be read belongs to every tenant's operators.
    """

    async def newest(self, tenant: str, limit: int) -> Sequence[DeadLetter]: ...

    async def find(self, tenant: str, letter_id: str) -> DeadLetter | None: ...

    async def drop(self, letter: DeadLetter) -> bool:
        """Delete a letter; False if it was gone."""

    async def replay(self, letter: DeadLetter) -> bool:
        """Hand an outcome to the learner again and delete the letter, in one step; False if it was gone."""


class RequeueResult(NamedTuple):
    """The requeued letter. ``task_id``: the new task's, if a turn was started again."""

    letter: DeadLetter
    task_id: str | None = None


class DeadLetterService:
    """Operators' actions on the dead letters of a tenant. Those about one letter raise ``NotFound``."""

    def __init__(self, letters: DeadLetters, tasks: Tasks, wakes: Wakes, clock: Callable[[], datetime]) -> None:
        self._letters = letters
        self._tasks = tasks
        self._wakes = wakes
        self._clock = clock

    async def list_newest(self, tenant: str, limit: int) -> Sequence[DeadLetter]:
        """The tenant's latest letters, newest first."""
        return await self._letters.newest(tenant, limit)

    async def show(self, tenant: str, letter_id: str) -> DeadLetter:
        letter = await self._letters.find(tenant, letter_id)
        if letter is None:
            raise NotFound(f"dead letter {letter_id!r}")
        return letter

    async def requeue(self, tenant: str, letter_id: str, *, again: bool = False) -> RequeueResult:
        """Start a dead turn's task again in its session, or hand an outcome to the learner. It may be repeated.

        Raises ``WouldRepeatWrites`` if the task made writes, or may have, and ``again`` is not set.
        """
        letter = await self.show(tenant, letter_id)
        if letter.kind is LetterKind.OUTCOME:
            if not await self._letters.replay(letter):
                raise NotFound(f"dead letter {letter_id!r}")
            return RequeueResult(letter)
        dead = DeadTurn.model_validate_json(letter.content)
        if dead.writes and not again:
            raise WouldRepeatWrites(letter_id, dead.writes)
        return RequeueResult(letter, await self._begin_anew(letter, dead))

    async def drop(self, tenant: str, letter_id: str) -> DeadLetter:
        letter = await self.show(tenant, letter_id)
        if not await self._letters.drop(letter):
            raise NotFound(f"dead letter {letter_id!r}")
        return letter

    async def _begin_anew(self, letter: DeadLetter, dead: DeadTurn) -> str:
        """Accept the new task, then drop the letter: after a crash in between, a repeat finds the same task."""
        record, turn = fresh_task(dead, letter.letter_id, self._clock())
        accepted = await self._tasks.accept(record, turn, dedupe=f"requeued:{letter.letter_id}")
        await self._wakes.wake(record.tenant, record.session_id)
        await self._letters.drop(letter)
        return accepted.record.task_id


def fresh_task(dead: DeadTurn, letter_id: str, now: datetime) -> tuple[TaskRecord, Turn]:
    """A new task with the same request and session, which names the old one; always the same for one letter."""
    task_id = derive_id("requeued", dead.tenant, letter_id)
    turn_id = derive_id(task_id, "turn")
    text = dead.request.text
    record = TaskRecord(
        tenant=dead.tenant,
        task_id=task_id,
        session_id=dead.session_id,
        dialect=dead.dialect,
        requester=dead.requester,
        request=dead.request,
        metadata={"requeued_from": dead.task_id},
        history=(HistoryMessage(role="user", text=text, message_id=turn_id, at=now),),
        accepted_at=now,
        updated_at=now,
    )
    return record, Turn(
        turn_id=turn_id,
        task_id=task_id,
        kind=TurnKind.MESSAGE,
        principal=dead.requester,
        received_at=now,
        message_id=turn_id,
        text=text,
    )
