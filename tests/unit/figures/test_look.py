"""``look`` and ``shorten_result``: what of a long result is shown, and what is said of the rest."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from services.executor.core.figures.calculate import LOOK_DEFINITION, MOST_CHARACTERS_SHOWN, select_rows_for_model
from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.tools.shorten import shorten_result
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact

ROWS: list[Json] = [
    {"id": f"I-{at}", "amount": f"{at}.50", "team": "ab"[at % 2], "due": f"2026-01-{at % 28 + 1:02}", "text": "x" * 50}
    for at in range(120)
]
FACTS = (fact({"items": ROWS, "page": 1}, "r1"), fact({"claim": {"id": "C-1", "lines": [1, 2]}, "log": ["a"]}, "r2"))


def asked(**given_: Json) -> JsonObject:
    answer = select_rows_for_model({"ref": "r1", **given_}, FACTS, date(2026, 1, 11))
    assert isinstance(answer, dict)
    assert len(dumps(answer)) <= MOST_CHARACTERS_SHOWN
    return answer


def test_rows_are_filtered_sorted_cut_and_counted_and_different_values_told() -> None:
    where: Json = [{"field": "team", "is": "=", "value": "A"}, {"field": "amount", "is": "<", "value": "9.50"}]
    answer = asked(where=where, fields=["id"], sort_by="amount", descending=True, first=2)
    assert answer["shown"] == [{"id": "I-8"}, {"id": "I-6"}]
    assert (answer["rows"], answer["matching"]) == (120, 5)
    assert answer["note"] == "rows 1 to 2 of 5 are shown"
    assert asked(count=True, where=[{"field": "due", "is": "overdue"}])["matching"] == 48
    assert asked(distinct="team")["values"] == [{"team": "a", "rows": 60}, {"team": "b", "rows": 60}]


def test_what_does_not_fit_is_told_and_can_be_looked_at_next() -> None:
    seen: list[Json] = []
    while len(seen) < 120:
        shown = asked(skip=len(seen))["shown"]
        assert isinstance(shown, list)
        seen += shown
    assert seen == ROWS
    assert "skip" in str(asked()["note"])


def test_dates_are_sorted_as_dates() -> None:
    rows: Json = [{"d": "02.03.2026"}, {"d": "2026-01-05"}, {"d": "10 February 2026"}, {"d": None}]
    answer = select_rows_for_model({"ref": "r1", "sort_by": "d"}, [fact(rows, "r1")])
    assert isinstance(answer, dict)
    assert answer["shown"] == [{"d": "2026-01-05"}, {"d": "10 February 2026"}, {"d": "02.03.2026"}, {"d": None}]


def test_a_long_text_is_looked_at_by_its_lines_and_a_record_or_a_list_in_it_by_its_path() -> None:
    text = "\n".join(f"line {at}" for at in range(2000))
    answer = select_rows_for_model(
        {"ref": "r1", "list": "body", "where": ["text contains '1999'"]}, [fact({"body": text}, "r1")]
    )
    assert isinstance(answer, dict)
    assert answer["shown"] == [{"line": 2000, "text": "line 1999"}]
    assert asked(ref="r2", list="claim", fields=["id"])["shown"] == [{"id": "C-1"}]
    assert asked(ref="r2", list="claim.lines")["shown"] == [{"value": 1}, {"value": 2}]


@each_row(
    ("given_", "why"),
    ({"ref": "r9"}, "there are r1, r2"),
    ({"ref": "r1", "list": "others"}, "no others there"),
    ({"ref": "r1", "fields": ["colour"]}, "the rows have amount, due, id, team, text"),
    ({"ref": "r1", "sort_by": "colour"}, "to sort by"),
    ({"ref": "r1", "distinct": "colour"}, "no row has the field"),
    ({"ref": "r1", "where": [{"field": "colour", "is": "=", "value": "1"}]}, "no row has the field"),
    ({"ref": "r1", "where": [{"field": "team", "is": "~", "value": "1"}]}, "a condition has"),
)
def test_what_cannot_be_looked_at_is_a_sentence(given_: JsonObject, why: str) -> None:
    with pytest.raises(CannotCalculate, match=why):
        select_rows_for_model(given_, FACTS)


_VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4000)
    | st.decimals(allow_nan=False, allow_infinity=False, places=2)
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), _VALUES), max_size=40), st.sampled_from(["", "a", "b"]))
def test_an_answer_is_bounded_whatever_the_rows_are(rows: list[dict[str, Json]], name: str) -> None:
    of = fact([*rows], "r1")
    asked_for: list[JsonObject] = [{}, {"sort_by": name}, {"distinct": name}, {"fields": [name]}, {"first": 3}]
    for more in asked_for:
        try:
            answer = select_rows_for_model({"ref": "r1", **more}, [of])
        except CannotCalculate:
            continue
        assert len(dumps(answer)) <= MOST_CHARACTERS_SHOWN


def test_the_tool_has_a_closed_schema_and_no_figure_becomes_a_float() -> None:
    assert LOOK_DEFINITION.input_schema["additionalProperties"] is False
    assert len(LOOK_DEFINITION.description) <= 1200
    answer = select_rows_for_model({"ref": "r1"}, [fact([{"a": Decimal("0.1")}], "r1")])
    assert dumps(answer) == '{"matching":1,"rows":1,"shown":[{"a":0.1}]}'


def test_a_long_result_is_shown_by_its_first_rows_with_its_fields_and_its_length() -> None:
    shown, note = shorten_result({"items": ROWS, "page": 1}, 1000)
    assert isinstance(shown, dict)
    rows = shown["items"]
    assert isinstance(rows, list)
    assert rows == ROWS[: len(rows)]
    assert len(dumps(shown)) <= 1000
    fields = "id, amount, team, due, text"
    assert note == f"120 rows in items, the first {len(rows)} are shown; fields {fields}; look shows the rest"
    assert shorten_result({"a": 1}, 1000) == ({"a": 1}, "")


@given(st.lists(st.dictionaries(st.sampled_from("abc"), _VALUES), max_size=30), st.integers(300, 5000))
def test_a_shortened_result_keeps_its_bound_and_says_what_it_lacks(rows: list[dict[str, Json]], most: int) -> None:
    shown, note = shorten_result([*rows], most)
    assert len(dumps(shown)) <= most
    assert (note == "") is (dumps(shown) == dumps([*rows]))
