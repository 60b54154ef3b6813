"""Stores lessons on Redis: several events of one tenant in one step, each event once."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import cast

from redis.exceptions import ResponseError

from services.learner.adapters.redis_knowledge import SPOILED_DATA_ERRORS
from services.learner.ports.outcomes import Lesson, LessonRefused, StrategyUse
from shared.domain.cases import CASES_KEPT
from shared.domain.estimates import TREND_DAYS_KEPT, TREND_POINTS_KEPT
from shared.infra import keys
from shared.infra.lua import Argument, Reply, ScriptedStore, store_unavailable

_EVENTS_A_BATCH = 128  # events: what one script call holds up the server with


class RedisLessons(ScriptedStore):
    """Stores what was learned from outcomes: cases, and the rewards of strategies."""

    async def store_lessons(self, lessons: Sequence[Lesson]) -> Sequence[bool | LessonRefused]:
        """Stores lessons in order, each once. Returns for each lesson True if it is new, False if it was stored before,
        or the reason why it cannot be stored.

        Raises ``StoreUnavailable``; any of the lessons may have been stored then, and all can be given again.
        """
        batches = list(_batch_lessons_by_tenant(lessons))
        replies = await self._scripts.run_all(
            ("apply_outcomes", *_build_script_keys_and_arguments([lessons[index] for index in places]))
            for places in batches
        )
        results: list[bool | LessonRefused] = [False] * len(lessons)
        for places, reply in zip(batches, replies, strict=True):
            for index, result in zip(places, _parse_lesson_results(reply, len(places)), strict=True):
                results[index] = result
        return results


def _batch_lessons_by_tenant(lessons: Sequence[Lesson]) -> Iterator[Sequence[int]]:
    """Yields the indices of lessons of one tenant, no more at once than one script call may take."""
    by_tenant: dict[str, list[int]] = defaultdict(list)
    for index, lesson in enumerate(lessons):
        by_tenant[lesson.tenant].append(index)
    for places in by_tenant.values():
        for start in range(0, len(places), _EVENTS_A_BATCH):
            yield places[start : start + _EVENTS_A_BATCH]


def _build_script_keys_and_arguments(lessons: Sequence[Lesson]) -> tuple[list[str], list[Argument]]:
    """The keys and arguments of the script that stores lessons of one tenant."""
    names, newest_day = keys.learned_keys(lessons[0].tenant), max(lesson.day for lesson in lessons)
    days = (newest_day.isoformat(), (newest_day - timedelta(days=TREND_DAYS_KEPT)).isoformat())
    pulls = dict.fromkeys(lesson.pull for lesson in lessons if lesson.pull)
    arms = {pull: number for number, pull in enumerate(pulls, 1)}
    arguments: list[Argument] = [keys.APPLIED_OUTCOME_SECONDS * 1000, CASES_KEPT, TREND_POINTS_KEPT, *days, len(arms)]
    for pull in arms:
        arguments += _name_arm_and_trend_fields(pull)
    text = ""  # one long argument is packed and read much quicker than many; no line break stands in what it is made of
    for lesson in lessons:
        text += f"{arms[lesson.pull] if lesson.pull else 0} {lesson.counted_line}\n{lesson.case_json}\n"
    arguments.append(text)
    return [names.applied, names.arms, names.cases, names.counts, names.trends, names.days], arguments


@lru_cache(maxsize=1_024)  # the same few, over and over
def _name_arm_and_trend_fields(pull: StrategyUse) -> tuple[str, str, str]:
    return (*keys.arm_fields(*pull), keys.trend_field(*pull))


def _parse_lesson_results(reply: "Reply | ResponseError", count: int) -> Sequence[bool | LessonRefused]:
    if not isinstance(reply, ResponseError):
        return [is_new == 1 for is_new in cast("list[int]", reply)]
    if any(phrase in str(reply) for phrase in SPOILED_DATA_ERRORS):
        return [LessonRefused(str(reply))] * count
    raise store_unavailable(reply)
