"""Every usual writing of a number or an amount is read, and digits of other things are not."""

from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from services.executor.core.figures.mentions import Mention
from services.executor.core.figures.numbers import Number
from tests.unit.figures.reading_stage import read


def test_a_mark_that_can_mean_two_things_keeps_both_readings() -> None:
    assert {Decimal("1.234"), Decimal(1234)} <= set(read("EUR 1.234").numbers_by_value)


def test_a_comma_before_three_digits_parts_thousands_in_english() -> None:
    assert Decimal("1.234") not in read("please pay the 1,234 to them").numbers_by_value


def test_the_currency_belongs_to_its_number() -> None:
    mentions = read("100 USD and 200 €")
    codes = [sorted(number.money.codes) for number in mentions.numbers if number.money]
    assert codes == [["USD"], ["EUR"]]


def test_every_mention_says_where_it_stands() -> None:
    text = "Pay EUR 1.234,56 for 2 kg on 4 March at half past nine, ref INV_22."
    found = read(text)
    mentions: list[Mention] = [*found.numbers, *found.dates, *found.times, *found.identifiers]
    assert all(text[one.start : one.end] == one.text for one in mentions)
    assert {"EUR 1.234,56", "2 kg", "4 March", "half past nine", "INV_22"} <= {one.text for one in mentions}


_AMOUNTS = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("9999999.99"), places=2)


def _grouped(amount: Decimal, group: str, point: str) -> str:
    return f"{amount:,.2f}".replace(",", "\0").replace(".", point).replace("\0", group)


@given(
    amount=_AMOUNTS,
    marks=st.sampled_from(
        [(",", "."), (".", ","), (" ", ","), ("\N{NO-BREAK SPACE}", ","), ("'", "."), ("", "."), ("", ",")]
    ),
    around=st.sampled_from(["{}", "EUR {}", "{} EUR", "$ {}", "{}€", "pay {}, please", "(total: {})", "um {} Euro"]),
)
@example(amount=Decimal("1234.00"), marks=(".", ","), around="{}€")
def test_an_amount_is_found_however_it_is_written(amount: Decimal, marks: tuple[str, str], around: str) -> None:
    text = around.format(_grouped(amount, *marks))
    assert amount in read(text).numbers_by_value


@given(st.text(max_size=80))
def test_no_text_is_too_odd_to_read(text: str) -> None:
    found = read(text)
    mentions: list[Mention] = [*found.numbers, *found.dates, *found.times, *found.identifiers]
    assert all(0 <= one.start <= one.end <= len(text) for one in mentions)


_WORDS = "one two hundred and a half third twenty-first next Friday March 4 2026 3rd of in days from mars le .".split()


@given(st.lists(st.sampled_from(_WORDS), max_size=12))
def test_words_of_numbers_and_dates_can_stand_in_any_order(words: list[str]) -> None:
    values: set[Number] = set(read(" ".join(words)).numbers_by_value)
    assert len(values) <= len(words)
