"""Goes through the outcomes once more, at its own pace, and remembers what each says beyond its case."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from services.learner.core.lesson import Unreadable, read
from services.learner.core.memory.entity_memory import changed, predictions
from services.learner.core.memory.memo import Memo, memo_of
from services.learner.memory_ports import Lore, Spoiled
from services.learner.ports import Delivery, Outcomes

log = structlog.get_logger()

_AT_ONCE = 16  # events in hand, so that others of the process have their turn
_TIMES = 20  # how often another learner may be first to write a tenant's memory


@dataclass
class Remembered:
    """What this process has done since it started.

    ``passed``: events that cannot be read, which the dead letters have, or of a tenant whose memory is spoiled.
    """

    remembered: int = 0
    known: int = 0
    passed: int = 0


class Crowded(RuntimeError):
    """So many others write one tenant's memory that this one never came to it. The event is taken again later."""


class Rememberer:
    """``outcomes`` are the same streams as the learner's, read by a group of their own."""

    def __init__(
        self, outcomes: Outcomes, lore: Lore, held: Callable[[], Collection[int]], *, wants_facts: bool
    ) -> None:
        self._outcomes = outcomes
        self._lore = lore
        self._held = held
        self._wants_facts = wants_facts
        self._mine: frozenset[int] = frozenset()
        self.counts = Remembered()

    async def round(self) -> int:
        """Remember what is there; how many events were in hand."""
        held = frozenset(self._held())
        if given := self._mine - held:
            await self._outcomes.give_up(given)
        taken = await self._outcomes.take(held)
        self._mine = held - frozenset(taken.lost)
        for first in range(0, len(taken.deliveries), _AT_ONCE):
            some = taken.deliveries[first : first + _AT_ONCE]
            for delivery in some:
                await self._remember(delivery)
            await self._outcomes.settle(some, ())
        return len(taken.deliveries)

    async def leave(self) -> None:
        mine, self._mine = self._mine, frozenset()
        await self._outcomes.give_up(mine)

    async def _remember(self, delivery: Delivery) -> None:
        try:
            outcome = read(delivery.event)
        except Unreadable:
            self.counts.passed += 1
            return
        if outcome.dry_run:
            return
        try:
            await self._kept(memo_of(outcome, wants_facts=self._wants_facts))
        except Spoiled as error:
            self.counts.passed += 1
            log.error("memory_spoiled", tenant=outcome.tenant, event_id=outcome.event_id, error=str(error))

    async def _kept(self, memo: Memo) -> None:
        """Also of an event that was remembered before: it may not have been said then that its facts are wanted."""
        is_new = await self._is_new(memo)
        self.counts.remembered += is_new
        self.counts.known += not is_new
        if memo.todo is not None:
            await self._lore.queue(memo.tenant, memo.event_id)

    async def _is_new(self, memo: Memo) -> bool:
        fields = tuple(one.field for one in memo.entities)
        for _ in range(_TIMES):
            known = await self._lore.known(memo.tenant, memo.event_id, fields, tuple(predictions(memo)))
            if known is None:
                return False
            if await self._lore.keep(changed(known, memo), known.version):
                return True
        raise Crowded(f"event {memo.event_id!r} could not be remembered in {_TIMES} attempts")
