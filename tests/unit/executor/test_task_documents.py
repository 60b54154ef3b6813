"""The documents of whole tasks: asked for in words, left by a process, and the brief of an approval."""

import pytest

from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import ModelReply
from tests.doubles.scripted_model import json_reply, state_of
from tests.doubles.scripted_talk import of_conversation, texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.stage import Stage, cancel, decision

ASKED = "What is claim C-1? Write a post-mortem of it."


def stage(text: str = ASKED) -> Stage:
    one = Stage(text)
    one.only_asks()
    one.talk.answer = "Claim C-1 is open, 120.50."
    one.talk.helpers["document"] = drafts(
        root_cause="Its status was left open.", impact="It cost 4711 euros.", made_up="x"
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


def drafts(**sections: str) -> ModelReply:
    return json_reply({"sections": [{"name": f"post_mortem.{name}", "text": text} for name, text in sections.items()]})


@pytest.mark.promise("documents.asked")
async def test_a_document_that_is_asked_for_is_drafted_in_one_question() -> None:
    """A figure that nothing shows is marked in its section; a section that nobody asked for is no part of it."""
    one = stage()
    record = await one.run()
    assert states(one).count("DOCUMENT") == 1
    found = sections(named(record)["post_mortem"])
    assert found["root_cause"] == "Its status was left open."
    assert found["impact"] == "It cost [unverified: 4711] euros."
    assert found["incident_summary"] == record.answer == "Claim C-1 is open, 120.50."
    assert "made_up" not in found
    again = await assert_replayed(one)  # which asks nobody
    assert [step.key.rpartition(".")[2] for step in again.steps if "document" in step.key] == ["COMPLETE:document"]


@pytest.mark.promise("documents.unverified")
async def test_a_section_with_an_untraced_figure_is_kept_and_the_figure_marked() -> None:
    """In the Markdown too; the metadata names the section, and figures that are known stay as they are."""
    one, known = stage(), stage()
    one.talk.helpers["document"] = drafts(impact="Of 120.50 euros for C-1 4711 were lost, or 4,711.5.")
    made = named(await one.run())["post_mortem"]
    marked = "Of 120.50 euros for C-1 [unverified: 4711] were lost, or [unverified: 4,711.5]."
    assert sections(made)["impact"] == marked
    assert marked in str(made.text)
    about = (made.data or {})["metadata"]
    assert isinstance(about, dict)
    assert about["unverified_sections"] == ["impact"]
    assert "impact" not in str(about["missing_sections"])
    known.talk.helpers["document"] = drafts(impact="Claim C-1 of 120.50 was left open.")
    made = named(await known.run())["post_mortem"]
    assert sections(made)["impact"] == "Claim C-1 of 120.50 was left open."
    assert "unverified" not in str(made.text)


@pytest.mark.promise("documents.asked")
async def test_the_conversation_is_told_that_the_document_is_written_besides() -> None:
    one = stage("Approve claim C-1 and write a post-mortem.")
    await one.run()
    for request in of_conversation(one.model.requests):
        assert '<documents>\n["write a post-mortem"]\n</documents>' in texts_in(request)


@pytest.mark.promise("documents.asked")
async def test_a_document_of_which_nothing_can_be_drafted_is_delivered_with_its_marks() -> None:
    one = stage()
    one.talk.helpers["document"] = nobody_answers
    record = await one.ends(TaskState.COMPLETED)
    assert (named(record)["post_mortem"].data or {})["complete"] is False
    review = record.metadata["review"]
    assert isinstance(review, dict)
    assert review["drafting"] == {"sections": 4, "problem": "the model did not answer: overloaded"}


@pytest.mark.promise("documents.asked")
async def test_a_plain_task_gets_no_document_and_no_further_call() -> None:
    one, dry = Stage(), stage()
    assert (await one.run()).artifacts == ()
    assert states(one) == ["", "", ""]
    request = dry.turns.record.request.model_copy(update={"metadata": {"dry_run": True}})
    dry.turns.record = dry.turns.record.model_copy(update={"request": request})
    assert "post_mortem" not in named(await dry.run())


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
    assert states(one)[calls:] == [""]


@pytest.mark.promise("documents.artifacts")
async def test_the_brief_of_a_canceled_task_does_not_say_that_it_waits() -> None:
    one = Stage()
    one.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await one.run()
    canceled = await one.ends(TaskState.CANCELED, turn=cancel())
    assert "Status: superseded." in str(sections(named(canceled)["approval_brief"])["approver_decision"])


@pytest.mark.promise("documents.artifacts")
async def test_no_document_is_mixed_into_an_exact_match_answer() -> None:
    one = stage()
    one.talk.form = "list"
    one.talk.answer = '["C-1"]'
    record = await one.run()
    assert record.answer == '["C-1"]'
    assert "C-1" not in str(sections(named(record)["post_mortem"])["incident_summary"])


@pytest.mark.promise("documents.asked")
@each_row(
    ("text", "process", "kind"),
    [
        ("Complete the KYC compliance audit of claim C-1", "compliance_audit", "compliance_report"),
        ("Send the overdue accounts receivable of claim C-1 to collection", "ar_collections", "ar_report"),
    ],
)
async def test_a_process_leaves_its_own_document(text: str, process: str, kind: str) -> None:
    one = Stage(text)
    one.talk.process = process
    record = await one.run()
    assert [*named(record)] == [kind]


@pytest.mark.promise("answers.lists")
@each_row(
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
    one.talk.answer = answer
    assert (await one.run()).answer == answer


@pytest.mark.promise("answers.lists")
async def test_a_list_that_is_asked_for_is_taken_out_of_its_form_without_a_further_call() -> None:
    one = stage("Which claims are open? Answer with a JSON list.")
    one.servers.add("get_claim", lambda _: [{"id": "C-1"}, {"id": "C-2"}], ToolClass.READ)
    one.talk.form = "list"
    one.talk.answer = "- C-1\n- C-2"
    record = await one.run()
    assert (record.answer, len(one.model.requests)) == ('["C-1", "C-2"]', 2)
    assert record.metadata["quality"] == 1.0
