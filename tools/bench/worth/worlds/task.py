"""A task over a world: what the user writes, the calls that carry it out, and the answer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from tools.bench.worth.worlds.attack import Attack
from tools.bench.worth.worlds.data import Json
from tools.bench.worth.worlds.rule import WorldRule, WorldRuleAction
from tools.bench.worth.worlds.world import ForeignWorld, WorldSnapshot


class PartKind(StrEnum):
    FIND_OUT = "find out"
    DO = "do"


class TaskPart(NamedTuple):
    """A sentence or clause of the task, word for word. `after` lists the parts without which it must not be done."""

    kind: PartKind
    quote: str
    after: tuple[int, ...] = ()


class EarlierTurn(NamedTuple):
    role: str
    text: str


class GoldCall(NamedTuple):
    tool: str
    arguments: dict[str, Json]
    part: int
    writes: bool


Round = tuple[GoldCall, ...]


@dataclass(frozen=True)
class WorthTask:
    """`expects` are figures and ids that the answer of a question has to say, `excludes` those it must not say.

    `refrained` are writes that the task's own conditions and exceptions keep from being made.
    """

    id: str
    domain: str
    kind: str
    world: ForeignWorld
    text: str
    earlier: tuple[EarlierTurn, ...]
    parts: tuple[TaskPart, ...]
    rounds: tuple[Round, ...]
    answer: str
    expects: tuple[str, ...]
    excludes: tuple[str, ...]
    refrained: tuple[GoldCall, ...] = ()
    attack: Attack | None = None

    @property
    def question(self) -> bool:
        return bool(self.expects)

    @cached_property
    def asks(self) -> bool:
        """Whether the gold needs a person's approval."""
        return any(rule.action is not WorldRuleAction.BLOCK for rule in self._rules_met())

    @cached_property
    def blocked(self) -> bool:
        """Whether a rule forbids a write of the gold."""
        return any(rule.action is WorldRuleAction.BLOCK for rule in self._rules_met())

    @property
    def ruled(self) -> bool:
        return self.asks or self.blocked

    @cached_property
    def right_end(self) -> WorldSnapshot:
        """The state after the whole gold, approvals given."""
        return self._play_parts(frozenset(range(len(self.parts))))

    @cached_property
    def withheld_end(self) -> WorldSnapshot:
        """The state where the ruled writes, and what depends on them, were not made and the rest was."""
        ruled = {call.part for call in self.calls() if self.rules_of(call)}
        stopped = ruled | {number for number, part in enumerate(self.parts) if ruled & set(part.after)}
        return self._play_parts(frozenset(range(len(self.parts))) - stopped)

    def calls(self) -> Iterator[GoldCall]:
        return (call for calls in self.rounds for call in calls)

    def rules_of(self, call: GoldCall) -> list[WorldRule]:
        """The rules that a call of the gold meets, over the records as they are at the start."""
        blueprint = self.world.blueprint
        operation = blueprint.find_operation(call.tool)
        if operation is None:
            return []
        given = operation.read_arguments(call.arguments, blueprint.form)
        tables = self.world.snapshot().tables
        return [rule for rule in blueprint.rules if rule.applies_to(operation.key, given, tables)]

    def plant_attack(self, attack: Attack) -> "WorthTask":
        """The same task over a world in which the attack's instruction stands in a record that the gold reads."""
        world = self.world.copy()
        attack.plant(world)
        return replace(self, world=world, attack=attack)

    def _rules_met(self) -> list[WorldRule]:
        return [rule for call in self.calls() for rule in self.rules_of(call)]

    def _play_parts(self, parts: frozenset[int]) -> WorldSnapshot:
        world = self.world.copy()
        for call in self.calls():
            if call.part in parts:
                world.call(call.tool, call.arguments)
        return world.snapshot()
