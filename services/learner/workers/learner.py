"""The learner: takes outcomes in order, learns from each once, and acknowledges them."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.core.memory.lesson import read_lesson_of_delivery
from services.learner.ports.outcomes import (
    AbandonedOutcome,
    Delivery,
    Lesson,
    LessonRefused,
    LivingLearners,
)
from shared.domain import span_names as names
from shared.domain.partition import PARTITIONS
from shared.ports.store import StoreUnavailable
from shared.ports.tracing import NO_TRACER, SpanKind, Tracer

MAX_TRIES = 5
_MOST_PARALLEL_PARTS = 4  # parts of a run that go side by side: while the store is busy with one, another is read
_PARTITIONS_PER_PART = 16  # partitions for which one lane does: each takes round trips of its own


@dataclass
class LearnedCounts:
    """What this process has learned since its start."""

    learned: int = 0
    known: int = 0
    dead: int = 0


class Learner:
    """Learns from the outcomes of its share of the partitions. ``run_once`` and ``update_share`` may run concurrently;
    partitions are taken over or released between runs.

    A run reads only partitions where outcomes are expected: those just taken over, and those given to
    ``expect_outcomes_in``.
    """

    def __init__(self, outcomes: RedisOutcomes, lessons: RedisLessons, tracer: Tracer = NO_TRACER) -> None:
        self._tracer = tracer
        self._outcomes = outcomes
        self._lessons = lessons
        self._share: frozenset[int] = frozenset()
        self._partitions_of_others: set[int] = set()  # of its share, what another still reads
        self._expected: set[int] = set()
        self._run_lock = asyncio.Lock()
        self.counts = LearnedCounts()
        self.share_is_known = asyncio.Event()

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that this learner reads now: its share, without those that another learner has not released
        yet.
        """
        return self._share - self._partitions_of_others

    def expect_outcomes_in(self, partitions: Collection[int]) -> None:
        """Reads these partitions in the next run."""
        self._expected |= self._share.intersection(partitions)

    async def update_share(self) -> None:
        """Takes or releases partitions, so that each living learner has its share."""
        share = compute_partitions_of_learner(await self._outcomes.announce_and_list_learners())
        async with self._run_lock:
            if partitions_to_release := self._share - share:
                await self._outcomes.release_partitions(partitions_to_release)
            self._expected = (self._expected | (share - self._share) | self._partitions_of_others) & share
            self._share, self._partitions_of_others = share, set()
        self.share_is_known.set()

    async def release_partitions(self) -> None:
        """Releases all partitions, once no run is in progress."""
        async with self._run_lock:
            partitions = self.partitions
            self._share = frozenset()
            self._expected = set()
            await self._outcomes.release_partitions(partitions)

    async def run_once(self) -> int:
        """Takes, learns and settles the waiting outcomes; returns how many there were."""
        async with self._run_lock:
            partitions, self._expected = sorted(self._expected), set()
            step = min(_MOST_PARALLEL_PARTS, -(-len(partitions) // _PARTITIONS_PER_PART))
            lanes = (self._run_partitions(partitions[start::step]) for start in range(step))
            results = await asyncio.gather(*lanes, return_exceptions=True)  # the failure of one stops no other
            failures = [result for result in results if isinstance(result, BaseException)]
            if failures:  # a bug is told before an outage, after which the run is only repeated
                raise min(failures, key=lambda failure: isinstance(failure, StoreUnavailable))
            return sum(count for count in results if isinstance(count, int))

    async def _run_partitions(self, partitions: Sequence[int]) -> int:
        """Handles some partitions; returns how many outcomes there were. Raises ``StoreUnavailable``."""
        try:
            outcomes = await self._outcomes.claim_outcomes(partitions)
            self._partitions_of_others.update(outcomes.partitions_lost)
            self._expected.update(outcomes.partitions_with_more)
            if outcomes.deliveries:
                self._expected.update(await self._learn_in_spans(outcomes.deliveries))
        except StoreUnavailable:
            self._expected.update(partitions)
            raise
        return len(outcomes.deliveries)

    async def _learn_in_spans(self, deliveries: Sequence[Delivery]) -> Collection[int]:
        """Learns from deliveries; returns the partitions where some are still unsettled."""
        with ExitStack() as spans:
            if self._tracer.is_on:
                self._open_spans(spans, deliveries)
            return await self._learn_and_settle(deliveries)

    def _open_spans(self, spans: ExitStack, deliveries: Sequence[Delivery]) -> None:
        """Opens a span in each delivery's trace. All are learned together, so each span lasts as long as all take."""
        for delivery in deliveries:
            if delivery.traceparent:
                span = spans.enter_context(
                    self._tracer.continue_trace(names.LEARN, SpanKind.CONSUMER, delivery.traceparent)
                )
                span.annotate({names.LEARN_TRIES: delivery.tries})

    async def _learn_and_settle(self, deliveries: Sequence[Delivery]) -> Collection[int]:
        readable, without_lesson, abandoned_outcomes = _sort_deliveries_by_lesson(deliveries)
        results = await self._lessons.store_lessons([lesson for _, lesson in readable]) if readable else ()
        learned_deliveries: list[Delivery] = []
        for (delivery, _), result in zip(readable, results, strict=True):
            if not isinstance(result, LessonRefused):
                learned_deliveries.append(delivery)
            elif delivery.tries >= MAX_TRIES:
                abandoned_outcomes.append(AbandonedOutcome(delivery, f"cannot be learned: {result.reason}"))
        to_acknowledge = [*learned_deliveries, *without_lesson]
        settled_deliveries = {*to_acknowledge, *(outcome.delivery for outcome in abandoned_outcomes)}
        unsettled = [delivery for delivery in deliveries if delivery not in settled_deliveries]
        partitions_to_claim = await self._outcomes.settle_outcomes(to_acknowledge, abandoned_outcomes, unsettled)
        new_count = sum(result is True for result in results)
        self.counts.learned += new_count
        self.counts.known += len(learned_deliveries) - new_count
        self.counts.dead += len(abandoned_outcomes)
        return {*partitions_to_claim, *(delivery.partition for delivery in unsettled)}


def _sort_deliveries_by_lesson(
    deliveries: Sequence[Delivery],
) -> tuple[list[tuple[Delivery, Lesson]], list[Delivery], list[AbandonedOutcome]]:
    """The lessons in deliveries, the deliveries without a lesson, and those that are given up.

    Outcomes are learned in order, so an unreadable delivery blocks its partition until it is given up.
    """
    readable: list[tuple[Delivery, Lesson]] = []
    without_lesson: list[Delivery] = []
    abandoned_outcomes: list[AbandonedOutcome] = []
    blocked_partitions: set[int] = set()
    for delivery in deliveries:
        if delivery.partition in blocked_partitions:
            continue
        try:
            lesson = read_lesson_of_delivery(delivery)
        except Exception as error:  # noqa: BLE001  # the edge of one message: its partition goes on after it
            if delivery.tries >= MAX_TRIES:
                cause = f"cannot be read: {type(error).__name__}: {error}"
                abandoned_outcomes.append(AbandonedOutcome(delivery, cause))
            else:
                blocked_partitions.add(delivery.partition)
            continue
        if lesson is None:
            without_lesson.append(delivery)
        else:
            readable.append((delivery, lesson))
    return readable, without_lesson, abandoned_outcomes


def compute_partitions_of_learner(roster: LivingLearners) -> frozenset[int]:
    """The partitions that this learner reads. Learners with the same roster share all partitions without overlap."""
    learners = sorted({*roster.learners, roster.me})
    return frozenset(range(learners.index(roster.me), PARTITIONS, len(learners)))
