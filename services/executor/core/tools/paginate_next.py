"""The call that asks for what follows one part of a list, in the tool's own way."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.paginate import ListPage, PageMark, PagingWord, word_of
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject

_PLACES = (PagingWord.CURSOR, PagingWord.AFTER, PagingWord.OFFSET, PagingWord.PAGE)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_ORDERS = frozenset("sort order sortby orderby sorting latest newest descending".split())


class Paging(NamedTuple):
    """The arguments of one tool that say which part of a list is wanted, and their schemas."""

    names: Mapping[PagingWord, str]
    schemas: Mapping[str, JsonObject]
    is_open: bool  # whether the tool says nothing of its arguments

    def whole_numbers(self, word: PagingWord) -> str | None:
        """The argument of that kind, if it takes whole numbers."""
        name = self.names.get(word)
        kind = self.schemas.get(name or "", {}).get("type", "integer")
        return name if kind in ("integer", "number") or (isinstance(kind, list) and "integer" in kind) else None

    @property
    def has_place(self) -> bool:
        return any(word in self.names for word in _PLACES)

    @property
    def lowest_page(self) -> int | None:
        """The number of the first page, if the schema says so."""
        schema = self.schemas.get(self.names.get(PagingWord.PAGE, ""), {})
        said = (schema.get("minimum"), schema.get("default"))
        return next((number for number in said if number in (0, 1) and not isinstance(number, bool)), None)  # type: ignore[return-value]  # 0 or 1


def paging_of(tool: Tool, arguments: JsonObject, page: ListPage) -> Paging:
    """What a tool's schema, or else the call and its answer, say of arguments for parts."""
    schemas = _schemas(tool.input_schema)
    if schemas is not None:
        return Paging(_arguments_by_word(schemas), schemas, is_open=False)
    echoed: dict[str, JsonObject] = {mark.path[-1]: {} for mark in page.marks_of(PagingWord.PAGE, PagingWord.OFFSET)}
    known: dict[str, JsonObject] = {name: {} for name in arguments}
    following = next((mark for mark in page.marks_of(PagingWord.NEXT) if isinstance(mark.value, str)), None)
    implied: dict[str, JsonObject] = {_without_next(following): {}} if following else {}
    return Paging(_arguments_by_word({**implied, **echoed, **known}), {}, is_open=True)


def asks_for_a_part(paging: Paging, arguments: JsonObject) -> bool:
    """Whether a call asks for another part than the first, or for the first so many of an order."""
    for word in _PLACES:
        given = arguments.get(paging.names.get(word, ""))
        first_page = word is PagingWord.PAGE and given == 1 and paging.lowest_page != 0
        if given not in (None, "", 0) and not first_page:
            return True
    ordered = any(_ORDERS & set(words_of(name)) for name, value in arguments.items() if value not in (None, ""))
    sized = arguments.get(paging.names.get(PagingWord.SIZE, "")) is not None
    at_the_start = any(paging.names.get(word) in arguments for word in _PLACES)
    return ordered and sized and not at_the_start


def by_mark(paging: Paging, mark: PageMark) -> JsonObject:
    """The arguments that a mark of what follows gives; nothing if the tool takes none of them.

    A link is never fetched: only the places that its query names are taken from it.
    """
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
    query = _query(link)
    places = {name: _convert_type(value, paging.schemas.get(name, {})) for name, value in query if name in own}
    if paging.is_open:
        words = {name: word_of(name) for name, _ in query}
        places |= {
            name: _convert_type(value, {}) for name, value in query if words[name] in (*_PLACES, PagingWord.SIZE)
        }
    return places if any(word_of(name) in _PLACES for name in places) else {}


def _query(link: str) -> list[tuple[str, str]]:
    """The names and values of a link's query, unescaped."""
    pairs = (pair.partition("=") for pair in link.partition("?")[2].partition("#")[0].split("&"))
    return [(_unescape(name), _unescape(value)) for name, _, value in pairs]


def _unescape(text: str) -> str:
    plain = text.replace("+", " ").encode()
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), plain).decode(errors="replace")


def _is_link(text: str) -> bool:
    return "?" in text and (text.startswith(("http://", "https://", "/", "?")) or "=" in text.partition("?")[2])


def _convert_type(value: Json, schema: JsonObject) -> Json:
    """A text of digits as a number where a number is wanted, and a number as a text where that is."""
    kind = schema.get("type")
    if (
        isinstance(value, str)
        and value.isdigit()
        and (kind in ("integer", "number") or (not schema and len(value) < 9))
    ):
        return int(value)
    return str(value) if kind == "string" and isinstance(value, int) else value


def _schemas(schema: JsonObject) -> dict[str, JsonObject] | None:
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return None
    return {name: field for name, field in fields.items() if isinstance(field, dict)}


def _arguments_by_word(schemas: Mapping[str, JsonObject]) -> dict[PagingWord, str]:
    """The arguments by what they are about. A date is no place."""
    found: dict[PagingWord, str] = {}
    for name, schema in schemas.items():
        word = word_of(name)
        if word is PagingWord.NEXT:
            word = PagingWord.CURSOR
        if word in (*_PLACES, PagingWord.SIZE) and "format" not in schema:
            found.setdefault(word, name)
    return found


def _without_next(mark: PageMark) -> str:
    """The argument that a mark of an unknown tool is for: ``next_cursor`` is for ``cursor``."""
    name = mark.path[-1]
    short = name[4:].lstrip("_-") if name.lower().startswith("next") else name
    return (short[:1].lower() + short[1:]) or "cursor"
