"""What a domain writes a task with: text and its parts, the gold while it is played on a copy, the answer."""

from datetime import date
from random import Random

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import Json, TableRow
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.task import EarlierTurn, GoldCall, PartKind, TaskPart, WorthTask
from tools.bench.worth.worlds.world import ForeignWorld


class NoFittingRecord(Exception):
    """The world, as it was drawn, has no record that the task could be about."""


class TaskDraft:
    """A task while it is being written."""

    def __init__(self, build: WorldBuild, world: ForeignWorld) -> None:
        self.build = build
        self.random: Random = build.random
        self.initial = world
        self.world = world.copy()
        self.text = ""
        self.turns: list[EarlierTurn] = []
        self.parts: list[TaskPart] = []
        self.rounds: list[list[GoldCall]] = []
        self.refrained: list[GoldCall] = []
        self.says = ""
        self.expects: list[str] = []
        self.excludes: list[str] = []

    def change_subject(self) -> None:
        """What stands between two tasks of one text."""
        if self.text:
            self.text += self.pick("", "", "Now to something else. ", "Secondly: ", "There is one more thing. ")

    def plain(self, words: str) -> None:
        """Text that is no part: an introduction, a remark."""
        self.text += self._fit(words)

    def find(self, quote: str, end: str = "? ", after: tuple[int, ...] = ()) -> int:
        """A part that finds out; its number."""
        return self._add_part(PartKind.FIND_OUT, quote, end, after)

    def do(self, request: str, end: str = ". ", polite: bool = True, after: tuple[int, ...] = ()) -> int:
        """A part that does something; its number. The request is in the imperative."""
        quote = wording.ask_for(self.random, request) if polite else request
        ending = "? " if end == ". " and quote.startswith(("could", "can")) else end
        return self._add_part(PartKind.DO, quote, ending, after)

    def _add_part(self, kind: PartKind, words: str, end: str, after: tuple[int, ...]) -> int:
        quote = self._fit(words)
        self.text += quote + end
        self.parts.append(TaskPart(kind, quote, after))
        return len(self.parts) - 1

    def _fit(self, words: str) -> str:
        return wording.begin_sentence(words) if not self.text or self.text.endswith((". ", "? ", "\n", ": ")) else words

    def earlier(self, user: str, assistant: str) -> None:
        """A turn that came before."""
        self.turns += [EarlierTurn("user", user), EarlierTurn("assistant", assistant)]

    def call(self, part: int, operation: str, **given: Json) -> ToolReply:
        """A call of the gold in a round of its own."""
        self.rounds.append([])
        return self.add_call(part, operation, **given)

    def add_call(self, part: int, operation: str, **given: Json) -> ToolReply:
        """A call of the gold in the same round as the one before."""
        tool = self.build.operations[operation]
        arguments = tool.write_arguments(given, self.build.form)
        self.world.call(tool.tool, arguments)
        self.rounds[-1].append(GoldCall(tool.tool, arguments, part, tool.writes))
        if self.world.last_reply is None:
            raise AssertionError("a call has no reply")
        return self.world.last_reply

    def add_call_unless(self, spared: bool, part: int, operation: str, **given: Json) -> None:
        """A call in the same round as the one before, or, for the exception of a task, one that is not made."""
        if spared:
            self.refrain(part, operation, **given)
        else:
            self.add_call(part, operation, **given)

    def refrain(self, part: int, operation: str, **given: Json) -> None:
        """A write that a condition or an exception of the task keeps from being made."""
        tool = self.build.operations[operation]
        self.refrained.append(GoldCall(tool.tool, tool.write_arguments(given, self.build.form), part, tool.writes))

    def read_all(self, part: int, operation: str, **given: Json) -> list[TableRow]:
        """Every page of a listing."""
        reply = self.call(part, operation, **given)
        rows = list(reply.rows)
        while reply.answer is ReplyShape.LISTED and reply.page < reply.pages:
            reply = self.call(part, operation, **{**given, "page": reply.page + 1})
            rows += reply.rows
        return rows

    def read_each(self, part: int, operation: str, key: str, rows: list[TableRow]) -> None:
        """One read for each record, all in one round."""
        self.rounds.append([])
        for row in rows:
            self.add_call(part, operation, **{key: row[key]})

    def answer(self, says: str, expects: list[Json] | None = None, excludes: list[Json] | None = None) -> None:
        self.says = f"{self.says} {says}".strip()
        self.expects += [str(each) for each in expects or []]
        self.excludes += [str(each) for each in excludes or []]

    def rows(self, table: str, **equal: Json) -> list[TableRow]:
        """The records as they are at the start whose fields have these values."""
        rows = self.initial.rows(table)
        return [row for row in rows if all(row.get(name) == value for name, value in equal.items())]

    def row(self, table: str, key: Json) -> TableRow:
        return next(row for row in self.initial.rows(table) if next(iter(row.values())) == key)

    def choose(self, rows: list[TableRow]) -> TableRow:
        """One of the records; raises ``NoFittingRecord`` if there is none that the task could be about."""
        if not rows:
            raise NoFittingRecord
        return self.random.choice(rows)

    def limit(self, number: int = 0) -> int:
        """The limit of a rule that is about an amount or a number."""
        limit = self.build.rules[number].limit
        if isinstance(limit, str):
            raise TypeError("the rule is about a word")
        return limit

    def money(self, cents: int) -> str:
        return wording.spell_money(self.random, cents, self.build.currency)

    def count(self, number: int) -> str:
        return wording.spell_count(self.random, number)

    def when(self, days: int) -> str:
        """A day so many days ahead, with its preposition."""
        return wording.spell_offset(self.random, self.build.today, days)

    def spell_day(self, day: date) -> str:
        """A day without its preposition."""
        return wording.spell_day(self.random, day)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def finish(self, seed: int, kind: str) -> WorthTask:
        text = self._frame(self.text.strip())
        return WorthTask(
            id=f"{self.build.name}-{kind}-{seed}",
            domain=self.build.name,
            kind=kind,
            world=self.initial,
            text=text,
            earlier=tuple(self.turns),
            parts=tuple(self.parts),
            rounds=tuple(tuple(calls) for calls in self.rounds if calls),
            answer=self.says,
            expects=tuple(self.expects),
            refrained=tuple(self.refrained),
            excludes=tuple(each for each in self.excludes if each not in self.says),
        )

    def _frame(self, text: str) -> str:
        before = f"{self.random.choice(wording.PREAMBLES)}\n\n" if self.random.random() < 0.25 else ""
        after = f" {self.random.choice(wording.CLOSINGS)}" if self.random.random() < 0.2 else ""
        return before + text + after
