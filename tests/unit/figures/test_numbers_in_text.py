"""Every usual writing of a number or an amount is read, and digits of other things are not."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.executor.core.figures.mentions import Mention
from services.executor.core.figures.numbers import Number
from tests.unit.figures.reading_stage import read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pay EUR 1.234,56", "1234.56"),
        ("pay 12 400,50 to them", "12400.50"),
        ("payez 12\N{NARROW NO-BREAK SPACE}400,50 €", "12400.50"),
        ("pay $1,234.50", "1234.50"),
        ("CHF 1'234.50", "1234.50"),
        ("₹1,23,456", "123456"),
        ("a fee of 1.5k", "1500"),
        ("2.5 million dollars", "2500000"),
        ("3 Mio. Euro", "3000000"),
        ("owed -5", "-5"),
        ("owed −5.20", "-5.20"),
        ("3,000 cents", "3000"),
        ("20%", "20"),
        ("5 per cent", "5"),
        ("7,5 Prozent bitte", "7.5"),
        ("five hundred euros", "500"),
        ("two hundred and fifty", "250"),
        ("zweihundertfünfzig Euro bitte", "250"),
        ("zwölftausendvierhundert", "12400"),
        ("deux cent cinquante euros pour Paul", "250"),
        ("quatre-vingt-dix-neuf", "99"),
        ("two and a half", "2.5"),
        ("anderthalb Stunden", "1.5"),
        ("deux et demi pour nous", "2.5"),
        ("half of it", "0.5"),
        ("die Hälfte", "0.5"),
        ("la moitié", "0.5"),
        ("1½ hours", "1.5"),
        ("3/4 of it", "0.75"),
        ("2 kg", "2"),
        ("for three nights", "3"),
        ("a dozen", "12"),
    ],
)
def test_a_number_is_read_in_its_writing(text: str, value: str) -> None:
    assert Decimal(value) in read(text).numbers_by_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("by a third", Fraction(1, 3)),
        ("two thirds", Fraction(2, 3)),
        ("ein Drittel", Fraction(1, 3)),
        ("un tiers", Fraction(1, 3)),
    ],
)
def test_a_fraction_in_words_stays_exact(text: str, value: Fraction) -> None:
    assert value in read(text).numbers_by_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("claim EXP-1012", 12),
        ("claim EXP-1012", 1012),
        ("code 12-EXP", 12),
        ("bill 2024-117", 117),
        ("bill 2024-117", 2024),
        ("on 4 March 2026", 2026),
        ("on 2026-03-04", 4),
        ("call +49 30 1234567", 30),
        ("call 555-123-4567", 555),
        ("account DE89 3704 0044 0532 0130 00", 3704),
        ("release 1.2.3", 1),
        ("mail x7@example.com", 7),
        ("see https://example.com/a/42", 42),
        ("at 9:30", 30),
        ("order 007", 7),
    ],
)
def test_digits_of_something_else_are_no_number(text: str, value: int) -> None:
    assert value not in read(text).numbers_by_value


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
