"""A list that is read to its end, part by part: what to ask next, when to stop, and what to say of it.

Pure: the caller makes the calls.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from services.executor.core.tools.classes import identifies
from services.executor.core.tools.failures import has_failed
from services.executor.core.tools.near_names import singular, words_of
from services.executor.core.tools.paging import (
    ListPage,
    PageMark,
    Paging,
    PagingWord,
    arguments_from_mark,
    asks_for_a_part,
    page_in,
    paging_of,
    put,
)
from services.executor.core.tools.record_tree import PARTIAL
from services.executor.core.tools.toolbox import problems_with
from services.executor.ports.tools import Tool, ToolAnswer
from shared.domain.exact_json import Json, JsonObject, digest, dumps


class ListBounds(NamedTuple):
    """How much of one list a single call of the model reads; ``size`` is in characters."""

    pages: int = 200
    rows: int = 10_000
    size: int = 1_000_000


_IDS = ("id", "_id", "uuid", "guid")
_BARREN = 3  # parts in a row that may bring nothing new, while the server goes on naming new places
_OF_ONE_PART = (PagingWord.PAGE, PagingWord.OFFSET, PagingWord.AFTER, PagingWord.SIZE)


class CollectedRows:
    """The rows of all parts: the newest of each identifier, else all but parts that come again (``left_out``)."""

    def __init__(self, noun: str, first: Sequence[Json]) -> None:
        """``noun``: what the list is of, by its name: ``invoices``; ``invoice_id`` identifies an invoice. ``first``:
        the rows of the first part, which are not added yet.
        """
        *words, last = words_of(noun) or [""]
        self._id = _find_identifier(first, "_".join([*words, singular(last)]))
        self._at: dict[str, int] = {}
        self._parts: set[str] = set()
        self.all: list[Json] = []
        self.left_out = 0
        self.size = 0  # in characters

    def add(self, rows: Sequence[Json], beside: Json = None, *, is_sure: bool = False) -> int:
        """Adds rows; returns how many are new. ``beside``: what tells parts apart; ``is_sure``: it was asked for."""
        part = digest([list(rows), beside])
        again = part in self._parts
        self._parts.add(part)
        if self._id is not None and _identifies_rows(self._id, rows):
            before = len(self.all)
            for row in rows:
                self._keep(row, dumps(_read_value(row, self._id)))
            return len(self.all) - before
        self._id = None
        if again and rows and not is_sure:
            self.left_out += 1
            return 0
        for row in rows:
            self._keep(row)
        return len(rows)

    @property
    def are_identified(self) -> bool:
        return self._id is not None

    @property
    def last_id(self) -> Json:
        """The identifier of the last row; None if rows have none."""
        return _read_value(self.all[-1], self._id) if self._id and self.all else None

    def _keep(self, row: Json, key: str | None = None) -> None:
        place = len(self.all) if key is None else self._at.setdefault(key, len(self.all))
        if place < len(self.all):
            self.all[place] = row
            return
        self.all.append(row)
        self.size += len(dumps(row))


def _find_identifier(rows: Sequence[Json], noun: str) -> str | None:
    """The field that tells the rows apart: an id, or one named after what the list is of; None if there is none."""
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    named = [key for key in first if identifies(key) and _is_named_after(key, noun)]
    usual = [key for key in first if key.lower() in _IDS]
    return next((key for key in (*usual, *named) if _identifies_rows(key, rows)), None)


def _is_named_after(key: str, noun: str) -> bool:
    head = "_".join(words_of(key)[:-1])
    return bool(noun and head) and (head == noun or noun.endswith(f"_{head}"))


def _identifies_rows(key: str, rows: Sequence[Json]) -> bool:
    """Whether all rows have a value there, and no two different rows the same."""
    seen: dict[str, JsonObject] = {}
    for row in rows:
        value = _read_value(row, key)
        if not isinstance(row, dict) or value in (None, "") or isinstance(value, dict | list | bool):
            return False
        if seen.setdefault(dumps(value), row) != row:
            return False
    return True


def _read_value(row: Json, key: str | None) -> Json:
    return row.get(key) if isinstance(row, dict) and key else None


def _page_position(page: ListPage) -> Json:
    """The place that an answer gives for itself, which differs between two parts whose rows look the same."""
    return [
        mark.value for mark in page.marks_of(PagingWord.NEXT, PagingWord.CURSOR, PagingWord.PAGE, PagingWord.OFFSET)
    ]


class Listing:
    """A list that is being read. ``following``: the next call's arguments; ``why_partial``: why rows are missing."""

    def __init__(self, tool: Tool, arguments: JsonObject, page: ListPage, paging: Paging, bounds: ListBounds) -> None:
        self._tool = tool
        self._place = page.place
        self._paging = paging
        self._offset = paging.whole_numbers(PagingWord.OFFSET)
        self._number = paging.whole_numbers(PagingWord.PAGE)
        self._bounds = bounds
        self._asked = arguments
        self._rows = CollectedRows(page.place[-1] if page.place else tool.name.partition("_")[2], page.rows)
        self._marks: set[str] = set()
        self._probing = False  # whether the first page may be asked for under another number
        self._barren = 0
        self._is_in_doubt = False  # whether the last part came before, and its rows have nothing to tell them apart
        self._totals: list[int] = []
        self.pages = 0
        self.why_partial = ""
        self.following: JsonObject | None = None
        self._take(page)

    def add(self, content: Json) -> None:
        """Takes in the answer to the call with the arguments ``following``."""
        page = page_in(content)
        if self.following is None or page is None or page.place != self._place:
            self._stop(f"page {self.pages + 1} is no list like the first")
            return
        self._asked = self.following
        self._take(page)

    def _take(self, page: ListPage) -> None:
        self._page = page
        self._totals += [page.total] if page.total is not None else []
        probed = self._rows.left_out + self._probing
        fresh = self._rows.add(page.rows, _page_position(page), is_sure=self._is_the_one_asked_for())
        self._is_in_doubt = self._rows.left_out > probed
        self.pages += 1
        self.following = self._find_next(fresh)

    async def read_to_end(self, ask: Callable[[JsonObject], Awaitable[ToolAnswer]]) -> None:
        """Asks for one part after the other; what is asked next follows from the answers alone."""
        while (following := self.following) is not None:
            if problems := problems_with(following, self._tool):
                self._stop_at_refusal(problems)
            elif has_failed(part := await ask(following)):
                self._stop_at_refusal(dumps(part.content))
            else:
                self.add(part.content)

    @property
    def report(self) -> str:
        """A sentence on a list that was read in parts; empty if one answer was all of it."""
        if self.why_partial:
            return f"{PARTIAL}: {self.total} rows from {self.pages} pages; {self.why_partial}."
        return f"All {self.total} rows, from {self.pages} pages." if self.pages > 1 else ""

    @property
    def total(self) -> int:
        return len(self._rows.all)

    def merge_rows(self, content: Json) -> Json:
        """The first answer with all rows in its list, and with marks on further rows as they are in the last part."""
        whole = put(content, self._place, list(self._rows.all))
        for mark in self._page.marks:
            if mark.word not in _OF_ONE_PART:
                whole = put(whole, mark.path, mark.value if self.why_partial else self._at_the_end(mark))
        return whole

    def _at_the_end(self, mark: PageMark) -> Json:
        """The value of a mark once everything has been read."""
        if mark.word in (PagingWord.NEXT, PagingWord.CURSOR):
            return None
        if isinstance(mark.value, bool):
            return mark.word in (PagingWord.LAST, PagingWord.PAGES)
        return self.total if mark.word is PagingWord.COUNT and isinstance(mark.value, int) else mark.value

    def _find_next(self, fresh: int) -> JsonObject | None:
        """The arguments for the next part. ``fresh``: how many new rows the last one brought."""
        if self._is_too_much():
            return None
        self._barren = 0 if fresh else self._barren + 1
        found = self._next_arguments(fresh)
        if found is None:
            self._conclude()
        return found

    def _next_arguments(self, fresh: int) -> JsonObject | None:
        """The arguments for the next part: where the server points to, else by counting; None at the end."""
        page, mark = self._page, self._page.following
        if mark is not None and page.goes_on is not False and self._is_new(mark):
            pointed = arguments_from_mark(self._paging, mark)
            if pointed and self._barren >= _BARREN:
                self._stop(f"the last {_BARREN} pages brought nothing new, and the server names further ones")
                return None
            if pointed:
                return {**self._asked, **pointed}
        elif mark is not None and not self._counts_on:
            return None
        return None if self._has_ended else self._counted_arguments(fresh)

    def _is_new(self, mark: PageMark) -> bool:
        """Whether a mark leads to another part than those that were read."""
        key = dumps(mark.value)
        asked = {dumps(value) for name, value in self._asked.items() if name in self._paging.names.values()}
        if key in self._marks or (isinstance(mark.value, str) and key in asked):
            return False
        self._marks.add(key)
        return True

    @property
    def _counts_on(self) -> bool:
        """Whether this list can be continued by counting, and is said to have more rows."""
        is_said = self._page.goes_on is True or (self._page.total or 0) > self.total
        return is_said and bool(self._offset or self._number)

    @property
    def _has_ended(self) -> bool:
        page = self._page
        if page.goes_on is not None:
            return not page.goes_on
        if page.total is not None:
            return self.total >= page.total
        pages, number = page.number(PagingWord.PAGES), page.number(PagingWord.PAGE)
        if pages is not None and number is not None and number >= 1:
            return number >= pages
        return page.says_nothing_follows

    def _counted_arguments(self, fresh: int) -> JsonObject | None:
        """The arguments for the next part by counting; None if the tool cannot count, or nothing new came."""
        if self._number is not None and (self._offset is None or self._number in self._asked):
            return self._page_after(self._number, fresh)
        if not fresh:
            return None
        if self._offset is not None:
            said, given = self._page.number(PagingWord.OFFSET), self._asked.get(self._offset)
            asked = given if isinstance(given, int) else 0
            start = asked if said is None else max(said, asked)
            return {**self._asked, self._offset: start + len(self._page.rows)}
        after = self._paging.names.get(PagingWord.AFTER)
        if after is not None and self._page.goes_on and self._rows.last_id is not None:
            return {**self._asked, after: self._rows.last_id}
        return None

    def _page_after(self, name: str, fresh: int) -> JsonObject | None:
        """The arguments for the next page. Where nobody says whether page 1 is the first, it is asked for."""
        asked, said = self._asked.get(name), self._page.number(PagingWord.PAGE)
        probed, self._probing = self._probing, False
        if not fresh and not probed:
            return None
        if isinstance(asked, int) and not isinstance(asked, bool):
            number = asked + 1
        elif said is not None or self._paging.lowest_page is not None:
            number = (said if said is not None else self._paging.lowest_page or 0) + 1
        else:
            number, self._probing = 1, True
        return {**self._asked, **self._steady_size, name: number}

    @property
    def _steady_size(self) -> JsonObject:
        """The size that the server gave, to ask for from now on: some count pages in rows given, some in rows asked."""
        name, given = self._paging.names.get(PagingWord.SIZE, ""), len(self._page.rows)
        asked = self._asked.get(name)
        return {name: given} if self.pages == 1 and isinstance(asked, int) and 0 < given < asked else {}

    def _is_the_one_asked_for(self) -> bool:
        """Whether the answer says that it is the part that was asked for."""
        words = (PagingWord.PAGE, PagingWord.OFFSET)
        asked = [(word, self._asked.get(self._paging.names.get(word, ""))) for word in words]
        return any(given is not None and self._page.number(word) == given for word, given in asked)

    def _is_too_much(self) -> bool:
        full = (
            (self.pages >= self._bounds.pages, f"{self._bounds.pages} pages (LIST_PAGES)"),
            (self.total >= self._bounds.rows, f"{self._bounds.rows} rows (LIST_ROWS)"),
            (self._rows.size >= self._bounds.size, f"{self._bounds.size} characters (LIST_BYTES)"),
        )
        reached = next((what for is_reached, what in full if is_reached), None)
        more = reached is not None and self._next_arguments(1) is not None
        if more:
            self._stop(f"reading stopped at {reached}")
        return more

    def _conclude(self) -> None:
        """At the end, notes why rows are missing if what came does not agree with what the server said of the list."""
        page, fewest, most = self._page, min(self._totals, default=0), max(self._totals, default=0)
        if self.why_partial:
            return
        if page.total is not None and self.total < page.total:
            self._stop(f"the server speaks of {page.total} rows, and no way led to the others")
        elif self._totals and fewest < self._totals[0]:
            self._stop(f"the list changed while it was read: of {most} rows there were {fewest} later")
        elif page.total is not None and self.total > most and not self._rows.are_identified:
            self._stop(f"{self.total} rows came where the server speaks of {page.total}, and nothing tells them apart")
        elif self._is_in_doubt:
            self._stop("a page came twice, and its rows have no identifier by which to tell whether they are others")
        elif page.goes_on:
            self._stop("the server says that there is more, and no way led to it")
        elif page.following is not None and self.pages == 1 and page.goes_on is not False:
            self._stop("the server names what follows, and the tool has no argument to ask for it")

    def _stop_at_refusal(self, why: str) -> None:
        self._stop(f"page {self.pages + 1} could not be read: {why[:200]}")

    def _stop(self, why: str) -> None:
        self.following = None
        self.why_partial = why


def listing(tool: Tool, arguments: JsonObject, content: Json, bounds: ListBounds) -> Listing | None:
    """The list of which an answer is the first part; None if it is no list, or was asked for in part."""
    page = page_in(content)
    if page is None:
        return None
    paging = paging_of(tool, arguments, page)
    speaks = paging.has_place or page.goes_on or any(isinstance(m.value, str) for m in page.marks_of(PagingWord.NEXT))
    if not speaks or asks_for_a_part(paging, arguments) or not (page.rows or page.following):
        return None
    return Listing(tool, arguments, page, paging, bounds)
