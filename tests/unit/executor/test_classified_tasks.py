"""Which process a task is carried out as, in the worker: words first, a model where they leave room, never a delay."""

import asyncio
from dataclasses import dataclass

import pytest
from typing_extensions import override

from services.executor.core.context import Limits, Ports
from services.executor.core.fsm.templates import GENERAL, TEMPLATES
from services.executor.core.prompts.texts import load
from services.executor.core.spend.budget import Ceilings
from services.executor.core.worker import Worker
from services.executor.ports.learned import Experience
from services.executor.ports.models import Model, ModelReply, ModelRequest, Tier
from services.executor.ports.turns import SessionState
from shared.domain.words import TaskState
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.classified import UNCLEAR, asked, classification, nobody_answers, says, stage_of
from tests.unit.executor.stage import Stage, decision, message


@pytest.mark.promise("prime.classify_model")
async def test_a_small_model_names_the_process_where_words_leave_room() -> None:
    """One call on the lower tier; its choice, confidence and why are told, and its path is walked."""
    stage = stage_of(says("expense_approval"))
    record = await stage.run()
    assert classification(record) == {
        "by": "model",
        "confidence": "1.00",
        "why": "it is that kind of work",
        "process_type": "expense_approval",
    }
    assert [request.tier for request in asked(stage)] == [Tier.HAIKU]
    assert record.metadata["states"] == [*TEMPLATES["expense_approval"].states]
    notes = [event.data for event in stage.turns.events if "classification" in event.data]
    assert notes[0]["process_type"] == "expense_approval"
    assert record.metadata["model_calls"] == len(stage.model.requests)


@pytest.mark.promise("prime.classify_free")
@pytest.mark.parametrize(
    "text",
    [
        "Approve claim C-1 of 120.50",
        "Approve the expense claim of the supplier, receipt and all",
        "Issue the purchase order",
        "What is pending?",
        "Which claims are on the invoice of the order?",
    ],
)
async def test_no_model_is_asked_where_words_settle_it_or_nothing_changes(text: str) -> None:
    """One kind alone, or ahead by two words; a question takes the short way whatever it is about."""
    stage = stage_of(says("payroll"), text)
    stage.scripts["write_plan"] = json_reply({"calls": [], "why_none": "nothing to do"})
    record = await stage.run()
    assert record.state is TaskState.COMPLETED
    assert asked(stage) == []
    assert classification(record)["by"] == "words"


@pytest.mark.promise("prime.classify_model")
@pytest.mark.parametrize(
    "text", [UNCLEAR, "Approve the claim on the invoice C-1", "Approve the invoice, order and cart of C-1"]
)
async def test_a_model_is_asked_without_a_word_at_a_tie_and_at_a_lead_of_one(text: str) -> None:
    stage = stage_of(says("general"), text)
    await stage.run()
    assert len(asked(stage)) == 1


@pytest.mark.promise("prime.classify_model")
async def test_a_short_task_is_understood_from_what_was_said_before_it() -> None:
    """The model sees the beginning of the last turns, and of a long task only its beginning."""
    stage = stage_of(says("expense_approval"), "Approve the other one, C-1 of 120.50. " + "Thanks. " * 300)
    stage.turns.remembered = SessionState(turns=(("user", "old"), ("user", "Approve claim C-2"), ("agent", "x" * 900)))
    await stage.run()
    said = str(asked(stage)[0].messages[0])
    assert "Approve claim C-2" in said
    assert '"old"' not in said
    assert ("x" * 300 in said, "x" * 301 in said) == (True, False)
    assert said.count("Thanks.") < 200


@pytest.mark.promise("prime.classify_fallback")
@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (says("payroll", 0), "not sure"),
        (says("Drop table; --"), "no name of a process"),
        (says("unknown"), "no name of a process"),
        (says("claim_c_1"), "no name of a process"),
        (text_reply("It is payroll."), "JSON"),
        (json_reply({"process_type": "payroll", "confidence": 7, "why": ""}), "confidence"),
        (json_reply({"process_type": "payroll"}), "confidence"),
    ],
)
async def test_without_a_usable_answer_the_words_decide(reply: ModelReply, problem: str) -> None:
    """One call is made and no second one; what was wrong is told."""
    stage = stage_of(reply, "Approve the claim on the invoice C-1")
    record = await stage.run()
    found = classification(record)
    assert (found["by"], found["process_type"]) == ("words", "expense_approval")
    assert problem in str(found["problem"])
    assert (len(asked(stage)), record.state) == (1, TaskState.COMPLETED)


@pytest.mark.promise("prime.classify_fallback")
async def test_with_a_model_that_is_down_the_words_decide() -> None:
    stage = Stage(UNCLEAR)
    stage.scripts["classify"] = nobody_answers
    record = await stage.run()
    found = classification(record)
    assert (found["by"], found["process_type"], record.state) == ("words", "general", TaskState.COMPLETED)
    assert "overloaded" in str(found["problem"])


class _Pensive(Model):
    """Never answers which process it is, and everything else at once."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        if state_of(request) == "CLASSIFY":
            await asyncio.Event().wait()
        return await self._model.complete(request)


class _PensiveStage(Stage):
    @property
    @override
    def worker(self) -> Worker:
        ports = Ports(_Pensive(self.model), self.servers, self.policy, self.tenants, self.learned, self.daily)
        return Worker(ports, self.limits._replace(classify_seconds=0.01), load())


@pytest.mark.promise("prime.classify_fallback")
async def test_a_model_that_thinks_too_long_is_not_waited_for() -> None:
    """What it may still cost stays set aside; the task goes on, and can be replayed."""
    stage = _PensiveStage(UNCLEAR)
    record = await stage.run()
    assert record.state is TaskState.COMPLETED
    assert "within 0.01 seconds" in str(classification(record)["problem"])
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert int(str(spend["set_aside_tokens"])) > 0
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("prime.classify_fallback")
async def test_a_budget_that_does_not_allow_the_call_leaves_it_to_the_words() -> None:
    """The task then ends by its budget, as it would have without the question."""
    stage = stage_of(says("payroll"))
    stage.limits = stage.limits._replace(ceilings=Ceilings(tokens=10))
    record = await stage.run()
    assert "budget" in str(classification(record)["problem"])
    assert "TASK_TOKENS" in str(record.reason)


@pytest.mark.promise("prime.classify_fallback")
@pytest.mark.parametrize("fault", ["model", "tools"])
async def test_a_failed_question_is_not_where_the_task_failed(fault: str) -> None:
    """Nobody said which process it is, and later the task ends for another reason: a replay ends there too."""
    stage = Stage(UNCLEAR)
    stage.scripts["classify"] = nobody_answers
    if fault == "model":
        stage.scripts["assess"] = nobody_answers
    else:
        stage.policy.says = {"blocked": True, "passed": False}
    record = await stage.run()
    assert record.state in (TaskState.FAILED, TaskState.REJECTED)
    done = await replayed(stage)
    assert (done.at, done.difference, done.state) == ("", "", record.state)


@pytest.mark.promise("prime.classify_replayed")
async def test_a_classified_task_is_replayed_without_asking_anybody() -> None:
    stage = stage_of(says("expense_approval"))
    record = await stage.run()
    asked = len(stage.model.requests)
    done = await replayed(stage)
    assert (done.difference, done.answer, len(stage.model.requests)) == ("", record.answer, asked)


@pytest.mark.promise("prime.classify_resumed")
@pytest.mark.parametrize("die_before", range(1, 12))
async def test_a_task_is_asked_about_once_whenever_its_worker_dies(die_before: int) -> None:
    """After the choice is stored another answer changes nothing; a checkpoint has the process for good."""
    stage = stage_of(says("expense_approval"))
    stage.turns.die_before = die_before
    with pytest.raises(Died):
        await stage.run()
    stage.turns.die_before = None
    known = "prime:process" in stage.turns.steps or "prime:process:asked" in stage.turns.steps
    stage.scripts["classify"] = says("general")
    record = await stage.run(attempts=2)
    assert record.metadata["process_type"] == ("expense_approval" if known else "general")
    assert (await replayed(stage)).difference == ""


@dataclass
class _Recalled(MemoryLearned):
    def __post_init__(self) -> None:
        super().__init__()
        self.kinds: list[str] = []

    @override
    async def recall(self, tenant: str, process_type: str) -> Experience:
        self.kinds.append(process_type)
        return await super().recall(tenant, process_type)


@pytest.mark.promise("prime.classify_resumed")
async def test_a_task_that_goes_on_keeps_its_process_and_recalls_for_it() -> None:
    """A later turn asks nobody, whatever the words or the model would say then."""
    stage = stage_of(says("expense_approval"))
    stage.learned = learned = _Recalled()
    stage.tenants.record = stage.tenants.record.model_copy(update={"unruled_writes": "approve"})
    await stage.run()
    stage.scripts["classify"] = says("payroll")
    record = await stage.run(decision("approve"))
    assert (record.state, record.metadata["process_type"]) == (TaskState.COMPLETED, "expense_approval")
    assert learned.kinds == ["expense_approval", "expense_approval"]
    assert len(asked(stage)) == 1


@pytest.mark.promise("prime.classify_given")
async def test_a_worker_knows_the_processes_that_it_is_given() -> None:
    """With ``general`` alone there is nothing to choose, and nobody is asked."""
    stage = stage_of(says("payroll"), "Approve claim C-1 of 120.50")
    ports = Ports(stage.model, stage.servers, stage.policy, stage.tenants, stage.learned)
    worker = Worker(ports, stage.limits, load(), processes={"general": GENERAL})
    await worker.run(stage.turns.work(message(stage.turns.record.request.text)), stage.turns)
    assert (stage.turns.record.metadata["process_type"], asked(stage)) == ("general", [])


def test_the_wait_is_bounded_unless_somebody_says_otherwise() -> None:
    assert Limits().classify_seconds == 5


@pytest.mark.promise("privacy.nothing_leaves")
async def test_what_a_model_says_of_a_task_brings_no_secret_into_the_outcome() -> None:
    """A card number in the model's reason is a word in events and outcome."""
    reply = json_reply({"process_type": "general", "confidence": 1, "why": "pays with 4111 1111 1111 1111"})
    stage = stage_of(reply)
    await stage.run()
    outcome = next(end.outcome for end in stage.turns.ends if end.outcome)
    told = str([event.data for event in stage.turns.events]) + outcome.model_dump_json()
    assert "4111 1111" not in told
    assert "pays with [card]" in told
