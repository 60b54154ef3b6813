"""A replay of an archived task calls nobody, and says where today's run would go another way."""

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from services.executor.core.session.context import Limits
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.replay import CannotReplay, replay
from services.executor.core.turn.worker import Worker
from services.executor.replaying import show_replay
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState
from shared.infra.archive_open import ArchiveSettings, build_local_archive_url, get_or_create_key_file
from shared.ports.models import ModelAway, ModelReply, ModelRequest
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.archived import archived, assert_replayed, replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.stage import APPROVE, READ, TASK, Stage, deadline, decision, keeps_silent, message, use

STRANGE, FIRST = use("approve_claim", claim_id="C-9"), use("approve_claim", 1, claim_id="C-1")
TELL = use("notify_person", 2, text="Claim C-1 is approved.")
BLOCKED: dict[str, object] = {"blocked": True, "passed": False}


def _is_overloaded(_request: ModelRequest) -> ModelReply:
    raise ModelAway("overloaded")


async def _answers_late(_arguments: JsonObject) -> Json:
    await asyncio.sleep(0.01)
    return {"id": "C-1"}


@pytest.mark.promise("replay.same_end")
async def test_a_task_that_wrote_is_replayed_to_the_same_end() -> None:
    """Every step again, in order; the same answer; and no write."""
    stage = Stage()
    await stage.run()
    asked, applied = len(stage.model.requests), list(stage.claims.applied)
    done = await assert_replayed(stage)
    assert [step.key for step in done.steps][:2] == ["1.DECOMPOSE:entered", "talk:opening"]
    assert (len(stage.model.requests), stage.claims.applied) == (asked, applied)


@pytest.mark.promise("replay.first_difference")
def test_answers_that_differ_are_shown_from_the_first_sentence_in_which_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage, key = Stage(), get_or_create_key_file(tmp_path)
    record = asyncio.run(stage.run())
    answer = record.answer or ""
    stage.turns.record = record.model_copy(update={"answer": f"It was otherwise then. {answer}"})
    monkeypatch.setenv("ARCHIVE_URL", build_local_archive_url(tmp_path))
    monkeypatch.setenv("ARCHIVE_KEY", key)
    archive = ArchiveSettings().open_task_archive()
    assert archive is not None
    asyncio.run(archive.put(record.tenant, record.task_id, archived(stage).model_dump_json().encode()))
    assert show_replay([record.task_id, "--tenant", record.tenant, "--json"], Worker) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["difference"]["at"], said["difference"]["then"]) == ("the end", "It was otherwise then.")
    assert answer.startswith(said["difference"]["now"])
    assert (said["answer"], said["state"]) == (answer, "completed")


@pytest.mark.promise("replay.same_end")
@each_row("fault", ["model", "tools", "policy", "blocked", "plan", "tool"])
async def test_a_task_that_ended_before_its_answer_is_replayed_to_the_same_end(fault: str) -> None:
    """Nobody answered, or what was answered ended it: the reason is the same."""
    stage = Stage()
    match fault:
        case "model":
            stage.thinks = nobody_answers
        case "tools":
            stage.servers.go_down("office")
        case "policy":
            stage.policy.fails_from = 1
        case "blocked":
            stage.policy.says = BLOCKED
        case "plan":
            stage.talk.rounds = [[READ], *[[STRANGE]] * 5]
        case _:
            stage.servers.add("get_claim", keeps_silent)
    record = await stage.run()
    assert record.state is not TaskState.COMPLETED
    await assert_replayed(stage)


@pytest.mark.promise("replay.same_end")
async def test_a_task_that_rested_while_the_model_was_away_is_replayed_through_its_rest() -> None:
    stage = Stage()
    stage.thinks = _is_overloaded
    await stage.ends(TaskState.WORKING)
    timer, stage.thinks = stage.turns.ends[-1].timer, None
    assert timer is not None
    stage.turns.ahead += timedelta(minutes=1)
    woken = deadline().model_copy(update={"data": {"subject": timer.subject}})
    assert (await stage.run(woken)).state is TaskState.COMPLETED
    await assert_replayed(stage)


@pytest.mark.promise("replay.same_end")
@each_row("word", ["approve", "reject"])
async def test_a_task_of_several_turns_plans_and_questions_is_replayed_turn_by_turn(word: str) -> None:
    stage = Stage(f"{TASK}. Tell the clerk")
    stage.change_tenant(unruled_writes="approve")
    stage.talk.parts = [(TASK, "do"), ("Tell the clerk", "do")]
    stage.talk.rounds = [[READ], [FIRST], [FIRST], [TELL]]  # what is proposed twice adds nothing: the plan closes
    await stage.run()
    await stage.run(message("how is it going?", "turn-1b"))
    await stage.run(decision("approve"))
    record = await stage.run(decision(word, turn_id="turn-3"))
    assert (len(stage.turns.approvals), record.state.is_terminal) == (2, True)
    done = await assert_replayed(stage)
    assert {step.turn_id for step in done.steps} == {"turn-1", "turn-2", "turn-3"}


@pytest.mark.promise("replay.same_end")
async def test_a_run_that_ended_at_one_of_several_reads_is_replayed_to_that_end() -> None:
    """The one beside it had not been finished then."""
    stage = Stage()
    stage.servers.add("get_other", keeps_silent)
    stage.servers.add("get_claim", _answers_late)
    stage.talk.rounds = [[READ, ("get_other", {})], [APPROVE]]
    await stage.run()
    await assert_replayed(stage)


@pytest.mark.promise("replay.same_end")
async def test_an_end_that_was_never_stored_is_not_the_tasks_end() -> None:
    """The worker died between noting how its run ended and storing that end; the next attempt went on to an answer."""
    tried = Stage()
    tried.thinks = nobody_answers
    await tried.run()
    stage = Stage()
    stage.thinks = nobody_answers
    stage.turns.die_before = tried.turns.stored - 1
    with pytest.raises(Died):
        await stage.run()
    stage.turns.die_before, stage.thinks = None, None
    record = await stage.run(attempts=2)
    done = await replayed(stage)
    assert (done.difference, record.state) == ("", TaskState.COMPLETED)


@pytest.mark.promise("replay.same_end")
@each_row("die_before", range(4, 8))
async def test_an_attempt_is_given_again_what_that_attempt_was_given(die_before: int) -> None:
    """The tools had changed when the second attempt began; the step that the first had paid for stays as it was."""
    stage = Stage()
    await stage.dies(die_before)
    stage.servers.add("get_weather", keeps_silent)
    await stage.run(attempts=2)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("replay.first_difference")
async def test_changed_prompts_are_found_at_the_first_request_that_differs() -> None:
    stage = Stage()
    await stage.run()
    done = await replayed(stage, load_prompts()._replace(rules="Do nothing today."))
    assert (done.at, done.difference) == ("talk:1:model", "the model would be asked something else")


@pytest.mark.promise("replay.first_difference")
async def test_a_step_a_checkpoint_or_a_write_that_is_another_is_the_first_difference() -> None:
    unknown, changed, unwritten = Stage(), Stage(), Stage()
    for stage in (unknown, changed, unwritten):
        await stage.run()
    key = next(key for key in unknown.turns.steps if key.endswith(":tool:0"))
    del unknown.turns.steps[key]
    done = await replayed(unknown)
    assert (done.at, done.difference) == (key, "this step was not taken then")
    steps = changed.turns.steps
    key = next(key for key in steps if key.startswith("3.") and key.endswith(":entered"))
    said = {**json.loads(steps[key].data_json), "tool_calls": 77}
    steps[key] = steps[key]._replace(data_json=json.dumps(said))
    done = await replayed(changed)
    assert (done.at, done.difference) == (key, "the checkpoint says something else of tool_calls")
    unwritten.turns.writes.clear()
    assert (await replayed(unwritten)).at == "write c1"


@pytest.mark.promise("replay.same_end")
async def test_writes_of_one_moment_are_listed_in_the_order_of_their_calls_whatever_order_the_archive_has() -> None:
    """A hash of Redis has none; calls that go out at once are sent at the same time."""
    stage = Stage("Approve the claims C-1 and C-2")
    stage.talk.parts = [("Approve the claims C-1 and C-2", "do")]
    stage.talk.rounds = [[READ], [use("approve_claim", 1, claim_id=claim) for claim in ("C-1", "C-2")]]
    record = await stage.run()
    writes, sent = stage.turns.writes, stage.turns.record.updated_at
    assert (record.state, len(writes)) == (TaskState.COMPLETED, 2)
    at_once = {key: entry.model_copy(update={"sending_at": sent}) for key, entry in writes.items()}
    stage.turns.writes = dict(reversed(at_once.items()))
    await assert_replayed(stage)


@pytest.mark.promise("replay.same_end")
async def test_a_question_asked_a_minute_earlier_is_the_same_question() -> None:
    """Its deadline is reckoned from the moment in which it is asked; the rest of it is compared."""
    stage = Stage()
    stage.change_tenant(unruled_writes="approve")
    record = await stage.run()
    asked = record.answer or ""
    assert record.state is TaskState.INPUT_REQUIRED
    stage.turns.record = record.model_copy(
        update={"answer": re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "2020-01-01 00:00 UTC", asked)}
    )
    assert stage.turns.record.answer != asked
    assert (await replayed(stage)).difference == ""
    stage.turns.record = record.model_copy(update={"answer": f"{asked} Or never."})
    assert (await replayed(stage)).at == "the end"


async def test_a_journal_of_the_version_before_says_why_it_cannot_be_replayed() -> None:
    """It does not tell what its turns were given; model replies without the name of their request are still read."""
    stage = Stage()
    await stage.run()
    task = archived(stage)
    old = task.model_copy(update={"journal": tuple(step for step in task.journal if step.kind != "turn")})
    with pytest.raises(CannotReplay, match="too old"):
        await replay(old, Limits(), load_prompts(), Worker)
