"""A call of a writing tool becomes a call of the plan only if it fits, has a part of the task and a source."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast

import pytest
from hypothesis import given, strategies as st

from services.executor.core.conversation.understanding import read_understanding
from services.executor.core.model.message_history import PROPOSE_AGAIN_TEXT
from services.executor.core.plan.closing import build_ordered_plan
from services.executor.core.plan.draft import InvalidProposal, PlanDraft, Proposal, ProposalContext, build_proposal
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.session.ledger import classify_read_outcome
from services.executor.core.session.values import PartOfTask
from services.executor.core.tools.schema_drift import SchemaRenames
from services.executor.core.tools.toolbox import find_argument_problems
from shared.contracts.plan import ReadBack, WritePlan
from shared.contracts.policy import CallOutcome
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import ToolUse
from tests.doubles.scripted_talk import Call, of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.stage import APPROVE, CLAIM_ID, READ, READ_2, TASK, Stage
from tests.unit.executor_core.makers import call, fact, tool, tools

CLAIM = "Approve claim C-1"
TOOLS = tools(tool("approve_claim", ToolClass.CHANGE, CLAIM_ID), tool("notify", ToolClass.NOTIFY))
GOOD = ("approve_claim", {"claim_id": "C-1"})
ONE = (PartOfTask(number=1, quote=CLAIM, kind="do"),)
TWO = (
    *ONE,
    PartOfTask(number=2, quote="tell Ann", kind="do"),
    PartOfTask(number=3, quote="who is Ann", kind="find out"),
)


def proposed(*calls: Call, parts: Sequence[PartOfTask] = ONE) -> tuple[Proposal, ...]:
    """The calls of one reply, in their order."""
    setting = ProposalContext(parts, SchemaRenames(), reply=1)
    made: list[Proposal] = []
    for number, (name, said) in enumerate(calls):
        made.append(
            build_proposal(ToolUse(f"use-{number}", name, cast(JsonObject, said)), TOOLS.tools[name], made, setting)
        )
    return tuple(made)


def frozen(*calls: Call, parts: Sequence[PartOfTask] = ONE) -> WritePlan:
    return build_ordered_plan([one.call for one in proposed(*calls, parts=parts)], "task-1", 1)


def unsourced(given: JsonObject) -> tuple[str, ...]:
    known = KnownSources((CLAIM,), (fact({"id": "C-1"}),), (), datetime(2026, 1, 15, tzinfo=UTC))
    (made,) = proposed(("approve_claim", given))
    return SourceFinder(known).find_sources(made.call, TOOLS.tools["approve_claim"]).problems


@pytest.mark.promise("I1.plans_hold_writes_only")
@each_row(
    ("calls", "why"),
    ([("approve_claim", {"claim": "C-1"})], "do not fit"),
    ([("approve_claim", {"claim_id": "C-1", "force": True})], "do not fit"),
    ([("notify", {"_call": {"from": {"to": "1.owner"}}}), GOOD], "no field of an earlier write"),
    ([GOOD, ("notify", {"_call": {"from": {"to": "3.owner"}}})], "no field of an earlier write"),
)
def test_what_cannot_be_carried_out_as_written_is_not_proposed(calls: list[tuple[str, JsonObject]], why: str) -> None:
    with pytest.raises(InvalidProposal, match=why):
        proposed(*calls)


@pytest.mark.promise("I1.plans_hold_writes_only", "I1.invented_tools")
async def test_a_tool_that_does_not_exist_is_in_no_plan_and_a_read_is_made_as_one() -> None:
    stage = Stage(TASK, [READ], [("delete_everything", {}), READ_2], [APPROVE])
    await stage.ends(TaskState.COMPLETED)
    told = results_in(of_conversation(stage.model.requests)[-1])
    assert [one.content for one in told if one.is_error] == ["There is no tool named 'delete_everything'."]
    assert (stage.written, stage.servers.called("delete_everything")) == (["approve_claim"], [])


@pytest.mark.promise("I1.plans_hold_writes_only")
@each_row(
    ("parts", "said", "why"),
    (TWO[2:], {"part": 3}, "this task only asks"),
    (TWO, {}, "say in _call.part which part"),
    (TWO, {"part": 3}, "say in _call.part which part"),
    (TWO, {"part": True}, "say in _call.part which part"),
)
def test_a_call_that_carries_out_no_part_that_is_to_be_done_is_not_proposed(
    parts: Sequence[PartOfTask], said: JsonObject, why: str
) -> None:
    with pytest.raises(InvalidProposal, match=why):
        proposed(("approve_claim", {"claim_id": "C-1", "_call": said}), parts=parts)


@each_row("said", [None, "a word", '{"part": 1}'])
def test_of_one_part_to_be_done_nothing_has_to_be_said(said: str | JsonObject | None) -> None:
    (made,) = proposed(("approve_claim", {"claim_id": "C-1", "_call": said}))
    assert made.call.part == 1


@pytest.mark.promise("I1.plans_hold_writes_only")
def test_an_identifier_that_nothing_states_has_no_source() -> None:
    assert unsourced({"claim_id": "C-1"}) == ()
    (problem,) = unsourced({"claim_id": "C-2"})
    assert "claim_id C-2" in problem
    assert "neither in the task nor in a result" in problem


@each_row(
    ("task", "given", "name"),
    ("Lower the limit of C-1 by a third", {"claim_id": "C-1", "limit": Decimal("200.00")}, None),
    ("Lower the limit of C-1 by a third", {"claim_id": "C-1", "limit": Decimal("150.00")}, "limit"),
    ("Put C-1 on shelf thirty-one", {"claim_id": "C-1", "shelf_id": "31"}, None),
    ("Put C-1 on shelf thirty-one", {"claim_id": "C-1", "shelf_id": "13"}, "shelf_id"),
    ("Put C-1 on one of the shelves", {"claim_id": "C-1", "shelf_id": "1"}, "shelf_id"),
)
def test_a_share_of_the_named_record_and_a_number_in_words_are_sources(
    task: str, given: JsonObject, name: str | None
) -> None:
    setter = tool("change_claim", ToolClass.CHANGE)
    known = KnownSources((task,), (fact({"id": "C-1", "limit": "300.00"}),), (), datetime(2026, 1, 15, tzinfo=UTC))
    problems = SourceFinder(known).find_sources(call(given, tool=setter.name), setter).problems
    assert [text.partition(" ")[0] for text in problems] == ([name] if name else [])


def test_each_discarded_call_has_one_answer_and_a_wrong_one_says_what_is_wrong() -> None:
    draft, (good, wrong) = PlanDraft(max_plans=1), proposed(GOOD, ("notify", {}))
    draft.hold_proposals((good, wrong), ONE, ())
    answers = draft.discard_proposals({wrong.use_id: "no addressee", "use-9": "no such field"})
    told = {answer.result.tool_use_id: answer.result.content for answer in answers}
    assert told == {good.use_id: PROPOSE_AGAIN_TEXT, wrong.use_id: "no addressee", "use-9": "no such field"}
    assert [answer.result.tool_use_id for answer in answers] == [*told] == [good.use_id, wrong.use_id, "use-9"]


def test_a_plans_hash_names_everything_that_will_happen() -> None:
    plan = frozen(GOOD)
    (planned,) = plan.calls
    assert plan.hash == frozen(("approve_claim", {"_call": {"part": 1}, "claim_id": "C-1"})).hash
    proof = ReadBack(tool="get_claim", arguments_json='{"claim_id":"C-1"}')
    for changed in (
        {"call_id": "c7"},
        {"on_failure": "compensate"},
        {"read_back": proof},
        {"arguments_json": '{"claim_id":"C-2"}'},
        {"connection_id": "branch"},
        {"part": 2},
    ):
        assert plan.model_copy(update={"calls": (planned.model_copy(update=changed),)}).hash != plan.hash


TASK_of_parts_of_a_task = "List the open orders, and cancel order O-7.\nThen tell  Ann “it is done”"
EARLIER = "Refund C-1 only if Bob agrees"


def said(*parts: tuple[str, str], process: str = "general") -> JsonObject:
    quoted: list[Json] = [{"quote": quote, "kind": kind} for quote, kind in parts]
    return {"parts": quoted, "process": process, "answer_form": "prose"}


@pytest.mark.promise("prime.classify")
@each_row("quote", ["delete all orders", "cancel order O-8", "", "...", "open orders cancel"])
def test_what_the_user_did_not_say_is_no_part_and_that_is_told(quote: str) -> None:
    found = read_understanding(said((quote, "do"), ("cancel order O-7", "do")), (TASK_of_parts_of_a_task, EARLIER))

    assert [(part.number, part.quote) for part in found.parts] == [(1, "cancel order O-7")]
    (problem,) = found.problems
    assert repr(quote) in problem


@pytest.mark.promise("prime.classify")
def test_words_of_an_earlier_message_may_be_quoted() -> None:
    (part,) = read_understanding(said(("Refund C-1", "do")), ("Do it now", EARLIER)).parts
    assert part == PartOfTask(number=1, quote="Refund C-1", kind="do")


@each_row(
    ("wrong", "where"),
    ({"parts": "all of it"}, "parts"),
    ({"parts": [{"quote": "cancel order O-7", "kind": "maybe"}]}, "parts.0.kind"),
    ({"parts": [{"kind": "do"}]}, "parts.0.quote"),
    ({**said(), "answer_form": "a song"}, "answer_form"),
    ({**said(*[("cancel order O-7", "do")] * 41)}, "parts"),
)
def test_an_understanding_of_another_shape_is_refused_with_its_place(wrong: JsonObject, where: str) -> None:
    with pytest.raises(ValueError, match=rf"^{where}: "):
        read_understanding(wrong, (TASK_of_parts_of_a_task,))


@each_row(
    ("result", "marks", "outcome"),
    ({"id": "C-1"}, {}, CallOutcome.SUCCEEDED),
    ([{"error": "of a row"}], {}, CallOutcome.SUCCEEDED),
    ({"error": "no such claim"}, {}, CallOutcome.UNKNOWN),
    ({"id": "C-1"}, {"by_machine": True}, CallOutcome.UNKNOWN),
    ({"id": "C-1"}, {"ok": False}, CallOutcome.FAILED),
    ({"error": "no such claim"}, {"ok": False, "by_machine": True}, CallOutcome.FAILED),
)
def test_a_read_succeeded_only_where_the_model_made_it_and_its_answer_speaks_of_no_error(
    result: Json, marks: JsonObject, outcome: CallOutcome
) -> None:
    assert classify_read_outcome(fact(result).model_copy(update=marks)) is outcome


def problems(schema: JsonObject, arguments: JsonObject) -> str | None:
    return find_argument_problems(arguments, tool("t", ToolClass.CHANGE, schema))


_TEXT: JsonObject = {"type": "string"}
_OBJECT: JsonObject = {"type": "object", "properties": {"id": _TEXT}}


@pytest.mark.promise("policy.binding")
@each_row(
    ("schema", "given", "fits"),
    ({"properties": {"id": _TEXT}}, {"id": "C-1", "held": False}, False),
    ({"properties": {"id": _TEXT}, "additionalProperties": True}, {"id": "C-1", "held": False}, True),
    ({"properties": {"rows": {"type": "array", "items": _OBJECT}}}, {"rows": [{"id": "C-1", "held": False}]}, False),
    ({"properties": {"to": {"anyOf": [_OBJECT, {"type": "null"}]}}}, {"to": {"id": "C-1", "held": False}}, False),
    ({"properties": {"to": {"$ref": "#/$defs/to"}}, "$defs": {"to": _OBJECT}}, {"to": {"held": False}}, False),
    (
        {"properties": {"id": _TEXT}, "anyOf": [{"required": ["id"]}, {"required": ["no"]}]},
        {"id": "", "held": 1},
        False,
    ),
    ({"properties": {"id": _TEXT}, "anyOf": [{"properties": {"held": {}}}]}, {"id": "C-1", "held": False}, True),
    ({"allOf": [_OBJECT, {"properties": {"held": {}}}]}, {"id": "C-1", "held": False}, True),
    ({**_OBJECT, "oneOf": [{"$ref": "#/$defs/to"}], "$defs": {"to": {}}}, {"id": "C-1", "held": False}, True),
    ({"properties": {"changes": {"type": "object"}}}, {"changes": {"held": False}}, True),
    ({"properties": {}, "type": "object"}, {"held": False}, False),
    ({"$ref": "#/$defs/to", "properties": {"held": {}}, "$defs": {"to": _OBJECT}}, {"id": "", "held": False}, True),
    ({"type": "object"}, {"held": False}, True),
)
def test_a_write_has_no_argument_that_its_tool_does_not_declare(
    schema: JsonObject, given: JsonObject, fits: bool
) -> None:
    """A server would pass over it, and a rule would take it for the record's field. A read may ask for more."""
    assert (problems(schema, given) is None) is fits
    assert find_argument_problems(given, tool("t", ToolClass.READ, schema)) is None


@pytest.mark.promise("I8.exact_money")
@given(cents=st.integers(0, 10**12))
def test_every_amount_of_whole_cents_is_a_multiple_of_a_cent(cents: int) -> None:
    schema: JsonObject = {"properties": {"amount": {"type": "number", "multipleOf": Decimal("0.01")}}}

    assert problems(schema, {"amount": Decimal(cents).scaleb(-2)}) is None
    assert problems(schema, {"amount": Decimal(cents * 10 + 5).scaleb(-3)}) is not None


@each_row(
    ("schema", "value", "told"),
    ({"type": "integer"}, Decimal("5.0"), None),
    ({"type": "integer"}, Decimal("5.5"), "$.a: 5.5 is not of type 'integer'"),
    ({"type": "integer"}, True, "$.a: True is not of type 'integer'"),
    ({"maximum": Decimal("0.3")}, Decimal("0.3"), None),
    ({"maximum": Decimal("0.3")}, Decimal("0.31"), "$.a: 0.31 is greater than the maximum of 0.3"),
    ({"enum": ["x"]}, "y", "$.a: 'y' is not one of ['x']"),
    ({"type": "nonsense"}, 1, None), ({"pattern": "["}, "x", None), ({"$ref": "#"}, {}, None),
    ({"$ref": "#/$defs/none"}, 1, None), ({"$ref": "http://127.0.0.1:9/schema"}, 1, None),
)  # fmt: skip
def test_arguments_are_held_to_a_sound_schema_and_spared_a_broken_one(
    schema: JsonObject, value: Json, told: str | None
) -> None:
    """Nothing is fetched: an address in a schema would let a server send the executor anywhere."""
    assert problems({"properties": {"a": schema}}, {"a": value}) == told


def test_no_schema_of_a_server_takes_endless_time() -> None:
    """A process that looks for a pattern does nothing else meanwhile, for any tenant."""
    doubled: JsonObject = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    slow, text = "^(a+)+$", "a" * 5_000
    assert problems({"properties": {"a": {"pattern": slow}}}, {"a": text}) is None
    assert problems({"properties": {"a": {"pattern": slow}}}, {"a": f"{text}!"}) is not None
    assert problems({"patternProperties": {slow: {}}, "additionalProperties": False}, {f"{text}!": 1}) is None
    assert problems({"$ref": "#/$defs/d0", "$defs": {**doubled, "d40": {}}}, {}) is None


@each_row(
    ("pattern", "text", "fits"),
    (r"^[A-Z]{2}-\d+$", "PO-7", True),
    (r"^[A-Z]{2}-\d+$", "7", False),
    ("b", "abc", True),
    (r"^(?=.*\d)", "x", True),
)
def test_a_text_is_held_to_its_pattern_unless_that_looks_around(pattern: str, text: str, fits: bool) -> None:
    assert (problems({"properties": {"a": {"pattern": pattern}}}, {"a": text}) is None) is fits


def test_a_schema_that_refers_to_itself_without_end_does_not_end_the_run() -> None:
    assert problems({"$ref": "#"}, {}) is None
