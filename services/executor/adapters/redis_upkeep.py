"""One look at all partitions in one round trip."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import cast

from redis.asyncio import Redis

from services.executor.ports import DueTimer, Overdue, Upkeep, Waiting
from shared.contracts.task import Turn
from shared.infra import keys
from shared.infra.lua import Argument, Scripts

_LOCK_MS = 800  # less than the pause between two looks of one executor
_OVERDUE_MS = 500
_AGAIN_MS = 2000  # until a session is woken once more, if nobody took it
_MOST = 200  # sessions and timers taken up of one partition in one look
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RedisUpkeep(Upkeep):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)
        self._calls = [
            ([one.reaper, one.waiting, one.leased, one.timers], self._limits) for one in keys.all_partitions()
        ]

    _limits: tuple[Argument, ...] = (_LOCK_MS, _OVERDUE_MS, _AGAIN_MS, _MOST)

    async def overdue(self) -> Overdue:
        found = [reply for reply in await self._scripts.run_many("survey", self._calls) if reply is not None]
        rows = [cast("tuple[str, list[str], list[str], list[str]]", reply) for reply in found]
        sessions = {keys.unpack_member(member) for _, waiting, expired, _ in rows for member in (*waiting, *expired)}
        timers = tuple(timer for now, _, _, due in rows for timer in _timers(int(now), due))
        return Overdue(tuple(Waiting(*member) for member in sorted(sessions)), timers)

    async def fire(self, timer: DueTimer, turn: Turn) -> bool:
        tenant, session_id = timer.tenant, timer.session_id
        session, partition = keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)
        record = keys.task_keys(tenant, session_id, timer.task_id).record
        names = [partition.timers, record, session.signals, session.turns, session.begun]
        member = keys.TimerMember(tenant, session_id, timer.task_id, timer.subject)
        arguments = [
            keys.pack(member),
            turn.turn_id,
            turn.model_dump_json(),
            keys.pack(keys.Member(tenant, session_id)),
        ]
        return await self._scripts.run("fire", [*names, partition.waiting, partition.leased], arguments) == 1


def _timers(now_ms: int, due: list[str]) -> Iterator[DueTimer]:
    now = _EPOCH + timedelta(milliseconds=now_ms)
    return (DueTimer(*keys.unpack_timer(member), now) for member in due)
