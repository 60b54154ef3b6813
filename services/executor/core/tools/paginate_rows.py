"""The rows of a list as its parts come in: each row once, also where parts overlap or come twice."""

from collections.abc import Sequence

from services.executor.core.tools.near_names import words_of
from shared.domain.exact_json import Json, JsonObject, digest, dumps

_IDS = ("id", "_id", "uuid", "guid")
_NAMED_IDS = ("id", "uuid", "number", "no", "key", "code", "ref")


class Rows:
    """Rows with an identifier of their own are told apart by it, and the newest of a row stays. Others cannot be told
    apart: they are all kept, and only a whole part that comes again is left out; ``left_out`` counts those parts.
    """

    def __init__(self, noun: str) -> None:
        """``noun``: what the list is of, as far as its name says; ``invoice_id`` identifies an invoice."""
        self._noun = noun
        self._id: str | None = None
        self._is_first = True
        self._at: dict[str, int] = {}
        self._parts: set[str] = set()
        self.all: list[Json] = []
        self.left_out = 0
        self.size = 0  # in characters

    def add(self, rows: Sequence[Json], beside: Json = None, *, is_sure: bool = False) -> int:
        """How many of them are new. ``beside``: what the answer says of its place, by which parts differ.

        ``is_sure``: the server says that this is the part that was asked for.
        """
        if self._is_first:
            self._id, self._is_first = _identifier(rows, self._noun), False
        part = digest([list(rows), beside])
        again = part in self._parts
        self._parts.add(part)
        if self._id is not None and self._identified(rows):
            return sum(self._took(row, dumps(_value(row, self._id))) for row in rows)
        self._id = None
        if again and rows and not is_sure:
            self.left_out += 1
            return 0
        for row in rows:
            self._append(row)
        return len(rows)

    @property
    def are_identified(self) -> bool:
        return self._id is not None

    @property
    def last_id(self) -> Json:
        """The identifier of the last row; None if rows have none."""
        return _value(self.all[-1], self._id) if self._id and self.all else None

    def _identified(self, rows: Sequence[Json]) -> bool:
        return self._id is not None and _identifies(self._id, rows)

    def _took(self, row: Json, key: str) -> bool:
        if key in self._at:
            self.all[self._at[key]] = row
            return False
        self._at[key] = len(self.all)
        self._append(row)
        return True

    def _append(self, row: Json) -> None:
        self.all.append(row)
        self.size += len(dumps(row))


def singular(name: str) -> str:
    """One of what a list is named after: ``purchase_orders`` holds a ``purchase_order``."""
    word = "_".join(words_of(name))
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def _identifier(rows: Sequence[Json], noun: str) -> str | None:
    """The field that tells the rows apart: plainly an id, or one named after what the list is of."""
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    named = [key for key in first if _is_named_after(key, noun)]
    usual = [key for key in first if key.lower() in _IDS]
    return next((key for key in (*usual, *named) if _identifies(key, rows)), None)


def _is_named_after(key: str, noun: str) -> bool:
    head, _, tail = "_".join(words_of(key)).rpartition("_")
    return bool(noun) and tail in _NAMED_IDS and (head == noun or noun.endswith(f"_{head}"))


def _identifies(key: str, rows: Sequence[Json]) -> bool:
    """Whether all rows have a value there, and no two different rows the same."""
    seen: dict[str, JsonObject] = {}
    for row in rows:
        value = _value(row, key)
        if not isinstance(row, dict) or value in (None, "") or isinstance(value, dict | list | bool):
            return False
        if seen.setdefault(dumps(value), row) != row:
            return False
    return True


def _value(row: Json, key: str | None) -> Json:
    return row.get(key) if isinstance(row, dict) and key else None
