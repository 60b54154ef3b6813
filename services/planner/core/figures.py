"""Figures: the numeric fields of a record, and named values with the operands from which they can be computed again."""

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import NamedTuple

from services.planner.core.records import MINOR, FactRecord, read_figure
from services.planner.core.words import ID_WORDS, field_stems, parts, stems, text_stems, with_words_for_rest
from shared.domain.exact_json import Json, JsonObject

_RATIO = Decimal("0.000001")
_DIGITS = 1_000  # more than computing with the largest figures gives


class FigureOperand(NamedTuple):
    source: str
    ref: str = ""
    path: str = ""
    literal: str = ""

    @property
    def written(self) -> str:
        """The operand as ``calculate`` takes it: a figure of the task, the name of a value, or a path into a result."""
        if self.source != "result":
            return self.literal or self.ref
        return f"{self.ref}{'' if self.path.startswith('[') else '.'}{self.path}"


class PlannedFigure(NamedTuple):
    """One named value; ``operands`` carry the numbers that ``value`` was computed from."""

    name: str
    operation: str
    operands: tuple[tuple[FigureOperand, Decimal], ...]

    @property
    def value(self) -> Decimal:
        return calculate(self.operation, [amount for _, amount in self.operands])

    def as_request(self) -> JsonObject:
        """The arguments by which ``calculate`` works it out."""
        listed: list[Json] = [operand.written for operand, _ in self.operands]
        return {"name": self.name, "operation": self.operation, "operands": listed}

    def as_json(self) -> JsonObject:
        return {**self.as_request(), "value": format(self.value, "f")}


def calculate(operation: str, amounts: Sequence[Decimal]) -> Decimal:
    """Computes exactly; quotients and averages keep six places, half up. A percentage takes a base and a percent.

    Raises ``ValueError`` for an operation that it does not know.
    """
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_HALF_UP
        match operation:
            case "sum":
                return sum(amounts, Decimal(0))
            case "difference":
                return amounts[0] - sum(amounts[1:], Decimal(0))
            case "count":
                return Decimal(len(amounts))
            case "average":
                return (sum(amounts, Decimal(0)) / len(amounts)).quantize(_RATIO)
            case "percentage":
                return amounts[0] * amounts[1] / 100
            case "quotient":
                return (amounts[0] / amounts[1]).quantize(_RATIO)
            case "maximum":
                return max(amounts)
            case "minimum":
                return min(amounts)
            case "product":
                return amounts[0] * amounts[1]
            case _:
                raise ValueError(f"no operation {operation!r}")


def drop_zeros(figure: Decimal) -> Decimal:
    """The figure without the zeros behind the cents that a quotient carries: 0.500000 is 0.50."""
    with localcontext(prec=_DIGITS):
        cents = figure.quantize(Decimal("0.01"))
    exponent = figure.as_tuple().exponent
    return cents if figure == cents and isinstance(exponent, int) and exponent < -2 else figure


def operand(record: FactRecord, field: str) -> tuple[FigureOperand, Decimal]:
    amount = read_figure(record.fields[field])
    return FigureOperand("result", record.fact.ref, record.path_of(field)), amount if amount is not None else Decimal(0)


def count_operands(records: Iterable[FactRecord]) -> tuple[tuple[FigureOperand, Decimal], ...]:
    """An operand for each record, so that they are counted."""
    return tuple((operand(record, next(iter(record.fields)))[0], Decimal(1)) for record in records)


SUMS = stems(("amount", "total", "price", "cost", "value", "sum"))


def numeric_fields(record: FactRecord) -> list[str]:
    names = [name for name, value in record.fields.items() if read_figure(value) is not None]
    return [name for name in names if _NO_FIGURES.isdisjoint(parts(name))]


_NO_FIGURES = ID_WORDS | {"year", "version", "phone"}


def amount_field(record: FactRecord, text: str) -> str | None:
    """The figure of a record that a text means: the field with most of its words, else its amount, or its only one.

    None if the record has no figure, or several of which the text names none.
    """
    fields = numeric_fields(record)
    word_stems = with_words_for_rest(text_stems(text))
    scored = [(len(field_stems(name) & word_stems), -len(field_stems(name) - word_stems), name) for name in fields]
    top = max(scored, default=None, key=lambda item: item[:2])
    if top and top[0] > 0:
        return top[2]
    sums = [name for name in fields if field_stems(name) & SUMS]
    return sums[0] if sums else fields[0] if len(fields) == 1 else None


def in_major_units(record: FactRecord, field: str) -> Decimal | None:
    """A field's figure in major units (cents become euros); None if the field has no figure."""
    amount = read_figure(record.fields[field])
    return amount / 100 if amount is not None and MINOR.intersection(parts(field)) else amount
