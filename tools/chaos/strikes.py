"""What strikes whom and when: a deck of strikes a minute, shuffled by the seed and dealt out evenly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import count
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from shared.domain.exact_json import JsonObject

LEASE_SECONDS = 5.0  # an executor's lease: a stop is to last longer
_TOOL_FAULTS = (
    '{"*": {"delay_before_ms": 600, "times": 12}}',
    '{"*": {"delay_after_ms": 4000, "ignore_disconnect": true, "times": 3}}',
    '{"create_refund": {"lose_reply": true, "times": 2}, "approve_expense": {"lose_reply": true, "times": 2}}',
    '{"create_refund": {"delay_before_ms": 3500, "ignore_disconnect": true, "times": 2}}',
    '{"approve_expense": {"fail": "The books are being closed.", "times": 2}}',
    '{"get_expense": {"fail": "Try again later.", "times": 2}, "get_order": {"lose_reply": true, "times": 2}}',
)
_MODEL_FAULTS = ('{"latency_ms": 1500}', '{"faults": "truncated"}', '{"faults": "stale_column"}')


class Blow(StrEnum):
    KILL = "kill"  # SIGKILL; started again at once, or after the strike's seconds
    TERM = "term"  # SIGTERM; started again once it has ended
    STOP = "stop"  # SIGSTOP, and SIGCONT after some seconds
    CUT = "cut"  # every connection of a line, at once
    REFUSE = "refuse"  # a line is cut, and nobody listens there for some seconds
    STALL = "stall"  # nothing goes through a line for some seconds
    DROP = "drop"  # the next answer of a line is swallowed, and its connection cut
    TOOLS = "tools"  # the company misbehaves
    MODEL = "model"  # the model misbehaves for some seconds
    POWER = "power cut"  # every process and both Redis servers, at once


@dataclass(frozen=True)
class Strike:
    """``at``: seconds from the beginning. ``victim``: a process, a line, or a company. ``fault``: what it is told."""

    at: float
    blow: Blow
    victim: str
    seconds: float = 0.0
    fault: str = ""

    def as_json(self) -> JsonObject:
        told = {"blow": self.blow.value, "victim": self.victim, "fault": self.fault}
        return {"at": Decimal(f"{self.at:.3f}"), "seconds": Decimal(f"{self.seconds:.3f}"), **told}


class Card(NamedTuple):
    """One strike without its moment. ``a_minute``: how often it is in the deck."""

    blow: Blow
    victims: tuple[str, ...]
    a_minute: int
    seconds: tuple[float, float] = (0.0, 0.0)


_EXECUTORS: tuple[Card, ...] = (
    Card(Blow.KILL, ("executor",), 6),
    Card(Blow.STOP, ("executor",), 1, (LEASE_SECONDS + 1.0, LEASE_SECONDS + 2.0)),
)
_OTHERS: tuple[Card, ...] = (
    Card(Blow.KILL, ("redis",), 4, (0.0, 1.0)),
    Card(Blow.KILL, ("queue",), 2),
    Card(Blow.KILL, ("policy",), 3),
    Card(Blow.KILL, ("planner",), 2),
    Card(Blow.KILL, ("company-mcp", "company-rest"), 3),
    Card(Blow.KILL, ("gateway-1", "gateway-2"), 2),
    Card(Blow.KILL, ("learner",), 2),
    Card(Blow.TERM, ("executor-2", "gateway-1", "learner", "policy"), 1),
    Card(Blow.STOP, ("gateway-1", "learner", "policy", "company-mcp", "redis"), 2, (1.0, 4.0)),
    Card(Blow.CUT, ("executor-1>redis", "executor-2>redis", "gateway-1>redis", "learner>redis"), 2),
    Card(Blow.CUT, ("company-mcp", "company-rest", "planner"), 2),
    Card(Blow.DROP, ("executor-1>redis", "executor-2>redis", "gateway-1>redis", "gateway-2>redis"), 2),
    Card(Blow.DROP, ("company-mcp", "company-rest"), 1),
    Card(Blow.REFUSE, ("policy", "planner", "company-rest", "gateway-2>redis"), 1, (0.5, 2.0)),
    Card(Blow.STALL, ("executor-1>redis", "executor-2>redis"), 1, (1.0, LEASE_SECONDS + 2.0)),
    Card(Blow.STALL, ("company-mcp", "policy", "planner", "queue", "learner>redis"), 1, (0.5, 4.0)),
    Card(Blow.TOOLS, ("company-mcp", "company-rest"), 4),
    Card(Blow.MODEL, ("planner",), 1, (1.0, 3.0)),
)
_MINUTE = 60.0
_POWER_FROM = 90.0  # a run that lasts at least so long ends with a power cut
_SPREAD: Mapping[bool, float] = MappingProxyType({True: 0.25, False: 0.9})  # of a slot, how far a strike may move


def strikes(random: Random, seconds: float, executors: int) -> tuple[Strike, ...]:
    """All strikes of a run in their order. Those on executors go round, so that one is left whenever possible."""
    named = tuple(f"executor-{number + 1}" for number in range(executors))
    dealt = [*_dealt(random, _EXECUTORS, seconds, named), *_dealt(random, _OTHERS, seconds, ())]
    if seconds >= _POWER_FROM:
        dealt.append(Strike(round(seconds, 3), Blow.POWER, "everything"))
    return tuple(sorted(dealt, key=lambda strike: strike.at))


def _dealt(random: Random, deck: Sequence[Card], seconds: float, in_turn: Sequence[str]) -> Iterator[Strike]:
    """As much of the deck, again and again, as the time allows."""
    slot = _MINUTE / sum(card.a_minute for card in deck)
    cards = _shuffled(random, deck)
    for turn in count():
        moment = slot * (turn + 0.5 + _SPREAD[bool(in_turn)] * (random.random() - 0.5))
        if moment >= seconds:
            return
        victim = in_turn[turn % len(in_turn)] if in_turn else ""
        yield _strike(random, next(cards), moment, victim)


def _shuffled(random: Random, deck: Sequence[Card]) -> Iterator[Card]:
    while True:
        cards = [card for card in deck for _ in range(card.a_minute)]
        random.shuffle(cards)
        yield from cards


def _strike(random: Random, card: Card, at: float, victim: str) -> Strike:
    fault = {Blow.TOOLS: _TOOL_FAULTS, Blow.MODEL: _MODEL_FAULTS}.get(card.blow, ("",))
    seconds = round(random.uniform(*card.seconds), 3)
    return Strike(round(at, 3), card.blow, victim or random.choice(card.victims), seconds, random.choice(fault))
