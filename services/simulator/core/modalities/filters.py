"""Finding rows: the rarest of what is asked for is looked up in an index, the rest of it is tested."""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from services.simulator.core.modalities.indexes import TimeIndex
from services.simulator.core.modalities.pages import FoundPage, Order, PageQuery
from services.simulator.core.records import R, StoredRow, Table

Row = TypeVar("Row", bound=StoredRow)
Test: TypeAlias = Callable[[Row], bool]
Rank: TypeAlias = Callable[[Row], str | int | datetime]
KeySets: TypeAlias = Iterable[Collection[str]]


class RowTests(Generic[Row]):
    """The tests that a row must pass to be found; a filter that is None adds no test."""

    def __init__(self) -> None:
        self._tests: list[Test[Row]] = []

    def passes(self, row: Row) -> bool:
        return all(test(row) for test in self._tests)

    def require(self, expected: bool | None, test: Test[Row]) -> None:
        """Requires that ``test`` of a row gives ``expected``; no test if that is None."""
        if expected is not None:
            self._tests.append(lambda row: test(row) == expected)

    def require_equal(self, query: PageQuery, *names: str) -> None:
        """Requires that a row's fields of these names equal those of the query, if the query has them."""
        for name in names:
            if (value := getattr(query, name)) is not None:
                self._tests.append(_make_equality_test(name, value))

    def require_between(
        self, time_of: Callable[[Row], datetime], after: datetime | None, before: datetime | None
    ) -> None:
        """Requires that a row's time is not before ``after`` nor after ``before``; None means no bound."""
        if after is not None:
            self._tests.append(lambda row: time_of(row) >= after)
        if before is not None:
            self._tests.append(lambda row: time_of(row) <= before)

    def require_text(self, part: str | None, text_of: Callable[[Row], str]) -> None:
        """Requires that a row's text contains ``part``, in any case of letters; None means no test."""
        if part:
            folded_part = part.casefold()
            self._tests.append(lambda row: folded_part in text_of(row).casefold())


def _make_equality_test(name: str, value: object) -> Test[Row]:
    return lambda row: getattr(row, name) == value


def find_keys(table: Table[R], sets: KeySets, tests: RowTests[R]) -> list[str]:
    """The keys of the rows that pass all tests; ``sets`` are what indexes say for some of these."""
    candidates = min(sets, key=len, default=table.keys())
    return [key for key in candidates if tests.passes(table[key])]


def sort_keys(table: Table[R], keys: list[str], order: TimeIndex[R], rank: Rank[R] | None) -> list[str]:
    """The keys sorted by ``rank``, where one is given; rows of the same rank, or all without one, by time."""
    keys = sorted(keys, key=order.sort_key)
    return keys if rank is None else sorted(keys, key=lambda key: rank(table[key]))


def page_of(query: PageQuery, keys: list[str], order: Order) -> FoundPage:
    ordered_keys = keys[::-1] if order == "desc" else keys
    return FoundPage(query.slice(ordered_keys), len(keys))
