"""Reads a list that comes in pages: which page to ask for next, when to stop, and how to report what is missing.

Makes no calls itself: the caller makes them.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.failures import has_failed
from services.executor.core.tools.name_similarity import with_last_singular, words_of
from services.executor.core.tools.paging import (
    ListPage,
    PageHint,
    PagingArguments,
    PagingRole,
    asks_for_part_of_list,
    build_arguments_from_hint,
    find_paging_arguments,
    read_list_page,
    with_nested_value,
)
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE
from services.executor.core.tools.toolbox import find_argument_problems
from services.executor.ports.tools import Tool, ToolAnswer
from shared.domain.exact_json import Json, JsonObject, digest, dumps


class ListBounds(NamedTuple):
    """How much of one list a single call of the model may read; ``size`` is in characters."""

    pages: int = 200
    rows: int = 10_000
    size: int = 1_000_000


_USUAL_ID_NAMES = ("id", "_id", "uuid", "guid")
_MOST_EMPTY_PAGES = 3  # parts in a row that may bring nothing new, while the server goes on naming new places
_PAGE_POSITION_ROLES = (PagingRole.NEXT, PagingRole.CURSOR, PagingRole.PAGE, PagingRole.OFFSET)  # tell pages apart
_SINGLE_PAGE_ROLES = (PagingRole.PAGE, PagingRole.OFFSET, PagingRole.AFTER, PagingRole.SIZE)


class CollectedRows:
    """The rows of all pages. With an identifier the newest row of each id counts; without one, a page that comes a
    second time is left out. ``left_out``: how many pages were.
    """

    def __init__(self, noun: str, first_rows: Sequence[Json]) -> None:
        """``noun``: the list's name, such as ``invoices``, since ``invoice_id`` identifies an invoice.

        ``first_rows``: those of the first page, which are only looked at.
        """
        self.id_field = _find_identifier(first_rows, "_".join(with_last_singular(words_of(noun))))
        self._place_by_id: dict[str, int] = {}
        self._page_digests: set[str] = set()
        self.rows: list[Json] = []
        self.left_out = 0
        self.size = 0  # in characters

    def add(self, rows: Sequence[Json], position: Json = None, *, is_requested: bool = False) -> int:
        """Adds a page's rows; returns how many are new.

        ``position``: what the page says of its place in the list. ``is_requested``: the page says that it is the one
        that was asked for, so that equal rows are no repetition.
        """
        page_digest = digest([list(rows), position])
        is_repeated = page_digest in self._page_digests
        self._page_digests.add(page_digest)
        if self.id_field is not None and _identifies_rows(self.id_field, rows):
            count_before = len(self.rows)
            for row in rows:
                self._store_row(row, dumps(_read_value(row, self.id_field)))
            return len(self.rows) - count_before
        self.id_field = None
        if is_repeated and rows and not is_requested:
            self.left_out += 1
            return 0
        for row in rows:
            self._store_row(row)
        return len(rows)

    @property
    def last_id(self) -> Json:
        """The identifier of the last row; None if rows have none."""
        return _read_value(self.rows[-1], self.id_field) if self.id_field and self.rows else None

    def _store_row(self, row: Json, key: str | None = None) -> None:
        index = len(self.rows) if key is None else self._place_by_id.setdefault(key, len(self.rows))
        if index < len(self.rows):
            self.rows[index] = row
            return
        self.rows.append(row)
        self.size += len(dumps(row))


def _find_identifier(rows: Sequence[Json], noun: str) -> str | None:
    """The field that identifies each row: an id, or one named after the list (``noun``); None if there is none."""
    first_row = rows[0] if rows and isinstance(rows[0], dict) else {}
    named_after_list = [key for key in first_row if is_identifying_name(key) and _is_named_after(key, noun)]
    usual_ids = [key for key in first_row if key.lower() in _USUAL_ID_NAMES]
    return next((key for key in (*usual_ids, *named_after_list) if _identifies_rows(key, rows)), None)


def _is_named_after(key: str, noun: str) -> bool:
    head = "_".join(words_of(key)[:-1])
    return bool(noun and head) and (head == noun or noun.endswith(f"_{head}"))


def _identifies_rows(key: str, rows: Sequence[Json]) -> bool:
    """Whether all rows have a value in this field, and no two different rows the same value."""
    row_by_value: dict[str, JsonObject] = {}
    for row in rows:
        value = _read_value(row, key)
        if not isinstance(row, dict) or value in (None, "") or isinstance(value, dict | list | bool):
            return False
        if row_by_value.setdefault(dumps(value), row) != row:
            return False
    return True


def _read_value(row: Json, key: str | None) -> Json:
    return row.get(key) if isinstance(row, dict) and key else None


class PagedListing:
    """A list read page by page. ``following``: the next call's arguments, None at the end or once reading stopped."""

    def __init__(
        self, tool: Tool, arguments: JsonObject, page: ListPage, paging: PagingArguments, bounds: ListBounds
    ) -> None:
        self._tool = tool
        self._paging = paging
        self._bounds = bounds
        self._arguments = arguments
        self._rows = CollectedRows(page.place[-1] if page.place else tool.name.partition("_")[2], page.rows)
        self._hints: set[str] = set()
        self._is_probing = False  # whether the first page may be asked for under another number
        self._empty_pages = 0
        self._is_in_doubt = False  # whether the last part came before, and its rows have nothing to tell them apart
        self._stated_totals: list[int] = []
        self.pages = 0
        self.why_partial = ""
        self.following: JsonObject | None = None
        self._add_page(page)

    def add_answer(self, content: Json) -> None:
        """Adds the answer to the call with the arguments ``following``."""
        page = read_list_page(content)
        if self.following is None or page is None or page.place != self._page.place:
            self._stop(f"page {self.pages + 1} is no list like the first")
            return
        self._arguments = self.following
        self._add_page(page)

    def _add_page(self, page: ListPage) -> None:
        self._page = page
        self._stated_totals += [page.total] if page.total is not None else []
        expected_repeats = self._rows.left_out + self._is_probing
        position: Json = [hint.value for hint in page.list_hints_of_roles(*_PAGE_POSITION_ROLES)]
        new_rows = self._rows.add(page.rows, position, is_requested=self._is_requested_page())
        self._is_in_doubt = self._rows.left_out > expected_repeats
        self.pages += 1
        self.following = self._plan_next_page(new_rows)

    async def read_to_end(self, ask: Callable[[JsonObject], Awaitable[ToolAnswer]]) -> None:
        """Calls ``ask`` for one page after the other until the end or a bound."""
        while (following := self.following) is not None:
            if problems := find_argument_problems(following, self._tool):
                self._stop_at_refusal(problems)
            elif has_failed(answer := await ask(following)):
                self._stop_at_refusal(dumps(answer.content))
            else:
                self.add_answer(answer.content)

    @property
    def summary(self) -> str:
        """A sentence on a list that was read in several pages or in part; empty if one answer was all of it."""
        if self.why_partial:
            return f"{MISSING_ROWS_NOTE}: {self.row_count} rows from {self.pages} pages; {self.why_partial}."
        return f"All {self.row_count} rows, from {self.pages} pages." if self.pages > 1 else ""

    @property
    def row_count(self) -> int:
        return len(self._rows.rows)

    def merge_rows(self, content: Json) -> Json:
        """The first answer with all rows in its list, and with the hints on further rows as the last page has them."""
        merged = with_nested_value(content, self._page.place, list(self._rows.rows))
        for hint in self._page.hints:
            if hint.role not in _SINGLE_PAGE_ROLES:
                value = hint.value if self.why_partial else self._get_hint_value_after_last_page(hint)
                merged = with_nested_value(merged, hint.path, value)
        return merged

    def _get_hint_value_after_last_page(self, hint: PageHint) -> Json:
        """The value of a hint once all rows were read."""
        if hint.role in (PagingRole.NEXT, PagingRole.CURSOR):
            return None
        if isinstance(hint.value, bool):
            return hint.role in (PagingRole.LAST, PagingRole.PAGES)
        return self.row_count if hint.role is PagingRole.COUNT and isinstance(hint.value, int) else hint.value

    def _plan_next_page(self, new_rows: int) -> JsonObject | None:
        """The arguments for the next page; None at the end or a bound. ``new_rows``: new ones of the last page."""
        if self._stop_if_beyond_bounds():
            return None
        self._empty_pages = 0 if new_rows else self._empty_pages + 1
        arguments = self._find_next_arguments(new_rows)
        if arguments is None:
            self._explain_missing_rows()
        return arguments

    def _find_next_arguments(self, new_rows: int) -> JsonObject | None:
        """The arguments for the next page: those that the server names, else by counting; None at the end."""
        page, hint = self._page, self._page.next_hint
        if hint is not None and page.has_more is not False and self._mark_if_unvisited(hint):
            hinted = build_arguments_from_hint(self._paging, hint)
            if hinted and self._empty_pages >= _MOST_EMPTY_PAGES:
                self._stop(f"the last {_MOST_EMPTY_PAGES} pages brought nothing new, and the server names further ones")
                return None
            if hinted:
                return {**self._arguments, **hinted}
        elif hint is not None:
            can_count = any(map(self._paging.find_integer_argument, (PagingRole.OFFSET, PagingRole.PAGE)))
            if not (can_count and (page.has_more is True or (page.total or 0) > self.row_count)):
                return None
        return None if self._is_last_page else self._find_next_arguments_by_counting(new_rows)

    def _mark_if_unvisited(self, hint: PageHint) -> bool:
        """Whether a hint leads to a page that was not read yet; from now on it counts as read."""
        key = dumps(hint.value)
        asked_values = {dumps(value) for name, value in self._arguments.items() if name in self._paging.names.values()}
        if key in self._hints or (isinstance(hint.value, str) and key in asked_values):
            return False
        self._hints.add(key)
        return True

    @property
    def _is_last_page(self) -> bool:
        page = self._page
        if page.has_more is not None:
            return not page.has_more
        if page.total is not None:
            return self.row_count >= page.total
        pages, number = page.find_number(PagingRole.PAGES), page.find_number(PagingRole.PAGE)
        if pages is not None and number is not None and number >= 1:
            return number >= pages
        return page.says_no_next_page

    def _find_next_arguments_by_counting(self, new_rows: int) -> JsonObject | None:
        """The arguments for the next page by counting; None if the tool cannot count, or nothing new came."""
        number, offset = map(self._paging.find_integer_argument, (PagingRole.PAGE, PagingRole.OFFSET))
        if number is not None and (offset is None or number in self._arguments):
            return self._find_next_page_arguments(number, new_rows)
        if not new_rows:
            return None
        if offset is not None:
            stated_offset = self._page.find_number(PagingRole.OFFSET)
            asked_offset = self._arguments.get(offset)
            start = max(stated_offset or 0, asked_offset if isinstance(asked_offset, int) else 0)
            return {**self._arguments, offset: start + len(self._page.rows)}
        after = self._paging.names.get(PagingRole.AFTER)
        if after is not None and self._page.has_more and self._rows.last_id is not None:
            return {**self._arguments, after: self._rows.last_id}
        return None

    def _find_next_page_arguments(self, name: str, new_rows: int) -> JsonObject | None:
        """The arguments with the next page number, 1 if it is unknown whether pages count from 0 or 1; None after a
        page without new rows.
        """
        was_probing, self._is_probing = self._is_probing, False
        if not new_rows and not was_probing:
            return None
        asked_page = self._arguments.get(name)
        asked_number = asked_page if isinstance(asked_page, int) and not isinstance(asked_page, bool) else None
        known_numbers = (asked_number, self._page.find_number(PagingRole.PAGE), self._paging.first_page_number)
        last_number = next((number for number in known_numbers if number is not None), None)
        self._is_probing = last_number is None
        return {**self._arguments, **self._actual_page_size, name: 1 if last_number is None else last_number + 1}

    @property
    def _actual_page_size(self) -> JsonObject:
        """The argument for the page size that the server really gave, if that is less than was asked for; else empty.

        Some servers compute a page's start from the given size, some from the requested one.
        """
        name, row_count = self._paging.names.get(PagingRole.SIZE, ""), len(self._page.rows)
        asked_size = self._arguments.get(name)
        is_smaller = isinstance(asked_size, int) and 0 < row_count < asked_size
        return {name: row_count} if self.pages == 1 and is_smaller else {}

    def _is_requested_page(self) -> bool:
        """Whether the answer says that it is the page that was asked for."""
        roles = (PagingRole.PAGE, PagingRole.OFFSET)
        asked_values = [(role, self._arguments.get(self._paging.names.get(role, ""))) for role in roles]
        return any(value is not None and self._page.find_number(role) == value for role, value in asked_values)

    def _stop_if_beyond_bounds(self) -> bool:
        """Stops if a bound is reached and more rows would follow; returns whether it did."""
        full = (
            (self.pages >= self._bounds.pages, f"{self._bounds.pages} pages (LIST_PAGES)"),
            (self.row_count >= self._bounds.rows, f"{self._bounds.rows} rows (LIST_ROWS)"),
            (self._rows.size >= self._bounds.size, f"{self._bounds.size} characters (LIST_BYTES)"),
        )
        reached = next((bound for is_reached, bound in full if is_reached), None)
        has_more = reached is not None and self._find_next_arguments(1) is not None
        if has_more:
            self._stop(f"reading stopped at {reached}")
        return has_more

    def _explain_missing_rows(self) -> None:
        """At the end, notes why rows are missing, if the rows do not agree with what the server said of the list."""
        page, totals = self._page, self._stated_totals
        fewest = min(totals, default=0)
        most = max(totals, default=0)
        total = page.total
        is_named = page.next_hint is not None and self.pages == 1 and page.has_more is not False
        reasons = (
            (
                total is not None and self.row_count < total,
                f"the server speaks of {total} rows, and no way led to the others",
            ),
            (
                bool(totals) and fewest < totals[0],
                f"the list changed while it was read: of {most} rows there were {fewest} later",
            ),
            (
                total is not None and self.row_count > most and not self._rows.id_field,
                f"{self.row_count} rows came where the server speaks of {total}, and nothing tells them apart",
            ),
            (
                self._is_in_doubt,
                "a page came twice, and its rows have no identifier by which to tell whether they are others",
            ),
            (page.has_more, "the server says that there is more, and no way led to it"),
            (is_named, "the server names what follows, and the tool has no argument to ask for it"),
        )
        if not self.why_partial:
            self.why_partial = next((reason for applies, reason in reasons if applies), "")

    def _stop_at_refusal(self, reason: str) -> None:
        self._stop(f"page {self.pages + 1} could not be read: {reason[:200]}")

    def _stop(self, reason: str) -> None:
        self.following = None
        self.why_partial = reason


def open_paged_list(tool: Tool, arguments: JsonObject, content: Json, bounds: ListBounds) -> PagedListing | None:
    """The list whose first page the answer is; None if it has no pages, or only a part of it was asked for."""
    page = read_list_page(content)
    if page is None:
        return None
    paging = find_paging_arguments(tool, arguments, page)
    names_next = any(isinstance(hint.value, str) for hint in page.list_hints_of_roles(PagingRole.NEXT))
    has_pages = paging.has_position or page.has_more or names_next
    if not has_pages or asks_for_part_of_list(paging, arguments) or not (page.rows or page.next_hint):
        return None
    return PagedListing(tool, arguments, page, paging, bounds)
