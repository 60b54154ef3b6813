"""SIGKILL a real executor at the step boundaries of a task with two writes: what is left is always the same."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import count

import pytest
import pytest_asyncio

from shared.domain.words import TaskState, WriteStatus
from tests.e2e.fuse import Boundary, Step, session_of, steps
from tests.e2e.mortal_stack import FIRST_ROW, MortalStack, mortal_stack
from tests.e2e.what_is_left import Asked, Left, what_is_left

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400), pytest.mark.long]

AT_ONCE = 8  # tasks at a time, and executors: each has room for one
ROWS, TRIES = 1000, 3
WRITES = ("update_employee_phone", "assign_asset")


class Kills:
    """The task undisturbed, and what each kill of its executor led to; no boundary is tried twice."""

    def __init__(self, stack: MortalStack) -> None:
        self._stack = stack
        self._places = asyncio.Semaphore(AT_ONCE)
        self._known: dict[Boundary, Left] = {}
        self._numbers = count(FIRST_ROW)
        self.names: tuple[str, ...] = ()

    async def begin(self) -> None:
        """Run once before, so that the model's cache holds what it holds for all that follow."""
        await self._carried_out(Asked("warming-up", next(self._numbers)))
        self.undisturbed = await self._carried_out(Asked("undisturbed", next(self._numbers)))
        self.names = tuple(step.name for step in self._steps("undisturbed"))

    @property
    def boundaries(self) -> list[Boundary]:
        """Before and after each step; not after a wait for a signal, which is given up when the model has answered."""
        named = [*enumerate(self.names, 1)]
        before = [Boundary(number, "before") for number, _ in named]
        after = [Boundary(number, "after") for number, name in named if name != "await_signal"]
        return sorted([*before, *after], key=lambda at: at.step)

    async def problems(self, boundaries: Iterable[Boundary]) -> dict[str, list[str]]:
        """What is not as it should be, by the session whose executor is killed at its boundary."""
        chosen = list(dict.fromkeys(boundaries))
        found = await asyncio.gather(*map(self._problems_at, chosen))
        return {session_of(at): wrong for at, wrong in zip(chosen, found, strict=True) if wrong}

    async def _problems_at(self, at: Boundary) -> list[str]:
        if at not in self._known:
            async with self._places:
                self._known[at] = await self._killed(at)
        left, write = self._known[at], self._excepted(at)
        return [*(_unlike(left, self.undisturbed) if write is None else _not_said_to_be_absent(left, write))]

    async def _killed(self, at: Boundary) -> Left:
        """Again where the machine was so slow that another executor had the session before the kill could strike."""
        for again in range(TRIES):
            asked = Asked(session_of(at, again), next(self._numbers))
            left = await self._carried_out(asked)
            if self._struck(at, asked.session):
                return left
        first = [step.name for step in self._steps(asked.session) if step.attempt == 1]
        raise AssertionError(f"the kill did not strike where it was to, {at}: {first}")

    def _excepted(self, at: Boundary) -> int | None:
        """The number of the write whose intent is stored and whose request has not left, if the kill falls there."""
        last_done = at.step if at.side == "after" else at.step - 1
        opened = [number for number, name in enumerate(self.names, 1) if name.startswith("open_write")]
        return opened.index(last_done) if last_done in opened else None

    def _struck(self, at: Boundary, session: str) -> bool:
        """Two calls may go out at once: of those the second, and the look at the lease before it, has begun where the
        first is struck.
        """
        first = [step.name.split()[0] for step in self._steps(session) if step.attempt == 1]
        way = [name.split()[0] for name in self.names]
        beside_struck = [name for name in first[at.step :] if name not in ("get_stop_state", "read")]
        return first in (way[: at.step], way[: at.step + 1], way[: at.step + 2]) and len(beside_struck) <= 1

    def _steps(self, session: str) -> list[Step]:
        return [step for step in steps(self._stack.log) if step.session == session]

    async def _carried_out(self, asked: Asked) -> Left:
        await self._stack.whole.send(asked.text, asked.session)
        return await what_is_left(self._stack.whole, asked)


def _unlike(left: Left, undisturbed: Left) -> Iterator[str]:
    for name, value, known in zip(Left._fields, left, undisturbed, strict=True):
        if value != known and name != "journal":
            yield f"{name}: {value}"
    for step in (Counter(left.journal) - Counter(undisturbed.journal)).elements():
        yield f"journal, more: {step}"
    for step in (Counter(undisturbed.journal) - Counter(left.journal)).elements():
        yield f"journal, missing: {step}"


def _not_said_to_be_absent(left: Left, write: int) -> Iterator[str]:
    """I3's exception: the request may have left or not. It did not, so the write is absent, and a person decides."""
    statuses = [*[WriteStatus.VERIFIED.value] * write, WriteStatus.ABSENT.value]
    if (left.applied, left.rows) != (WRITES[:write], (write > 0, False)):
        yield f"applied: {left.applied}, shown: {left.rows}"
    if list(left.writes.values()) != statuses:
        yield f"writes: {left.writes}"
    if not left.escalated or left.state is not TaskState.INPUT_REQUIRED:
        yield f"it ended {left.state}, escalated {left.escalated}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kills() -> AsyncIterator[Kills]:
    async with mortal_stack(AT_ONCE, ROWS) as stack:
        found = Kills(stack)
        await found.begin()
        yield found


async def test_undisturbed_both_writes_take_hold(kills: Kills) -> None:
    """What every other run is compared with."""
    left = kills.undisturbed
    assert (left.state, left.applied, left.rows, left.outcomes) == (TaskState.COMPLETED, WRITES, (True, True), 1)
    assert left.writes == {"c1": WriteStatus.VERIFIED.value, "c2": WriteStatus.VERIFIED.value}


@pytest.mark.promise("I3.killed_at_every_step")
async def test_killed_around_its_writes_and_here_and_there_it_leaves_the_same(kills: Kills) -> None:
    """Every boundary from the first intent to the last proof, and a few of the others."""
    first = kills.names.index("open_write c1 sending") + 1
    last = kills.names.index("settle_write c2 verified") + 1
    around = [at for at in kills.boundaries if first <= at.step <= last]
    assert await kills.problems([*around, *kills.boundaries[::11]]) == {}


@pytest.mark.promise("I3.killed_at_every_step")
async def test_killed_at_any_step_boundary_it_leaves_the_same(kills: Kills) -> None:
    """Each boundary of the task."""
    assert await kills.problems(kills.boundaries) == {}
