"""What is learned, on Redis: one step for each event, on the keys of its tenant."""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from services.learner.ports import Lesson, Memory, Refused
from shared.domain.cases import CASES_KEPT
from shared.infra import keys
from shared.infra.lua import Argument, Reply, Scripts, unavailable

# What a server says of the data it has, not of itself: trying later alone does not help.
_OF_THE_DATA = ("WRONGTYPE", "not an integer", "would overflow", "not a valid float")


class RedisMemory(Memory):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    async def learn(self, lessons: Sequence[Lesson]) -> Sequence[bool | Refused]:
        replies = await self._scripts.run_each("apply_outcome", [_call(lesson) for lesson in lessons])
        return [_result(reply) for reply in replies]


def _call(lesson: Lesson) -> tuple[list[str], list[Argument]]:
    names = keys.learned_keys(lesson.tenant)
    arm = keys.arm_fields(*lesson.pull) if lesson.pull else ("", "")
    case = lesson.case
    arguments: list[Argument] = [lesson.event_id, keys.APPLIED_SECONDS * 1000, *arm, lesson.reward_units]
    arguments += [case.model_dump_json(), CASES_KEPT, case.outcome.value]
    return [names.applied, names.arms, names.cases, names.counts], arguments


def _result(reply: "Reply | ResponseError") -> bool | Refused:
    if not isinstance(reply, ResponseError):
        return reply == 1
    if any(words in str(reply) for words in _OF_THE_DATA):
        return Refused(str(reply))
    raise unavailable(reply)
