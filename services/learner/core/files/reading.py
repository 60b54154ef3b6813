"""Reading a file's entries: all of them, or what is wrong with it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from services.learner.core.training.rows import why

MOST_PROBLEMS = 20
MOST_ENTRIES = 20_000
T = TypeVar("T")


class BadFile(Exception):
    """The file cannot be imported: ``problems`` names the first entries that are wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems[:MOST_PROBLEMS])


class BadEntry(ValueError):
    """What is wrong with one entry."""


def entries_of_list(content: JsonValue, *names: str) -> list[JsonValue]:
    """The entries of a file that is a list, or an object with a list under one of the names. Raises ``BadFile``."""
    found = next((content[name] for name in names if name in content), None) if isinstance(content, dict) else content
    if not isinstance(found, list):
        raise BadFile([f"it is no list, and has none under {' or '.join(names)}"])
    return _few(found)


def entries_of_object(content: JsonValue, *names: str) -> Mapping[str, JsonValue]:
    """The entries of a file that is an object, or has one under one of the names. Raises ``BadFile``."""
    inner = next((content[name] for name in names if name in content), content) if isinstance(content, dict) else None
    if not isinstance(inner, dict):
        raise BadFile(["it is no object"])
    _few(list(inner))
    return inner


def read_all(entries: Iterable[tuple[str, JsonValue]], read: Callable[[JsonValue], T]) -> list[T]:
    """Each entry, by its place. Raises ``BadFile`` with every entry that is wrong, up to a bound."""
    good: list[T] = []
    problems: list[str] = []
    for place, entry in entries:
        try:
            good.append(read(entry))
        except ValidationError as error:
            problems.append(f"{place}: {why(error)}")
        except BadEntry as error:
            problems.append(f"{place}: {error}")
    if problems:
        raise BadFile(problems)
    return good


def number_entries(entries: Iterable[JsonValue]) -> Iterable[tuple[str, JsonValue]]:
    return ((f"entry {number}", entry) for number, entry in enumerate(entries, 1))


def _few(found: list[JsonValue]) -> list[JsonValue]:
    if len(found) > MOST_ENTRIES:
        raise BadFile([f"it has more than {MOST_ENTRIES} entries"])
    return found
