"""Dead letters, and the new task by which a dead turn is requeued."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import NamedTuple, cast

from pydantic import JsonValue, ValidationError
from redis.asyncio import Redis

from services.gateway.edge.errors import GatewayRefusal, NotFound, WouldRepeatWrites
from services.gateway.edge.fields import parse_limit
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import HistoryMessage, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import loads, to_i_json
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.lua import ScriptedStore
from shared.infra.stored_outcomes import unpack_outcome
from shared.infra.wakes import ArqWakes
from shared.ports.tasks import Tasks


class UnreadableLetter(GatewayRefusal):
    """This version cannot read the dead turn, so it cannot start its task again."""

    status = 409


class LetterKind(StrEnum):
    """Whether a turn or an outcome was given up."""

    TURN = "turn"
    OUTCOME = "outcome"


class DeadLetter(NamedTuple):
    """A turn that failed too often, or a task's outcome that the learner could not process.

    ``content``: a ``DeadTurn`` or ``TaskOutcome`` as JSON. If it cannot be parsed, ``tenant`` is None and the content
    empty.
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


def _build_requeued_task(dead: DeadTurn, letter_id: str, now: datetime) -> tuple[TaskRecord, Turn]:
    """A new task and its first turn, with a dead turn's request and session. A letter always gives the same ids."""
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


_MOST_READS_OF_STREAMS = 50  # of reading further in streams that are full of others' letters
_MOST_ROWS_OF_READ = 100  # of one stream
_LARGEST_ID_PART = 2**64 - 1  # no stream's id has a larger part
_LETTER_ID_PATTERN = re.compile(r"(turn|outcome)-(\d{1,4})-(\d{1,20}-\d{1,20})")
StreamRow = tuple[str, Mapping[str, str]]


class _LetterAddress(NamedTuple):
    """Where a dead letter is stored."""

    kind: LetterKind
    partition: int
    entry_id: str

    @property
    def stream_key(self) -> str:
        names = keys.partition_keys(self.partition)
        return names.dead_turns if self.kind is LetterKind.TURN else names.dead

    @property
    def recency_key(self) -> tuple[int, ...]:
        """The greater, the newer the letter."""
        return tuple(map(int, self.entry_id.split("-")))

    @property
    def letter_id(self) -> str:
        return f"{self.kind.value}-{self.partition}-{self.entry_id}"


class DeadLetters(ScriptedStore):
    """The dead letters of tenants. All methods may raise ``StoreUnavailable``, those about one letter ``NotFound``.

    A letter whose tenant cannot be read belongs to every tenant's operators.
    """

    def __init__(self, redis: Redis, tasks: Tasks, wakes: ArqWakes, clock: Callable[[], datetime]) -> None:
        super().__init__(redis)
        self._tasks = tasks
        self._wakes = wakes
        self._clock = clock

    async def list_newest(self, tenant: str, limit: int) -> Sequence[DeadLetter]:
        """The tenant's latest letters, newest first. Streams mix tenants, so each is read on until that is enough."""
        found: list[tuple[_LetterAddress, DeadLetter]] = []
        ends = [_LetterAddress(kind, number, "+") for number in range(PARTITIONS) for kind in LetterKind]
        count = min(limit, _MOST_ROWS_OF_READ)
        for _ in range(_MOST_READS_OF_STREAMS):
            starts = ("+" if end.entry_id == "+" else f"({end.entry_id}" for end in ends)
            commands = (
                ("XREVRANGE", end.stream_key, start, "-", "COUNT", count)
                for end, start in zip(ends, starts, strict=True)
            )
            replies = cast("list[list[StreamRow]]", await self._scripts.execute_commands(*commands))
            rows = [
                [(end._replace(entry_id=entry_id), fields) for entry_id, fields in reply]
                for end, reply in zip(ends, replies, strict=True)
            ]
            letters = ((row[0], _parse_letter_of_tenant(*row, tenant)) for row in chain.from_iterable(rows))
            found += ((address, letter) for address, letter in letters if letter is not None)
            found = sorted(found, key=lambda row: row[0].recency_key, reverse=True)[:limit]
            oldest_needed = found[-1][0].recency_key if len(found) == limit else ()
            ends = [stream[-1][0] for stream in rows if len(stream) == count]
            ends = [end for end in ends if end.recency_key > oldest_needed]
            if not ends:
                break
        return [letter for _, letter in found]

    async def get_letter(self, tenant: str, letter_id: str) -> DeadLetter:
        """One dead letter of the tenant; raises ``NotFound``."""
        return (await self._find_letter(tenant, letter_id))[1]

    async def requeue_letter(
        self, tenant: str, letter_id: str, *, repeats_writes: bool
    ) -> tuple[DeadLetter, str | None]:
        """Start a dead turn's task again in its session, or give an outcome back to the learner. It may be repeated.

        Returns the letter, and the new task's id, None for an outcome. Raises ``UnreadableLetter``, and
        ``WouldRepeatWrites`` if the task made writes, or may have, unless ``repeats_writes`` is set.
        """
        address, letter = await self._find_letter(tenant, letter_id)
        if address.kind is LetterKind.OUTCOME:
            names = keys.partition_keys(address.partition)
            arguments = [address.entry_id, keys.OUTCOME_GROUP]
            if await self._scripts.run("requeue_outcome", [names.dead, names.outcomes], arguments) != 1:
                raise _build_letter_not_found(letter_id)
            return letter, None
        dead = DeadTurn.parse_row(letter.content)
        if dead is None:
            reason = "it cannot be read here. Requeue it with the release that wrote it, or drop it"
            raise UnreadableLetter(f"dead letter {letter_id!r} is not begun anew: {reason}")
        if dead.writes and not repeats_writes:
            raise WouldRepeatWrites(
                f"dead letter {letter_id!r} is not begun anew: its task made these writes, or may have, and would make "
                f"them again: {'; '.join(dead.writes)}. To have them made again all the same: "
                f'purple dlq requeue {letter_id} --again, or "again": true in the request'
            )
        return letter, await self._restart_task(address, dead)

    async def delete_letter(self, tenant: str, letter_id: str) -> DeadLetter:
        """Delete a dead letter; returns it. Raises ``NotFound``."""
        address, letter = await self._find_letter(tenant, letter_id)
        if not await self._delete_stored_letter(address):
            raise _build_letter_not_found(letter_id)
        return letter

    async def _find_letter(self, tenant: str, letter_id: str) -> tuple[_LetterAddress, DeadLetter]:
        address = _parse_letter_id(letter_id)
        if address is None:
            raise _build_letter_not_found(letter_id)
        rows = cast(
            "list[StreamRow]",
            await self._scripts.execute("XRANGE", address.stream_key, address.entry_id, address.entry_id),
        )
        letter = _parse_letter_of_tenant(address, rows[0][1], tenant) if rows else None
        if letter is None:
            raise _build_letter_not_found(letter_id)
        return address, letter

    async def _restart_task(self, address: _LetterAddress, dead: DeadTurn) -> str:
        """Accept the new task, then delete the letter; after a crash in between, a repeat finds the same task."""
        record, turn = _build_requeued_task(dead, address.letter_id, self._clock())
        accepted = await self._tasks.accept(record, turn, dedupe=f"requeued:{address.letter_id}")
        await self._wakes.wake(record.tenant, record.session_id)
        await self._delete_stored_letter(address)
        return accepted.record.task_id

    async def _delete_stored_letter(self, address: _LetterAddress) -> bool:
        return await self._scripts.execute("XDEL", address.stream_key, address.entry_id) == 1


def _build_letter_not_found(letter_id: str) -> NotFound:
    return NotFound(f"dead letter {letter_id!r}")


def _parse_letter_id(letter_id: str) -> _LetterAddress | None:
    match = _LETTER_ID_PATTERN.fullmatch(letter_id)
    if (
        match is None
        or int(match[2]) >= PARTITIONS
        or any(int(part) > _LARGEST_ID_PART for part in match[3].split("-"))
    ):
        return None
    return _LetterAddress(LetterKind(match[1]), int(match[2]), match[3])


def _parse_letter_of_tenant(address: _LetterAddress, fields: Mapping[str, str], tenant: str) -> DeadLetter | None:
    """The letter; None if it is known to be another tenant's."""
    parse = _parse_turn_letter if address.kind is LetterKind.TURN else _parse_outcome_letter
    letter = parse(address, fields)
    return letter if letter.tenant in (tenant, None) else None


def _parse_turn_letter(address: _LetterAddress, fields: Mapping[str, str]) -> DeadLetter:
    content = fields.get("letter", "")
    letter = DeadLetter(address.letter_id, address.kind, _read_time_added(address))
    try:
        dead = DeadTurn.model_validate_json(content)
    except ValidationError as error:
        return letter._replace(error=f"unreadable: {error}")
    return letter._replace(
        tenant=dead.tenant,
        session_id=dead.session_id,
        task_id=dead.task_id,
        reason=dead.reason,
        error=dead.last_error,
        tries=dead.attempts,
        content=content,
    )


def _parse_outcome_letter(address: _LetterAddress, fields: Mapping[str, str]) -> DeadLetter:
    """The letter of an outcome; without tenant and content if the outcome cannot be parsed."""
    letter = DeadLetter(
        address.letter_id,
        address.kind,
        _read_time_added(address),
        error=fields.get("error", ""),
        tries=int(fields.get("tries", "0")),
    )
    _, content = unpack_outcome(fields.get("o", ""))
    outcome = TaskOutcome.parse_row(content)
    if outcome is None:
        return letter
    return letter._replace(
        tenant=outcome.tenant,
        session_id=outcome.session_id,
        task_id=outcome.task_id,
        reason=f"the outcome of a task that ended {outcome.state.value} could not be learned from",
        content=content,
    )


def _read_time_added(address: _LetterAddress) -> datetime:
    """When the letter was added, from its stream id, which begins with the server's time in milliseconds."""
    return datetime.fromtimestamp(int(address.entry_id.partition("-")[0]) / 1000, UTC)


_MOST_LISTED, _USUAL_LISTED = 1000, 100


class DeadLetterEndpoints(ApiEndpoints[DeadLetters]):
    requires_operator = True

    @api_path("POST", "/dlq/list")
    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the newest dead letters. ``limit`` in the body says how many: 1 to 1000, by default 100."""
        limit = parse_limit(str(call.body.get("limit", _USUAL_LISTED)), _MOST_LISTED)
        letters = await self._service.list_newest(call.caller.tenant, limit)
        return {"letters": [_describe_letter(letter) for letter in letters]}

    @api_path("POST", "/dlq/{letter_id}/show")
    async def show_one(self, call: ApiCall) -> JsonValue:
        """Show one dead letter with its content. 404 if there is none of that id."""
        letter = await self._service.get_letter(call.caller.tenant, call.path_value("letter_id"))
        return {**_describe_letter(letter), "content": cast(JsonValue, to_i_json(loads(letter.content or "null")))}

    @api_path("POST", "/dlq/{letter_id}/requeue")
    async def requeue(self, call: ApiCall) -> JsonValue:
        """Requeue a dead letter: a turn's task starts again as a new task, an outcome goes back to the learner.

        The answer names the new task. 409 if the old one made writes, unless the body has ``"again": true``, and for a
        letter that cannot be read; 404 if there is none of that id.
        """
        letter_id, repeats_writes = call.path_value("letter_id"), call.body.get("again") is True
        letter, task_id = await self._service.requeue_letter(
            call.caller.tenant, letter_id, repeats_writes=repeats_writes
        )
        if task_id is None:
            return {"requeued": letter_id, "outcome_of": letter.task_id}
        return {"requeued": letter_id, "task_id": task_id, "requeued_from": letter.task_id}

    @api_path("POST", "/dlq/{letter_id}/drop")
    async def drop(self, call: ApiCall) -> JsonValue:
        """Delete a dead letter. The answer describes it; 404 if there is none of that id."""
        return {
            "dropped": _describe_letter(
                await self._service.delete_letter(call.caller.tenant, call.path_value("letter_id"))
            )
        }


def _describe_letter(letter: DeadLetter) -> dict[str, JsonValue]:
    head: dict[str, JsonValue] = {"id": letter.letter_id, "kind": letter.kind.value, "at": letter.at.isoformat()}
    names = ("task_id", "session_id", "reason", "error", "tries")
    return {**head, **{name: getattr(letter, name) for name in names}}
