"""No rule is decided by a record that the call does not lead to, in whatever process and any world of records."""

from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given, strategies as st

from services.executor.core.records.binding import bind_fields, build_call_view
from services.executor.core.session.values import Fact, NamedValue, Operand, trace_operands
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from services.executor.core.tools.toolbox import build_record_keys
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import Rule
from shared.contracts.tenant import RecordKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, is_let_through, read, request, verdict

_KINDS = [
    "claim",
    "refund",
    *(pytest.param(one, marks=pytest.mark.long) for one in ("invoice", "order", "purchase", "expense")),
]
_MANAGER = Rule(id="over-500", condition="amount > 500", action="require_approval", level="manager")
_COMMITTEE = Rule(id="over-5000", condition="amount > 5000", action="require_approval", level="committee")
_BLOCK = Rule(id="blocked", condition="blocked == true", action="block")
_RULES = (_MANAGER, _COMMITTEE, _BLOCK)


def _id(kind: str, number: int) -> str:
    return f"{kind[:3].upper()}-{number}"


def _row(kind: str, number: int, amount: str, *, blocked: bool = False) -> JsonObject:
    return {"id": _id(kind, number), "owner_id": "E-1", "amount": amount, "blocked": blocked}


def _small(kind: str) -> JsonObject:
    return _row(kind, 3, "86.40")


def _approve(kind: str, *numbers: int) -> list[PlannedCall]:
    return [change(f"approve_{kind}", {f"{kind}_id": _id(kind, one)}, f"c{one}") for one in numbers]


@pytest.mark.promise("policy.never_by_a_sibling")
@pytest.mark.parametrize("kind", _KINDS)
@each_row("process", [*BUILT_IN_TEMPLATES])
def test_a_model_that_read_the_wrong_record_alone_has_nothing_written_without_a_person(kind: str, process: str) -> None:
    """The one that was read is small and free; those that are written were never looked at."""
    calls, template = _approve(kind, 1, 2), BUILT_IN_TEMPLATES[process]
    found = verdict(_RULES, calls, [read(f"get_{kind}", _small(kind))], template)
    assert not found.passed
    assert found.escalate
    asked = request(_RULES, calls, [read(f"get_{kind}", _small(kind))], template)
    assert all("amount" not in call.fields and "amount" in (call.unknown_fields or ()) for call in asked.calls)


@pytest.mark.promise("policy.never_by_a_sibling")
@each_row("process", [*BUILT_IN_TEMPLATES])
def test_a_model_that_read_nothing_has_nothing_written_without_a_person(process: str) -> None:
    """A rule that names the tool escalates; where none does, nothing is ruled and the tenant is asked."""
    calls = _approve("claim", 1)
    stated = _MANAGER.model_copy(update={"condition": 'tool == "approve_claim" && amount > 500'})
    assert verdict([stated], calls, [], BUILT_IN_TEMPLATES[process]).escalate
    silent = verdict(_RULES, calls, [], BUILT_IN_TEMPLATES[process])
    assert not any(rule.policy_id == "house" for rule in silent.triggered_rules)
    assert not is_let_through(silent, calls)


@pytest.mark.promise("policy.never_by_a_sibling")
@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("shape", ["list", "keyed", "singles", "within"])
@each_row("process", [*BUILT_IN_TEMPLATES])
def test_of_several_each_call_is_judged_by_its_own_record(kind: str, process: str, shape: str) -> None:
    rows = [_row(kind, 1, "2340.00"), _row(kind, 2, "8240.00"), _small(kind), _row(kind, 4, "10.00", blocked=True)]
    calls = _approve(kind, 1, 2, 3, 4)
    found = verdict(_RULES, calls, _shown(kind, rows, shape), BUILT_IN_TEMPLATES[process])
    ruled = {(rule.call_id, rule.rule_id) for rule in found.triggered_rules if rule.policy_id == "house"}
    assert ruled == {("c1", "over-500"), ("c2", "over-500"), ("c2", "over-5000"), ("c4", "blocked")}
    assert found.blocked


@pytest.mark.promise("policy.never_by_a_sibling")
@each_row("process", [*BUILT_IN_TEMPLATES])
def test_what_was_calculated_from_a_sibling_speaks_for_nobody_else(process: str) -> None:
    """Under the field's own name, and under one that no record has."""
    operand = Operand(source="result", ref="f1", path="amount")
    values = [NamedValue(name=name, operation="sum", operands=(operand,), value="86.40") for name in ("amount", "due")]
    due = Rule(id="due", condition='tool == "approve_claim" && due > 500', action="require_approval")
    facts = [read("get_claim", _small("claim"))]
    for number, known in ((1, False), (3, True)):
        [call] = request([_MANAGER, due], _approve("claim", number), facts, BUILT_IN_TEMPLATES[process], values).calls
        assert ("due" in call.fields, str(call.fields.get("amount"))) == (known, "86.40" if known else "None")


def test_a_chain_of_calculations_that_use_each_value_twice_is_traced_once() -> None:
    """A balance with interest is of such a kind: traced by each way, sixteen months took seconds."""
    chain = [
        NamedValue(name="v0", operation="sum", operands=(Operand(source="result", ref="f1", path="amount"),), value="1")
    ]
    for number in range(1, 200):
        twice = (Operand(source="value", ref=f"v{number - 1}"),) * 2
        chain.append(NamedValue(name=f"v{number}", operation="sum", operands=twice, value="2"))
    traced = [*trace_operands(chain[-1], {one.name: one for one in chain})]
    assert (len(traced), traced[-1][1].source) == (399, "result")


def _shown(kind: str, rows: list[JsonObject], shape: str) -> list[Fact]:
    every: list[Json] = [*rows]
    match shape:
        case "list":
            return [read(f"list_{kind}s", {f"{kind}s": every, "total": 4})]
        case "keyed":
            return [read(f"list_{kind}s", {str(row["id"]): {**row, "id": None} for row in rows})]
        case "within":
            return [read("get_employee", {"id": "E-1", "amount": "1", "blocked": False, f"{kind}s": every})]
        case _:
            return [read(f"get_{kind}", row, f"f{place}", id=row["id"]) for place, row in enumerate(rows)]


_FIELDS = ("amount", "blocked", "status")
_LETTERS = {"claim": "C", "employee": "E", "receipt": "R", "department": "D"}
_REFERS = {"claim": ("employee",), "employee": ("department",), "receipt": ("claim", "employee"), "department": ()}
_SHAPES = ("list", "keyed", "single", "envelope", "search", "numbers")


class World:
    """Records whose every value is told from all others, so that a value says whose it is."""

    def __init__(self, rows: dict[str, list[JsonObject]]) -> None:
        self.rows = rows
        self.of = {
            str(row[field]): (kind, str(row["id"]))
            for kind, some in rows.items()
            for row in some
            for field in _FIELDS
            if field in row
        }

    def row(self, kind: str, key: str) -> JsonObject | None:
        return next((row for row in self.rows[kind] if str(row["id"]) == key), None)

    def reach(self, call: JsonObject) -> list[tuple[str, str]]:
        """Whose values may be seen, by the rule as it is stated, in the simplest words there are."""
        claim = str(call["claim_id"])
        if self.row("claim", claim) is None:
            return []
        near = [("claim", claim), *([("employee", str(call["employee_id"]))] if "employee_id" in call else [])]
        about = [("receipt", str(row["id"])) for row in self.rows["receipt"] if str(row.get("claim_id")) == claim]
        first = [target for one in near for target in self._targets(*one)]
        second = [target for one in (*first, *about) for target in self._targets(*one)]
        return [one for one in (*near, *about, *first, *second) if one[0] != "claim" or one[1] == claim]

    def _targets(self, kind: str, key: str) -> Iterator[tuple[str, str]]:
        row = self.row(kind, key) or {}
        yield from ((name.removesuffix("_id"), str(row[name])) for name in row if name.endswith("_id"))


@st.composite
def _worlds(draw: st.DrawFn, numbered: bool) -> World:
    unique = iter(range(1000, 9999))
    rows: dict[str, list[JsonObject]] = {}
    for kind, letter in _LETTERS.items():
        rows[kind] = []
        for number in range(1, draw(st.integers(0, 4)) + 1):
            row: JsonObject = {"id": number if numbered else f"{letter}-{number}"}
            for other in _REFERS[kind]:
                if draw(st.booleans()):
                    target = draw(st.integers(1, 4))
                    row[f"{other}_id"] = target if numbered else f"{_LETTERS[other]}-{target}"
            row.update({field: str(next(unique)) for field in _FIELDS if draw(st.booleans())})
            rows[kind].append(row)
    return World(rows)


def _facts_of(kind: str, rows: list[JsonObject], shape: str) -> list[Fact]:
    every: list[Json] = [*rows]
    if shape == "single":
        return [read(f"get_{kind}", row, f"{kind}{row['id']}", **{f"{kind}_id": row["id"]}) for row in rows]
    if shape == "keyed" and rows:
        keyed: JsonObject = {str(row["id"]): {k: v for k, v in row.items() if k != "id"} for row in rows}
        return [read(f"list_{kind}s", {f"{kind}s": keyed} if len(rows) > 1 else keyed, kind)]
    enveloped: JsonObject = {"page": 1, f"{kind}s": every}
    return [read(f"list_{kind}s", enveloped if shape == "envelope" else every, kind)]


def _call_by_tags(value: Json, kind: str = "") -> Json:
    """The same by a ``claim_tag`` in place of a claim's ``id`` and each ``claim_id``; its ``id`` is another's tag."""
    if isinstance(value, list):
        return [_call_by_tags(one, kind) for one in value]
    if not isinstance(value, dict):
        return value
    own = {name: f"{kind}_id" if name == "id" else name for name in value}
    others: JsonObject = {"id": _tag_of_another(value["id"])} if value.get("id") else {}
    return {**{own[name].replace("_id", "_tag"): _call_by_tags(one, kind) for name, one in value.items()}, **others}


def _tag_of_another(key: Json) -> Json:
    """Of four records the one that stands as far from the end as this one from the beginning."""
    return 5 - key if isinstance(key, int) else f"{str(key)[:-1]}{5 - int(str(key)[-1])}"


_TAGS = build_record_keys({kind: RecordKind(keys=(f"{kind}_tag",)) for kind in _LETTERS}, {})


@pytest.mark.promise("policy.never_by_a_sibling", "policy.calls.number_ids", "policy.declared_keys")
@given(data=st.data(), numbered=st.booleans(), tagged=st.booleans())
def test_what_is_seen_is_the_arguments_or_of_a_record_that_the_call_leads_to(
    data: st.DataObject, numbered: bool, tagged: bool
) -> None:
    """By ids, and as well by declared keys; a number that keys a table is none of these."""
    world = data.draw(_worlds(numbered))
    call: JsonObject = {"claim_id": data.draw(st.sampled_from([1, 2, 3, 4]))}
    if data.draw(st.booleans()):
        call["employee_id"] = data.draw(st.sampled_from([1, 2, 3, 4]))
    if not numbered:
        call = {key: f"{_LETTERS[key.removesuffix('_id')]}-{value}" for key, value in call.items()}
    order = data.draw(st.permutations([*_LETTERS]))
    may, shapes = world.reach(call), [one for one in _SHAPES if one != "keyed" or not (numbered and tagged)]
    drawn = {kind: _facts_of(kind, world.rows[kind], data.draw(st.sampled_from(shapes))) for kind in order}
    facts = [
        one.model_copy(
            update={
                "arguments_json": dumps(_call_by_tags(loads(one.arguments_json))),
                "result_json": dumps(_call_by_tags(one.result, kind)),
            }
        )
        if tagged
        else one
        for kind, some in drawn.items()
        for one in some
    ]
    given_call = cast(JsonObject, _call_by_tags(call)) if tagged else call

    found = bind_fields(
        build_call_view("approve_claim", given_call, facts, _TAGS if tagged else NO_RECORD_KEYS), _FIELDS
    )
    strange = {name: world.of[str(found.fields[name])] for name in _FIELDS if name in found.fields}
    assert all(one in may for one in strange.values()), (strange, may)

    own = world.row("claim", str(call["claim_id"])) or {}
    assert all(found.fields[name] == own[name] for name in _FIELDS if name in own)
    carried = {name for row in world.rows["claim"] for name in row}
    assert all(name in found.unknown for name in _FIELDS if name in carried and name not in own)
