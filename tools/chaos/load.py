"""The clients of a run: each sends its task, again until it is accepted, and does what else its errand says."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cli.gateway.messages import Speaker, Utterance
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from tools.chaos.followers import Followers
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, RpcRefused
from tools.chaos.schedule import Planned

CLERK = Speaker("casey")
_FOLLOWED = 3  # every third task is watched by a stream, where streams are
ENDED = frozenset(state.value for state in TaskState if state.is_terminal)


class Approved(NamedTuple):
    """A yes. ``at``: monotonic time right before it was sent. ``calls``: tools and arguments as the approver saw."""

    at: float
    calls: tuple[tuple[str, JsonObject], ...]


@dataclass
class SentTask:
    """One task as its client knows it. ``refused``: why it was not accepted. ``twice``: it was made two."""

    planned: Planned
    accepted: AcceptedTask | None = None
    refused: str = ""
    twice: str = ""
    cancel_said: str = ""
    cancel_taken_at: float | None = None  # monotonic time at which a cancel was answered, unless it was refused
    decisions: set[str] = field(default_factory=set)
    approvals: list[Approved] = field(default_factory=list)
    state: str = ""
    looked_at: float = 0.0  # when somebody last looked at it because it waited

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def waits(self) -> bool:
        return self.state == TaskState.INPUT_REQUIRED


class Load:
    """Runs the clients of a schedule. ``endpoint``: the tool server of the tasks over the bridge."""

    def __init__(self, doors: GatewayCaller, seed: int, endpoint: str, followers: Followers | None = None) -> None:
        self._doors = doors
        self._followers = followers
        self._seed = seed
        self._endpoint = endpoint
        self.sent: list[SentTask] = []
        self._stopped = False
        self.lasted = 0.0  # seconds in which tasks were sent

    def stop(self) -> None:
        """Nothing more is sent."""
        self._stopped = True

    def accepted_tasks(self) -> Iterator[tuple[SentTask, AcceptedTask]]:
        return ((sent, sent.accepted) for sent in self.sent if sent.accepted is not None)

    async def run(self, tasks: Sequence[Planned]) -> None:
        """Send each task at its time, however much is open; returns when every client has done its part.

        It is for the caller to bound that. A load that waited for the worker would be as light as the worker is slow.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        async with asyncio.TaskGroup() as group:
            for planned in tasks:
                await asyncio.sleep(max(0.0, began + planned.at - clock()))
                if self._stopped:
                    return
                self.lasted = clock() - began
                group.create_task(self.send(planned))

    async def send(self, planned: Planned) -> SentTask:
        """Send one task, and do what else its client does; returns when that is done."""
        sent = SentTask(planned)
        self.sent.append(sent)
        await self._client(sent)
        return sent

    async def _client(self, sent: SentTask) -> None:
        planned = sent.planned
        utterance = self._utterance(planned)
        try:
            sent.accepted = await self._doors.send(utterance, self._message_id(planned), planned.number)
        except RpcRefused as refusal:
            sent.refused = str(refusal)
            return
        async with asyncio.TaskGroup() as group:
            if self._followers and planned.number % _FOLLOWED == 0:
                group.create_task(self._followers.follow(sent.accepted.task_id))
            if planned.resent_after is not None:
                group.create_task(self._resend(sent, utterance, sent.accepted, planned.resent_after))
            if planned.canceled_after is not None:
                group.create_task(self._cancel(sent, sent.accepted, planned.canceled_after))

    async def _resend(self, sent: SentTask, utterance: Utterance, accepted: AcceptedTask, seconds: float) -> None:
        """The same message once more must lead to the same task."""
        await asyncio.sleep(seconds)
        try:
            again = await self._doors.send(utterance, self._message_id(sent.planned), sent.planned.number + 1)
        except RpcRefused as refusal:
            sent.twice = f"the message sent again was refused: {refusal}"
            return
        if again.task_id != accepted.task_id:
            sent.twice = f"the message sent again made a second task {again.task_id}"

    async def _cancel(self, sent: SentTask, accepted: AcceptedTask, seconds: float) -> None:
        await asyncio.sleep(seconds)
        try:
            sent.cancel_said = (await self._doors.cancel(accepted.task_id, CLERK)).state
            sent.cancel_taken_at = time.monotonic()
        except RpcRefused as refusal:  # it had ended
            sent.cancel_said = str(refusal)

    def _utterance(self, planned: Planned) -> Utterance:
        endpoint = self._endpoint if planned.protocol == "rest" else None
        return Utterance(planned.errand.text, CLERK, session=planned.session, tools_endpoint=endpoint)

    def _message_id(self, planned: Planned) -> str:
        return f"chaos-{self._seed}-{planned.number}"
