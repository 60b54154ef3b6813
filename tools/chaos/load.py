"""The clients of a run: each sends its task, again until it is accepted, and does what else its errand says."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cli.gateway.messages import OutgoingMessage, Speaker
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from tools.chaos.followers import Followers
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, NoAnswer, RpcRefused, TooManyForNow
from tools.chaos.schedule import PlannedTask

CLAIMANT = Speaker("casey")
_FOLLOWED = 3  # every third task is watched by a stream, where streams are
ENDED = frozenset(state.value for state in TaskState if state.is_terminal)


class GivenApproval(NamedTuple):
    """A yes. ``at``: monotonic time right before it was sent. ``calls``: tools and arguments as the approver saw."""

    at: float
    calls: tuple[tuple[str, JsonObject], ...]


@dataclass
class SentTask:
    """One task as its client knows it. ``refused``: why it was not accepted. ``twice``: why its resend failed."""

    planned: PlannedTask
    accepted: AcceptedTask | None = None
    refused: str = ""
    twice: str = ""
    resent_as: str = ""  # the task to which the same message led once more
    lost_ids: list[str] = field(default_factory=list)  # tasks that it was told of and that a cut tail took
    cancel_said: str = ""
    cancel_taken_at: float | None = None  # monotonic time at which a cancel was answered, unless it was refused
    accepted_at: float = 0.0  # monotonic time at which its acceptance was answered
    decided_at: dict[str, float] = field(default_factory=dict)  # by approval: monotonic time of the answer to it
    is_meddled_with: bool = False
    approvals: list[GivenApproval] = field(default_factory=list)
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

    def __init__(self, gateways: GatewayCaller, seed: int, endpoint: str, followers: Followers | None = None) -> None:
        self._gateways = gateways
        self._followers = followers
        self._seed = seed
        self._endpoint = endpoint
        self.sent: list[SentTask] = []
        self._stopped = False
        self._may_send = asyncio.Event()
        self._may_send.set()
        self.lasted = 0.0  # seconds in which tasks were sent

    def pause(self) -> None:
        """Nothing more of the schedule is sent until ``resume``."""
        self._may_send.clear()

    def resume(self) -> None:
        self._may_send.set()

    def stop(self) -> None:
        """Nothing more is sent."""
        self._stopped = True

    def accepted_tasks(self) -> Iterator[tuple[SentTask, AcceptedTask]]:
        return ((sent, sent.accepted) for sent in self.sent if sent.accepted is not None)

    async def run(self, tasks: Sequence[PlannedTask]) -> None:
        """Send each task at its time, however much is open; returns when every client has done its part.

        It is for the caller to bound that. A load that waited for the worker would be as light as the worker is slow.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        async with asyncio.TaskGroup() as group:
            for planned in tasks:
                await asyncio.sleep(max(0.0, began + planned.at - clock()))
                await self._may_send.wait()
                if self._stopped:
                    return
                self.lasted = clock() - began
                group.create_task(self.send(planned))

    async def send(self, planned: PlannedTask) -> SentTask:
        """Send one task, and do what else its client does; returns when that is done."""
        sent = SentTask(planned)
        self.sent.append(sent)
        await self._client(sent)
        return sent

    async def send_once(self, planned: PlannedTask, gateway: str) -> bool | None:
        """One attempt at one gateway. False: it was refused for now, and is not sent again.

        None: nobody answered in time, and it is sent until somebody does.
        """
        utterance, message_id = self._build_message(planned), self._message_id(planned)
        sent = SentTask(planned)
        try:
            sent.accepted = await self._gateways.send_once(gateway, utterance, message_id, planned.tenant)
            sent.accepted_at = time.monotonic()
            self.sent.append(sent)
        except TooManyForNow:
            return False
        except NoAnswer:
            await self.send(planned)
            return None
        return True

    async def _client(self, sent: SentTask) -> None:
        planned = sent.planned
        utterance = self._build_message(planned)
        await self._hand_over(sent)
        if sent.accepted is None:
            return
        async with asyncio.TaskGroup() as group:
            if self._followers and planned.number % _FOLLOWED == 0:
                group.create_task(self._followers.follow(sent.accepted.task_id))
            if planned.resent_after is not None:
                group.create_task(self._resend(sent, utterance, planned.resent_after))
            if planned.canceled_after is not None:
                group.create_task(self._cancel(sent, planned.canceled_after))

    async def finish_sending(self) -> None:
        """Send what nobody has answered yet until somebody does: its task may be there all the same."""
        open_sends = [sent for sent in self.sent if sent.accepted is None and not sent.refused]
        await asyncio.gather(*(self._hand_over(sent) for sent in open_sends))

    async def send_again(self, sent: SentTask) -> None:
        """The same message once more, whose task nobody knows any longer; and its cancel, if it was to be canceled."""
        if sent.accepted is None:
            return
        sent.lost_ids.append(sent.accepted.task_id)
        sent.accepted = None
        sent.decided_at = {}
        sent.cancel_taken_at = None
        await self._hand_over(sent)
        if sent.accepted is not None and sent.planned.canceled_after is not None:
            await self._cancel(sent, sent.planned.canceled_after)

    async def _hand_over(self, sent: SentTask) -> None:
        """Send its message, for good: until it is accepted or refused."""
        planned = sent.planned
        try:
            sent.accepted = await self._gateways.send(
                self._build_message(planned), self._message_id(planned), planned.number, planned.tenant
            )
            sent.accepted_at = time.monotonic()
        except RpcRefused as refusal:
            sent.refused = str(refusal)

    async def cancel_again(self, sent: SentTask) -> None:
        """Ask for the task's end once more: the first time may have been forgotten."""
        sent.cancel_taken_at, sent.cancel_said = None, ""
        await self._cancel(sent, 0.0)

    async def _resend(self, sent: SentTask, utterance: OutgoingMessage, seconds: float) -> None:
        """The same message once more must lead to the same task."""
        await asyncio.sleep(seconds)
        try:
            planned = sent.planned
            again = await self._gateways.send(utterance, self._message_id(planned), planned.number + 1, planned.tenant)
        except RpcRefused as refusal:
            sent.twice = f"the message sent again was refused: {refusal}"
            return
        sent.resent_as = again.task_id

    async def _cancel(self, sent: SentTask, seconds: float) -> None:
        await asyncio.sleep(seconds)
        accepted = sent.accepted
        if accepted is None:  # it is being sent again, and its cancel with it
            return
        try:
            sent.cancel_said = (await self._gateways.cancel(accepted, CLAIMANT)).state
            sent.cancel_taken_at = time.monotonic()
        except RpcRefused as refusal:  # it had ended
            sent.cancel_said = str(refusal)

    def _build_message(self, planned: PlannedTask) -> OutgoingMessage:
        endpoint = self._endpoint if planned.protocol == "rest" else None
        return OutgoingMessage(planned.task.text, CLAIMANT, session=planned.session, tools_endpoint=endpoint)

    def _message_id(self, planned: PlannedTask) -> str:
        return f"chaos-{self._seed}-{planned.number}"
