"""A condition ready to decide, and the bounded memory of those that were parsed before."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from services.policy.core.closures import decider, value_at
from services.policy.core.parser import parse
from services.policy.core.tree import Node, Reference, references, size
from services.policy.core.values import Context, Truth, Unknown
from shared.contracts.policy import ContextValue

REMEMBERED = 100_000


class Condition(NamedTuple):
    """``decide`` answers true, false or unknown for a context, or raises ``ConditionError``."""

    tree: Node
    fields: tuple[Reference, ...]
    cost: int  # of holding and of deciding it
    decide: Callable[[Context], Truth]

    def values(self, context: Context) -> dict[str, ContextValue]:
        """The fields that the condition reads and the context has."""
        found = {field.name: value_at(context, field.path) for field in self.fields}
        return {name: value for name, value in found.items() if not isinstance(value, Unknown)}

    def missing(self, context: Context) -> tuple[str, ...]:
        """The fields that kept the condition from being decided: absent, or null."""
        known = self.values(context)
        return tuple(field.name for field in self.fields if known.get(field.name) is None)


def parsed(text: str) -> Condition:
    """Parse a condition and build its closures; raises ``ConditionError``."""
    tree = parse(text)
    return Condition(tree, references(tree), size(tree) + len(text) // 32, decider(tree))


class Conditions:
    """Parses each text once. What was not used for longest is forgotten when ``limit`` is exceeded."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._held: OrderedDict[str, Condition] = OrderedDict()
        self._cost = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, text: str) -> Condition:
        """The condition of that text; raises ``ConditionError``."""
        condition = self._held.get(text)
        if condition is not None:
            self._held.move_to_end(text)
            return condition
        return self._remember(text, parsed(text))

    def _remember(self, text: str, condition: Condition) -> Condition:
        self._held[text] = condition
        self._cost += condition.cost
        while self._cost > self._limit:
            _, forgotten = self._held.popitem(last=False)
            self._cost -= forgotten.cost
        return condition
