"""Looks for training rows at the start and from time to time, beside everything else. Nothing waits for it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog
from pydantic import JsonValue

from services.learner.core.training.seeding import Seeder, SeedResult
from services.learner.ports.outcomes import BucketUnavailable
from shared.ports.store import StoreUnavailable

_AGAIN_SECONDS = 60.0  # after a failure, and where another learner is looking
_NAMED = 5  # bad rows of one object

log = structlog.get_logger()


@dataclass
class SeedingStatus:
    """What this process has loaded since it started, for its health."""

    objects: int = 0
    rows: int = 0
    bad: int = 0
    problem: str = ""
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    def count(self, seeded: SeedResult) -> None:
        """Take note of one object, and name what was left out of it; what another learner loaded it has told."""
        if seeded.kept is None:
            return
        bad = [f"{row.place}: {row.reason}" for row in seeded.bad[:_NAMED]]
        told = {"object": seeded.found.name, "rows": seeded.rows, "bad": len(seeded.bad), "in_log": seeded.kept}
        log.warning("training_rows_left_out", first=bad, **told) if bad else log.info("training_rows_loaded", **told)
        self.objects, self.rows, self.bad = self.objects + 1, self.rows + seeded.rows, self.bad + len(seeded.bad)

    def as_json(self) -> dict[str, JsonValue]:
        return {"objects": self.objects, "rows": self.rows, "bad": self.bad, "problem": self.problem}


async def keep_seeded(open_seeder: Callable[[], Seeder], status: SeedingStatus, every_seconds: float) -> None:
    """Runs until cancelled. ``open_seeder`` may take its time: it is called beside the loop."""
    opened: Seeder | None = None

    async def seeder() -> Seeder:
        nonlocal opened
        if opened is None:
            opened = await asyncio.to_thread(open_seeder)
        return opened

    while True:
        done = await _look_once(seeder, status)
        await asyncio.sleep(every_seconds if done else min(_AGAIN_SECONDS, every_seconds))


async def _look_once(seeder: Callable[[], Awaitable[Seeder]], status: SeedingStatus) -> bool:
    try:
        done = await (await seeder()).look(status.count)
    except (BucketUnavailable, StoreUnavailable) as error:
        status.problem = str(error)
        log.warning("training_rows_unavailable", error=str(error))
        return False
    except Exception as error:  # the outer edge of seeding: what it cannot read must not stop the learner
        status.problem = repr(error)
        log.exception("training_rows_unreadable", error=repr(error))
        return False
    if done:
        status.problem = ""
        status.looked.set()
    return done
