"""The figures of a rule, and those that a stretch of prose names: a translation adds none of its own."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from services.policy.core.conditions import Condition
from services.policy.core.grammar import Constant, parts
from services.policy.core.values import amount_of

_NAMED = "zero one two three four five six seven eight nine ten eleven twelve".split()
_WORDS = {word: Decimal(number) for number, word in enumerate(_NAMED)} | {
    "once": Decimal(1),
    "twice": Decimal(2),
    "thrice": Decimal(3),
    "single": Decimal(1),
    "hundred": Decimal(100),
    "thousand": Decimal(1_000),
    "million": Decimal(1_000_000),
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ENDINGS = {"k": 1_000, "m": 1_000_000}
_FREE = frozenset({Decimal(0), Decimal(1)})  # "more than nothing", "an order": prose has them without saying so


def figures_of(condition: Condition) -> tuple[Decimal, ...]:
    """The numbers that a condition compares with, spelled as a number or in a text."""
    found = [part.value for part in parts(condition.tree) if isinstance(part, Constant)]
    return tuple(number for value in found if (number := _number(value)) is not None)


def missing_figures(wanted: Sequence[Decimal], said: Sequence[str]) -> list[str]:
    """Those of the figures that the words do not say; a percentage counts as a fraction too."""
    if all(abs(number) in _FREE for number in wanted):
        return []
    known = set(_FREE)
    for number in _numbers_in(said):
        known |= {number, number / 100}
    return [format(abs(number), "f") for number in wanted if abs(number) not in known]


def _numbers_in(said: Sequence[str]) -> Iterator[Decimal]:
    before: Decimal | None = None
    for word in said:
        number = _number_of(word)
        if number is not None:
            yield number
        if before is not None and word in _SCALES:
            yield before * _SCALES[word]
        before = number


def _number_of(word: str) -> Decimal | None:
    if word in _WORDS:
        return _WORDS[word]
    scale = _ENDINGS.get(word[-1:], 1) if word[:1].isdigit() else 1
    amount = amount_of(word[:-1] if scale > 1 else word)
    return amount.number * scale if amount else None


def _number(value: object) -> Decimal | None:
    if isinstance(value, Decimal):
        return value
    amount = amount_of(value) if isinstance(value, str) else None
    return amount.number if amount else None
