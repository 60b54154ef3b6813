"""What strikes whom and when: every fault that a run lists, shuffled by the seed and dealt out evenly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from random import Random
from types import MappingProxyType

from shared.domain.exact_json import JsonObject

LEASE_SECONDS = 5.0  # an executor's lease: a stop is to last longer
MOST_BURSTS = 12  # attempts
LEAST_STRIKES = 2  # a listed fault that struck less often was not tried
_USUAL = 0.35  # strikes of a fault a minute: the stack is to work between strikes, not to lie where it fell
_MINUTE = 60.0
_STRUCK_SHARE = 0.8  # of the time; then what met nobody is struck again
_POWER_FROM = 90.0  # a run that lasts at least so long has its power cut twice, the second time at its end


class Blow(StrEnum):
    KILL = "kill"  # SIGKILL; started again at once, or after the strike's seconds
    AT_WRITE = "kill at a write"  # SIGKILL of every executor at the moment at which a write leaves
    TERM = "term"  # SIGTERM; started again once it has ended
    STOP = "stop"  # SIGSTOP, and SIGCONT after some seconds
    CUT = "cut"  # every connection of a line, at once
    REFUSE = "refuse"  # a line is cut, and nobody listens there for some seconds
    STALL = "stall"  # nothing goes through a line for some seconds
    ONE_WAY = "one way"  # requests go through a line, answers do not, for some seconds
    SLOW = "slow"  # every piece of a line is held back a little, for some seconds
    DROP = "drop"  # the next answer of a line is swallowed, and its connection cut
    TOOLS = "tools"  # the company misbehaves, once it is asked
    MODEL = "model"  # the model misbehaves for some seconds
    MEMORY = "memory"  # Redis refuses every write for some seconds
    DISK = "disk"  # the disk of Redis is full for some seconds
    BURST = "burst"  # many messages at once while no executor takes any
    CLOCK = "clock"  # the wall clock of a process is wrong for some seconds
    FOREIGN_KEY = "foreign key"  # somebody asks for tasks with the key of another tenant
    TAIL = "tail"  # Redis dies, with or without everything else, and comes back without the end of its log
    FAILOVER = "failover"  # Redis dies, and a replica that lacks its last writes takes over
    POWER = "power cut"  # every process and both Redis servers, at once


@dataclass(frozen=True)
class ListedFault:
    """One listed fault. ``victims``: processes, lines or companies, of which one is struck at a time.

    ``a_minute``: how often at the least, in a long run. ``detail``: what a company or the model is told.
    """

    name: str
    blow: Blow
    victims: tuple[str, ...]
    a_minute: float = _USUAL
    seconds: tuple[float, float] = (0.0, 0.0)
    detail: str = ""
    is_early: bool = False  # in the first half: what it does lasts


@dataclass(frozen=True)
class Strike:
    """``at``: seconds from the beginning. ``victim``: a process, a line, or a company."""

    at: float
    fault: ListedFault
    victim: str
    seconds: float = 0.0

    @property
    def blow(self) -> Blow:
        return self.fault.blow

    def as_json(self) -> JsonObject:
        told = {"fault": self.fault.name, "victim": self.victim, "detail": self.fault.detail}
        return {"at": Decimal(f"{self.at:.3f}"), "seconds": Decimal(f"{self.seconds:.3f}"), **told}


_EXECUTOR = ("executor",)  # whose turn it is
_COMPANIES = ("company-mcp", "company-rest")
_TO_REDIS = ("executor-1>redis", "executor-2>redis", "gateway-1>redis", "gateway-2>redis", "learner>redis")
CLOCKS = ("executor-1", "executor-2", "executor-3", "gateway-1", "gateway-2", "learner", "policy")
_SERVICES = ("policy", "planner", *_COMPANIES)
_UNTIL_MET = (6.0, 6.0)  # seconds that a company's fault waits for a call
_BEYOND_LEASE = (LEASE_SECONDS + 1.0, LEASE_SECONDS + 2.0)


def _tool_fault(name: str, detail: str) -> ListedFault:
    return ListedFault(name, Blow.TOOLS, _COMPANIES, _USUAL, _UNTIL_MET, detail)


def _model_fault(name: str, detail: str) -> ListedFault:
    return ListedFault(name, Blow.MODEL, ("planner",), _USUAL, (0.5, 1.5), detail)


FAULTS: tuple[ListedFault, ...] = (
    ListedFault("kill-executor", Blow.KILL, _EXECUTOR, 3.2),
    ListedFault("stop-executor", Blow.STOP, _EXECUTOR, 1, _BEYOND_LEASE),
    ListedFault("kill-at-write", Blow.AT_WRITE, ("everything",), _USUAL, (3.0, 3.0)),
    ListedFault("kill-redis", Blow.KILL, ("redis",), 2, (0.0, 1.0)),
    ListedFault("kill-queue", Blow.KILL, ("queue",), 1.1),
    ListedFault("kill-policy", Blow.KILL, ("policy",), 1.1),
    ListedFault("kill-planner", Blow.KILL, ("planner",), 1.1),
    ListedFault("kill-company", Blow.KILL, _COMPANIES, 1.1),
    ListedFault("kill-gateway", Blow.KILL, ("gateway-1", "gateway-2"), 1.1),
    ListedFault("kill-learner", Blow.KILL, ("learner",), 1.1),
    ListedFault("end-process", Blow.TERM, ("executor-2", "gateway-1", "learner", "policy")),
    ListedFault(
        "stop-process", Blow.STOP, ("gateway-1", "learner", "policy", "company-mcp", "redis"), _USUAL, (1.0, 4.0)
    ),
    ListedFault("cut-redis", Blow.CUT, _TO_REDIS),
    ListedFault("cut-service", Blow.CUT, _SERVICES),
    ListedFault("lost-redis-answer", Blow.DROP, _TO_REDIS[:4]),
    ListedFault("lost-service-answer", Blow.DROP, _COMPANIES),
    ListedFault(
        "refused-line", Blow.REFUSE, ("policy", "planner", "company-rest", "gateway-2>redis"), _USUAL, (0.5, 2.0)
    ),
    ListedFault("stalled-redis", Blow.STALL, _TO_REDIS[:2], _USUAL, (1.0, LEASE_SECONDS + 2.0)),
    ListedFault("stalled-service", Blow.STALL, ("company-mcp", "policy", "planner", "queue"), _USUAL, (0.5, 4.0)),
    ListedFault("one-way-redis", Blow.ONE_WAY, _TO_REDIS, _USUAL, (1.0, 4.0)),
    ListedFault("one-way-service", Blow.ONE_WAY, _SERVICES, _USUAL, (1.0, 4.0)),
    ListedFault("slow-redis", Blow.SLOW, _TO_REDIS, _USUAL, (2.0, 4.0)),
    ListedFault("slow-service", Blow.SLOW, _SERVICES, _USUAL, (2.0, 4.0)),
    ListedFault("full-memory", Blow.MEMORY, ("redis",), _USUAL, (0.5, 1.5)),
    ListedFault("full-disk", Blow.DISK, ("redis",), _USUAL, (0.5, 1.5)),
    _tool_fault("slow-tool", '{"*": {"delay_before_ms": 600, "times": 6}}'),
    _tool_fault("late-answer", '{"*": {"delay_after_ms": 4000, "ignore_disconnect": true, "times": 1}}'),
    _tool_fault(
        "lost-reply", '{"create_refund": {"lose_reply": true, "times": 1}, "*": {"lose_reply": true, "times": 1}}'
    ),
    _tool_fault(
        "late-write",
        '{"create_refund": {"delay_before_ms": 3500, "ignore_disconnect": true, "times": 1},'
        ' "approve_expense": {"delay_before_ms": 3500, "ignore_disconnect": true, "times": 1}}',
    ),
    _tool_fault(
        "very-late-write", '{"create_refund": {"delay_before_ms": 15000, "ignore_disconnect": true, "times": 1}}'
    ),
    replace(
        _tool_fault(
            "minutes-late-write", '{"create_refund": {"delay_before_ms": 70000, "ignore_disconnect": true, "times": 1}}'
        ),
        is_early=True,
    ),
    _tool_fault("refusing-tool", '{"approve_expense": {"fail": "The books are being closed.", "times": 1}}'),
    _tool_fault("failing-read", '{"get_expense": {"fail": "Try again later.", "times": 1}}'),
    _tool_fault(
        "lying-tool",
        '{"create_refund": {"lie": true, "times": 1}, "approve_expense": {"lie": true, "times": 1},'
        ' "update_employee_phone": {"lie": true, "times": 1}}',
    ),
    _tool_fault("doubling-tool", '{"create_refund": {"twice": true, "times": 1}}'),
    _model_fault("slow-model", '{"latency_ms": 1500}'),
    _model_fault("cut-model", '{"faults": "truncated"}'),
    _model_fault("model-of-stale-columns", '{"faults": "stale_column"}'),
    _model_fault("model-of-unasked-writes", '{"faults": "unasked_write"}'),
    _model_fault("model-of-wrong-records", '{"faults": "wrong_record"}'),
    _model_fault("model-of-repeated-writes", '{"faults": "repeated_write"}'),
    _model_fault("model-against-policy", '{"faults": "ignored_policy"}'),
    ListedFault("burst", Blow.BURST, ("gateways",)),
    ListedFault("clock-ahead", Blow.CLOCK, CLOCKS, _USUAL, (2.0, 5.0), "600"),
    ListedFault("clock-behind", Blow.CLOCK, CLOCKS, _USUAL, (2.0, 5.0), "-600"),
    ListedFault("foreign-key", Blow.FOREIGN_KEY, ("gateway",), 1),
    ListedFault("log-tail-cut", Blow.TAIL, ("redis", "everything"), _USUAL, (0.1, 0.4)),
    ListedFault("failover", Blow.FAILOVER, ("redis",), _USUAL, (0.1, 0.4)),
    ListedFault("power-cut", Blow.POWER, ("everything",)),
)
BY_NAME: Mapping[str, ListedFault] = MappingProxyType({fault.name: fault for fault in FAULTS})
_SPREAD: Mapping[bool, float] = MappingProxyType({True: 0.25, False: 0.9})  # of a slot, how far a strike may move


def plan_strikes(
    random: Random, seconds: float, executors: int, faults: Sequence[ListedFault] = FAULTS
) -> tuple[Strike, ...]:
    """All strikes of a run in their order. Those on executors go round, so that one is left whenever possible."""
    named = tuple(f"executor-{number + 1}" for number in range(executors))
    ours = [fault for fault in faults if fault.victims == _EXECUTOR]
    others = [fault for fault in faults if fault.victims != _EXECUTOR and fault.blow is not Blow.POWER]
    dealt = [*_deal_strikes(random, ours, seconds, named), *_deal_strikes(random, others, seconds, ())]
    last = seconds * _STRUCK_SHARE
    for fault in faults:
        if fault.blow is Blow.POWER:
            dealt += [Strike(round(at, 3), fault, fault.victims[0]) for at in (last / 2, last)]
    return tuple(sorted(dealt, key=lambda strike: strike.at))


def listed_faults(seconds: float) -> tuple[ListedFault, ...]:
    """Those of a run of that length for which nobody chose any."""
    return FAULTS if seconds >= _POWER_FROM else tuple(fault for fault in FAULTS if fault.blow is not Blow.POWER)


def _deal_strikes(
    random: Random, faults: Sequence[ListedFault], seconds: float, in_turn: Sequence[str]
) -> Iterator[Strike]:
    """Each fault as often as it must strike, and as often as is usual in that time."""
    deck = [fault for fault in faults for _ in range(_times_to_strike(fault, seconds))]
    random.shuffle(deck)
    slot = seconds * _STRUCK_SHARE / max(1, len(deck))
    for turn, fault in enumerate(deck):
        moment = slot * (turn + 0.5 + _SPREAD[bool(in_turn)] * (random.random() - 0.5))
        moment = moment / 2 if fault.is_early else moment
        victim = in_turn[turn % len(in_turn)] if in_turn else random.choice(fault.victims)
        yield Strike(round(moment, 3), fault, victim, round(random.uniform(*fault.seconds), 3))


def _times_to_strike(fault: ListedFault, seconds: float) -> int:
    return max(LEAST_STRIKES, round(fault.a_minute * seconds / _MINUTE))


def second_tries(random: Random, faults: Sequence[ListedFault], carried_out: Mapping[str, int]) -> tuple[Strike, ...]:
    """One more strike of each fault that met somebody less often than it must, all due at once."""
    rare = (fault for fault in faults if carried_out.get(fault.name, 0) < LEAST_STRIKES)
    return tuple(
        Strike(0.0, fault, _victim_of(random, fault), round(random.uniform(*fault.seconds), 3)) for fault in rare
    )


def _victim_of(random: Random, fault: ListedFault) -> str:
    return random.choice(CLOCKS[:3] if fault.victims == _EXECUTOR else fault.victims)
