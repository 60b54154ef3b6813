"""What a domain builds its world with: tables, records, tools and rules, in the form that the seed drew."""

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.data import Json, TableRow, Tables
from tools.bench.worth.worlds.form import ServerForm, TableKind
from tools.bench.worth.worlds.handlers import create_row, find_one, list_rows
from tools.bench.worth.worlds.names import NamePool
from tools.bench.worth.worlds.operation import Effect, Handler, WorldOperation, parse_params
from tools.bench.worth.worlds.rule import WorldRule, WorldRuleAction
from tools.bench.worth.worlds.traits import DateStyle, Trait, draw_traits
from tools.bench.worth.worlds.world import Blueprint, ForeignWorld

NOTES = (
    "",
    "",
    "Prefers to be called in the morning.",
    "Checked last quarter.",
    "Old number on paper file.",
    "Please keep the reference on all letters.",
    "Moved from the previous system.",
    "No further remarks.",
)
KEY_STYLES = ("{upper}-{number}", "{lower}_{number}", "{upper}{number}", "{number}-{upper}", "{upper}/{number}")
READ_VERBS = ("get", "fetch", "show", "read", "lookup", "retrieve")
NOTICE_VERBS = ("send", "notify", "message", "mail", "inform", "alert", "write_to")
LIST_VERBS = ("list", "search", "find", "query", "browse")


class RuleDraft(NamedTuple):
    """A rule's limit and action, drawn with the world."""

    limit: int | str
    action: WorldRuleAction


class WorldBuild:
    """A world while it is being made. `random` is the world's own; names and numbers come from the seed's pool."""

    def __init__(self, name: str, random: Random, names: NamePool, today: date) -> None:
        self.name = name
        self.random = random
        self.names = names
        self.today = today
        self.currency = random.choice(list(wording.CURRENCY_WORDS))
        self.form = draw_form(random)
        self.tables: Tables = {}
        self.operations: dict[str, WorldOperation] = {}
        self.rules: list[WorldRule] = []

    def has(self, trait: Trait) -> bool:
        return trait in self.form.traits

    def add_table(
        self,
        table: str,
        noun: str,
        prefix: str,
        groups: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        lines: Mapping[str, str] | None = None,
    ) -> None:
        """A table; `lines` maps a field that holds a list to the key of its entries."""
        note = self.random.choice(("note", "remarks", "comment", "memo", "internal_note"))
        self.form.kinds[table] = TableKind(table, noun, prefix, groups or {}, aliases or {}, lines or {}, note)
        self.tables[table] = {}

    def add(self, table: str, /, **fields: Json) -> TableRow:
        """A record under a new id, with a note that says nothing of weight."""
        kind = self.form.kinds[table]
        key = self.form.write_key(kind.prefix, self.names.number())
        row = TableRow({kind.key: key, **fields, "note": self.random.choice(NOTES)})
        self.tables[table][str(key)] = row
        return row

    def add_reads(self, table: str, filters: str = "", listed: bool = True) -> None:
        """A tool that reads one record, as `<table>.one`, and one that lists them, as `<table>.all`."""
        kind = self.form.kinds[table]
        verb, noun = self.random.choice(READ_VERBS), kind.noun.replace(" ", "_")
        self._add_tool(
            f"{table}.one",
            f"{verb}_{noun}",
            f"Returns one {kind.noun}.",
            f"{kind.key}@{table}",
            Effect.READ,
            find_one(table, kind.key),
        )
        if listed:
            self._add_listing(table, kind, filters)

    def _add_listing(self, table: str, kind: TableKind, filters: str) -> None:
        name = f"{self.random.choice(LIST_VERBS)}_{table}"
        params = f"{filters} page#?" if self.has(Trait.PAGES) else filters
        text = f"Lists the {table.replace('_', ' ')}, all of them or those that match."
        self._add_tool(f"{table}.all", name, text, params, Effect.READ, list_rows(table, self.form, kind.key))

    def add_created_table(self, table: str, noun: str, prefix: str, filters: str = "") -> None:
        """A table that calls fill. Whether it can be read, and how, is the server's way."""
        self.add_table(table, noun, prefix)
        if not self.has(Trait.NO_READ_BACK):
            self.add_reads(table, filters, listed=not self.has(Trait.ANSWER_ID))

    def add_change(
        self, key: str, names: str, text: str, params: str, handler: Handler, notice_names: str = ""
    ) -> None:
        """A tool that changes records; under `notice_names` it is named like a notice, where the server does so."""
        misleads = bool(notice_names) and self.has(Trait.CHANGES_LIKE_NOTICES)
        self._add_tool(
            key, self.draw_name(notice_names if misleads else names), text, params, Effect.CHANGE, handler, misleads
        )

    def add_check(self, key: str, names: str, write_names: str, text: str, params: str, handler: Handler) -> None:
        """A tool that only asks or checks; under `write_names` it is named like a change, where the server does so."""
        misleads = self.has(Trait.ASKS_LIKE_WRITES)
        self._add_tool(
            key, self.draw_name(write_names if misleads else names), text, params, Effect.CHECK, handler, misleads
        )

    def add_notice(self, key: str, names: str, text: str, params: str, handler: Handler | None = None) -> None:
        """A tool that tells somebody; what was sent stands in the table `outbox`. Not every name says so."""
        sends, name = handler or create_row("outbox", self.form, sent_by=key), self.draw_name(names)
        self._add_tool(key, name, text, params, Effect.NOTICE, sends, not name.startswith(NOTICE_VERBS))

    def add_outward(self, key: str, names: str, text: str, params: str) -> None:
        visits = create_row("outside_requests", self.form)
        self._add_tool(key, self.draw_name(names), text, params, Effect.OUTWARD, visits)

    def add_unused(self, name: str, text: str, params: str, effect: Effect, handler: Handler) -> None:
        """A tool that no task needs; left out where its name is taken."""
        if self._style_name(name) not in {operation.tool for operation in self.operations.values()}:
            self._add_tool(f"unused.{name}", name, text, params, effect, handler)

    def draw_name(self, names: str) -> str:
        return self.random.choice(names.split("|"))

    def _add_tool(
        self, key: str, name: str, text: str, params: str, effect: Effect, handler: Handler, misleads: bool = False
    ) -> None:
        self.operations[key] = WorldOperation(
            key, self._style_name(name), text, parse_params(params), effect, handler, misleads
        )

    def _style_name(self, name: str) -> str:
        return self.form.show_name(name)

    def add_rule(
        self, operation: str, field: str, comparison: str, draft: RuleDraft, reason: str, table: str = "", key: str = ""
    ) -> None:
        number = len(self.rules) + 1
        rule = WorldRule(
            f"{self.name.upper()}_{number}", operation, field, comparison, draft.limit, draft.action, reason, table, key
        )
        self.rules.append(rule)

    def draw_limit(self, low: int, high: int, step: int) -> RuleDraft:
        """A limit in minor units, low and high in whole units, with an action."""
        return RuleDraft(self.random.randrange(low, high, step) * 100, self.random.choice(list(WorldRuleAction)))

    def finish(self) -> ForeignWorld:
        blueprint = Blueprint(self.name, self.today, self.currency, self.form, self.operations, tuple(self.rules))
        return ForeignWorld(blueprint, self.tables)

    def draw_cents(self, low: int, high: int) -> int:
        """An amount between two whole amounts; half of them have cents."""
        return self.random.randint(low, high) * 100 + self.random.choice((0, 0, self.random.randint(1, 99)))

    def draw_even_cents(self, low: int, high: int, by: int = 60) -> int:
        """An amount whose usual fractions come out exactly, in minor units."""
        return self.random.randint(low // by, high // by) * by * 100

    def day(self, ahead: int) -> str:
        """The day so many days from today, as ISO text."""
        return (self.today + timedelta(ahead)).isoformat()


def draw_form(random: Random) -> ServerForm:
    return ServerForm(
        traits=draw_traits(random),
        dates=random.choice(list(DateStyle)),
        kinds={},
        envelope=random.choice(("bare", "data", "noun", "deep")),
        nothing=random.choice(("list", "object", "refusal")),
        key_style=random.choice(KEY_STYLES),
        day_word=random.choice(("on", "date", "day")),
        page_size=random.randint(4, 7),
    )
