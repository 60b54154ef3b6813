"""Sums and groups over all rows of a list: exact, and stated so that the audit computes them again."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.calculate import calculate
from services.executor.core.figures.evaluate import recheck_figures
from services.executor.core.figures.operands import KnownFigures, select_cells
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.record_tree import write_condition
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact

ROWS: list[Json] = [
    {"id": "R-1", "customer": "Ann's", "amount": "0.10", "days": 91, "due": "2026-01-31"},
    {"id": "R-2", "customer": "Bob", "amount": "0.20", "days": 90, "due": "2026-02-01"},
    {"id": "R-3", "customer": "Ann's", "amount": "1,000.005", "days": 120, "due": "2026-03-01"},
    {"id": "R-4", "customer": None, "amount": None, "days": 400, "due": None},
]


def owed(rows: list[Json], note: str = "") -> Fact:
    return fact({"owed": rows, "total": len(rows)}, tool="list_owed").model_copy(update={"note": note})


def asked(of: Fact, **more: Json) -> NamedValue:
    given: JsonObject = {"operation": "sum", "operands": ["f1.owed[*].amount"], **more}
    return calculate(given, known(of))


def known(of: Fact) -> KnownFigures:
    return KnownFigures((of,), (), ("those over 90 days",))


@pytest.mark.promise("lists.aggregates")
def test_a_sum_is_exact_passes_the_audit_and_takes_only_the_rows_that_meet_all_conditions() -> None:
    of = owed(ROWS)
    found = asked(of)
    assert found.value == "1000.305"
    assert "1" in found.note
    assert recheck_figures([found.model_copy(update={"value": "1000.31"})], known(of)) != ()
    where: Json = [{"field": "days", "is": ">", "value": "90"}, {"field": "customer", "is": "=", "value": "Ann's"}]
    some = asked(of, where=where)
    assert some.value == "1000.105"
    assert recheck_figures([found], known(of)) == recheck_figures([some], known(of)) == ()


@pytest.mark.promise("lists.aggregates")
@given(st.lists(st.tuples(st.sampled_from(["a", "A", "b'c", "7", "7.0", None]), st.integers(-999, 999)), max_size=30))
def test_the_groups_of_a_list_are_all_its_rows_once(pairs: list[tuple[str | None, int]]) -> None:
    """Each value has its group; the sums add up to the whole, and the counts to all rows."""
    rows: list[Json] = [{"by": by, "amount": Decimal(cents).scaleb(-2)} for by, cents in pairs]
    of = owed(rows)
    if all(by is None for by, _ in pairs):
        return  # there is nothing to group by
    sums, counts = asked(of, by="by"), asked(of, by="by", operation="count")
    assert recheck_figures([sums], known(of)) == recheck_figures([counts], known(of)) == ()
    assert _total(counts) == len(rows)
    assert _total(sums) == sum((Decimal(cents).scaleb(-2) for _, cents in pairs), Decimal(0))


def _total(groups: NamedValue) -> Decimal:
    return sum((Decimal(str(figure)) for figure in loads_object(groups.value).values()), Decimal(0))


def _values_at(result: Json, path: str) -> list[Json]:
    return [cell.value for cell in select_cells(result, path).cells]


@each_row(
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
    assert _values_at({"owed": ROWS}, f"owed[{text}].id") == ids


_NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name != "id")  # which the row has besides


@given(_NAMES, st.none() | st.integers() | st.text(max_size=12))
def test_a_written_condition_holds_for_its_own_value_in_any_path(field: str, value: str | int | None) -> None:
    """Whatever the text: quotes, brackets, dots and signs in it end nothing."""
    assert _values_at([{field: value, "id": 1}], f"[{write_condition(field, '=', value)}].id") == [1]
