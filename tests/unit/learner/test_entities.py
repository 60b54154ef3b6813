"""What a text names, found without a model."""

from datetime import date
from decimal import Decimal
from itertools import pairwise

import pytest
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal
from hypothesis import given
from hypothesis import strategies as st

from services.learner.core.memory.entities import MOST, EntityKind, find_entities, names_of, plain, read_number
from tests.each_row import each_row

_TEXT = (
    "Pay invoice INV-2024-001 from Initech Ltd. for €1.234,50 by 22.11.2026; contact Ms Jane Doe at "
    "Jane.Doe@initech.co.uk. The Enterprise Plan has a 5.5% discount."
)
_LOCALES = ("en_US", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "sv_SE", "de_CH", "en_IN", "pl_PL", "pt_BR")
_CENTS = st.integers(0, 10**9)


def _found(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in find_entities(text):
        found.setdefault(one.kind.value, []).append(one.value)
    return found


@pytest.mark.promise("entities.found")
def test_a_sentence_of_business_gives_all_it_names() -> None:
    assert _found(_TEXT) == {
        "reference": ["INV-2024-001"],
        "vendor": ["Initech Ltd"],
        "amount": ["€1.234,50"],
        "date": ["2026-11-22"],
        "person": ["Jane Doe"],
        "email": ["jane.doe@initech.co.uk"],
        "product": ["Enterprise Plan"],
        "percentage": ["5.5%"],
    }


@pytest.mark.promise("entities.found")
@each_row(
    ("text", "kind", "value"),
    [
        ("Upgrade Globex Corporation now", "vendor", "Globex Corporation"),
        ("the bill of Müller & Söhne GmbH & Co. KG", "vendor", "Müller & Söhne GmbH & Co. KG"),
        ("Process purchase order PO-77 with Stark Industries", "vendor", "Stark Industries"),
        ("Vendor: Wayne Enterprises, terms net 30", "vendor", "Wayne Enterprises"),
        ("expense claim submitted by Dana Miller", "person", "Dana Miller"),
        ("ask Dr. Grace Hopper", "person", "Grace Hopper"),
        ("tax id DE123456789 is theirs", "reference", "DE123456789"),
        ("move them to the Gold Tier", "product", "Gold Tier"),
        ("2.5 million euros were lent", "amount", "2.5 million euros"),
        ("a fee of 45 dollars", "amount", "45 dollars"),
        ("on March 5th, 2026", "date", "2026-03-05"),
        ("le 22 novembre 2026", "date", "2026-11-22"),
        ("am 5. März 2026", "date", "2026-03-05"),
        ("2026年1月5日", "date", "2026-01-05"),
        ("03/04/2026 is one day or another", "date", "03/04/2026"),
        ("13/04/2026 is one day", "date", "2026-04-13"),
    ],
)
def test_it_is_found(text: str, kind: str, value: str) -> None:
    assert value in _found(text)[kind]


@pytest.mark.promise("entities.found")
@each_row(
    "text",
    [
        "Which expense claims are pending? Answer with a JSON list of their ids.",
        "ALL 3 invoices are checked, 1.2.3 EUR is no amount and 2026-02-30 no day",
        "Approve it. Please send the report to us.",
    ],
)
def test_what_names_nothing_gives_nothing(text: str) -> None:
    assert _found(text) == {}


@pytest.mark.promise("entities.many_countries")
@given(_CENTS, st.sampled_from(_LOCALES), st.sampled_from(["EUR", "USD", "GBP", "CHF", "INR", "PLN"]))
def test_an_amount_is_the_same_in_every_country(cents: int, locale: str, currency: str) -> None:
    """As Babel's data, which is Unicode's, say that it is written there."""
    written = format_currency(Decimal(cents) / 100, currency, locale=locale)
    (found,) = find_entities(f"they owe {written} since then")
    assert found.kind is EntityKind.AMOUNT
    assert found.same.split()[0] == plain(Decimal(cents) / 100)


@pytest.mark.promise("entities.many_countries")
@given(st.dates(date(1950, 1, 1), date(2100, 1, 1)), st.sampled_from(["en_US", "en_GB", "de_DE", "fr_FR", "es_ES"]))
def test_a_day_is_the_same_in_every_country(day: date, locale: str) -> None:
    written = format_date(day, "long", locale=locale)
    assert [one.value for one in find_entities(f"due {written} at last")] == [day.isoformat()]


@given(st.integers(0, 10**11), st.sampled_from(_LOCALES))
def test_a_number_is_read_as_it_was_written(cents: int, locale: str) -> None:
    number = Decimal(cents) / 100
    assert read_number(format_decimal(number, "#,##0.00", locale=locale)) == number


@given(st.text(max_size=400) | st.text("€$ ,.'0123456789ABZ-/@年月", max_size=200))
def test_any_text_gives_distinct_entities_that_stand_in_it(text: str) -> None:
    """Each once, no two from the same words, never more than the cap, and the same each time."""
    found = find_entities(text)
    assert len({one.field for one in found}) == len(found) <= MOST
    spans = sorted((one.start, one.end) for one in found)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert find_entities(text) == found


def test_a_company_is_the_same_with_and_without_its_legal_form() -> None:
    (long,) = find_entities("the contract of Initech Ltd.")
    (short,) = find_entities("the invoice from Initech")
    assert long.field == short.field
    assert names_of(long) == ("Initech Ltd", "Initech")
