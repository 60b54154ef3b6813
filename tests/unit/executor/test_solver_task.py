"""A task of the solver endpoint, in the worker: the conversation it brings, and the form of its answer."""

import pytest

from shared.contracts.policy import Policy, TextFinding
from shared.contracts.task import PriorTurn, SolverRequest
from tests.doubles.scripted_model import state_of, text_reply
from tests.doubles.scripted_talk import of_conversation
from tests.each_row import each_row
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.stage import READ, TASK, Stage

QUESTION = "Which claims are open?"


def _solving(turns: int, text: str = QUESTION) -> Stage:
    play = Stage(text)
    history = tuple(
        PriorTurn(role="assistant" if index % 2 else "user", content=f"turn {index}") for index in range(turns)
    )
    solver = SolverRequest(history=history)
    play.turns.record = play.turns.record.model_copy(
        update={"request": play.turns.record.request.model_copy(update={"solver": solver})}
    )
    if text == QUESTION:
        play.only_asks()
        play.talk.answer = '["C-2", "C-1"]'
    play.talk.helpers["summarize"] = text_reply("They spoke of turns.")
    return play


def _asked(play: Stage) -> list[str]:
    return [str(request.messages) for request in of_conversation(play.model.requests)]


@pytest.mark.promise("solver.history")
async def test_a_long_history_is_compressed_once_and_reaches_every_prompt() -> None:
    """The last six turns stay as they were; the older ones become one summary turn."""
    play = _solving(turns=10)
    record = await play.run()
    assert record.metadata["memory"] == {"compressed": True, "summary": "They spoke of turns."}
    assert len(_asked(play)) > 1
    for said in _asked(play):
        assert "[Prior context summary: They spoke of turns.]" in said
        assert "turn 4" in said
        assert "turn 3" not in said
    assert sum(state_of(request) == "SUMMARIZE" for request in play.model.requests) == 1


async def test_a_short_history_is_given_whole() -> None:
    play = _solving(turns=8)
    record = await play.run()
    assert record.metadata["memory"] == {"compressed": False, "summary": None}
    assert all("turn 0" in said for said in _asked(play))


async def test_the_summary_keeps_to_its_words() -> None:
    play = _solving(turns=10)
    play.talk.helpers["summarize"] = text_reply("word " * 500)
    memory = (await play.run()).metadata["memory"]
    assert isinstance(memory, dict)
    assert len(str(memory["summary"]).split()) == 200


async def test_the_expected_form_of_the_answer_is_told() -> None:
    play = _solving(turns=0)
    record = await play.run()
    assert "<answer_format>\\nlist\\n</answer_format>" in _asked(play)[0]
    assert record.answer == '["C-2", "C-1"]'


async def test_an_answer_that_is_no_list_fails_no_task() -> None:
    """The endpoint finds answers in any text; the list is asked for once more, and what was written stays done."""
    play = _solving(turns=0, text=TASK)
    record = await play.run()
    assert (record.state, play.statuses) == ("completed", ["verified"])
    assert "C-1 of 120.50 is approved" in str(record.answer)


@pytest.mark.promise("solver.ground_truth")
@each_row(("text", "state"), [(TASK, "rejected"), (QUESTION, "completed")])
async def test_a_task_that_the_rules_forbid_as_it_is_written_is_rejected_though_nobody_proposes_anything(
    text: str, state: str
) -> None:
    """The model may leave a forbidden change alone: it is the policy that says no. A question is answered."""
    play = _solving(turns=0, text=text)
    play.change_tenant(policies=(Policy(id="words"),))
    play.policy.says = {"text": TextFinding(compliant=False, violations=("r1: No profanity",), applied_rules=("r1",))}
    play.talk.rounds = [[READ]]
    record = await play.run()
    assert (record.state, play.statuses) == (state, [])
    assert record.metadata["text_policy"] == {
        "compliant": False,
        "violations": ["r1: No profanity"],
        "applied_rules": ["r1"],
    }
    assert ("r1: No profanity" in str(record.reason)) is (state == "rejected")


async def test_a_part_that_does_not_work_is_named() -> None:
    """The gateway tells a failing model from a task that cannot be done."""
    play = _solving(turns=0)
    play.thinks = nobody_answers
    record = await play.run()
    assert (record.state, record.metadata["failed_part"]) == ("failed", "model")
