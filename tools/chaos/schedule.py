"""The plan of a run: which errands when, and which strikes when. A pure function of the seed and the time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from types import MappingProxyType

from shared.domain.exact_json import JsonObject
from tools.chaos.chaos_tasks import ChaosTask, ChaosTaskKind, make_task
from tools.chaos.strikes import Blow, ListedFault, Strike, listed_faults, plan_strikes
from tools.chaos.tenants import FIRST, TENANTS

MOST_A_SECOND = 1.8  # tasks; a machine that carries less is sent less
WARM_UP_FROM = 50_000  # the number of the first task that is sent before anything is struck
BURST_FROM = 60_000  # the number of the first task of a burst
LONGEST_ROUND = 300.0  # seconds: more than any restart of everything takes
QUIET_SHARE = 0.05  # of the time, at the end: work goes on, nothing is struck

_OF_WARM_UP = (ChaosTaskKind.REFUND, ChaosTaskKind.CLAIM, ChaosTaskKind.QUESTION, ChaosTaskKind.PHONE)
_MIX: Mapping[ChaosTaskKind, int] = MappingProxyType(
    {
        ChaosTaskKind.REFUND: 9,
        ChaosTaskKind.TWO_REFUNDS: 4,
        ChaosTaskKind.CLAIM: 5,
        ChaosTaskKind.TWO_CLAIMS: 4,
        ChaosTaskKind.CLAIM_AND_NOTICE: 4,
        ChaosTaskKind.PHONE: 3,
        ChaosTaskKind.QUESTION: 4,
        ChaosTaskKind.APPROVED_REFUND: 3,
        ChaosTaskKind.APPROVED_CLAIM: 2,
        ChaosTaskKind.REJECTED_REFUND: 1,
        ChaosTaskKind.REJECTED_CLAIM: 1,
        ChaosTaskKind.BLOCKED_CLAIM: 1,
        ChaosTaskKind.LEFT_WAITING: 1,
        ChaosTaskKind.CANCELED_CLAIM: 1,
        ChaosTaskKind.FULL_REFUND: 1,
        ChaosTaskKind.SIBLINGS: 1,
        ChaosTaskKind.ALTERED_PLAN: 1,
    }
)


@dataclass(frozen=True)
class PlannedTask:
    """One task: when it is sent, over which protocol its tools are called, and what its client does besides.

    ``tenant``: whose client sends it. ``session``: a session that it shares with others. ``resent_after``: seconds
    until its client sends the same message again. ``canceled_after``: seconds until its client asks for its end.
    """

    number: int
    at: float
    task: ChaosTask
    protocol: str
    session: str | None = None
    tenant: str = FIRST
    resent_after: float | None = None
    canceled_after: float | None = None


@dataclass(frozen=True)
class Schedule:
    """Times are seconds from the beginning of the load.

    ``rolling``: everything is restarted, and nothing struck. The load lasts until the last restart then, so there are
    more tasks than will be sent. ``rate``: tasks a second. ``faults``: the names of those that it lists.
    """

    seed: int
    seconds: float
    tasks: tuple[PlannedTask, ...]
    strikes: tuple[Strike, ...]
    rolling: bool = False
    rate: float = MOST_A_SECOND
    faults: tuple[str, ...] = ()
    tenants: tuple[str, ...] = (FIRST,)

    def at_rate(self, rate: float) -> "Schedule":
        """The same run with the same tasks in the same order, as many of them as its time then holds."""
        slower = self.rate / rate
        spread = (replace(task, at=round(task.at * slower, 3)) for task in self.tasks)
        kept = tuple(task for task in spread if self.rolling or task.at < self.seconds)
        return replace(self, tasks=kept, rate=rate)

    def as_json(self) -> JsonObject:
        return {
            "seed": self.seed,
            "seconds": _as_decimal(self.seconds),
            "rolling": self.rolling,
            "rate": _as_decimal(self.rate),
            "faults": [*self.faults],
            "tasks": [_task_as_json(planned) for planned in self.tasks],
            "strikes": [strike.as_json() for strike in self.strikes],
        }


def schedule(
    seed: int,
    seconds: float,
    executors: int = 3,
    *,
    rolling: bool = False,
    rate: float = MOST_A_SECOND,
    faults: Sequence[ListedFault] | None = None,
    kinds: Sequence[ChaosTaskKind] = tuple(ChaosTaskKind),
) -> Schedule:
    """The same for the same arguments, on every machine; another ``rate`` sends the same tasks at other times."""
    for_tasks, for_strikes = Random(f"tasks {seed}"), Random(f"strikes {seed}")  # noqa: S311  # not a secret
    listed = listed_faults(seconds) if faults is None else tuple(faults)
    struck = () if rolling else plan_strikes(for_strikes, seconds, executors, listed)
    lasts = seconds + LONGEST_ROUND if rolling else seconds
    tenants = TENANTS if any(fault.blow is Blow.FOREIGN_KEY for fault in listed) and not rolling else (FIRST,)
    names = () if rolling else tuple(fault.name for fault in listed)
    planned = tuple(
        replace(task, tenant=tenants[task.number % len(tenants)]) for task in _plan_tasks(for_tasks, lasts, rate, kinds)
    )
    return Schedule(seed, seconds, planned, struck, rolling, rate, names, tuple(tenants))


def make_warm_up_tasks(seed: int, tasks: int) -> tuple[PlannedTask, ...]:
    """Tasks that wait for nobody, to measure what the stack carries while nothing is struck; none of the schedule's."""
    random = Random(f"warm up {seed}")  # noqa: S311  # not a secret
    numbers = range(WARM_UP_FROM, WARM_UP_FROM + tasks)
    wanted = ((number, make_task(random.choice(_OF_WARM_UP), number, random)) for number in numbers)
    return tuple(PlannedTask(number, 0.0, one, random.choice(("mcp", "rest"))) for number, one in wanted)


def make_burst_tasks(seed: int, tasks: int) -> tuple[PlannedTask, ...]:
    """Questions that are sent at once; none of the schedule's."""
    random = Random(f"burst {seed}")  # noqa: S311  # not a secret
    numbers = range(BURST_FROM, BURST_FROM + tasks)
    return tuple(PlannedTask(one, 0.0, make_task(ChaosTaskKind.QUESTION, one, random), "mcp") for one in numbers)


def _plan_tasks(random: Random, seconds: float, rate: float, kinds: Sequence[ChaosTaskKind]) -> Iterator[PlannedTask]:
    weights = [_MIX[kind] for kind in kinds]
    for number in range(int(seconds * rate)):
        (kind,) = random.choices(kinds, weights)
        at = (number + random.random()) / rate
        yield _plan_task(random, number, at, make_task(kind, number, random))


def _plan_task(random: Random, number: int, at: float, wanted: ChaosTask) -> PlannedTask:
    canceled = random.uniform(0.2, 2.5) if random.random() < 0.06 and wanted.writes else None
    if wanted.kind is ChaosTaskKind.CANCELED_CLAIM:
        canceled = random.uniform(2.0, 3.0)
    return PlannedTask(
        number=number,
        at=round(at, 3),
        task=wanted,
        protocol=random.choice(("mcp", "rest")),
        session=f"shared-{number // 12}" if random.random() < 0.15 else None,
        resent_after=round(random.uniform(0.0, 3.0), 3) if random.random() < 0.1 else None,
        canceled_after=None if canceled is None else round(canceled, 3),
    )


def _task_as_json(planned: PlannedTask) -> JsonObject:
    return {
        "number": planned.number,
        "at": _as_decimal(planned.at),
        "kind": planned.task.kind.value,
        "text": planned.task.text,
        "protocol": planned.protocol,
        "session": planned.session,
        "tenant": planned.tenant,
        "resent_after": None if planned.resent_after is None else _as_decimal(planned.resent_after),
        "canceled_after": None if planned.canceled_after is None else _as_decimal(planned.canceled_after),
    }


def _as_decimal(seconds: float) -> Decimal:
    return Decimal(f"{seconds:.3f}")
