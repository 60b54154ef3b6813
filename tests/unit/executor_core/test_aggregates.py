"""Sums and groups over all rows of a list: exact, and stated so that the audit computes them again."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.dossier import Fact, NamedValue, Operand
from services.executor.core.execute.aggregates import aggregated
from services.executor.core.execute.compute_audit import audit
from services.executor.core.execute.conditions import condition, written
from services.executor.core.execute.paths import select
from services.executor.ports.models import ToolUse
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

ROWS: list[Json] = [
    {"id": "R-1", "customer": "Ann's", "amount": "0.10", "days": 91, "due": "2026-01-31"},
    {"id": "R-2", "customer": "Bob", "amount": "0.20", "days": 90, "due": "2026-02-01"},
    {"id": "R-3", "customer": "Ann's", "amount": "1,000.005", "days": 120, "due": "2026-03-01"},
    {"id": "R-4", "customer": None, "amount": None, "days": 400, "due": None},
]


def fact(rows: list[Json], note: str = "") -> Fact:
    return Fact(
        ref="f1",
        connection_id="a",
        tool="list_owed",
        arguments_json="{}",
        result_json=dumps({"owed": rows, "total": len(rows)}),
        note=note,
    )


def asked(name: str, *, of: Fact, **arguments: Json) -> JsonObject:
    result = aggregated(ToolUse("u", name, {"ref": "f1", **arguments}), (of,))
    assert not result.is_error, result.content
    return loads_object(result.content)


def proved(value: Json, operand: Json, of: Fact) -> tuple[str, ...]:
    operands = (Operand.model_validate(operand),)
    return audit((NamedValue(name="v", operation="sum", operands=operands, value=str(value)),), (of,), "")


@pytest.mark.promise("lists.aggregates")
def test_a_sum_is_exact_and_its_operand_passes_the_audit() -> None:
    found = asked("sum_field", of=fact(ROWS), field="amount")
    assert (found["value"], found["rows"], found["rows_without"]) == ("1000.305", 4, 1)
    assert proved(found["value"], found["operand"], fact(ROWS)) == ()
    assert proved("1000.31", found["operand"], fact(ROWS)) != ()


@pytest.mark.promise("lists.aggregates")
def test_a_sum_takes_only_the_rows_that_meet_all_conditions() -> None:
    where: Json = [{"field": "days", "is": ">", "value": "90"}, {"field": "customer", "is": "=", "value": "Ann's"}]
    found = asked("sum_field", of=fact(ROWS), field="amount", where=where)
    assert (found["value"], found["rows"]) == ("1000.105", 2)
    assert proved(found["value"], found["operand"], fact(ROWS)) == ()


@pytest.mark.promise("lists.aggregates")
@given(st.lists(st.tuples(st.sampled_from(["a", "A", "b'c", "7", "7.0", None]), st.integers(-999, 999)), max_size=30))
def test_the_groups_of_a_list_are_all_its_rows_once(pairs: list[tuple[str | None, int]]) -> None:
    """Figures that are the same are one group, texts that differ are two; the sums add up to the whole."""
    rows: list[Json] = [{"by": by, "amount": Decimal(cents).scaleb(-2)} for by, cents in pairs]
    of = fact(rows)
    groups = asked("group_by", of=of, by="by", field="amount")["groups"]
    assert isinstance(groups, list)
    found = [group for group in groups if isinstance(group, dict)]
    assert sum(int(str(group["rows"])) for group in found) == len(rows)
    whole = sum((Decimal(cents).scaleb(-2) for _, cents in pairs), Decimal(0))
    assert sum((Decimal(str(group["value"])) for group in found), Decimal(0)) == whole
    assert [problem for group in found for problem in proved(group["value"], group["operand"], of)] == []


def test_what_is_missing_of_a_list_is_said_with_its_figures() -> None:
    of = fact(ROWS, "NOT all rows: 4 rows from 1 pages; reading stopped at 1 pages (LIST_PAGES).")
    assert "NOT all rows" in str(asked("sum_field", of=of, field="amount")["note"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sum_field", {"ref": "f2", "field": "amount"}),
        ("sum_field", {"ref": "f1"}),
        ("sum_field", {"ref": "f1", "field": "customer"}),
        ("sum_field", {"ref": "f1", "field": "amount", "list": "others"}),
        ("sum_field", {"ref": "f1", "field": "amount", "where": [{"field": "a", "is": "~", "value": "1"}]}),
        ("group_by", {"ref": "f1"}),
    ],
)
def test_a_call_that_cannot_be_computed_goes_back_to_the_model(name: str, arguments: JsonObject) -> None:
    assert aggregated(ToolUse("u", name, arguments), (fact(ROWS),)).is_error


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("days>90", ["R-1", "R-3", "R-4"]),
        ("days <= 90", ["R-2"]),
        ("customer=null", ["R-4"]),
        ("customer!='Bob'", ["R-1", "R-3", "R-4"]),
        ("due<2026-02-01", ["R-1"]),
        ("due>='2026-02-01'", ["R-2", "R-3"]),
        ("amount=1000.0050", ["R-3"]),
        ("customer>5", []),
        ("nothing>5", []),
    ],
)
def test_a_condition_in_a_path_selects_the_records_that_meet_it(text: str, ids: list[str]) -> None:
    assert select({"owed": ROWS}, f"owed[{text}].id") == ids
    assert [row["id"] for row in ROWS if isinstance(row, dict) and condition(text)(row)] == ids


_NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name != "id")  # which the row has besides


@given(_NAMES, st.none() | st.integers() | st.text(max_size=12))
def test_a_written_condition_holds_for_its_own_value_in_any_path(field: str, value: str | int | None) -> None:
    """Whatever the text: quotes, brackets, dots and signs in it end nothing."""
    assert select([{field: value, "id": 1}], f"[{written(field, '=', value)}].id") == [1]
