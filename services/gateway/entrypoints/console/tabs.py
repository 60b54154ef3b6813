"""Pages that stand side by side under one word of the navigation."""

from collections.abc import Sequence
from typing import NamedTuple

from services.gateway.entrypoints.console.gate import Visitor
from shared.domain.words import Role


class Tab(NamedTuple):
    href: str
    text: str
    for_operators: bool = True


LEARNING = (
    Tab("/console/learning", "Progress", for_operators=False),
    Tab("/console/learning/cases", "Cases"),
    Tab("/console/learning/facts", "Facts"),
    Tab("/console/learning/entities", "Entities"),
    Tab("/console/learning/assessments", "Assessments", for_operators=False),
)
OPERATIONS = (
    Tab("/console/operations", "Load and cost"),
    Tab("/console/operations/dead-letters", "Dead letters"),
)
WEBHOOKS = Tab("/console/webhooks", "Webhooks")


def tabs_of(tabs: Sequence[Tab], visitor: Visitor) -> tuple[Tab, ...]:
    """Those that this reader may open; none where there is but one."""
    found = tuple(tab for tab in tabs if visitor.has(Role.OPERATOR) or not tab.for_operators)
    return found if len(found) > 1 else ()
