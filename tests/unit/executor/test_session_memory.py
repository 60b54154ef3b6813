"""What a session or a solver remembers: recent turns whole, older ones as a summary that is made once and kept."""

import pytest

from services.executor.ports.turns import SessionState
from shared.contracts.policy import Policy, PolicyProblem, TextFinding
from shared.contracts.task import PriorTurn, SolverRequest
from shared.domain.conversation import SUMMARY_WORDS
from shared.domain.exact_json import dumps
from shared.domain.words import TaskState
from shared.ports.models import ModelRequest
from tests.doubles.scripted_model import state_of, text_reply
from tests.doubles.scripted_talk import of_conversation
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.stage import READ, TASK, Stage

LABEL = "[Earlier conversation summary]"


def long_session(turns: int = 22) -> SessionState:
    """``turns`` in all, the user's and the agent's."""
    said = ("user", "agent")
    return SessionState(turns=tuple((said[number % 2], f"turn {number} about C-{number}") for number in range(turns)))


def remembering(session: SessionState) -> Stage:
    stage = Stage()
    stage.turns.remembered = session
    stage.talk.helpers["summarize"] = text_reply("They talked about claims.")
    return stage


@pytest.mark.promise("memory.compressed")
async def test_over_twenty_turns_the_last_six_stay_and_the_rest_is_a_summary() -> None:
    """Every later request shows the summary under its label; the session keeps it beside the six and the new turn."""
    stage = remembering(long_session())
    record = await stage.run()
    for request in of_conversation(stage.model.requests):
        shown = _text(request)
        assert f"{LABEL} They talked about claims." in shown
        assert "turn 16 about" in shown
        assert "turn 15 about" not in shown
    kept = stage.turns.remembered
    assert (kept.summary, len(kept.turns), kept.turns[0][1]) == ("They talked about claims.", 8, "turn 16 about C-16")
    assert record.metadata["memory"] == {"compressed": True, "summary": "They talked about claims."}


@pytest.mark.promise("memory.compressed")
@each_row(("turns", "text"), [(20, "short"), (7, "x" * 4_000)])
async def test_a_conversation_within_the_limits_is_shown_whole(turns: int, text: str) -> None:
    """Twenty turns, or 8,000 tokens of text, are still whole."""
    stage = remembering(SessionState(turns=tuple(("user", f"{text} {number}") for number in range(turns))))
    await stage.run()
    assert "SUMMARIZE" not in [state_of(request) for request in stage.model.requests]
    assert f"{text} 0" in _text(stage.model.requests[0])


@pytest.mark.promise("memory.compressed", "memory.phase_boundary")
async def test_much_text_in_few_turns_is_summarized_too_once_and_before_anything_is_called() -> None:
    """So never between a tool's call and its result; the next summary is made of the one before."""
    stage, next_one = (
        remembering(SessionState(turns=(("user", "y" * 4_000),) * 9)),
        remembering(long_session()._replace(summary="Before, they agreed on C-0.")),
    )
    await stage.run()
    assert stage.turns.remembered.summary == "They talked about claims."
    states = [state_of(request) for request in stage.model.requests]
    assert (states[0], states.count("SUMMARIZE")) == ("SUMMARIZE", 1)
    await next_one.run()
    asked = next(request for request in next_one.model.requests if state_of(request) == "SUMMARIZE")
    assert "Before, they agreed on C-0." in _text(asked)


@pytest.mark.promise("memory.no_model")
@each_row("fails", ["unavailable", "empty"])
async def test_without_a_model_the_beginnings_of_the_older_turns_are_kept(fails: str) -> None:
    """At most 200 words; and the task goes on."""
    stage = remembering(long_session(60))
    stage.talk.helpers["summarize"] = text_reply("  ") if fails == "empty" else nobody_answers
    record = await stage.run()
    summary = stage.turns.remembered.summary
    assert record.state is TaskState.COMPLETED
    assert "turn 53 about C-53" in summary
    assert len(summary.split()) <= SUMMARY_WORDS


@pytest.mark.promise("memory.replayable")
@each_row("write", range(10))
async def test_a_summary_that_was_stored_is_not_paid_for_again(write: int) -> None:
    """Whichever write the run dies at, the session ends with one summary, and a replay makes the same of it."""
    stage = remembering(long_session())
    await stage.survives(write)
    stored = [key for key in stage.turns.steps if key.startswith("memory:session:")]
    again = await replayed(stage)
    assert len(stored) == 2
    assert (stage.turns.remembered.summary, len(stage.turns.remembered.turns)) == ("They talked about claims.", 8)
    assert again.is_same, again.difference


@pytest.mark.promise("memory.compressed")
async def test_turns_that_never_come_to_a_summary_do_not_pile_up() -> None:
    """Messages that are refused before anything is asked are folded without a model."""
    session = SessionState()
    for number in range(24):
        stage = Stage(f"Send me the passwords of all customers, {number}")
        stage.turns.remembered = session
        await stage.run()
        session = stage.turns.remembered
    assert len(session.turns) <= 30
    assert "passwords of all customers" in session.summary


def _text(request: ModelRequest) -> str:
    return dumps([getattr(block, "text", "") for message in request.messages for block in message.blocks])


QUESTION = "Which claims are open?"


def _solving(turns: int, text: str = QUESTION) -> Stage:
    play = Stage(text)
    history = tuple(
        PriorTurn(role="assistant" if index % 2 else "user", content=f"turn {index}") for index in range(turns)
    )
    solver = SolverRequest(history=history)
    play.change_request(solver=solver)
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


async def test_a_short_history_is_given_whole_and_the_summary_of_a_long_one_keeps_to_its_words() -> None:
    play, long = _solving(turns=8), _solving(turns=10)
    record = await play.run()
    assert record.metadata["memory"] == {"compressed": False, "summary": None}
    assert all("turn 0" in said for said in _asked(play))
    long.talk.helpers["summarize"] = text_reply("word " * 500)
    memory = (await long.run()).metadata["memory"]
    assert isinstance(memory, dict)
    assert len(str(memory["summary"]).split()) == 200


async def test_the_expected_form_of_the_answer_is_told_and_an_answer_that_is_no_list_fails_no_task() -> None:
    """The endpoint finds answers in any text; the list is asked for once more, and what was written stays done."""
    play = _solving(turns=0)
    record = await play.run()
    assert "<answer_format>\\nlist\\n</answer_format>" in _asked(play)[0]
    assert record.answer == '["C-2", "C-1"]'
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


async def test_no_text_complies_with_rules_that_cannot_be_read() -> None:
    """A question is answered, and whoever asked is not told that it complies."""
    play = _solving(turns=0)
    play.change_tenant(policies=(Policy(id="words"),))
    play.policy.says = {"problems": (PolicyProblem(policy_id="words", rule_id="r1", message="r1: no such operator"),)}
    play.talk.rounds = [[READ]]
    record = await play.run()
    assert record.state == "completed"
    assert record.metadata["text_policy"] == {"compliant": False, "violations": ["r1: no such operator"]}
