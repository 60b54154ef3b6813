"""Lists that come in parts: where an answer's rows stand, what to ask next, when to stop, what to say and show of it.

Pure: the caller makes the calls.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from services.executor.core.tools.classes import identifies
from services.executor.core.tools.failures import has_failed
from services.executor.core.tools.near_names import singular, words_of
from services.executor.core.tools.record_tree import PARTIAL
from services.executor.core.tools.toolbox import problems_with
from services.executor.ports.tools import Tool, ToolAnswer
from shared.domain.exact_json import Json, JsonObject, digest, dumps

_NEXT = frozenset("next page cursor token link url uri href offset marker key start skip continuation id odata".split())
_PART_OF_ANOTHER = frozenset("href url uri number size cursor token value after total".split())
_KEEPERS = frozenset("links link meta pagination paging".split())
_DEPTH = 3  # how deep in its envelopes a list may stand
_USUAL = frozenset("items results rows records data entries values list content edges elements hits objects".split())
_BESIDE = frozenset("errors warnings messages links columns facets filters fields".split())


class PagingWord(StrEnum):
    """What a name says about a list."""

    PAGE = "page"  # a number of a page
    OFFSET = "offset"  # how many rows to pass over
    CURSOR = "cursor"  # an opaque place
    AFTER = "after"  # the id of the last row that is known
    SIZE = "size"  # how many rows one answer holds
    NEXT = "next"  # whatever leads to the part that follows
    MORE = "more"  # whether more follows
    LAST = "last"  # whether this is the last part
    TOTAL = "total"  # rows in the whole list
    COUNT = "count"  # rows, and nobody can say whether in this part or in the whole list
    PAGES = "pages"  # pages in the whole list


class PageMark(NamedTuple):
    """One thing that an answer says about its list, with its place and value."""

    word: PagingWord
    path: tuple[str, ...]
    value: Json


class ListPage(NamedTuple):
    """One part of a list. ``place``: the keys that lead to its rows."""

    place: tuple[str, ...]
    rows: list[Json]
    marks: tuple[PageMark, ...]

    def marks_of(self, *words: PagingWord) -> Iterator[PageMark]:
        return (mark for word in words for mark in self.marks if mark.word is word)

    def number(self, *words: PagingWord) -> int | None:
        """The first whole number that the answer gives under these words; None if there is none."""
        numbers = (_read_whole(mark.value) for mark in self.marks_of(*words))
        return next((number for number in numbers if number is not None), None)

    @property
    def goes_on(self) -> bool | None:
        """Whether more rows follow, if the answer says so outright; else None."""
        more = [mark.value for mark in self.marks_of(PagingWord.MORE) if isinstance(mark.value, bool)]
        last = [
            not mark.value for mark in self.marks_of(PagingWord.LAST, PagingWord.PAGES) if isinstance(mark.value, bool)
        ]
        return any([*more, *last]) if [*more, *last] else None

    @property
    def following(self) -> PageMark | None:
        """The mark that leads to the next part; a plain ``cursor``, which may only repeat the call's, counts last."""
        plain = () if self.says_nothing_follows and not self.goes_on else (PagingWord.CURSOR,)
        return next((mark for mark in self.marks_of(PagingWord.NEXT, *plain) if _leads_to_page(mark.value)), None)

    @property
    def says_nothing_follows(self) -> bool:
        """Whether the answer has a field for the next part, and it is empty."""
        named = [mark.value for mark in self.marks_of(PagingWord.NEXT)]
        return bool(named) and not any(_leads_to_page(value) for value in named)

    @property
    def total(self) -> int | None:
        """How many rows the whole list has; a ``count`` counts only above this part's rows. None if unknown."""
        total, count = self.number(PagingWord.TOTAL), self.number(PagingWord.COUNT)
        return total if total is not None else count if (count or 0) > len(self.rows) else None


_NAMES: Mapping[PagingWord, str] = {
    PagingWord.PAGE: "page,page number,page no,page num,page index,current page,number page",
    PagingWord.OFFSET: "offset,skip,start,start index,start at,from,row offset",
    PagingWord.CURSOR: "cursor,page token,page cursor,continuation token,continuation,marker,scroll id,bookmark,"
    "after cursor,end cursor,cursor after,cursors after,next token,next cursor,next page token,token",
    PagingWord.AFTER: "after,starting after,start after,after id,last id,since id",
    PagingWord.SIZE: "limit,page size,per page,size,page limit,take,top,max results,max items,items per page,size page,"
    "first",
    PagingWord.MORE: "has more,has next,has next page,more,more available,more results,is truncated,truncated,"
    "has more results,has more items,more items",
    PagingWord.LAST: "is last,last,is last page,end of list,no more",
    PagingWord.TOTAL: "total,total count,count total,total results,total items,total rows,total records,total entries,"
    "total elements,total hits,total number,number of results,result count,record count,all count",
    PagingWord.COUNT: "count,num found,hits,matches",
    PagingWord.PAGES: "total pages,pages,page count,num pages,number of pages,pages total,last page",
}
_BY_NAME = {name: word for word, names in _NAMES.items() for name in names.split(",")}


def word_of(name: str, parent: str = "") -> PagingWord | None:
    """What a name says about a list; ``parent``: the name of the object around it."""
    own = words_of(name)
    around = [word for word in words_of(parent) if word not in _KEEPERS]
    if own and own[-1] in _PART_OF_ANOTHER and around:
        found = _find_word([*around, *own]) or _find_word([*own, *around])
        if found is not None:
            return found
    return _find_word(own)


def _find_word(words: list[str]) -> PagingWord | None:
    if "next" in words and _NEXT.issuperset(words):
        return PagingWord.NEXT
    return _BY_NAME.get(" ".join(words))


def page_in(content: Json) -> ListPage | None:
    """The answer as a part of a list; None if it holds no list, or several of which none is plainly the one."""
    if isinstance(content, list):
        return ListPage((), content, ())
    if not isinstance(content, dict):
        return None
    place = _find_place(content)
    rows = value_at(content, place) if place else None
    return ListPage(place, rows, tuple(_find_marks(content, place, ()))) if isinstance(rows, list) else None


def value_at(content: Json, place: Iterable[str]) -> Json:
    """The value in nested objects under these keys; None if there is none."""
    for key in place:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def put(content: Json, place: tuple[str, ...], value: Json) -> Json:
    """The content with another value at a place that it has."""
    if not place or not isinstance(content, dict):
        return value if not place else content
    return {**content, place[0]: put(content[place[0]], place[1:], value)} if place[0] in content else content


def _find_place(content: JsonObject) -> tuple[str, ...]:
    """The keys to the list: the outermost one, by its usual name if there are several."""
    level: dict[tuple[str, ...], Json] = {(): content}
    for _ in range(_DEPTH):
        outer = [(path, value) for path, value in level.items() if isinstance(value, dict)]
        level = {(*path, key): inner for path, value in outer for key, inner in value.items()}
        beside = (path for path in level if path[-1].lower().lstrip("_") not in _BESIDE)
        lists = {path: rows for path in beside if isinstance(rows := level[path], list)}
        if lists:
            usual = [path for path in lists if path[-1].lower() in _USUAL]
            full = [path for path, rows in lists.items() if any(isinstance(row, dict) for row in rows)]
            return next((found[0] for found in (usual, full, [*lists]) if len(found) == 1), ())
    return ()


def _find_marks(content: JsonObject, place: tuple[str, ...], path: tuple[str, ...]) -> Iterator[PageMark]:
    """Yields what the answer says beside the rows, in this object and those within it."""
    for key, value in content.items():
        here = (*path, key)
        word = word_of(key, path[-1] if path else "")
        if here == place:
            continue
        if isinstance(value, dict) and len(here) < _DEPTH:
            yield from _find_marks(value, place, here)
        elif isinstance(value, list):
            links = [one for one in value if isinstance(one, dict)] if "links" in key.lower() else []
            yield from (PageMark(PagingWord.NEXT, here, one.get("href")) for one in links if one.get("rel") == "next")
        elif word is not None and not isinstance(value, dict):
            yield PageMark(word, here, value)


def _leads_to_page(value: Json) -> bool:
    return not isinstance(value, bool) and value not in (None, "", 0) and isinstance(value, str | int)


def _read_whole(value: Json) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class ListBounds(NamedTuple):
    """How much of one list a single call of the model reads; ``size`` is in characters."""

    pages: int = 200
    rows: int = 10_000
    size: int = 1_000_000


_PLACES = (PagingWord.CURSOR, PagingWord.AFTER, PagingWord.OFFSET, PagingWord.PAGE)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_ORDERS = frozenset("sort order sortby orderby sorting latest newest descending".split())


class Paging(NamedTuple):
    """The arguments of a tool that choose a part of a list, with their schemas."""

    names: Mapping[PagingWord, str]
    schemas: Mapping[str, JsonObject]
    is_open: bool  # whether the tool says nothing of its arguments

    def whole_numbers(self, word: PagingWord) -> str | None:
        """The name of the argument of that kind, if it takes whole numbers; else None."""
        name = self.names.get(word)
        kind = self.schemas.get(name or "", {}).get("type", "integer")
        return name if kind in ("integer", "number") or (isinstance(kind, list) and "integer" in kind) else None

    @property
    def has_place(self) -> bool:
        return any(word in self.names for word in _PLACES)

    @property
    def lowest_page(self) -> int | None:
        """The number of the first page, 0 or 1, if the schema says so; else None."""
        schema = self.schemas.get(self.names.get(PagingWord.PAGE, ""), {})
        said = (schema.get("minimum"), schema.get("default"))
        return next((number for number in said if number in (0, 1) and not isinstance(number, bool)), None)  # type: ignore[return-value]  # 0 or 1


def paging_of(tool: Tool, arguments: JsonObject, page: ListPage) -> Paging:
    """The paging arguments of a tool, by its schema, or else by the call and its answer."""
    if isinstance(tool.input_schema.get("properties"), dict):
        return Paging(_arguments_by_word(tool.parameters), tool.parameters, is_open=False)
    echoed: dict[str, JsonObject] = {mark.path[-1]: {} for mark in page.marks_of(PagingWord.PAGE, PagingWord.OFFSET)}
    known: dict[str, JsonObject] = {name: {} for name in arguments}
    following = next((mark for mark in page.marks_of(PagingWord.NEXT) if isinstance(mark.value, str)), None)
    implied: dict[str, JsonObject] = {_without_next(following): {}} if following else {}
    return Paging(_arguments_by_word({**implied, **echoed, **known}), {}, is_open=True)


def asks_for_a_part(paging: Paging, arguments: JsonObject) -> bool:
    """Whether a call asks for another part than the first, or for the first few rows of an order."""
    for word in _PLACES:
        given = arguments.get(paging.names.get(word, ""))
        first_page = word is PagingWord.PAGE and given == 1 and paging.lowest_page != 0
        if given not in (None, "", 0) and not first_page:
            return True
    ordered = any(_ORDERS & set(words_of(name)) for name, value in arguments.items() if value not in (None, ""))
    sized = arguments.get(paging.names.get(PagingWord.SIZE, "")) is not None
    at_the_start = any(paging.names.get(word) in arguments for word in _PLACES)
    return ordered and sized and not at_the_start


def arguments_from_mark(paging: Paging, mark: PageMark) -> JsonObject:
    """The next part's arguments that a mark gives, also in a link, which is never fetched; empty if none fit."""
    if isinstance(mark.value, str) and _is_link(mark.value):
        return _of_link(paging, mark.value)
    name = _argument_for(paging, mark)
    return {name: _convert_type(mark.value, paging.schemas.get(name, {}))} if name else {}


def _argument_for(paging: Paging, mark: PageMark) -> str | None:
    words = set(words_of(mark.path[-1]))
    is_number = isinstance(mark.value, int) or str(mark.value).isdigit()
    if is_number and words & {"offset", "skip", "start"}:
        return paging.whole_numbers(PagingWord.OFFSET)
    if is_number and not words & {"cursor", "token", "marker"} and PagingWord.PAGE in paging.names:
        return paging.whole_numbers(PagingWord.PAGE)
    if is_number and not words & {"cursor", "token", "marker"} and PagingWord.CURSOR not in paging.names:
        return paging.whole_numbers(PagingWord.OFFSET)
    return paging.names.get(PagingWord.CURSOR) or paging.names.get(PagingWord.AFTER)


def _of_link(paging: Paging, link: str) -> JsonObject:
    own = {name: word for word, name in paging.names.items()}
    query = _parse_query(link)
    places = {name: _convert_type(value, paging.schemas.get(name, {})) for name, value in query if name in own}
    if paging.is_open:
        words = {name: word_of(name) for name, _ in query}
        places |= {
            name: _convert_type(value, {}) for name, value in query if words[name] in (*_PLACES, PagingWord.SIZE)
        }
    return places if any(word_of(name) in _PLACES for name in places) else {}


def _parse_query(link: str) -> list[tuple[str, str]]:
    """The names and values of a link's query, unescaped."""
    pairs = (pair.partition("=") for pair in link.partition("?")[2].partition("#")[0].split("&"))
    return [(_unescape(name), _unescape(value)) for name, _, value in pairs]


def _unescape(text: str) -> str:
    plain = text.replace("+", " ").encode()
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), plain).decode(errors="replace")


def _is_link(text: str) -> bool:
    return "?" in text and (text.startswith(("http://", "https://", "/", "?")) or "=" in text.partition("?")[2])


def _convert_type(value: Json, schema: JsonObject) -> Json:
    """The value as the schema wants it: digits as a number, or a number as a text."""
    kind = schema.get("type")
    if (
        isinstance(value, str)
        and value.isdigit()
        and (kind in ("integer", "number") or (not schema and len(value) < 9))
    ):
        return int(value)
    return str(value) if kind == "string" and isinstance(value, int) else value


def _arguments_by_word(schemas: Mapping[str, JsonObject]) -> dict[PagingWord, str]:
    """The arguments by what they say about a list; dates are left out, since they are no place in it."""
    found: dict[PagingWord, str] = {}
    for name, schema in schemas.items():
        word = word_of(name)
        if word is PagingWord.NEXT:
            word = PagingWord.CURSOR
        if word in (*_PLACES, PagingWord.SIZE) and "format" not in schema:
            found.setdefault(word, name)
    return found


def _without_next(mark: PageMark) -> str:
    """The argument for which a mark of an unknown tool is meant: ``cursor`` for ``next_cursor``."""
    name = mark.path[-1]
    short = name[4:].lstrip("_-") if name.lower().startswith("next") else name
    return (short[:1].lower() + short[1:]) or "cursor"


_IDS = ("id", "_id", "uuid", "guid")
_BARREN = 3  # parts in a row that may bring nothing new, while the server goes on naming new places
_SIGNS = (
    PagingWord.NEXT,
    PagingWord.CURSOR,
    PagingWord.MORE,
    PagingWord.LAST,
    PagingWord.TOTAL,
    PagingWord.COUNT,
    PagingWord.PAGES,
)


class CollectedRows:
    """The rows of all parts so far: the newest of each identifier; without identifiers all but parts that come again,
    which ``left_out`` counts.
    """

    def __init__(self, noun: str) -> None:
        """``noun``: what the list is of, by its name: ``invoices``; ``invoice_id`` identifies an invoice."""
        *words, last = words_of(noun) or [""]
        self._noun = "_".join([*words, singular(last)])
        self._id: str | None = None
        self._is_first = True
        self._at: dict[str, int] = {}
        self._parts: set[str] = set()
        self.all: list[Json] = []
        self.left_out = 0
        self.size = 0  # in characters

    def add(self, rows: Sequence[Json], beside: Json = None, *, is_sure: bool = False) -> int:
        """Adds rows; returns how many are new. ``beside``: what tells parts apart; ``is_sure``: it was asked for."""
        if self._is_first:
            self._id, self._is_first = _find_identifier(rows, self._noun), False
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
        if key is not None and key in self._at:
            self.all[self._at[key]] = row
            return
        if key is not None:
            self._at[key] = len(self.all)
        self.all.append(row)
        self.size += len(dumps(row))


class Listing:
    """A list that is being read. ``following``: the next call's arguments; ``why_partial``: why rows are missing."""

    def __init__(self, tool: Tool, arguments: JsonObject, page: ListPage, paging: Paging, bounds: ListBounds) -> None:
        self._first = self._last = page
        self._paging = paging
        self._bounds = bounds
        self._asked = arguments
        self._rows = CollectedRows(page.place[-1] if page.place else tool.name.partition("_")[2])
        self._rows.add(page.rows, _page_position(page))
        self._marks: set[str] = set()
        self._probing = False  # whether the first page may be asked for under another number
        self._barren = 0
        self._is_in_doubt = False  # whether the last part came before, and its rows have nothing to tell them apart
        self._totals = [page.total] if page.total is not None else []
        self.pages = 1
        self.why_partial = ""
        self.following = self._find_next(len(page.rows))

    def add(self, content: Json) -> None:
        """Takes in the answer to the call with the arguments ``following``."""
        page = page_in(content)
        if self.following is None or page is None or page.place != self._first.place:
            self._stop(f"page {self.pages + 1} is no list like the first")
            return
        self._asked, self._last = self.following, page
        self._totals += [page.total] if page.total is not None else []
        probed = self._rows.left_out + self._probing
        fresh = self._rows.add(page.rows, _page_position(page), is_sure=self._is_the_one_asked_for(page))
        self._is_in_doubt = self._rows.left_out > probed
        self.pages += 1
        self.following = self._find_next(fresh)

    def note_refusal(self, why: str) -> None:
        """Notes that the call for the next part failed: what was read so far is all there is."""
        self._stop(f"page {self.pages + 1} could not be read: {why[:200]}")

    @property
    def total(self) -> int:
        return len(self._rows.all)

    def merge_rows(self, content: Json) -> Json:
        """The first answer with all rows in its list, and with marks on further rows as they are in the last part."""
        whole = put(content, self._first.place, list(self._rows.all))
        for mark in self._last.marks:
            if mark.word in _SIGNS:
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
        page = self._last
        if self._is_too_much():
            return None
        self._barren = 0 if fresh else self._barren + 1
        found = self._next_arguments(page, fresh)
        if found is None:
            self._conclude(page)
        return found

    def _next_arguments(self, page: ListPage, fresh: int) -> JsonObject | None:
        """The arguments for the next part: where the server points to, else by counting; None at the end."""
        mark = page.following
        if mark is not None and page.goes_on is not False and self._is_new(mark):
            pointed = arguments_from_mark(self._paging, mark)
            if pointed and self._barren >= _BARREN:
                self._stop(f"the last {_BARREN} pages brought nothing new, and the server names further ones")
                return None
            if pointed:
                return {**self._asked, **pointed}
        elif mark is not None and not self._counts_on(page):
            return None
        if self._has_ended(page):
            return None
        return self._counted_arguments(page, fresh)

    def _is_new(self, mark: PageMark) -> bool:
        """Whether a mark leads to another part than those that were read."""
        key = dumps(mark.value)
        asked = {dumps(value) for name, value in self._asked.items() if name in self._paging.names.values()}
        if key in self._marks or (isinstance(mark.value, str) and key in asked):
            return False
        self._marks.add(key)
        return True

    def _counts_on(self, page: ListPage) -> bool:
        """Whether this list can be continued by counting, and is said to have more rows."""
        counts = self._paging.whole_numbers(PagingWord.OFFSET) or self._paging.whole_numbers(PagingWord.PAGE)
        return bool(counts) and (page.goes_on is True or (page.total or 0) > self.total)

    def _has_ended(self, page: ListPage) -> bool:
        if page.goes_on is not None:
            return not page.goes_on
        if page.total is not None:
            return self.total >= page.total
        pages, number = page.number(PagingWord.PAGES), page.number(PagingWord.PAGE)
        if pages is not None and number is not None and number >= 1:
            return number >= pages
        return page.says_nothing_follows

    def _counted_arguments(self, page: ListPage, fresh: int) -> JsonObject | None:
        """The arguments for the next part by counting; None if the tool cannot count, or nothing new came."""
        offset, number = self._paging.whole_numbers(PagingWord.OFFSET), self._paging.whole_numbers(PagingWord.PAGE)
        if number is not None and (offset is None or number in self._asked):
            return self._page_after(page, number, fresh)
        if not fresh:
            return None
        if offset is not None:
            return {**self._asked, offset: self._offset_of(page, offset) + len(page.rows)}
        after = self._paging.names.get(PagingWord.AFTER)
        if after is not None and page.goes_on and self._rows.last_id is not None:
            return {**self._asked, after: self._rows.last_id}
        return None

    def _offset_of(self, page: ListPage, name: str) -> int:
        said = page.number(PagingWord.OFFSET)
        given = self._asked.get(name)
        asked = given if isinstance(given, int) else 0
        return max(said, asked) if said is not None else asked

    def _page_after(self, page: ListPage, name: str, fresh: int) -> JsonObject | None:
        """The arguments for the next page. Where nobody says whether page 1 is the first, it is asked for."""
        asked, said = self._asked.get(name), page.number(PagingWord.PAGE)
        probed, self._probing = self._probing, False
        if not fresh and not probed:
            return None
        if isinstance(asked, int) and not isinstance(asked, bool):
            number = asked + 1
        elif said is not None or self._paging.lowest_page is not None:
            number = (said if said is not None else self._paging.lowest_page or 0) + 1
        else:
            number, self._probing = 1, True
        return {**self._asked, **self._steady_size(page), name: number}

    def _steady_size(self, page: ListPage) -> JsonObject:
        """The size that the server gave, to ask for from now on: some count pages in rows given, some in rows asked."""
        name = self._paging.names.get(PagingWord.SIZE)
        asked = self._asked.get(name) if name else None
        if self.pages > 1 or name is None or not isinstance(asked, int) or not 0 < len(page.rows) < asked:
            return {}
        return {name: len(page.rows)}

    def _is_the_one_asked_for(self, page: ListPage) -> bool:
        """Whether the answer says that it is the part that was asked for."""
        asked = [
            (word, self._asked.get(self._paging.names.get(word, ""))) for word in (PagingWord.PAGE, PagingWord.OFFSET)
        ]
        return any(given is not None and page.number(word) == given for word, given in asked)

    def _is_too_much(self) -> bool:
        full = (
            (self.pages >= self._bounds.pages, f"{self._bounds.pages} pages (LIST_PAGES)"),
            (self.total >= self._bounds.rows, f"{self._bounds.rows} rows (LIST_ROWS)"),
            (self._rows.size >= self._bounds.size, f"{self._bounds.size} characters (LIST_BYTES)"),
        )
        reached = next((what for is_reached, what in full if is_reached), None)
        more = reached is not None and self._next_arguments(self._last, 1) is not None
        if more:
            self._stop(f"reading stopped at {reached}")
        return more

    def _conclude(self, page: ListPage) -> None:
        """At the end, notes why rows are missing if what came does not agree with what the server said of the list."""
        fewest, most = min(self._totals, default=0), max(self._totals, default=0)
        if self.why_partial:
            return
        if page.total is not None and self.total < page.total:
            self._stop(f"the server speaks of {page.total} rows, and no way led to the others")
        elif fewest < self._totals[0] if self._totals else False:
            self._stop(f"the list changed while it was read: of {most} rows there were {fewest} later")
        elif page.total is not None and self.total > most and not self._rows.are_identified:
            self._stop(f"{self.total} rows came where the server speaks of {page.total}, and nothing tells them apart")
        elif self._is_in_doubt:
            self._stop("a page came twice, and its rows have no identifier by which to tell whether they are others")
        elif page.goes_on:
            self._stop("the server says that there is more, and no way led to it")
        elif page.following is not None and self.pages == 1 and page.goes_on is not False:
            self._stop("the server names what follows, and the tool has no argument to ask for it")

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


async def read_to_end(found: Listing, tool: Tool, ask: Callable[[JsonObject], Awaitable[ToolAnswer]]) -> None:
    """Asks for one part after the other; what is asked next follows from the answers alone."""
    while (following := found.following) is not None:
        if problems := problems_with(following, tool):
            found.note_refusal(problems)
            return
        part = await ask(following)
        if has_failed(part):
            found.note_refusal(dumps(part.content))
        else:
            found.add(part.content)


def report(found: Listing) -> str:
    """A sentence on a list that was read in parts; empty if one answer was all of it."""
    if found.why_partial:
        return f"{PARTIAL}: {found.total} rows from {found.pages} pages; {found.why_partial}."
    return f"All {found.total} rows, from {found.pages} pages." if found.pages > 1 else ""


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


# Tried in turn until the whole fits: the longest text, and the most items of a list within.
_STEPS = ((4_000, 100), (1_000, 40), (400, 15), (120, 6), (60, 3), (30, 1))
MOST = 16_000  # characters of one result that a prompt holds
MOST_OF_A_RESULT = 6_000  # in a conversation
_MOST_NAMES = 12
_COMPUTED = "what is computed over them takes all."


def shorten_content(content: Json, most: int) -> tuple[Json, str]:
    """The content with long texts and lists cut, and a sentence that says so, which is empty if all fits."""
    if len(dumps(content)) <= most:
        return content, ""
    for text, items in _STEPS:
        cut = _cut(content, text, items)
        if len(dumps(cut)) <= most:
            what = f"texts over {text} characters and lists within it over {items} items"
            return cut, f"Not all of it is shown here: of {what} only the beginning; {_COMPUTED}"
    whole = dumps(content)
    seen = _cut_beginning(whole, most)
    return seen, f"Only the first {len(seen)} of {len(whole)} characters are shown here."


def beginning(content: Json, most: int = MOST) -> tuple[Json, str]:
    """The content with as many rows of its list as fit, or cut within, and a sentence on what was left out."""
    if len(dumps(content)) <= most:
        return content, ""
    page = page_in(content)
    if page is None or len(page.rows) < 2:
        return shorten_content(content, most)
    seen, cut = _first_rows(content, page, most)
    seen, more = shorten_content(seen, most)
    return seen, " ".join(filter(None, (cut, more)))


def _cut_beginning(text: str, most: int) -> str:
    """The beginning of the text that fits into ``most`` characters once it is quoted as a JSON string."""
    seen = text[:most]
    while len(dumps(seen)) > most:
        seen = seen[: len(seen) * most // (len(dumps(seen)) + 1)]
    return seen


def _cut(content: Json, text: int, items: int) -> Json:
    match content:
        case str() if len(content) > text:
            return f"{content[:text]}... ({len(content) - text} more characters)"
        case list():
            rest: list[Json] = [f"... ({len(content) - items} more)"] if len(content) > items else []
            return [*(_cut(item, text, items) for item in content[:items]), *rest]
        case dict():
            return {name: _cut(value, text, items) for name, value in content.items()}
        case _:
            return content


def _first_rows(content: Json, page: ListPage, most: int) -> tuple[Json, str]:
    kept, size = 0, len(dumps(put(content, page.place, [])))
    while kept < len(page.rows) and size + len(dumps(page.rows[kept])) < most:
        size += len(dumps(page.rows[kept])) + 1
        kept += 1
    kept = max(kept, 1)
    if kept == len(page.rows):
        return content, ""
    cut = f"Only the first {kept} of {len(page.rows)} rows are shown here; {_COMPUTED}"
    return put(content, page.place, page.rows[:kept]), cut


def shorten_result(content: Json, most: int = MOST_OF_A_RESULT) -> tuple[Json, str]:
    """The content within ``most`` characters, and a note on the rest, which is empty if all of it is shown."""
    if len(dumps(content)) <= most:
        return content, ""
    shown, cut = beginning(content, most)
    page, part = page_in(content), page_in(shown)
    if page is None or part is None or len(page.rows) < 2:
        return shown, f"{cut} look shows the rest"
    fields = list_names(page.rows[:50])
    place = f" in {'.'.join(page.place)}" if page.place else ""
    rows = f"{len(page.rows)} rows{place}, the first {min(len(part.rows), len(page.rows))} are shown"
    inside = "; long texts and lists in them are cut" if "within" in cut else ""
    return shown, f"{rows}{inside}{f'; fields {fields}' if fields else ''}; look shows the rest"


def list_names(records: Iterator[Json] | Sequence[Json]) -> str:
    """The field names of the records as text for a message."""
    names = dict.fromkeys(key for record in records if isinstance(record, dict) for key in record)
    return ", ".join([*list(names)[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
