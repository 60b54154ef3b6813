"""The learner's loops. Learning goes before remembering and loading training rows; a failing store is waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from pydantic import JsonValue

from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.core.training import LoadedTrainingObject, TrainingObjectLoader
from services.learner.ports.outcomes import ObjectStoreUnavailable
from services.learner.workers.follower import OutcomeFollower
from services.learner.workers.learner import Learner
from services.learner.workers.rememberer import MemoryContended
from shared.ports.store import StoreUnavailable

_RETRY_SECONDS = 0.5
_OUTCOME_WAIT_SECONDS = 1.0
_OUTCOME_GATHER_SECONDS = 0.4  # outcomes that come together are learned together
SWEEP_SECONDS = 30.0  # between two looks at everything, should news have been missed

log = structlog.get_logger()


async def keep_adjusting_share(learner: Learner, every_seconds: float) -> None:
    """Adjusts the learner's share of partitions to the number of living learners, until cancelled."""

    async def adjust_share_once() -> None:
        await learner.update_share()
        await asyncio.sleep(every_seconds)

    await _repeat_until_stopped(adjust_share_once, "share of partitions")


class NewOutcomeWatcher:
    """Waits for new outcomes and tells a reader in which partitions they are. ``seconds``: how long one wait takes at
    most.
    """

    def __init__(self, reader: Learner | OutcomeFollower, outcomes: RedisOutcomes, seconds: float) -> None:
        self._reader = reader
        self._outcomes = outcomes
        self._seconds = min(_OUTCOME_WAIT_SECONDS, seconds)
        self._clock = asyncio.get_running_loop().time
        self._swept = self._clock()

    async def wait_and_tell_reader(self) -> None:
        """Waits for new outcomes, or until the time is over, and tells the reader in which partitions they are.

        Now and then it has the reader look in all of its partitions, without waiting.
        """
        partitions = self._reader.partitions
        if self._clock() > self._swept + SWEEP_SECONDS:
            self._swept = self._clock()
            self._reader.expect_outcomes_in(partitions)
        elif not partitions:
            await asyncio.sleep(self._seconds)
        elif news := await self._outcomes.await_new_outcomes(partitions, self._seconds):
            await asyncio.sleep(_OUTCOME_GATHER_SECONDS)
            self._reader.expect_outcomes_in(news)


async def keep_learning(learner: Learner, outcomes: RedisOutcomes, every_seconds: float, stop: asyncio.Event) -> None:
    """Learns until ``stop`` is set; outcomes in progress are finished first."""
    watch = NewOutcomeWatcher(learner, outcomes, every_seconds)

    async def learn_once() -> None:
        if not await learner.run_once():
            await watch.wait_and_tell_reader()

    await _repeat_until_stopped(learn_once, "learning", stop)


async def _repeat_until_stopped(
    step: Callable[[], Awaitable[None]], loop: str, stop: asyncio.Event | None = None
) -> None:
    while stop is None or not stop.is_set():
        try:
            await step()
        except StoreUnavailable as error:
            log.warning("background_loop_postponed", loop=loop, error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)


_DUE_CHECK_SECONDS = 1.0  # at what is due in the store
_BUSY_LEARNER_SECONDS = 0.1


async def keep_following(
    follower: OutcomeFollower, outcomes: RedisOutcomes, learner: Learner, every_seconds: float, stop: asyncio.Event
) -> None:
    """Runs the follower after the learner, rarely while the learner is busy, until ``stop`` is set; then releases
    partitions.
    """
    learned_count = -1
    watch = NewOutcomeWatcher(follower, outcomes, every_seconds)

    async def follow_once() -> None:
        nonlocal learned_count
        count_before, learned_count = learned_count, learner.counts.learned
        if not await follower.run_once():
            await watch.wait_and_tell_reader()
        elif learner.counts.learned != count_before:
            await _wait_for_event(stop, _BUSY_LEARNER_SECONDS)

    await _repeat_despite_errors(follow_once, "memory", stop)
    try:
        await follower.release_partitions()
    except StoreUnavailable as error:
        log.warning("partitions_not_released", error=str(error))


async def keep_doing_due_work(
    do_due: Callable[[datetime], Awaitable[int]], at_once: int, stop: asyncio.Event, loop: str
) -> None:
    """Does due work until ``stop`` is set; its failures are logged under the name ``loop``.

    ``do_due`` does up to ``at_once`` pieces and returns how many it did; if these were fewer, it is called again after
    a pause, so that work that comes within a short time is done together.
    """

    async def do_due_work_once() -> None:
        if await do_due(datetime.now(UTC)) < at_once:
            await _wait_for_event(stop, _DUE_CHECK_SECONDS)

    await _repeat_despite_errors(do_due_work_once, loop, stop)


async def _repeat_despite_errors(step: Callable[[], Awaitable[None]], loop: str, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            await step()
        except (StoreUnavailable, MemoryContended) as error:
            log.warning("background_loop_postponed", loop=loop, error=str(error))
            await _wait_for_event(stop, _RETRY_SECONDS)
        except Exception as error:  # the outer edge of memory: learning goes on without it
            log.exception("background_loop_failed", loop=loop, error=type(error).__name__)
            await _wait_for_event(stop, _RETRY_SECONDS)


async def _wait_for_event(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


_LOAD_RETRY_SECONDS = 60.0  # after a failure
_MOST_ROWS_LOGGED = 5  # bad rows of one object


@dataclass
class TrainingLoadStatus:
    """What this process has loaded since its start, for its health page."""

    objects: int = 0
    rows: int = 0
    bad_rows: int = 0
    problem: str = ""

    def count_object(self, result: LoadedTrainingObject) -> None:
        """Counts one loaded object and logs its bad rows."""
        reasons = [f"{row.place}: {row.reason}" for row in result.bad_rows[:_MOST_ROWS_LOGGED]]
        count = len(result.bad_rows)
        fields = {"object": result.source.name, "rows": result.rows, "bad": count, "in_log": result.cases_in_log}
        if reasons:
            log.warning("training_rows_left_out", first=reasons, **fields)
        else:
            log.info("training_rows_loaded", **fields)
        self.objects = self.objects + 1
        self.rows = self.rows + result.rows
        self.bad_rows = self.bad_rows + count

    def as_json(self) -> dict[str, JsonValue]:
        return {"objects": self.objects, "rows": self.rows, "bad": self.bad_rows, "problem": self.problem}


async def keep_loading_training_objects(
    open_loader: Callable[[], TrainingObjectLoader], status: TrainingLoadStatus, every_seconds: float
) -> None:
    """Until cancelled, gives the learner the training rows of objects that are new in the bucket, every
    ``every_seconds``; after a failure, which ``status`` tells, it tries again sooner. ``open_loader`` may block, so it
    runs in a thread.
    """
    loader: TrainingObjectLoader | None = None
    while True:
        is_done = False
        try:
            if loader is None:
                loader = await asyncio.to_thread(open_loader)
            await loader.load_new_objects(status.count_object)
            is_done, status.problem = True, ""
        except (ObjectStoreUnavailable, StoreUnavailable) as error:
            status.problem = str(error)
            log.warning("training_load_postponed", error=str(error))
        except Exception as error:  # the outer edge of loading: what it cannot read must not stop the learner
            status.problem = repr(error)
            log.exception("training_load_failed", error=repr(error))
        await asyncio.sleep(every_seconds if is_done else min(_LOAD_RETRY_SECONDS, every_seconds))
