"""``calculate`` against references of its own kind, over lists of any length, whose sums and groups are exact."""

from collections import defaultdict
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from services.executor.core.figures.calculate import calculate, describe_value
from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.figures.dates import read_possible_dates
from services.executor.core.figures.evaluate import find_wrong_values, recompute_values
from services.executor.core.figures.numbers import read_amount
from services.executor.core.figures.operands import OperandSources, select_cells
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.record_tree import format_condition
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact

TODAY = date(2026, 1, 20)
CENTS = st.integers(-(10**9), 10**9)
DAYS = st.dates(date(1990, 1, 1), date(2090, 1, 1))
WRITINGS = ("%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%Y/%m/%d", "%a, %d %b %Y 10:00:00 GMT")


def money(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


def over(rows: list[Json], task: str = "") -> OperandSources:
    return OperandSources((fact({"items": rows, "next": None}, "r1"),), (), (task,), TODAY)


def asked(known: OperandSources, operation: str, *operands: str, **more: Json) -> NamedValue:
    given_: JsonObject = {"operation": operation, "operands": list(operands), **more}
    value = calculate(given_, known)
    assert find_wrong_values([value], known) == {}
    assert recompute_values([value], known) == (value,)
    return value


def number(value: NamedValue) -> Decimal:
    assert value.number is not None
    return value.number


@pytest.mark.promise("lists.aggregates")
@given(st.lists(st.tuples(CENTS, st.sampled_from("abc"), st.booleans()), min_size=1, max_size=60))
def test_aggregates_over_rows_are_those_of_decimal(rows: list[tuple[int, str, bool]]) -> None:
    known = over([{"amount": f"{money(cents)}", "team": team, "open": is_open} for cents, team, is_open in rows])
    figures = [money(cents) for cents, _, _ in rows]
    path, still_open = "r1.items[*].amount", [{"field": "open", "is": "=", "value": "true"}]

    assert number(asked(known, "sum", path)) == sum(figures, Decimal(0))
    assert number(asked(known, "maximum", path)) == max(figures)
    assert number(asked(known, "minimum", path)) == min(figures)
    assert number(asked(known, "average", path)) == _rounded(sum(map(Fraction, figures), Fraction(0)) / len(figures))
    assert number(asked(known, "count", "r1", where=still_open)) == sum(is_open for _, _, is_open in rows)  # type: ignore[arg-type]  # JSON
    kept = [money(cents) for cents, _, is_open in rows if is_open]
    assert number(asked(known, "sum", path, where=still_open)) == sum(kept, Decimal(0))  # type: ignore[arg-type]  # JSON
    teams: dict[str, Decimal] = defaultdict(Decimal)
    for cents, team, _ in rows:
        teams[team] += money(cents)
    groups = describe_value(asked(known, "sum", path, by="team"))["value"]
    assert isinstance(groups, dict)
    assert {team: Decimal(str(figure)) for team, figure in groups.items()} == teams
    assert teams[asked(known, "which_has_most", path, by="team").value] == max(teams.values())


def _rounded(exact: Fraction) -> Decimal:
    scaled = Decimal(exact.numerator) / Decimal(exact.denominator)
    return scaled.quantize(Decimal("0.000001"), ROUND_HALF_UP)


@given(st.lists(st.tuples(CENTS, st.integers(1, 5)), min_size=1, max_size=20), CENTS)
def test_a_limit_chooses_the_rows_that_decimal_would(rows: list[tuple[int, int]], limit: int) -> None:
    known = over([{"amount": f"{money(cents):,}", "qty": qty} for cents, qty in rows], f"above {money(limit)} EUR")
    above = [{"field": "amount", "is": ">", "value": f"{money(limit)}"}, {"field": "qty", "is": "<=", "value": "qty"}]
    value = asked(known, "count", "r1.items[*]", where=above)  # type: ignore[arg-type]  # JSON
    assert number(value) == sum(money(cents) > money(limit) for cents, _ in rows)


@pytest.mark.promise("I2.audit")
@given(CENTS, st.integers(1, 99), st.integers(1, 10**6))
def test_parts_of_an_amount_are_those_of_fractions(cents: int, percent: int, divisor: int) -> None:
    known = OperandSources(
        (fact({"total": money(cents), "parts": divisor}, "r1"),), (), (f"take {percent}% or one third",)
    )
    exact = Fraction(money(cents))
    assert Fraction(number(asked(known, "percentage", "r1.total", f"{percent}%"))) == exact * percent / 100
    assert Fraction(number(asked(known, "product", "r1.total", f"{percent}%"))) == exact * percent / 100
    for found, wanted in (
        (asked(known, "product", "r1.total", "one third"), exact / 3),
        (asked(known, "quotient", "r1.total", "r1.parts"), exact / divisor),
    ):
        assert abs(Fraction(number(found)) - wanted) <= Fraction(1, 2_000_000)


@given(DAYS, DAYS, st.sampled_from(WRITINGS), st.sampled_from(WRITINGS))
def test_dates_in_any_usual_writing_are_compared_and_counted_as_dates(
    one: date, other: date, writing: str, other_writing: str
) -> None:
    known = OperandSources(
        (fact({"from": one.strftime(writing), "to": other.strftime(other_writing)}, "r1"),), (), (), TODAY
    )
    assert number(asked(known, "days_between", "r1.from", "r1.to")) == (other - one).days
    assert asked(known, "is_less", "r1.from", "r1.to").value == str(one < other).lower()
    assert asked(known, "maximum", "r1.from", "r1.to").value == max(one, other).isoformat()
    assert asked(known, "weekday", "r1.from").value == one.strftime("%A")
    assert number(asked(known, "age_in_days", "r1.from")) == (TODAY - one).days
    assert read_possible_dates(one.strftime("%d/%m/%Y"))[0] == one


def test_epoch_seconds_are_a_day_of_the_zone_where_an_operation_takes_dates() -> None:
    record: Json = {"slot_ts": 1796340600, "end": 1796344200}  # 00:30 and 01:30 on 4 December in Berlin
    known = OperandSources((fact(record, "r1"),), zone=ZoneInfo("Europe/Berlin"))
    assert asked(known, "add_weeks", "r1.slot_ts", "1").value == "2026-12-11"
    assert asked(known, "weekday", "r1.slot_ts").value == "Friday"
    assert number(asked(known, "hours_between", "r1.slot_ts", "r1.end")) == 1
    assert number(asked(known, "difference", "r1.end", "r1.slot_ts")) == 3600


@given(DAYS, st.integers(1, 400))
def test_dates_are_moved_as_datetime_would(start: date, number_of: int) -> None:
    known = OperandSources((fact({"start": start.isoformat(), "n": number_of}, "r1"),), (), (), TODAY)
    added = asked(known, "add_days", "r1.start", "r1.n").value
    assert added == (start + timedelta(days=number_of)).isoformat()
    later = date.fromisoformat(asked(known, "add_months", "r1.start", "r1.n").value)
    assert (later.year - start.year) * 12 + later.month - start.month == number_of
    assert later.day == start.day or (later.day < start.day and (later + timedelta(days=1)).day == 1)
    working = date.fromisoformat(asked(known, "add_working_days", "r1.start", "r1.n").value)
    passed = [start + timedelta(days=step) for step in range(1, (working - start).days + 1)]
    assert sum(day.weekday() < 5 for day in passed) == number_of
    assert working.weekday() < 5


@given(CENTS, CENTS)
def test_a_comparison_is_that_of_decimal(one: int, other: int) -> None:
    known = OperandSources((fact({"a": f"{money(one)}", "b": money(other)}, "r1"),))
    pairs = {"is_less": one < other, "is_at_most": one <= other, "is_more": one > other, "is_at_least": one >= other}
    pairs |= {"is_equal": one == other, "is_not_equal": one != other}
    for operation, wanted in pairs.items():
        value = asked(known, operation, "r1.a", "r1.b")
        assert (value.kind, value.value) == ("boolean", str(wanted).lower())


@pytest.mark.promise("money.currency")
@given(st.integers(0, 10**12), st.sampled_from(["JPY", "EUR", "KWD"]))
def test_minor_units_go_there_and_back(cents: int, code: str) -> None:
    known = OperandSources((fact({"amount_cents": cents, "currency": code}, "r1"),))
    units = asked(known, "cents_to_units", "r1.amount_cents", name="units")
    assert number(units) == Decimal(cents).scaleb(-{"JPY": 0, "EUR": 2, "KWD": 3}[code])
    back = asked(known._replace(values=(units,)), "units_to_cents", "units")
    assert (int(number(back)), back.unit, back.currency) == (cents, "cents", code)


@pytest.mark.parametrize(
    "writing", ["{:,}", "{}", "${:,}", "{:,} EUR", "USD {}", "EUR {:,}", "{:,} dollars", "{:,}€", "US$ {:,}", "{} days"]
)
@given(cents=st.integers(0, 10**11))
def test_an_amount_is_found_in_the_task_however_it_is_written_there(writing: str, cents: int) -> None:
    text = writing.format(money(cents))
    amount = read_amount(text)
    assert amount is not None
    assert amount.number == money(cents)
    value = asked(OperandSources((), (), (f"Pay {text}, please.",)), "sum", f"{money(cents)}")
    assert number(value) == money(cents)


@given(st.integers(1, 10**11))
def test_continental_amounts_are_read_by_their_comma(cents: int) -> None:
    text = f"{money(cents):,}".translate(str.maketrans(",.", ".,"))
    amount = read_amount(text)
    assert amount is not None
    assert amount.number == money(cents)


@given(st.integers(2, 10**6), st.lists(st.integers(2, 10**6), max_size=5))
def test_a_figure_that_stands_nowhere_is_refused(wanted: int, others: list[int]) -> None:
    task = "Pay " + " and ".join(f"{other} EUR" for other in others)
    known = OperandSources((fact({"items": [*others]}, "r1"),), (), (task,))
    given_: JsonObject = {"operation": "sum", "operands": [str(wanted)]}
    if wanted in others:
        assert number(calculate(given_, known)) == wanted
        return
    with pytest.raises(CannotCalculate, match="stands neither"):
        calculate(given_, known)


@pytest.mark.parametrize("rows", [1, 2_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_rows_that_no_prompt_shows_are_counted_all_the_same(rows: int) -> None:
    known = over(
        [{"id": f"I-{at}", "amount": f"{at}.25", "team": f"t{at % 7}", "note": "x" * 20} for at in range(rows)]
    )
    assert number(calculate({"operation": "count", "operands": ["r1"]}, known)) == rows
    total = number(calculate({"operation": "sum", "operands": ["r1.items[*].amount"]}, known))
    assert total == Decimal(rows * (rows - 1) // 2) + Decimal("0.25") * rows
    most: JsonObject = {"operation": "which_has_most", "operands": ["r1.items[*].amount"]}
    assert calculate(most, known).value == f"I-{rows - 1}"
    last: JsonObject = {"operation": "sum", "operands": [f"{rows - 1}.25"]}
    assert calculate(last, known).operands[0].path == f"items[id='I-{rows - 1}'].amount"


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(["r1", "r1.items", "today", "20%"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["field", "is", "value", "x"]), inner),
    max_leaves=6,
)
_OPERATIONS = st.sampled_from(
    ["sum", "count", "product", "npv", "add_days", "is_more", "which_has_most", "is_empty", ""]
)


@given(_OPERATIONS, _JSON, _JSON, _JSON, _JSON)
def test_whatever_a_model_gives_is_a_value_without_floats_or_a_sentence(
    operation: str, operands: Json, where: Json, by: Json, result: Json
) -> None:
    known = OperandSources((fact({"items": [result, {"a": 1, "x": "2"}]}, "r1"),), (), ("20% of 7",), TODAY)
    try:
        value = calculate({"operation": operation, "operands": operands, "where": where, "by": by}, known)
    except CannotCalculate:
        return
    assert find_wrong_values([value], known) == {}
    dumps(value.as_json())


ROWS: list[Json] = [
    {"id": "R-1", "customer": "Ann's", "amount": "0.10", "days": 91, "due": "2026-01-31"},
    {"id": "R-2", "customer": "Bob", "amount": "0.20", "days": 90, "due": "2026-02-01"},
    {"id": "R-3", "customer": "Ann's", "amount": "1,000.005", "days": 120, "due": "2026-03-01"},
    {"id": "R-4", "customer": None, "amount": None, "days": 400, "due": None},
]


def owed(rows: list[Json], note: str = "") -> Fact:
    return fact({"owed": rows, "total": len(rows)}, tool="list_owed").model_copy(update={"note": note})


def aggregated(of: Fact, **more: Json) -> NamedValue:
    given: JsonObject = {"operation": "sum", "operands": ["f1.owed[*].amount"], **more}
    return calculate(given, known(of))


def known(of: Fact) -> OperandSources:
    return OperandSources((of,), (), ("those over 90 days",))


@pytest.mark.promise("lists.aggregates")
def test_a_sum_is_exact_passes_the_audit_and_takes_only_the_rows_that_meet_all_conditions() -> None:
    of = owed(ROWS)
    found = aggregated(of)
    assert found.value == "1000.305"
    assert "1" in found.note
    assert find_wrong_values([found.model_copy(update={"value": "1000.31"})], known(of))
    where: Json = [{"field": "days", "is": ">", "value": "90"}, {"field": "customer", "is": "=", "value": "Ann's"}]
    some = aggregated(of, where=where)
    assert some.value == "1000.105"
    assert find_wrong_values([found], known(of)) == find_wrong_values([some], known(of)) == {}


@pytest.mark.promise("lists.aggregates")
@given(st.lists(st.tuples(st.sampled_from(["a", "A", "b'c", "7", "7.0", None]), st.integers(-999, 999)), max_size=30))
def test_the_groups_of_a_list_are_all_its_rows_once(pairs: list[tuple[str | None, int]]) -> None:
    """Each value has its group; the sums add up to the whole, and the counts to all rows."""
    rows: list[Json] = [{"by": by, "amount": Decimal(cents).scaleb(-2)} for by, cents in pairs]
    of = owed(rows)
    if all(by is None for by, _ in pairs):
        return  # there is nothing to group by
    sums, counts = aggregated(of, by="by"), aggregated(of, by="by", operation="count")
    assert find_wrong_values([sums], known(of)) == find_wrong_values([counts], known(of)) == {}
    assert _total(counts) == len(rows)
    assert _total(sums) == sum((Decimal(cents).scaleb(-2) for _, cents in pairs), Decimal(0))


def _total(groups: NamedValue) -> Decimal:
    return sum((Decimal(str(figure)) for figure in loads_object(groups.value).values()), Decimal(0))


def _values_at(result: Json, path: str) -> list[Json]:
    return [cell.value for cell in select_cells(result, path).cells]


@each_row(
    ("text", "ids"),
    ("days>90", ["R-1", "R-3", "R-4"]),
    ("customer=null", ["R-4"]),
    ("customer!='Bob'", ["R-1", "R-3", "R-4"]),
    ("due<2026-02-01", ["R-1"]),
    ("amount=1000.0050", ["R-3"]),
    ("customer>5", []),
    ("nothing>5", []),
)
def test_a_condition_in_a_path_selects_the_records_that_meet_it(text: str, ids: list[str]) -> None:
    assert _values_at({"owed": ROWS}, f"owed[{text}].id") == ids


_NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name != "id")  # which the row has besides


@given(_NAMES, st.none() | st.integers() | st.text(max_size=12))
def test_a_written_condition_holds_for_its_own_value_in_any_path(field: str, value: str | int | None) -> None:
    """Whatever the text: quotes, brackets, dots and signs in it end nothing."""
    assert _values_at([{field: value, "id": 1}], f"[{format_condition(field, '=', value)}].id") == [1]
