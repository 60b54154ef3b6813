"""What is learned, on Redis: one step for some events of a tenant, each with its id, on the keys of that tenant."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta
from typing import NamedTuple, cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from services.learner.ports.outcomes import Lesson, Memory, Refused
from shared.domain.cases import CASES_KEPT
from shared.domain.trend import DAYS_KEPT, POINTS_KEPT
from shared.infra import keys
from shared.infra.lua import Argument, Reply, Scripts, unavailable

_IN_ONE_STEP = 100  # events: what one step holds up the server with
# What a server says of the data it has, not of itself: trying later alone does not help.
_OF_THE_DATA = ("WRONGTYPE", "not an integer", "would overflow")


class _Step(NamedTuple):
    """Some lessons of one tenant, by their places among all that were given."""

    tenant: str
    places: Sequence[int]


class RedisMemory(Memory):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    async def learn(self, lessons: Sequence[Lesson]) -> Sequence[bool | Refused]:
        steps = list(_steps(lessons))
        replies = await self._scripts.run_each("apply_outcomes", [_call(step, lessons) for step in steps])
        results: dict[int, bool | Refused] = {}
        for step, reply in zip(steps, replies, strict=True):
            results |= zip(step.places, _results(reply, len(step.places)), strict=True)
        return [results[place] for place in range(len(lessons))]


def _steps(lessons: Sequence[Lesson]) -> Iterator[_Step]:
    by_tenant: dict[str, list[int]] = defaultdict(list)
    for place, lesson in enumerate(lessons):
        by_tenant[lesson.tenant].append(place)
    for tenant, places in by_tenant.items():
        for first in range(0, len(places), _IN_ONE_STEP):
            yield _Step(tenant, places[first : first + _IN_ONE_STEP])


def _call(step: _Step, lessons: Sequence[Lesson]) -> tuple[list[str], list[Argument]]:
    names, own = keys.learned_keys(step.tenant), [lessons[place] for place in step.places]
    newest = max(lesson.case.at for lesson in own).astimezone(UTC).date()
    days = (newest.isoformat(), (newest - timedelta(days=DAYS_KEPT)).isoformat())
    arms = {pull: number for number, pull in enumerate(dict.fromkeys(lesson.pull for lesson in own if lesson.pull), 1)}
    arguments: list[Argument] = [keys.APPLIED_SECONDS * 1000, CASES_KEPT, POINTS_KEPT, *days, len(arms)]
    for pull in arms:
        arguments += [*keys.arm_fields(*pull), keys.arm_trend(*pull)]
    lines = [line for lesson in own for line in _lines(lesson, arms.get(lesson.pull, 0) if lesson.pull else 0)]
    arguments.append("\n".join((*lines, "")))  # one long argument is packed and read much quicker than many
    return [names.applied, names.arms, names.cases, names.counts, names.trends, names.days], arguments


def _lines(lesson: Lesson, arm: int) -> tuple[str, str]:
    """What is counted and its id; its case, if it has one. No line break stands in either: JSON has none."""
    case = lesson.case
    entry = case.model_dump_json() if lesson.is_example else ""
    at = case.at.astimezone(UTC)
    counted = f"{arm} {lesson.reward_units} {case.outcome} {round(at.timestamp() * 1000)} {at.date()}"
    return f"{counted} {lesson.event_id}", entry


def _results(reply: "Reply | ResponseError", count: int) -> Sequence[bool | Refused]:
    if not isinstance(reply, ResponseError):
        return [new == 1 for new in cast("list[int]", reply)]
    if any(words in str(reply) for words in _OF_THE_DATA):
        return [Refused(str(reply))] * count
    raise unavailable(reply)
