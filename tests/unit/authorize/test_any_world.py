"""In any world of records, what a rule sees of a call is never a value of a record that the call does not lead to."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.records.binding import bind, view_of
from services.executor.core.session.values import Fact
from shared.domain.exact_json import Json, JsonObject
from tests.unit.authorize.verdicts import read

_FIELDS = ("amount", "blocked", "status")
_KINDS = {"claim": "C", "employee": "E", "receipt": "R", "department": "D"}
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
    for kind, letter in _KINDS.items():
        rows[kind] = []
        for number in range(1, draw(st.integers(0, 4)) + 1):
            row: JsonObject = {"id": number if numbered else f"{letter}-{number}"}
            for other in _REFERS[kind]:
                if draw(st.booleans()):
                    target = draw(st.integers(1, 4))
                    row[f"{other}_id"] = target if numbered else f"{_KINDS[other]}-{target}"
            row.update({field: str(next(unique)) for field in _FIELDS if draw(st.booleans())})
            rows[kind].append(row)
    return World(rows)


def _shown(kind: str, rows: list[JsonObject], shape: str) -> list[Fact]:
    every: list[Json] = [*rows]
    if shape == "single":
        return [read(f"get_{kind}", row, f"{kind}{row['id']}", **{f"{kind}_id": row["id"]}) for row in rows]
    if shape == "keyed" and rows:
        keyed: JsonObject = {str(row["id"]): {k: v for k, v in row.items() if k != "id"} for row in rows}
        return [read(f"list_{kind}s", {f"{kind}s": keyed} if len(rows) > 1 else keyed, kind)]
    enveloped: JsonObject = {"page": 1, f"{kind}s": every}
    return [read(f"list_{kind}s", enveloped if shape == "envelope" else every, kind)]


@pytest.mark.promise("policy.never_by_a_sibling", "policy.calls.number_ids")
@given(data=st.data(), numbered=st.booleans())
def test_what_is_seen_is_the_arguments_or_of_a_record_that_the_call_leads_to(
    data: st.DataObject, numbered: bool
) -> None:
    world = data.draw(_worlds(numbered))
    call: JsonObject = {"claim_id": data.draw(st.sampled_from([1, 2, 3, 4]))}
    if data.draw(st.booleans()):
        call["employee_id"] = data.draw(st.sampled_from([1, 2, 3, 4]))
    if not numbered:
        call = {key: f"{_KINDS[key.removesuffix('_id')]}-{value}" for key, value in call.items()}
    order = data.draw(st.permutations([*_KINDS]))
    facts = [fact for kind in order for fact in _shown(kind, world.rows[kind], data.draw(st.sampled_from(_SHAPES)))]

    found = bind(view_of("approve_claim", call, facts), _FIELDS)
    may = world.reach(call)
    strange = {name: world.of[str(found.fields[name])] for name in _FIELDS if name in found.fields}
    assert all(one in may for one in strange.values()), (strange, may)

    own = world.row("claim", str(call["claim_id"])) or {}
    assert all(found.fields[name] == own[name] for name in _FIELDS if name in own)
    carried = {name for row in world.rows["claim"] for name in row}
    assert all(name in found.unknown for name in _FIELDS if name in carried and name not in own)
