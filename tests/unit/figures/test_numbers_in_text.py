"""Every usual writing of numbers, amounts and dates is read, and digits of other things are not."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from babel.dates import format_date
from hypothesis import example, given, strategies as st

from services.executor.core.figures.mentions import Mention, find_mentions
from services.executor.core.figures.numbers import Number, find_tokens_with_digits, normalize_token, read_figure
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.figures.reading_stage import days_in, is_said, read, sources, trace

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
@example("a rate of 0.0000005")  # which Python writes as a power of ten
def test_no_text_is_too_odd_to_read(text: str) -> None:
    found = read(text)
    mentions: list[Mention] = [*found.numbers, *found.dates, *found.times, *found.identifiers]
    assert all(0 <= one.start <= one.end <= len(text) for one in mentions)


_WORDS = "one two hundred and a half third twenty-first next Friday March 4 2026 3rd of in days from mars le .".split()


@given(st.lists(st.sampled_from(_WORDS), max_size=12))
def test_words_of_numbers_and_dates_can_stand_in_any_order(words: list[str]) -> None:
    values: set[Number] = set(read(" ".join(words)).numbers_by_value)
    assert len(values) <= len(words)


_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@pytest.mark.promise("I2.provenance.words")
@given(number=st.integers(1, 999_999_999), joint=st.sampled_from([" ", " and "]), title=st.booleans())
def test_every_number_is_read_as_it_is_said(number: int, joint: str, title: bool) -> None:
    said = _said(number, joint)
    task = f"Pay {said.title() if title else said} dollars today."
    assert trace("amount", number, sources(task)).is_sourced


@pytest.mark.promise("I2.provenance.words")
@given(planned=st.integers(10, 10**8), known=st.lists(st.integers(10, 10**8), max_size=3), spelled=st.booleans())
def test_an_amount_passes_exactly_if_the_task_has_it(planned: int, known: list[int], spelled: bool) -> None:
    """Whether it has it in digits or spells it out."""
    task = ". ".join(f"Pay {_said(one) if spelled else one} dollars" for one in known)
    assert trace("amount", planned, sources(task)).is_sourced is (planned in known)


@pytest.mark.promise("I2.provenance.words")
@each_row(
    "text", ["one of your orders", "no one", "two reminders at most", "someone often tendered", "the seventh", "atone"]
)
def test_everyday_words_are_no_amounts(text: str) -> None:
    assert not any(trace("amount", number, sources(text)).is_sourced for number in (1, 2, 7, 10))


@each_row("text", ["cool at minus 20 degrees", "20 degrees below zero", "twenty °C below freezing"])
def test_a_sign_in_words_makes_a_number_negative(text: str) -> None:
    assert is_said(text, "celsius", -20)


@each_row("text", ["au moins 20 euros", "20 units below 30", "not under 20"])
def test_other_words_make_no_number_negative(text: str) -> None:
    assert not is_said(text, "celsius", -20)


def test_a_number_after_the_digits_of_a_code_is_found() -> None:
    text = "Odometers: KS-HL 401 412,900; KS-HL 402 388,600"
    assert is_said(text, "km", 412_900)
    assert is_said(text, "km", 388_600)


@each_row("text", ["pay 12 345,67 euros", "pay EUR 401 412,900", "pay 1 401 412,900"])
def test_the_groups_of_one_number_are_no_numbers(text: str) -> None:
    assert not any(is_said(text, "amount", value) for value in (412_900, Decimal("345.67")))


def _said(number: int, joint: str = " ") -> str:
    """A number as people say it."""
    for scale, word in ((1_000_000, "million"), (1_000, "thousand")):
        if number >= scale:
            rest = f" {_said(number % scale, joint)}" if number % scale else ""
            return f"{_said(number // scale, joint)} {word}{rest}"
    if number >= 100:
        rest = f"{joint}{_said(number % 100)}" if number % 100 else ""
        return f"{_SMALL[number // 100]} hundred{rest}"
    if number < 20:
        return _SMALL[number]
    return _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")


_DAYS = st.dates(min_value=date(2000, 1, 1), max_value=date(2099, 12, 31))


@given(_DAYS, st.sampled_from(["en", "de", "fr", "es", "it", "pl"]), st.sampled_from(["long", "d MMMM y"]))
def test_a_written_out_day_of_any_known_language_is_found(day: date, language: str, form: str) -> None:
    assert day in days_in(f"({format_date(day, form, locale=language)})")


@given(_DAYS, st.sampled_from(["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%B %d, %Y"]))
def test_a_day_in_digits_is_found(day: date, form: str) -> None:
    assert day in days_in(f"due {day.strftime(form)}.")


@given(st.integers(min_value=1, max_value=400))
def test_days_from_now_are_counted(count: int) -> None:
    assert date(2026, 3, 4) + timedelta(days=count) in days_in(f"in {count} days")


@each_row(("day", "is_own"), [("2026-03-06", True), ("2026-03-09", True), ("2026-03-07", False), ("2025-03-06", False)])
def test_a_repetition_says_its_own_days_only(day: str, is_own: bool) -> None:
    assert is_said("Send three reminders, one per working day from Friday", "date", day) is is_own


@each_row(
    "text",
    ["Pay claim C-1 on March 12", "Pay C-1 March 12", "C-1 of March 12, 2026", "EXP_12 on 12 March", "A-3 March 12"],
)
def test_the_number_of_an_identifier_is_no_day_of_the_month_behind_it(text: str) -> None:
    read = find_mentions(text, datetime(2026, 3, 4, tzinfo=UTC))
    assert set(read.days) == {date(2026, 3, 12)}
    assert read.identifiers[0].text == text.removeprefix("Pay ").removeprefix("claim ").split()[0]


@pytest.mark.promise("I8.exact_money")
@each_row(
    ("value", "number"),
    ("$2,340.00", "2340"), ("12 USD", "12"), ("EUR 12.50", "12.5"), ("3K", "3000"), ("1.5m", "1500000"),
    ("-5", "-5"), ("-$5", "-5"), ("$-5", "-5"), ("\N{MINUS SIGN}5", "-5"), ("(1,234.50)", "-1234.5"),
    ("50%", "50"), ("0", "0"), ("0.05", "0.05"), ("１２", "12"), (7, "7"), (Decimal("1.10"), "1.1"),
)  # fmt: skip
def test_an_amount_is_read_as_people_write_it(value: Json, number: str) -> None:
    assert read_figure(value) == Decimal(number)


@each_row(
    "value",
    "2026-01-15", "01/15/2026", "15:30", "+31 6 12345678", "06-12345678", "007", "00", "C-17", "1,2,3", "1,23",
    "1,234,56", "12.", ".5", "1e3", "5-", "--5", "-(5)", "(5", "5)", "", "-", "$", "one", "1 2", "²", "٣", "½",
    "0x1F", "1_000", "NaN", "Infinity", True, None, [], {},
)  # fmt: skip
def test_what_only_contains_digits_is_no_amount(value: Json) -> None:
    """Identifiers, dates, telephone numbers and lists have no value to calculate with; nor has a yes."""
    assert read_figure(value) is None


@pytest.mark.promise("I8.exact_money")
@given(digits=st.integers(min_value=0, max_value=10**60), places=st.integers(min_value=0, max_value=10))
def test_a_figure_of_any_length_is_exact(digits: int, places: int) -> None:
    number = Decimal(f"{digits}E-{places}")
    text = f"{number:f}"

    assert read_figure(text) == number
    assert read_figure(f"-{text}") == number.copy_negate()


@given(one=st.integers(0, 10**40), other=st.integers(0, 10**40))
def test_two_figures_have_one_spelling_only_if_they_are_equal(one: int, other: int) -> None:
    assert (normalize_token(str(one)) == normalize_token(f"{other}.00")) == (one == other)


@each_row(
    ("text", "tokens"),
    ("pay 1,200.50, then stop.", ["1,200.50"]),
    ("amount:500 (see #17)", ["500", "17"]),
    ("adjust by -5, between 5-10", ["-5", "5-10"]),
    ("５００ and ٥٠٠", ["500", "٥٠٠"]),
)
def test_the_tokens_of_a_text_are_its_words_with_digits(text: str, tokens: list[str]) -> None:
    assert find_tokens_with_digits(text) == tokens


@given(text=st.text(max_size=60))
def test_no_decimal_digit_of_any_script_escapes_the_tokens(text: str) -> None:
    """An amount that provenance does not see would need no source."""
    shown = "".join(find_tokens_with_digits(text))
    assert sum(mark.isdecimal() for mark in text) == sum(mark.isdecimal() for mark in shown)
