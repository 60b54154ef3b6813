"""Reads the outcome streams on Redis. A short lock in each partition's slot allows one reader at a time."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, cast

import structlog
from redis.asyncio import Redis

from services.learner.ports.outcomes import AbandonedOutcome, ClaimedOutcomes, Delivery, LivingLearners
from shared.infra import keys
from shared.infra.lua import Argument, Reply, Scripts, bounded_redis_calls, parse_flat_pairs
from shared.infra.redis import require_writable_redis
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.stored_outcomes import unpack_outcome
from shared.ports.tasks import parse_stream_id

MOST_EVENTS_BEHIND = 5_000  # events of one partition that are kept for a group beside the learner's own
EVENTS_AT_ONCE = 64  # events of one partition in one run
_REDIS_ANSWER_SECONDS = 5.0
_POLL_SECONDS = 0.25
_LONGEST_ERROR = 500  # characters of an error kept with a dead letter

log = structlog.get_logger()


class OutcomeGroup(NamedTuple):
    """A consumer group that reads the streams for one purpose, and the lock that says who reads a partition."""

    name: str
    reader_key_of: Callable[[keys.PartitionKeys], str]


LEARNING_GROUP = OutcomeGroup(keys.OUTCOME_GROUP, lambda partition: partition.reader)
REMEMBERING_GROUP = OutcomeGroup(keys.MEMORY_GROUP, lambda partition: partition.rememberer)


class RedisOutcomes:
    """Reads the streams of task outcomes for one consumer group. ``owner``: a name that no other process has.

    Every method may raise ``StoreUnavailable``.
    """

    def __init__(self, redis: Redis, owner: str, lease_seconds: float, group: OutcomeGroup = LEARNING_GROUP) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)
        self._group = group
        self._owner = owner
        self._lease_ms = int(lease_seconds * 1000)
        self._partitions = list(keys.all_partitions())
        self._newest: dict[int, str] = {}
        self._lines: dict[int, str] = {}  # of the server from which each partition was last taken

    @property
    def group_name(self) -> str:
        return self._group.name

    async def ping(self) -> None:
        await require_writable_redis(self._redis)

    async def announce_and_list_learners(self) -> LivingLearners:
        """Reports this learner as living; returns all living ones."""
        alive = await self._scripts.run("register_learner", [keys.LIVE_LEARNERS_KEY], [self._owner, self._lease_ms])
        return LivingLearners(self._owner, cast("list[str]", alive))

    async def claim_outcomes(self, partitions: Collection[int]) -> ClaimedOutcomes:
        """Becomes or stays the reader of the partitions, and takes the next events of each.

        Events that were taken before and not settled come first, whoever took them, and no new ones before these are
        settled.
        """
        numbers = sorted(partitions)
        arguments: list[Argument] = [self._owner, self._lease_ms, self._group.name, keys.OUTCOME_READER, EVENTS_AT_ONCE]
        arguments.append(" ".join(keys.OUTCOME_GROUPS))
        calls = [
            (
                [self._name_reader_key(number), self._partitions[number].outcomes],
                [*arguments, int(number in self._newest)],
            )
            for number in numbers
        ]
        replies = await self._scripts.run_many("take_outcomes", calls) if calls else []
        deliveries: list[Delivery] = []
        numbers_lost: set[int] = set()
        numbers_with_more: set[int] = set()
        for number, reply in zip(numbers, cast("list[list[Reply]]", replies), strict=True):
            if reply[0] == "other":
                numbers_lost.add(number)
                self._newest.pop(number, None)
                continue
            self._newest[number], self._lines[number] = str(reply[1]), str(reply[2])
            events = [_parse_delivery(number, entry) for entry in reply[3:]]
            has_repeated = any(delivery.tries > 1 for delivery in events)  # what is new comes after it
            if len(events) >= EVENTS_AT_ONCE or has_repeated:
                numbers_with_more.add(number)
            deliveries += events
        return ClaimedOutcomes(deliveries, numbers_lost, numbers_with_more)

    async def settle_outcomes(
        self, learned: Sequence[Delivery], dead: Sequence[AbandonedOutcome] = (), unsettled: Sequence[Delivery] = ()
    ) -> Collection[int]:
        """Acknowledges learned events, moves those given up (``dead``) to the dead letters, and counts an attempt for
        ``unsettled`` ones.

        Together they must be all events of a partition from one ``claim_outcomes``. Returns the partitions where
        nothing was settled, because Redis has failed over to a server that may lack what was learned; they must be
        claimed again.
        """
        ids_by_partition: dict[int, list[str]] = defaultdict(list)
        learned_ids: dict[int, list[str]] = defaultdict(list)
        letters: dict[int, list[Argument]] = defaultdict(list)
        for delivery in (*learned, *unsettled, *(letter.delivery for letter in dead)):
            ids_by_partition[delivery.partition].append(delivery.entry_id)
        for delivery in learned:
            learned_ids[delivery.partition].append(delivery.entry_id)
        for letter in dead:
            delivery = letter.delivery
            letters[delivery.partition] += [delivery.entry_id, letter.error[:_LONGEST_ERROR], delivery.tries]
        of_group: list[Argument] = [self._group.name, keys.OUTCOME_GROUP, MOST_EVENTS_BEHIND, keys.OUTCOME_READER]
        unsettled_partitions = {delivery.partition for delivery in unsettled}
        calls = [
            (
                [self._partitions[number].outcomes, self._partitions[number].dead],
                [
                    self._lines[number],
                    *of_group,
                    " ".join(learned_ids[number]),
                    max(ids, key=parse_stream_id),
                    len(ids),
                    int(number not in unsettled_partitions),
                    *letters[number],
                ],
            )
            for number, ids in sorted(ids_by_partition.items())
        ]
        replies = await self._scripts.run_many("settle_outcomes", calls) if calls else []
        numbers = [number for number, reply in zip(sorted(ids_by_partition), replies, strict=True) if not reply]
        if numbers:
            log.warning("outcomes_not_settled", group=self._group.name, partitions=numbers)
        return numbers

    async def release_partitions(self, partitions: Collection[int]) -> None:
        """Stops being the reader of the partitions, so that another learner can take over at once."""
        arguments: list[Argument] = [self._owner, 0]
        calls = [([self._name_reader_key(number)], arguments) for number in sorted(partitions)]
        if calls:
            await self._scripts.run_many("expire_if_equal", calls)

    async def remove_from_learners(self) -> None:
        """Removes this learner from the list of living ones, so that others take over its partitions."""
        await self._scripts.execute("ZREM", keys.LIVE_LEARNERS_KEY, self._owner)

    def _name_reader_key(self, partition: int) -> str:
        return self._group.reader_key_of(self._partitions[partition])

    async def await_new_outcomes(self, partitions: Collection[int], seconds: float) -> Collection[int]:
        """Waits for new events; returns their partitions, or none after that many seconds."""
        if isinstance(self._redis, ClusterRedis):
            return await self._poll_for_new(partitions, seconds)
        numbers = {self._partitions[number].outcomes: number for number in sorted(partitions)}
        streams = {stream: self._newest.get(number, "0-0") for stream, number in numbers.items()}
        async with bounded_redis_calls(seconds + _REDIS_ANSWER_SECONDS):
            news = await self._redis.xread(streams, count=1, block=max(1, int(seconds * 1000)))  # type: ignore[arg-type]  # redis-py's dict is invariant
        return {numbers[stream] for stream, _ in news}

    async def _poll_for_new(self, partitions: Collection[int], seconds: float) -> Collection[int]:
        """The partitions with new outcomes, found by polling, since a cluster cannot block on streams in many slots."""
        numbers = sorted(partitions)
        for _ in range(max(1, round(seconds / _POLL_SECONDS))):
            if numbers_with_news := await self._find_partitions_with_new_outcomes(numbers):
                return numbers_with_news
            await asyncio.sleep(min(_POLL_SECONDS, seconds))
        return ()

    async def _find_partitions_with_new_outcomes(self, numbers: Sequence[int]) -> Collection[int]:
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            for number in numbers:
                pipe.xrevrange(self._partitions[number].outcomes, count=1)
            rows = cast("list[list[tuple[str, object]]]", await pipe.execute())
        pairs = zip(numbers, rows, strict=True)
        return {number for number, row in pairs if row and row[0][0] != self._newest.get(number)}


def _parse_delivery(partition: int, entry: Reply) -> Delivery:
    entry_id, tries, fields = cast("tuple[str, int, object]", entry)
    fields_by_name = parse_flat_pairs(fields)
    digest, event = unpack_outcome(fields_by_name.get("o", ""))
    traceparent, group = fields_by_name.get("t", ""), fields_by_name.get("group", "")
    return Delivery(partition, entry_id, tries, event, digest if tries == 1 else None, traceparent, group)
