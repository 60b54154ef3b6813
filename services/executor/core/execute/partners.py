"""Which read proves a write: the one that the operator's catalogue names, or else the one that fits by schema (I4)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from services.executor.core.execute.sameness import names_a_record
from services.executor.core.tooling.near_names import words_of
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject
from shared.domain.keywords import stem
from shared.domain.words import ToolClass

_ROOT = 5  # letters that a verb and the thing it makes share: ``register``, ``registration``
_ANSWERED = "id"  # under which an answer names what was made


class Partner(NamedTuple):
    """A read for one write. ``arguments``: the reader's by the write's; None: the id that the write answers with."""

    reader: Tool
    arguments: Mapping[str, str | None]
    by_catalogue: bool

    def asked_with(self, given: JsonObject, call_id: str) -> JsonObject | None:
        """The reader's arguments for a call with these ones; None if an argument that it needs was left out."""
        made: JsonObject = {"$ref": f"{call_id}.{_ANSWERED}"}
        asked: dict[str, Json] = {name: given.get(own) if own else made for name, own in self.arguments.items()}
        known: JsonObject = {name: value for name, value in asked.items() if value is not None}
        return known if known and _required(self.reader).issubset(known) else None


def partner(write: Tool, tools: Iterable[Tool]) -> Partner | None:
    """The read that proves this write, of its own server; None for a notice, and where no read fits.

    A read that the catalogue names counts alone, whatever else fits; none counts that does not read, or that asks for
    more than the write's arguments and answer can give.
    """
    readers = [one for one in tools if one.connection_id == write.connection_id and one.tool_class is ToolClass.READ]
    if write.tool_class is not ToolClass.CHANGE:
        return None
    if named := write.catalogue.read_back:
        return next((found for one in readers if one.name == named and (found := _by_operator(write, one))), None)
    fitting = sorted((-_fit(write, one), len(_properties(one)), one.name) for one in readers if _fit(write, one))
    best = next((one for one in readers if fitting and one.name == fitting[0][2]), None)
    if best is None or _nouns(best) != _nouns(write):
        best = next((one for one in readers if _looks_up_what_is_made(write, one)), best)
    return Partner(best, _given(write, best) or _answered(best), by_catalogue=False) if best else None


def _by_operator(write: Tool, reader: Tool) -> Partner | None:
    given = _given(write, reader)
    if given and _required(reader).issubset(given):
        return Partner(reader, given, by_catalogue=True)
    return Partner(reader, _answered(reader), by_catalogue=True) if len(_required(reader)) == 1 else None


def _answered(reader: Tool) -> Mapping[str, str | None]:
    return dict.fromkeys(sorted(_required(reader)))


def _fit(write: Tool, reader: Tool) -> int:
    """How well a read of the write's own arguments suits; 0: not at all."""
    given = _given(write, reader)
    own = _nouns(reader)
    akin = {word for word in own if any(_akin(word, other) for other in _words(write.name))}
    spoken_of = {word for name in given for word in _subject(name, write)}
    if not given or not _required(reader).issubset(given) or not (akin or own & spoken_of):
        return 0
    one = any(_subject(name, reader) == own for name in _required(reader))
    return max(1, 10 + 3 * len(akin) - len(own - akin) + one)


def _given(write: Tool, reader: Tool) -> Mapping[str, str | None]:
    """The reader's arguments that the write has under the same words: needed ones, and those that name a record."""
    own = {tuple(words_of(name)): name for name in _properties(write)}
    wanted = [name for name in _properties(reader) if name in _required(reader) or names_a_record(name)]
    return {name: own[tuple(words_of(name))] for name in wanted if tuple(words_of(name)) in own}


def _looks_up_what_is_made(write: Tool, reader: Tool) -> bool:
    """Whether a read takes nothing but the identifier of what the write makes."""
    needed = _required(reader)
    if len(needed) != 1 or _nouns(reader) != _nouns(write):
        return False
    (name,) = needed
    return names_a_record(name) and _subject(name, reader) == _nouns(reader) and name not in _properties(write)


def _subject(name: str, tool: Tool) -> frozenset[str]:
    """What an identifier identifies; a plain ``id`` that of its tool."""
    words = words_of(name)
    if words == ["id"]:
        return _nouns(tool)
    return frozenset(map(stem, words[:-1] if words[-1:] == ["id"] else words))


def _nouns(tool: Tool) -> frozenset[str]:
    return frozenset(map(stem, words_of(tool.name)[1:]))


def _words(name: str) -> frozenset[str]:
    return frozenset(map(stem, words_of(name)))


def _akin(word: str, other: str) -> bool:
    return word == other or (len(other) >= _ROOT and word.startswith(other))


def _properties(tool: Tool) -> Mapping[str, Json]:
    properties = tool.input_schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(tool: Tool) -> frozenset[str]:
    required = tool.input_schema.get("required")
    return frozenset(str(name) for name in required) if isinstance(required, list) else frozenset()
