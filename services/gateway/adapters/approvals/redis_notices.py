"""What is owed to tenants' targets, in state Redis: put there by whoever ends a turn, in the same step."""

from collections.abc import Sequence
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.notices import Notices, Owed
from shared.contracts.notice import NoticeEvent
from shared.domain.partition import partition_of
from shared.infra import keys
from shared.infra.lua import Scripts

_MOST = 20  # of one partition, in one look
_AGAIN_MS = 30_000


class RedisNotices(Notices):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def take(self) -> Sequence[Owed]:
        calls = [([one.notices], [_MOST, _AGAIN_MS]) for one in keys.all_partitions()]
        rows = cast("list[list[str]]", await self._scripts.run_many("take_unarchived", calls))
        return [_owed(member) for row in rows for member in row]

    @override
    async def done(self, owed: Owed) -> None:
        member = keys.unpack_notice(owed.name)
        notices = keys.partition_keys(partition_of(member.tenant, member.session_id)).notices
        await self._scripts.command("ZREM", notices, owed.name)


def _owed(name: str) -> Owed:
    member = keys.unpack_notice(name)
    return Owed(name, NoticeEvent(member.event), int(member.step), member.tenant, member.approval_id)
