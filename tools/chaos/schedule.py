"""The plan of a run: which errands when, and which strikes when. A pure function of the seed and the time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from types import MappingProxyType

from shared.domain.exact_json import JsonObject
from tools.chaos.errands import Errand, Kind, errand
from tools.chaos.strikes import Strike, strikes

TASKS_A_SECOND = 1.8
LONGEST_ROUND = 300.0  # seconds: more than any restart of everything takes
QUIET_SHARE = 0.05  # of the time, at the end: work goes on, nothing is struck

_MIX: Mapping[Kind, int] = MappingProxyType(
    {
        Kind.REFUND: 9,
        Kind.TWO_REFUNDS: 4,
        Kind.CLAIM: 5,
        Kind.TWO_CLAIMS: 4,
        Kind.CLAIM_AND_NOTICE: 4,
        Kind.PHONE: 3,
        Kind.QUESTION: 4,
        Kind.APPROVED_REFUND: 3,
        Kind.APPROVED_CLAIM: 2,
        Kind.REJECTED_REFUND: 1,
        Kind.REJECTED_CLAIM: 1,
        Kind.BLOCKED_CLAIM: 1,
        Kind.LEFT_WAITING: 1,
    }
)


@dataclass(frozen=True)
class Planned:
    """One task: when it is sent, over which protocol its tools are called, and what its client does besides.

    ``session``: a session that it shares with others. ``resent_after``: seconds until its client sends the same message
    again. ``canceled_after``: seconds until its client asks for its end.
    """

    number: int
    at: float
    errand: Errand
    protocol: str
    session: str | None = None
    resent_after: float | None = None
    canceled_after: float | None = None


@dataclass(frozen=True)
class Schedule:
    """Times are seconds from the beginning of the load.

    ``rolling``: everything is restarted, and nothing struck. The load lasts until the last restart then, so there are
    more tasks than will be sent.
    """

    seed: int
    seconds: float
    tasks: tuple[Planned, ...]
    strikes: tuple[Strike, ...]
    rolling: bool = False

    def as_json(self) -> JsonObject:
        return {
            "seed": self.seed,
            "seconds": _told(self.seconds),
            "rolling": self.rolling,
            "tasks": [_task(planned) for planned in self.tasks],
            "strikes": [strike.as_json() for strike in self.strikes],
        }


def schedule(seed: int, seconds: float, executors: int = 3, *, rolling: bool = False) -> Schedule:
    """The same for the same arguments, on every machine."""
    for_tasks, for_strikes = Random(f"tasks {seed}"), Random(f"strikes {seed}")  # noqa: S311  # not a secret
    struck = () if rolling else strikes(for_strikes, seconds * (1 - QUIET_SHARE), executors)
    lasts = seconds + LONGEST_ROUND if rolling else seconds
    return Schedule(seed, seconds, tuple(_tasks(for_tasks, lasts)), struck, rolling)


def _tasks(random: Random, seconds: float) -> Iterator[Planned]:
    kinds, weights = list(_MIX), list(_MIX.values())
    for number in range(int(seconds * TASKS_A_SECOND)):
        (kind,) = random.choices(kinds, weights)
        at = (number + random.random()) / TASKS_A_SECOND
        yield _planned(random, number, at, errand(kind, number, random))


def _planned(random: Random, number: int, at: float, wanted: Errand) -> Planned:
    canceled = wanted.writes and random.random() < 0.06
    return Planned(
        number=number,
        at=round(at, 3),
        errand=wanted,
        protocol=random.choice(("mcp", "rest")),
        session=f"shared-{number // 12}" if random.random() < 0.15 else None,
        resent_after=round(random.uniform(0.0, 3.0), 3) if random.random() < 0.1 else None,
        canceled_after=round(random.uniform(0.2, 2.5), 3) if canceled else None,
    )


def _task(planned: Planned) -> JsonObject:
    return {
        "number": planned.number,
        "at": _told(planned.at),
        "kind": planned.errand.kind.value,
        "text": planned.errand.text,
        "protocol": planned.protocol,
        "session": planned.session,
        "resent_after": None if planned.resent_after is None else _told(planned.resent_after),
        "canceled_after": None if planned.canceled_after is None else _told(planned.canceled_after),
    }


def _told(seconds: float) -> Decimal:
    return Decimal(f"{seconds:.3f}")
