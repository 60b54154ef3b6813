"""The clients of a run: each sends its task, again until it is accepted, and does what else its errand says."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cli.gateway.messages import Speaker, Utterance
from shared.domain.words import TaskState
from tools.chaos.doors import Accepted, Doors, Refused
from tools.chaos.followers import Followers
from tools.chaos.schedule import Planned

CLERK = Speaker("casey")
MOST_OPEN = 24
_LATE = 1.0
_FOLLOWED = 3  # every third task is watched by a stream, where streams are
_LOOK_EVERY = 0.1
ENDED = frozenset(state.value for state in TaskState if state.is_terminal)


@dataclass
class Sent:
    """One task as its client knows it. ``refused``: why it was not accepted. ``twice``: it was made two."""

    planned: Planned
    accepted: Accepted | None = None
    refused: str = ""
    twice: str = ""
    cancel_said: str = ""
    decisions: set[str] = field(default_factory=set)
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

    def __init__(self, doors: Doors, seed: int, endpoint: str, followers: Followers | None = None) -> None:
        self._doors = doors
        self._followers = followers
        self._seed = seed
        self._endpoint = endpoint
        self.sent: list[Sent] = []
        self._stopped = False
        self.lasted = 0.0  # seconds in which tasks were sent

    def stop(self) -> None:
        """Nothing more is sent."""
        self._stopped = True

    def accepted(self) -> Iterator[tuple[Sent, Accepted]]:
        return ((sent, sent.accepted) for sent in self.sent if sent.accepted is not None)

    async def run(self, tasks: Sequence[Planned]) -> None:
        """Returns when every client has done its part; it is for the caller to bound that.

        Nobody sends while too much is open: on a slow machine a queue would grow, and its length be measured. What
        was not sent by the time of the last task is not sent any more.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        over = began + tasks[-1].at + _LATE
        async with asyncio.TaskGroup() as group:
            for planned in tasks:
                await asyncio.sleep(max(0.0, began + planned.at - clock()))
                self.lasted = clock() - began
                while self._open() >= MOST_OPEN and clock() < over:  # noqa: ASYNC110  # Redis is looked at by polling
                    await asyncio.sleep(_LOOK_EVERY)
                if self._stopped or clock() >= over:
                    return
                sent = Sent(planned)
                self.sent.append(sent)
                group.create_task(self._client(sent))

    def _open(self) -> int:
        return sum(not (sent.refused or sent.has_ended or sent.waits) for sent in self.sent)

    async def _client(self, sent: Sent) -> None:
        planned = sent.planned
        utterance = self._utterance(planned)
        try:
            sent.accepted = await self._doors.send(utterance, self._message_id(planned), planned.number)
        except Refused as refusal:
            sent.refused = str(refusal)
            return
        async with asyncio.TaskGroup() as group:
            if self._followers and planned.number % _FOLLOWED == 0:
                group.create_task(self._followers.follow(sent.accepted.task_id))
            if planned.resent_after is not None:
                group.create_task(self._resend(sent, utterance, sent.accepted, planned.resent_after))
            if planned.canceled_after is not None:
                group.create_task(self._cancel(sent, sent.accepted, planned.canceled_after))

    async def _resend(self, sent: Sent, utterance: Utterance, accepted: Accepted, seconds: float) -> None:
        """The same message once more must lead to the same task."""
        await asyncio.sleep(seconds)
        try:
            again = await self._doors.send(utterance, self._message_id(sent.planned), sent.planned.number + 1)
        except Refused as refusal:
            sent.twice = f"the message sent again was refused: {refusal}"
            return
        if again.task_id != accepted.task_id:
            sent.twice = f"the message sent again made a second task {again.task_id}"

    async def _cancel(self, sent: Sent, accepted: Accepted, seconds: float) -> None:
        await asyncio.sleep(seconds)
        try:
            sent.cancel_said = (await self._doors.cancel(accepted.task_id, CLERK)).state
        except Refused as refusal:  # it had ended
            sent.cancel_said = str(refusal)

    def _utterance(self, planned: Planned) -> Utterance:
        endpoint = self._endpoint if planned.protocol == "rest" else None
        return Utterance(planned.errand.text, CLERK, session=planned.session, tools_endpoint=endpoint)

    def _message_id(self, planned: Planned) -> str:
        return f"chaos-{self._seed}-{planned.number}"
