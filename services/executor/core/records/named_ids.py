"""The identifiers that a call gives, at any depth of its arguments: which records it names."""

from collections.abc import Iterator
from typing import NamedTuple

from services.executor.core.records.subject import looks_like_a_name
from services.executor.core.records.tool_words import identifies, subject_of, words_of_tool
from shared.domain.exact_json import Json, JsonObject

_REFERENCE = "$ref"


class NamedId(NamedTuple):
    """An identifier in a call's arguments. ``noun``: what it identifies; ``value`` may refer to an earlier result."""

    name: str
    noun: frozenset[str]
    value: Json

    @property
    def is_known(self) -> bool:
        """Whether the value itself is there, and not what stands for a result."""
        return not isinstance(self.value, dict)


def named_ids(tool: str, arguments: JsonObject) -> list[NamedId]:
    """The identifiers, those of what the tool is about first, then the others in the order of the arguments."""
    nouns = words_of_tool(tool).nouns
    found = list(_ids_within(arguments, nouns))
    return sorted(found, key=lambda named: named.noun != nouns and not named.noun & nouns)


def _ids_within(given: JsonObject, owner: frozenset[str]) -> Iterator[NamedId]:
    for name, value in given.items():
        if isinstance(value, dict) and set(value) != {_REFERENCE}:
            yield from _ids_within(value, subject_of(name, owner))
        elif isinstance(value, list):
            for item in value:
                yield from _ids_within(item, owner) if isinstance(item, dict) else ()
        elif value is not None and (identifies(name) or looks_like_a_name(value)):
            yield NamedId(name, subject_of(name, owner), value)
