"""What surrounds a simulated world, in a test's hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from typing_extensions import override

from services.simulator.ports.sending import Sender, SendResult
from services.simulator.ports.surroundings import Surroundings

WALL = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class StillSurroundings(Surroundings):
    """Time passes when a test says so; ids and secrets are counted."""

    def __init__(self) -> None:
        self.time = WALL
        self._count = 0

    def pass_seconds(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    @override
    def now(self) -> datetime:
        return self.time

    @override
    def new_id(self) -> str:
        self._count += 1
        return str(UUID(int=self._count))

    @override
    def new_secret(self, length: int) -> str:
        self._count += 1
        return f"{self._count:0{length}x}"


class EarlierAttempt(NamedTuple):
    url: str
    secret: str
    notice_id: str
    body: str


class NotingSender(Sender):
    """Answers as it was told to, the last answer for good, and notes what it was given."""

    def __init__(self, answers: Sequence[SendResult] = (SendResult(200),)) -> None:
        self._answers = list(answers)
        self.attempts: list[EarlierAttempt] = []

    @override
    async def send(self, url: str, secret: str, notice_id: str, body: str) -> SendResult:
        self.attempts.append(EarlierAttempt(url, secret, notice_id, body))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
