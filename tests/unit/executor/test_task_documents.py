"""The documents of whole tasks: asked for in words, left by a process, and the brief of an approval."""

import pytest

from services.executor.ports.models import ModelReply, ModelRequest, ModelUnavailable, TextBlock
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, decision

ASKED = "What is claim C-1? Write a post-mortem of it."


def stage(text: str = ASKED) -> Stage:
    one = Stage(text)
    one.scripts["write_plan"] = json_reply({"calls": [], "why_none": "nothing is to be changed"})
    one.scripts["complete"] = text_reply("Claim C-1 is open, 120.50.")
    one.scripts["document"] = json_reply(
        {
            "sections": [
                {"name": "post_mortem.root_cause", "text": "Its status was left open."},
                {"name": "post_mortem.impact", "text": "It cost 4711 euros."},
                {"name": "post_mortem.made_up", "text": "x"},
            ]
        }
    )
    return one


def states(one: Stage) -> list[str]:
    return [state_of(request) for request in one.model.requests]


def named(record: TaskRecord) -> dict[str, Artifact]:
    return {artifact.name: artifact for artifact in record.artifacts}


def sections(artifact: Artifact) -> JsonObject:
    found = (artifact.data or {})["sections"]
    assert isinstance(found, dict)
    return {**found}  # type: ignore[dict-item]  # JSON values


@pytest.mark.promise("documents.asked")
async def test_a_document_that_is_asked_for_is_drafted_in_one_question() -> None:
    """What a figure contradicts is left out and marked; a section that nobody asked for is no part of it."""
    one = stage()
    record = await one.run()
    made = named(record)["post_mortem"]

    assert states(one).count("DOCUMENT") == 1
    found = sections(made)
    assert found["root_cause"] == "Its status was left open."
    assert found["impact"] == "[IMPACT \N{EM DASH} REQUIRED]"
    assert found["incident_summary"] == "Claim C-1 is open, 120.50."
    assert "made_up" not in found
    assert record.answer == "Claim C-1 is open, 120.50."


@pytest.mark.promise("documents.asked")
async def test_whoever_plans_is_told_that_the_document_is_written_besides() -> None:
    one = stage("Approve claim C-1 and write a post-mortem.")
    await one.run()
    planning = next(request for request in one.model.requests if state_of(request) == "WRITE PLAN")
    said = "\n".join(block.text for block in planning.messages[0].blocks if isinstance(block, TextBlock))
    assert '<documents>\n["write a post-mortem"]\n</documents>' in said


@pytest.mark.promise("documents.asked")
async def test_a_document_of_which_nothing_can_be_drafted_is_delivered_with_its_marks() -> None:
    def away(request: ModelRequest) -> ModelReply:
        raise ModelUnavailable("overloaded")

    one = stage()
    one.scripts["document"] = away
    record = await one.run()

    assert record.state is TaskState.COMPLETED
    assert (named(record)["post_mortem"].data or {})["complete"] is False
    review = record.metadata["review"]
    assert isinstance(review, dict)
    assert review["drafting"] == {"sections": 4, "problem": "the model did not answer: overloaded"}


@pytest.mark.promise("documents.asked")
async def test_a_plain_task_gets_no_document_and_no_further_call() -> None:
    one = Stage()
    record = await one.run()
    assert record.artifacts == ()
    assert states(one) == ["DECOMPOSE", "ASSESS", "ASSESS", "COMPUTE", "WRITE PLAN", "COMPLETE"]


@pytest.mark.promise("documents.artifacts")
async def test_a_question_to_a_person_comes_with_its_brief_and_costs_no_further_call() -> None:
    """One brief a task: with the answer it is written anew, and no second one stands beside it."""
    one = Stage()
    one.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    asked = await one.run()
    calls = len(one.model.requests)
    brief = sections(named(asked)["approval_brief"])
    assert (asked.state, "DOCUMENT" in states(one)) == (TaskState.INPUT_REQUIRED, False)
    assert "approve_claim" in str(brief["proposed_actions"])
    assert "Status: waiting." in str(brief["approver_decision"])

    done = await one.run(decision("approve"))
    assert [artifact.name for artifact in done.artifacts] == ["approval_brief"]
    assert "Approved by boss" in str(sections(named(done)["approval_brief"])["approver_decision"])
    assert states(one)[calls:] == ["COMPLETE"]


@pytest.mark.promise("documents.artifacts")
async def test_no_document_is_mixed_into_an_exact_match_answer() -> None:
    one = stage()
    one.scripts["decompose"] = json_reply({"needs": ["x"], "entities": [], "answer_format": "list"})
    one.scripts["complete"] = text_reply('["C-1"]')
    record = await one.run()
    assert record.answer == '["C-1"]'
    assert "C-1" not in str(sections(named(record)["post_mortem"])["incident_summary"])


@pytest.mark.promise("documents.asked")
async def test_a_replay_writes_the_same_documents_and_asks_nobody() -> None:
    one = stage()
    await one.run()
    again = await replayed(one)
    assert again.is_same, again.difference
    assert [step.key.rpartition(".")[2] for step in again.steps if "document" in step.key] == ["COMPLETE:document"]


@pytest.mark.promise("documents.asked")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Complete the KYC compliance audit of claim C-1", "compliance_report"),
        ("Send the overdue accounts receivable of claim C-1 to collection", "ar_report"),
    ],
)
async def test_a_process_leaves_its_own_document(text: str, kind: str) -> None:
    one = stage(text)
    record = await one.run()
    assert [*named(record)] == [kind]


@pytest.mark.promise("answers.lists")
@pytest.mark.parametrize(
    "answer",
    [
        "Refund total 120.50:\n- claim C-1 is open\n- nothing was paid",
        "Decision: rejected, escalated, closed; C-1 stays at 120.50",
        "- C-1 is open\n- it is of 120.50",
        "1. C-1 is open\n2. it is of 120.50",
    ],
)
async def test_prose_with_bullets_numbers_or_commas_stays_prose(answer: str) -> None:
    """The task asks for no list, so none is made, and nothing that it says is lost."""
    one = stage("What is claim C-1?")
    one.scripts["complete"] = text_reply(answer)
    assert (await one.run()).answer == answer


@pytest.mark.promise("answers.lists")
async def test_a_list_that_is_asked_for_is_taken_out_of_its_form_without_a_further_call() -> None:
    one = stage("Which claims are open? Answer with a JSON list.")
    one.scripts["decompose"] = json_reply({"needs": ["x"], "entities": [], "answer_format": "list"})
    one.scripts["complete"] = text_reply("- C-1\n- C-2")
    record = await one.run()
    assert (record.answer, states(one).count("COMPLETE")) == ('["C-1", "C-2"]', 1)
    assert record.metadata["quality"] == 1.0


async def test_a_dry_run_writes_no_document() -> None:
    one = stage()
    request = one.turns.record.request.model_copy(update={"metadata": {"dry_run": True}})
    one.turns.record = one.turns.record.model_copy(update={"request": request})
    record = await one.run()
    assert "post_mortem" not in named(record)
