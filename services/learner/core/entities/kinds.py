"""What can be found in a text."""

from enum import StrEnum
from typing import NamedTuple


class EntityKind(StrEnum):
    """In the order in which one goes before another where both would be the same words."""

    EMAIL = "email"
    DATE = "date"
    AMOUNT = "amount"
    PERCENTAGE = "percentage"
    REFERENCE = "reference"
    PRODUCT = "product"
    VENDOR = "vendor"
    PERSON = "person"


class FoundEntity(NamedTuple):
    """Something that stands in a text from ``start`` to ``end``.

    ``same`` is what all writings of the same thing share; ``value`` how people read it.
    """

    kind: EntityKind
    value: str
    same: str
    start: int
    end: int

    @property
    def field(self) -> str:
        """Its name among all that are known."""
        return f"{self.kind.value}:{self.same}"
