"""How 518 varied texts are read: numbers, amounts, fractions, units, dates, times and identifiers of three languages.

``readings.jsonl`` holds a text a line with what it mentions on 4 March 2026, and the number, the strict figure and the
day that the whole text is. A reading that changes is a change of behaviour: it is looked at, and then written there.
"""

import json
from decimal import Decimal
from pathlib import Path

from services.executor.core.figures.dates import Period, read_possible_dates
from services.executor.core.figures.numbers import Number, read_amount, read_figure
from services.executor.core.figures.vocabulary import PossibleCurrencies
from tests.each_row import each_row
from tests.unit.figures.reading_stage import read

_CORPUS = [json.loads(line) for line in (Path(__file__).parent / "readings.jsonl").read_text("utf-8").splitlines()]


@each_row("kept", _CORPUS)
def test_a_text_is_read_as_it_was(kept: dict[str, object]) -> None:
    assert describe_reading(str(kept["text"])) == kept


def describe_reading(text: str) -> dict[str, object]:
    """What a text mentions and is, without what is empty."""
    found, amount = read(text), read_amount(text)
    parts: dict[str, object] = {
        "numbers": [
            [one.text, [_write(value) for value in one.values], _currency(one.money), one.unit.name if one.unit else ""]
            for one in found.numbers
        ],
        "dates": [
            [text[one.start : one.end], [_period(period) for period in one.periods], one.step] for one in found.dates
        ],
        "times": [[text[one.start : one.end], [str(time) for time in one.times]] for one in found.times],
        "identifiers": [one.text for one in found.identifiers],
        "amount": [_write(amount.number), amount.style, amount.unit] if amount else None,
        "figure": _write(number) if (number := read_figure(text)) is not None else None,
        "day": [str(day) for day in read_possible_dates(text)],
    }
    return {"text": text, **{name: part for name, part in parts.items() if part}}


def _write(number: Number) -> str:
    return format(number, "f") if isinstance(number, Decimal) else str(number)


def _currency(money: PossibleCurrencies | None) -> str:
    if money is None:
        return ""
    codes = "/".join(sorted(money.codes)) if len(money.codes) < 5 else "several"
    return f"{codes} minor" if money.is_minor else codes


def _period(period: Period) -> str:
    return str(period.first) if period.first == period.last else f"{period.first}..{period.last}"
