"""How one server writes: names of fields, money, days, ids, envelopes, pages. A world's tables know none of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import NamedTuple
from zlib import crc32

from tools.bench.worth.worlds.data import Json, ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.traits import DateStyle, Trait


class TableKind(NamedTuple):
    """What one table holds. `groups` maps a dotted path to the fields that stand under it where results are nested."""

    table: str
    noun: str
    prefix: str
    groups: Mapping[str, str]
    aliases: Mapping[str, str]
    lines: Mapping[str, str]
    note: str

    @property
    def key(self) -> str:
        return f"{self.noun.replace(' ', '_')}_id"


class ReplyShape(StrEnum):
    FOUND = "found"
    LISTED = "listed"
    WRITTEN = "written"
    SAID = "said"


class ToolReply(NamedTuple):
    """What a tool found or did, in canonical form."""

    answer: ReplyShape
    table: str
    rows: list[TableRow]
    page: int = 1
    pages: int = 1


@dataclass(frozen=True)
class ServerForm:
    traits: frozenset[Trait]
    dates: DateStyle
    kinds: dict[str, TableKind]
    envelope: str
    nothing: str
    key_style: str
    day_word: str
    page_size: int
    prose_tables: set[str] = field(default_factory=set)

    def show_name(self, name: str) -> str:
        bare = name if Trait.CENTS in self.traits else name.removesuffix("_cents")
        if bare.endswith("_on"):
            bare = bare.removesuffix("on") + self.day_word
        return _camel(bare) if Trait.CAMEL_CASE in self.traits else bare

    def show_field(self, table: str, name: str) -> str:
        """The name of a field in results, which an alias may set apart from the argument of the same meaning."""
        kind = self.kinds.get(table)
        if kind and name == "note":
            name = kind.note
        if kind and Trait.ALIASES in self.traits:
            name = kind.aliases.get(name, name)
        return self.show_name(name)

    def show_value(self, name: str, value: Json) -> Json:
        if value is None:
            return None
        if name.endswith("_cents") and isinstance(value, int):
            return self.show_money(value)
        if name.endswith("_on") and isinstance(value, str):
            return datetime.fromisoformat(value).strftime(self.dates)
        return value

    def show_money(self, cents: int) -> int | float:
        if Trait.CENTS in self.traits or cents % 100:
            return cents if Trait.CENTS in self.traits else float(Decimal(cents) / 100)
        return cents // 100

    def show_row(self, table: str, row: TableRow) -> dict[str, Json]:
        kind = self.kinds.get(table)
        shown = {self.show_field(table, name): self._show_inner(kind, name, value) for name, value in row.items()}
        return self._nest(kind, shown) if kind and Trait.NESTED in self.traits else shown

    def _show_inner(self, kind: TableKind | None, name: str, value: Json) -> Json:
        if kind is None or name not in kind.lines or not isinstance(value, list):
            return self.show_value(name, value)
        lines = [self.show_row("", TableRow(line)) for line in value if isinstance(line, dict)]
        if Trait.KEYED_LINES not in self.traits:
            return [*lines]
        key = self.show_name(kind.lines[name])
        return {str(line.pop(key)): line for line in lines}

    def _nest(self, kind: TableKind, flat: dict[str, Json]) -> dict[str, Json]:
        nested = dict(flat)
        for path, names in kind.groups.items():
            inside = {
                shown: nested.pop(shown)
                for name in names.split()
                if (shown := self.show_field(kind.table, name)) in nested
            }
            _put(nested, path.split("."), inside)
        return nested

    def show_reply(self, reply: ToolReply) -> Json:
        shows = {
            ReplyShape.FOUND: self._show_found,
            ReplyShape.LISTED: self._show_listed,
            ReplyShape.WRITTEN: self._show_written,
        }
        if reply.answer is ReplyShape.SAID:
            return self.show_row(reply.table, reply.rows[0])
        return shows[reply.answer](reply)

    def _show_found(self, reply: ToolReply) -> Json:
        if not reply.rows:
            return self._show_nothing(reply.table)
        if reply.table in self.prose_tables:
            return self.tell_row(reply.table, reply.rows[0])
        return self._wrap(self.kinds[reply.table].noun, self.show_row(reply.table, reply.rows[0]))

    def _show_nothing(self, table: str) -> Json:
        if self.nothing == "refusal":
            raise ServerRefusal(f"No such {self.kinds[table].noun}")
        return [] if self.nothing == "list" else {"found": False}

    def _wrap(self, noun: str, inside: Json) -> Json:
        wrappings: dict[str, Json] = {
            "bare": inside,
            "data": {"data": inside},
            "noun": {_camel(noun.replace(" ", "_")): inside},
            "deep": {"response": {"status": 200, "body": {"result": inside}}},
        }
        return wrappings[self.envelope]

    def _show_listed(self, reply: ToolReply) -> Json:
        rows = [self.show_row(reply.table, row) for row in reply.rows]
        listed: Json = [*rows]
        if Trait.KEYED_TABLES in self.traits and reply.table in self.kinds:
            key = self.show_name(self.kinds[reply.table].key)
            listed = {str(row.pop(key)): row for row in rows}
        if Trait.PAGES in self.traits:
            return {"items": listed, "page": reply.page, "pages": reply.pages}
        return self._wrap("items", listed)

    def _show_written(self, reply: ToolReply) -> Json:
        row = reply.rows[0]
        key = self.kinds[reply.table].key if reply.table in self.kinds else "reference"
        readable = Trait.NO_READ_BACK not in self.traits
        if Trait.PROSE in self.traits:
            return f"Accepted. Reference: {row.get(key)}." if readable else "Accepted."
        if Trait.ACKNOWLEDGED in self.traits or key not in row:
            return {"status": "ok", "reference": row.get(key)} if readable else {"status": "ok"}
        noun = self.kinds[reply.table].noun if reply.table in self.kinds else "entry"
        return self._wrap(noun, self.show_row(reply.table, row))

    def tell_row(self, table: str, row: TableRow) -> str:
        """A record as sentences."""
        shown = [(name, self.show_value(name, value)) for name, value in row.items() if not isinstance(value, list)]
        facts = "; ".join(f"{self.show_field(table, name)} is {value}" for name, value in shown)
        lines = [
            self.show_row("", line)
            for name, value in row.items()
            if isinstance(value, list)
            for line in row.items_of(name)
        ]
        listed = " ".join(
            f"One of its entries: {', '.join(f'{name} {value}' for name, value in line.items())}." for line in lines
        )
        return f"This {self.kinds[table].noun} is on file: {facts}. {listed}".strip()

    def write_key(self, prefix: str, number: int) -> str | int:
        if Trait.INTEGER_IDS in self.traits:
            return number
        return self.key_style.format(upper=prefix.upper(), lower=prefix.lower(), number=number)

    def make_key(self, table: str, content: str, tables: Tables) -> str | int:
        """The id of a new record depends on its content, not on the order of calls."""
        number = 20_000_000 + crc32(f"{table}{content}".encode()) % 70_000_000
        prefix = self.kinds[table].prefix if table in self.kinds else table[:3]
        while str(key := self.write_key(prefix, number)) in tables.setdefault(table, {}):
            number += 1
        return key

    def read_money(self, name: str, value: Json) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ServerRefusal(f"{name}: expected a number")
        if Trait.CENTS in self.traits:
            if not isinstance(value, int):
                raise ServerRefusal(f"{name}: expected an integer in minor units")
            return value
        return _to_cents(name, value)

    def read_date_and_caps(self, name: str, value: Json) -> str:
        try:
            return datetime.strptime(str(value), self.dates).date().isoformat()
        except ValueError:
            raise ServerRefusal(
                f"{name}: expected a date such as {datetime(2024, 3, 31).strftime(self.dates)}"
            ) from None


def _to_cents(name: str, value: int | float) -> int:
    try:
        cents = Decimal(str(value)) * 100
    except InvalidOperation:
        raise ServerRefusal(f"{name}: expected a number") from None
    if cents != cents.to_integral_value():
        raise ServerRefusal(f"{name}: more than two decimals")
    return int(cents)


def _put(target: dict[str, Json], path: list[str], inside: dict[str, Json]) -> None:
    for step in path:
        below = target.setdefault(step, {})
        if not isinstance(below, dict):
            raise TypeError(f"{step} is a field and a group")
        target = below
    target.update(inside)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
