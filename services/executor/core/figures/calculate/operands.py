"""Where the operands of a calculation stand: what a model names is looked up, and the executor fills in the value."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import NamedTuple

from services.executor.core.dossier.dossier import Fact, NamedValue, Operand
from services.executor.core.figures.calculate.cells import plain_name, rank_naming_field, select_cells
from services.executor.core.figures.calculate.conditions import written
from services.executor.core.figures.calculate.paths import NoSuchPath
from services.executor.core.figures.date_values import read_possible_dates
from services.executor.core.figures.mentions import find_amounts, find_stated_days
from services.executor.core.figures.money import is_currency, one_currency
from services.executor.core.figures.numbers import WrittenAmount, read_amount, read_implied_word
from services.executor.core.finance.calculator import CannotCalculate
from shared.domain.exact_json import Json, JsonObject, dumps

_REF = re.compile(r"\$?[\[{]*(?P<ref>[A-Za-z][\w-]*)[\]}]*(?P<rest>(?:[.\[].*)?)", re.DOTALL)
_LOOKS_LIKE_A_REF = re.compile(r"r\d+", re.I)
# These are rather meant by themselves than as what some record happens to state.
_SURELY = frozenset({0, 1, 100})
_HAS_DIGIT = re.compile(r"\d")
_DAYS = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}


class KnownFigures(NamedTuple):
    """What a calculation may draw on. ``texts``: the task and the earlier turns of the user; ``today``: its day."""

    facts: Sequence[Fact] = ()
    values: Sequence[NamedValue] = ()
    texts: Sequence[str] = ()
    today: date = date.min

    def fact(self, ref: str) -> Fact | None:
        return next((fact for fact in self.facts if fact.ref.casefold() == ref.casefold()), None)

    def value(self, name: str) -> NamedValue | None:
        found = next((value for value in self.values if value.name == name), None)
        if found is not None or not re.fullmatch(r"[A-Za-z][\w -]*", name):
            return found
        return next((value for value in self.values if plain_name(value.name) == plain_name(name)), None)


class OperandSources:
    """Looks operands up; each result is read once."""

    def __init__(self, known: KnownFigures, read: "OperandSources | None" = None) -> None:
        self.known = known
        self._results: dict[str, Json] = read._results if read is not None else {}

    def with_value(self, value: NamedValue) -> "OperandSources":
        """The same, after one more value is known."""
        return OperandSources(self.known._replace(values=(*self.known.values, value)), self)

    def result(self, ref: str) -> Json:
        """What a reference names; ``CannotCalculate`` where there is nothing, or only an error."""
        fact = self.known.fact(ref)
        if fact is None:
            refs = ", ".join(one.ref for one in self.known.facts) or "none yet"
            raise CannotCalculate(f"no fact has the reference {ref!r}; known references: {refs}")
        if fact.ref not in self._results:
            self._results[fact.ref] = fact.result
        return self._results[fact.ref]

    def find(
        self, text: str, *, free: frozenset[int] = frozenset(), words: bool = False, as_percent: bool = False
    ) -> Operand:
        """The operand that a model means by ``text``; ``CannotCalculate`` says what to do where there is none.

        ``free``: numbers that need no source. ``words``: whether a plain word is an operand, to be compared with.
        ``as_percent``: whether 0.2 is to be the task's 20 %.
        """
        asked = text.strip().strip('"')
        found = (
            self._find_named(asked)
            or self._at_path(asked)
            or self._check_stated(asked, free, as_percent)
            or self._at_bare_path(asked)
            or (Operand(source="constant", literal=asked) if words and _is_word(asked) else None)
        )
        if found is None:
            raise CannotCalculate(self._why_not(asked))
        return found

    def find_named(self, text: str) -> Operand | None:
        """What a word names, where it is a day, an earlier value or a path that begins with a reference."""
        return self._find_named(text.strip()) or self._at_path(text.strip())

    def is_in_texts(self, literal: str) -> bool:
        """Whether the task, or an earlier turn, writes this figure, date or currency."""
        return self._in_texts(literal) is not None

    def _find_named(self, asked: str) -> Operand | None:
        if asked.casefold() in _DAYS:
            day = self.known.today + timedelta(days=_DAYS[asked.casefold()])
            return Operand(source="today", ref=asked.casefold(), literal=day.isoformat())
        if (value := self.known.value(asked)) is not None:
            return Operand(source="value", ref=value.name)
        match = re.fullmatch(r"([^.\[\]]+)[.\[](.*?)\]?", asked, re.DOTALL)
        grouped = self.known.value(match[1]) if match else None
        if match is None or grouped is None or grouped.kind != "groups" or self.known.fact(match[1]) is not None:
            return None
        return Operand(source="value", ref=grouped.name, path="" if match[2] == "*" else match[2].strip("'\""))

    def _at_path(self, asked: str) -> Operand | None:
        match = _REF.fullmatch(asked.removeprefix("$.").removeprefix("results."))
        fact = self.known.fact(match["ref"]) if match else None
        if match is None or fact is None:
            return None
        if not fact.ok:
            raise CannotCalculate(f"{fact.ref} is an error and states no figures")
        path = match["rest"].removeprefix(".").removesuffix("}")
        return Operand(source="result", ref=fact.ref, path=self._path_inside(fact, path))

    def _path_inside(self, fact: Fact, path: str) -> str:
        """The path as it leads somewhere: with or without a ``result`` before it."""
        try:
            select_cells(self.result(fact.ref), path)
        except (NoSuchPath, ValueError) as error:
            if path.startswith(("result.", "result[")):
                return self._path_inside(fact, path.removeprefix("result").removeprefix("."))
            raise CannotCalculate(f"{fact.ref}: {error}") from None
        return path

    def _at_bare_path(self, asked: str) -> Operand | None:
        """A path without its reference, where one result alone has it."""
        if _LOOKS_LIKE_A_REF.match(asked) or not re.match(r"[A-Za-z_\[]", asked):
            return None
        found = [fact for fact in self.known.facts if fact.ok and _leads(self.result(fact.ref), asked)]
        if len(found) > 1:
            told = " or ".join(f"{fact.ref}.{asked}" for fact in found[:4])
            raise CannotCalculate(f"{asked!r} stands in several results: write {told}")
        return Operand(source="result", ref=found[0].ref, path=asked) if found else None

    def _check_stated(self, asked: str, free: frozenset[int], as_percent: bool) -> Operand | None:
        """A plain figure, date or currency: in what the user says, in a value, in a result, or by definition."""
        literal = self._in_texts(asked)
        if literal is not None:
            return Operand(source="task", literal=literal if as_percent or _states_same(literal, asked) else asked)
        amount = read_amount(asked)
        if amount is not None:
            own = _by_definition(amount, asked, free & _SURELY)
            return own or self._in_values(amount) or self._in_facts(asked) or _by_definition(amount, asked, free)
        if is_currency(asked) or read_possible_dates(asked):
            return self._in_facts(asked)
        return None

    def _in_texts(self, asked: str) -> str | None:
        """How the user writes it; a number as the user writes it, with its percent sign or currency."""
        for text in self.known.texts:
            if is_currency(asked):
                if re.search(rf"\b{re.escape(asked)}\b", text):
                    return asked
                continue
            if not find_stated_days(text, self.known.today).isdisjoint(read_possible_dates(asked)):
                return asked
            if (writing := _find_writing(asked, text, self.known.today)) is not None:
                return writing
        return None

    def _in_values(self, amount: WrittenAmount) -> Operand | None:
        for value in self.known.values:
            number = value.number
            if number is not None and Fraction(number) == Fraction(amount.number):
                return Operand(source="value", ref=value.name)
        return None

    def _in_facts(self, asked: str) -> Operand | None:
        for fact in self.known.facts:
            path = next(find_paths(self.result(fact.ref), asked), None) if fact.ok else None
            if path is not None:
                return Operand(source="result", ref=fact.ref, path=path)
        return None

    def _why_not(self, asked: str) -> str:
        refs = ", ".join(fact.ref for fact in self.known.facts)
        if _LOOKS_LIKE_A_REF.match(asked) and re.match(r"r\d+(?=$|[.\[])", asked, re.I):
            return f"no fact has the reference of {asked!r}; known references: {refs or 'none yet'}"
        how = "give a figure as it stands in the task or a result, the name of a value, or a path such as"
        if re.search(r"[\w)\]]\s+[-+*/]\s+[\w(]", asked):
            return f"{asked!r} is an expression: calculate one operation at a time, each operand by itself"
        if read_amount(asked) is not None or read_possible_dates(asked):
            inside = next((fact.ref for fact in self.known.facts if fact.ok and asked in fact.result_json), "")
            where = f" (only within a text of {inside}, which is no source of figures)" if inside else ""
            nowhere = f"{asked!r} stands neither in the task nor in a result by itself{where}"
            return f"{nowhere}: read what states it, or {how} r1.amount"
        return f"{asked!r} is no known value, path or figure: {how} r1.items[*].amount"


def find_paths(value: Json, wanted: str) -> Iterator[str]:
    """The paths at which a figure, a date or a currency stands by itself; rows are named by what identifies them."""
    amount, days = read_amount(wanted), read_possible_dates(wanted)
    yield from _find_places(value, Fraction(amount.number) if amount else None, days, wanted, "")


def _find_places(value: Json, number: object, days: tuple[date, ...], wanted: str, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not set(key) & set(".[]"):
                yield from _find_places(inner, number, days, wanted, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            step = f"[{index}]"
            for found in _find_places(inner, number, days, wanted, ""):
                yield f"{path}{_write_row_step(value, index) or step}{'.' if found[:1] not in ('', '[') else ''}{found}"
    elif _states(value, number, days, wanted):
        yield path


def _states(value: Json, number: object, days: tuple[date, ...], wanted: str) -> bool:
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not _HAS_DIGIT.search(value)):
        return isinstance(value, str) and number is None and not days and value.strip() == wanted
    if number is not None:
        amount = read_amount(value)
        return amount is not None and Fraction(amount.number) == number
    if days:
        return bool(set(days) & set(read_possible_dates(value)))
    return isinstance(value, str) and value.strip() == wanted


def _write_row_step(rows: Sequence[Json], index: int) -> str:
    """A row by its own identifier, so that it is found again when the list is read anew in another order."""
    row = rows[index]
    if not isinstance(row, dict):
        return ""
    for _, key in sorted((rank, key) for key in row if (rank := rank_naming_field(key)) is not None):
        value = row[key]
        if not isinstance(value, str | int) or isinstance(value, bool) or set(str(value)) & set("[]"):
            continue
        if sum(isinstance(one, dict) and one.get(key) == value for one in rows) == 1:
            return f"[{written(key, '=', value)}]"
    return ""


def _find_writing(asked: str, text: str, today: date) -> str | None:
    amount = read_amount(asked)
    if amount is None:
        implied = read_implied_word(asked)
        return asked if implied and re.search(rf"\b{re.escape(asked)}\b", text, re.I) else None
    stated = find_amounts(text, today)
    writings = stated.get(Fraction(amount.number), ())
    if amount.style == "":
        of_percent = [one for one in stated.get(Fraction(amount.number) * 100, ()) if one.rstrip().endswith("%")]
        writings = writings or tuple(of_percent)
    fitting = [writing for writing in writings if _style(writing) == amount.style] or writings
    if one_currency(fitting) is None:
        return asked  # it stands there in several currencies, and nothing tells which is meant
    return max(fitting, key=len, default=None)


def _states_same(writing: str, asked: str) -> bool:
    one, other = read_amount(writing) or read_implied_word(writing), read_amount(asked)
    return one is None or other is None or Fraction(one.number) == Fraction(other.number)


def _style(writing: str) -> str:
    amount = read_amount(writing)
    return amount.style if amount else ""


def _by_definition(amount: WrittenAmount, asked: str, free: frozenset[int]) -> Operand | None:
    is_free = not amount.style and any(Fraction(amount.number) == number for number in free)
    return Operand(source="constant", literal=asked) if is_free else None


def _is_word(text: str) -> bool:
    return bool(text) and len(text) <= 120 and read_amount(text) is None and not read_possible_dates(text)


def _leads(result: Json, path: str) -> bool:
    try:
        return bool(select_cells(result, path).cells)
    except (NoSuchPath, ValueError):
        return False


def read_operand_texts(given: Json) -> list[str]:
    """Operands as a model gives them: a list of texts; numbers, single operands and small objects are read as such."""
    items = given if isinstance(given, list) else [] if given is None else [given]
    return [_read_operand_text(item) for item in items]


def _read_operand_text(item: Json) -> str:
    if isinstance(item, dict):
        return _read_operand_object(item)
    return item if isinstance(item, str) else dumps(item)


def _read_operand_object(item: JsonObject) -> str:
    ref, path = item.get("ref"), item.get("path")
    if isinstance(ref, str) and ref:
        return f"{ref}{'' if not path or str(path).startswith('[') else '.'}{path or ''}"
    return next(
        (_read_operand_text(item[name]) for name in ("literal", "value", "name", "figure", "path") if item.get(name)),
        "",
    )
