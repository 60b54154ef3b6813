"""Queries: what all of them may ask, and the page that answers one."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import ConfigDict, Field

from services.simulator.core.records import JsonObject
from shared.contracts.base import NullableModel

T = TypeVar("T")
Order: TypeAlias = Literal["asc", "desc"]
_PAGE = frozenset({"limit", "offset", "sort_by", "sort_order"})


class PageQuery(NullableModel):
    """A query with paging. A subclass adds its filters; a filter that is left out or null restricts nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    limit: int | None = Field(None, ge=1, le=1_000)
    offset: int = Field(0, ge=0)

    def as_json(self) -> JsonObject:
        """The query as it was understood, without what it left out."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def filters(self) -> frozenset[str]:
        """The names of the filters that restrict the result."""
        filter_names = (name for name in type(self).model_fields if getattr(self, name) is not None)
        return frozenset(filter_names) - _PAGE

    def slice(self, rows: Sequence[T]) -> Sequence[T]:
        end = None if self.limit is None else self.offset + self.limit
        return rows[self.offset : end]


class FoundPage(NamedTuple):
    """The keys on the page, and how many there are on all pages."""

    keys: Sequence[str]
    total: int
