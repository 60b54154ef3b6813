"""What Redis forgot with the end of its log, or with a primary whose replica took over, and what its clients do then.

An accept that lay in such a tail is gone: its sender is told that nobody knows the task, and sends the message again.
So it is with a cancel and an approver's answer. What was acknowledged before the tail began must still be there.
"""

import asyncio
import math
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

from tools.chaos.gateway_caller import AcceptedTask
from tools.chaos.load import Load, SentTask
from tools.chaos.recovery import Recoveries
from tools.chaos.sight import Sight

_LOOKS = 2
_LATE_ANSWER_SECONDS = 2.0  # within which an answer may come of what was stored before the cut


@dataclass(frozen=True)
class LostTail:
    """``began``: monotonic seconds from which on nothing that was written is sure to be there, until ``ended``."""

    fault: str
    began: float
    ended: float = math.inf


class LostAccept(NamedTuple):
    """An accept that lay in a tail."""

    task_id: str
    text: str
    fault: str


class TailRepair:
    """Does for the clients what they do once Redis serves again without its tail. ``tails``: each that was cut."""

    def __init__(self, load: Load, sight: Sight, recoveries: Recoveries, pause: float = _LATE_ANSWER_SECONDS) -> None:
        self._pause = pause
        self._load = load
        self._sight = sight
        self._recoveries = recoveries
        self.tails: list[LostTail] = []
        self.lost: list[LostAccept] = []

    def note_cut(self, tail: LostTail) -> None:
        """To be called before anybody can speak to the server that lacks the tail."""
        self.tails.append(replace(tail, ended=time.monotonic()))

    async def repair(self, tail: LostTail) -> None:
        """Twice: an answer that was on its way when the tail was cut is heard a little later."""
        await self._recoveries.lower_fences()
        for look in range(_LOOKS):
            await self._repair_once(tail)
            if look + 1 < _LOOKS:
                await asyncio.sleep(self._pause)

    async def _repair_once(self, tail: LostTail) -> None:
        accepted = list(self._load.accepted_tasks())
        states = await self._sight.states([task for _, task in accepted])
        for (sent, task), state in zip(accepted, states, strict=True):
            if sent.accepted == task:
                sent.state = state
        await asyncio.gather(*(self._repeat_lost(sent, task, tail) for sent, task in accepted if sent.accepted == task))

    async def _repeat_lost(self, sent: SentTask, task: AcceptedTask, tail: LostTail) -> None:
        """What its client or approver said since the tail began may be gone, and is said once more."""
        if not sent.state and sent.accepted_at >= tail.began:
            self.lost.append(LostAccept(task.task_id, sent.planned.task.text, tail.fault))
            await self._load.send_again(sent)
        elif sent.state and not sent.has_ended:
            if any(at >= tail.began for at in sent.decided_at.values()):
                sent.decided_at.clear()
            if sent.cancel_taken_at is not None and sent.cancel_taken_at >= tail.began:
                await self._load.cancel_again(sent)
