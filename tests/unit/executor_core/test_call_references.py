"""What a model says of a write in our own argument: a place that an earlier answer fills, or a reason to ask again."""

import pytest

from services.executor.core.plan.closing import with_compensations
from services.executor.core.plan.proposals import NotProposed, Proposal, ProposalContext, freeze, propose
from services.executor.core.session.values import PartOfTask
from services.executor.core.tools.schema_drift import Corrections
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from shared.ports.models import ToolUse
from tests.unit.executor_core.makers import tool, tools

FILE = tool("file_claim", ToolClass.CHANGE)._replace(catalogue=CatalogueEntry(compensated_by="drop_claim"))
ONE = (PartOfTask(number=1, quote="File a claim", kind="do"),)
TWO = (*ONE, PartOfTask(number=2, quote="and another", kind="do"))


def filed(given: JsonObject, *before: Proposal, parts: tuple[PartOfTask, ...] = ONE, reply: int = 2) -> Proposal:
    return propose(ToolUse("use-1", FILE.name, given), FILE, before, ProposalContext(parts, Corrections({}), reply))


@pytest.mark.promise("I1.plans_hold_writes_only")
@pytest.mark.parametrize(
    ("sources", "arguments"),
    [
        ({"memo": "1.id"}, {"memo": {"$ref": "c1.id"}}),
        ({"to.claim": "p1.id"}, {"to": {"claim": {"$ref": "c1.id"}}}),
        ({"items[0].id": "1.id", "items[1]": "1.no"}, {"items": [{"id": {"$ref": "c1.id"}}, {"$ref": "c1.no"}]}),
    ],
    ids=str,
)
def test_an_argument_may_come_from_the_answer_of_an_earlier_write_of_the_reply(
    sources: dict[str, Json], arguments: JsonObject
) -> None:
    first = filed({"memo": "taxi"})
    second = filed({"_call": {"from": sources}}, first)
    assert second.call.arguments == arguments
    assert freeze([first.call, second.call], "task-1", 1).calls == (first.call, second.call)


@pytest.mark.promise("I1.plans_hold_writes_only")
@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("items[0]", "1"),
        ("items[9].id", "1.id"),
        ("items[99999999999].id", "1.id"),
        ("[0]", "1.id"),
        ("", "1.id"),
        (".".join("a" * 5_000), "1.id"),
        ("memo", "2.id"),
        ("memo", "\u00b2.id"),
        ("memo", "9" * 5_000 + ".id"),
    ],
    ids=lambda text: str(text)[:30],
)
def test_a_place_or_a_source_that_is_none_goes_back_and_costs_nothing(place: str, source: str) -> None:
    first = filed({"memo": "taxi"})
    with pytest.raises(NotProposed, match=r"_call\.from"):
        filed({"_call": {"from": {place: source}}}, first)


@pytest.mark.promise("plan.compensates")
def test_a_change_has_taken_back_only_what_carries_out_its_own_part() -> None:
    first = filed({"_call": {"part": 1}}, parts=TWO)
    same = filed({"_call": {"part": 1}}, first, parts=TWO)
    other = filed({"_call": {"part": 2}}, first, same, parts=TWO)
    plan = freeze([one.call for one in (first, same, other)], "task-1", 1)
    known = tools(FILE, tool("drop_claim", ToolClass.CHANGE))
    assert [call.on_failure for call in with_compensations(plan, known).calls] == ["stop", "compensate", "stop"]
