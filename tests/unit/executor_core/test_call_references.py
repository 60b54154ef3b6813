"""Paths, and what a call says of answers of others: a place that an earlier one fills, or a reason to ask again."""

from decimal import Decimal

import pytest

from services.executor.core.plan.closing import build_ordered_plan, with_compensations
from services.executor.core.plan.draft import InvalidProposal, Proposal, ProposalContext, build_proposal
from services.executor.core.records.references import literal_scalars, referenced_calls, resolve_references, result_at
from services.executor.core.session.values import PartOfTask
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.schema_drift import SchemaRenames
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from shared.ports.models import ToolUse
from tests.each_row import each_row
from tests.unit.executor_core.makers import tool, tools

FILE = tool("file_claim", ToolClass.CHANGE)._replace(catalogue=CatalogueEntry(compensated_by="drop_claim"))
ONE = (PartOfTask(number=1, quote="File a claim", kind="do"),)
TWO = (*ONE, PartOfTask(number=2, quote="and another", kind="do"))


def filed(given: JsonObject, *before: Proposal, parts: tuple[PartOfTask, ...] = ONE, reply: int = 2) -> Proposal:
    return build_proposal(
        ToolUse("use-1", FILE.name, given), FILE, before, ProposalContext(parts, SchemaRenames({}), reply)
    )


@pytest.mark.promise("I1.plans_hold_writes_only")
@each_row(
    ("sources", "arguments"),
    ({"memo": "1.id"}, {"memo": {"$ref": "c1.id"}}),
    ({"to.claim": "p1.id"}, {"to": {"claim": {"$ref": "c1.id"}}}),
    ({"items[0].id": "1.id", "items[1]": "1.no"}, {"items": [{"id": {"$ref": "c1.id"}}, {"$ref": "c1.no"}]}),
)
def test_an_argument_may_come_from_the_answer_of_an_earlier_write_of_the_reply(
    sources: dict[str, Json], arguments: JsonObject
) -> None:
    first = filed({"memo": "taxi"})
    second = filed({"_call": {"from": sources}}, first)
    assert second.call.arguments == arguments
    assert build_ordered_plan([first.call, second.call], "task-1", 1).calls == (first.call, second.call)


@pytest.mark.promise("I1.plans_hold_writes_only")
@each_row(
    ("place", "source"),
    ("items[0]", "1"),
    ("items[9].id", "1.id"),
    ("items[99999999999].id", "1.id"),
    (".".join("a" * 5_000), "1.id"),
    ("memo", "2.id"),
    ("memo", "\u00b2.id"),
    ("memo", "9" * 5_000 + ".id"),
)
def test_a_place_or_a_source_that_is_none_goes_back_and_costs_nothing(place: str, source: str) -> None:
    first = filed({"memo": "taxi"})
    with pytest.raises(InvalidProposal, match=r"_call\.from"):
        filed({"_call": {"from": {place: source}}}, first)


@pytest.mark.promise("plan.compensates")
def test_a_change_has_taken_back_only_what_carries_out_its_own_part() -> None:
    first = filed({"_call": {"part": 1}}, parts=TWO)
    same = filed({"_call": {"part": 1}}, first, parts=TWO)
    other = filed({"_call": {"part": 2}}, first, same, parts=TWO)
    plan = build_ordered_plan([one.call for one in (first, same, other)], "task-1", 1)
    known = tools(FILE, tool("drop_claim", ToolClass.CHANGE))
    assert [call.on_failure for call in with_compensations(plan, known).calls] == ["stop", "compensate", "stop"]


ORDER: Json = {"id": "O-1", "lines": [{"sku": "A", "price": Decimal("1.50")}, {"sku": "B", "price": 2}]}


@each_row(
    ("path", "found"),
    ("", ORDER), ("id", "O-1"), ("lines[0].sku", "A"), ("$.lines[1].price", 2),
)  # fmt: skip
def test_a_path_leads_to_what_stands_there_and_a_reference_is_replaced_wherever_it_stands(
    path: str, found: Json
) -> None:
    assert result_at(ORDER, path) == found
    arguments: JsonObject = {"to": {"$ref": "c1.id"}, "list": [{"$ref": "c2"}, "x"], "plain": {"$ref": "c1", "n": 1}}
    assert sorted(referenced_calls(arguments)) == ["c1", "c2"]
    resolved = resolve_references(arguments, {"c1": {"id": "T-9"}, "c2": [1]})
    assert resolved == {"to": "T-9", "list": [[1], "x"], "plain": {"$ref": "c1", "n": 1}}
    parts = list(literal_scalars({"a": [1, {"$ref": "c1"}], "b": {"c": "x"}, "d": {"$ref": "c1", "e": 2}}))
    assert parts == [1, "x", "c1", 2]  # references alone are left out


@each_row(
    "path", ["nothing", "lines[2]", "lines.sku", "id[0]", "id.x", "lines[*].nothing", "[0]", "[*]", "lines[*].sku"]
)
def test_a_path_to_nothing_or_to_several_names_itself(path: str) -> None:
    with pytest.raises(NoSuchPath, match="path"):
        result_at(ORDER, path)


@each_row("ref", ["c9.id", "c1.nothing", "c1.lines[*].sku"])
def test_a_reference_to_nothing_is_an_error_and_no_guess(ref: str) -> None:
    with pytest.raises(NoSuchPath):
        resolve_references({"to": {"$ref": ref}}, {"c1": ORDER})
