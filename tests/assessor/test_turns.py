"""Turns with agents of every kind, in a world of a simulator inside the test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from services.assessor.adapters.a2a_participant import A2aParticipant
from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.hosting import BadRequest
from services.assessor.ports.participants import ParticipantFailed
from shared.contracts.assessment.messages import TASK_CONVERSATION, JsonObject
from shared.contracts.assessment.results import AssessmentResults
from shared.infra.ues.connection import APIError
from tests.assessor.agents import reached
from tests.assessor.scenes import BEN, USER, character
from tests.assessor.stage import Stage, staged
from tests.doubles.scripted_participant import Hanging, ScriptedParticipant
from tests.http_client import open_http

GO_ON: JsonObject = {"message_type": "turn_complete", "time_step": "PT1H"}
ENOUGH: JsonObject = {"message_type": "early_completion", "reason": "Enough."}
Acting = Callable[[ProctorClient, JsonObject], Awaitable[JsonObject]]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as made:
        yield made


async def measured(stage: Stage, act: Acting, **limits: object) -> AssessmentResults:
    """An agent that does so in each of its turns."""

    async def turn(said: JsonObject) -> JsonObject:
        start = agent.heard[0]
        async with ProctorClient(str(start["ues_url"]), api_key=str(start["api_key"])) as ues:
            return await act(ues, said)

    agent = ScriptedParticipant(turn)
    async with reached(agent) as participant:
        return await stage.assessed(participant, **limits)  # type: ignore[arg-type]  # plain JSON


async def write_to_ben(ues: ProctorClient, text: str = "Friday is fine.") -> None:
    await ues.email.send(from_address=USER, to_addresses=[BEN], subject="Day", body_text=text)


async def go_on_writing(ues: ProctorClient, _: JsonObject) -> JsonObject:
    await write_to_ben(ues)
    return GO_ON


@pytest.mark.promise("assessor.errors")
async def test_silent_turns_are_results_and_enough_of_them_end_the_run(stage: Stage) -> None:
    """Each counts, time goes on by the default step, and what there is gets judged."""
    hanging = Hanging()
    agent = ScriptedParticipant(hanging)

    async with reached(agent) as participant:
        results = await stage.assessed(participant, turn_timeout=0.05, max_failed_turns=2)
        hanging.let_go.set()

    assert (results.status, results.turns_taken, results.scores.overall.score) == ("timeout", 2, 0)
    assert [turn["error_type"] for turn in results.failed_turns] == ["timeout", "timeout"]
    starts = [told.to_json() for told in stage.following.updates if told.message_type == "update_turn_started"]
    assert [(told["turn_number"], told["current_time"]) for told in starts] == [
        (1, "2026-03-02T09:00:00Z"),
        (2, "2026-03-02T10:00:00Z"),
    ]
    assert agent.heard[-1] == {"message_type": "assessment_complete", "reason": "timeout"}


@pytest.mark.promise("assessor.errors")
@pytest.mark.parametrize("answer", [{"message_type": "nonsense"}, {"message_type": "turn_complete", "time_step": "1h"}])
async def test_answers_that_mean_nothing_are_results_too(stage: Stage, answer: JsonObject) -> None:
    async def garbage(_: ProctorClient, __: JsonObject) -> JsonObject:
        return answer

    results = await measured(stage, garbage, max_failed_turns=1)
    kinds = stage.following.kinds()

    assert (results.status, [turn["error_type"] for turn in results.failed_turns]) == ("failed", ["protocol_error"])
    assert "error_occurred" in kinds
    assert kinds[-1] == "assessment_completed"


@pytest.mark.promise("assessor.errors")
async def test_an_agent_that_breaks_in_mid_run_is_judged_by_what_it_did(stage: Stage) -> None:
    async def break_after_the_first(ues: ProctorClient, said: JsonObject) -> JsonObject:
        if said["turn_number"] != 1:
            raise RuntimeError("broken")
        await write_to_ben(ues)
        return GO_ON

    results = await measured(stage, break_after_the_first, max_failed_turns=1)

    assert (results.status, results.failed_turns[0]["error_type"]) == ("failed", "communication_error")
    assert results.scores.dimensions["accuracy"].score == 6


@pytest.mark.promise("assessor.errors")
async def test_an_agent_that_never_was_there_ends_the_assessment(stage: Stage) -> None:
    async with open_http() as http:
        with pytest.raises(ParticipantFailed, match="could not be reached"):
            await stage.assessed(A2aParticipant("http://127.0.0.1:9", http))

    told = stage.following.updates[-1].to_json()
    assert (told["error_type"], told["recoverable"]) == ("communication_error", False)


@pytest.mark.promise("assessor.errors")
async def test_limits_that_cannot_be_used_are_refused(stage: Stage) -> None:
    async with open_http() as http:
        with pytest.raises(BadRequest, match="max_turns"):
            await stage.assessed(A2aParticipant("http://127.0.0.1:9", http), max_turns=0)


@pytest.mark.promise("assessor.action_log")
async def test_what_was_done_last_counts_although_the_agent_quits_with_it(stage: Stage) -> None:
    """Actions, failed ones, reads and refusals of the last turn, in their order."""

    async def quit_after(ues: ProctorClient, _: JsonObject) -> JsonObject:
        await ues.email.get_state()
        await write_to_ben(ues)
        await ues.email.send(from_address=BEN, to_addresses=[USER], subject="I am Ben", body_text="Not I.")
        with pytest.raises(APIError):
            await ues.time.advance(60)
        return ENOUGH

    results = await measured(stage, quit_after)

    assert [(entry.kind, entry.action, entry.success) for entry in results.action_log] == [
        ("read", "email.state", True),
        ("action", "email.send", True),
        ("action", "email.send", False),
        ("refused", "time.advance", False),
    ]
    assert {entry.turn for entry in results.action_log} == {1}


@pytest.mark.promise("assessor.two_phases")
async def test_others_answer_inside_the_turn_that_they_were_asked_in(stage: Stage) -> None:
    """Ben takes between five and fifteen minutes; his answer is there when the next turn begins."""

    async def act(ues: ProctorClient, said: JsonObject) -> JsonObject:
        if said["turn_number"] == 1:
            await write_to_ben(ues)
            return GO_ON
        return ENOUGH

    await measured(stage, act)
    async with stage.proctor() as ues:
        (answer,) = (await ues.email.query(from_address=BEN, subject_contains="Re: Day")).emails
        asked = (await ues.email.query(to_address=BEN)).emails[0]

    waited = answer.received_at - asked.received_at
    assert timedelta(minutes=5, seconds=1) <= waited <= timedelta(minutes=15, seconds=1)
    assert (answer.body_text, answer.thread_id, answer.in_reply_to) == (
        "Great, see you then.",
        asked.thread_id,
        asked.message_id,
    )


@pytest.mark.promise("assessor.two_phases")
async def test_a_slow_answer_comes_at_the_end_of_a_short_turn(stage: Stage) -> None:
    async def act(ues: ProctorClient, said: JsonObject) -> JsonObject:
        await write_to_ben(ues)
        return {**GO_ON, "time_step": "PT2M"}

    await measured(stage, act, max_turns=1)
    async with stage.proctor() as ues:
        (answer,) = (await ues.email.query(from_address=BEN, subject_contains="Re: Day")).emails

    assert answer.received_at.isoformat() == "2026-03-02T09:02:00+00:00"


@pytest.mark.promise("assessor.two_phases")
async def test_the_scenarios_end_ends_the_run_whatever_step_is_asked_for(stage: Stage) -> None:
    async def sleep(_: ProctorClient, __: JsonObject) -> JsonObject:
        return {**GO_ON, "time_step": "P3D"}

    results = await measured(stage, sleep)
    async with stage.proctor() as ues:
        now = (await ues.time.get_state()).current_time

    assert (results.turns_taken, results.status) == (1, "completed")
    assert now == stage.scenario.config.end_time


@pytest.mark.promise("assessor.lifecycle")
async def test_the_task_stands_in_the_chat_and_nowhere_else(stage: Stage) -> None:
    seen: list[str] = []

    async def look(ues: ProctorClient, _: JsonObject) -> JsonObject:
        seen.extend(f"{m.conversation_id}: {m.text}" for m in (await ues.chat.get_state()).messages)
        return ENOUGH

    await measured(stage, look)

    assert seen == [f"{TASK_CONVERSATION}: {stage.scenario.config.user_prompt}"]


@pytest.mark.promise("assessor.lifecycle")
async def test_a_cancelled_run_ends_after_its_turn_and_says_so(stage: Stage) -> None:
    async def act(_: ProctorClient, __: JsonObject) -> JsonObject:
        stage.agent.cancel()
        return GO_ON

    results = await measured(stage, act)

    assert (results.status, results.turns_taken) == ("failed", 1)


@pytest.mark.promise("assessor.lifecycle")
async def test_a_run_is_over_when_the_scenarios_own_conditions_hold(tmp_path: Path) -> None:
    ready = "async def ready(ctx, params):\n    return {'score': len(ctx.actions), 'max_score': 2}\n"
    criteria = [{"criterion_id": "a", "name": "a", "dimension": "accuracy", "max_score": 2, "evaluator_id": "ready"}]
    conditions = {"criteria": criteria, "early_completion_conditions": ["ready"]}
    async with staged(tmp_path, evaluators=ready, changes=conditions) as stage:
        results = await measured(stage, go_on_writing)

    assert (results.turns_taken, results.status, results.scores.overall.score) == (2, "completed", 2)


@pytest.mark.promise("assessor.characters")
async def test_invitations_are_answered_by_script_or_left_open(tmp_path: Path) -> None:
    script = [{"contains": ["lunch"], "rsvp": "declined", "body": "I eat at my desk."}]
    people = {"mia": character("Mia", USER), "ben": character("Ben", BEN, scripted_replies=script)}

    async def invite(ues: ProctorClient, said: JsonObject) -> JsonObject:
        now = (await ues.time.get_state()).current_time
        for title in ("Lunch", "Walk"):
            await ues.calendar.create(
                title=title, start=now + timedelta(days=1), end=now + timedelta(days=1, hours=1),
                organizer=USER, attendees=[{"email": BEN}],
            )  # fmt: skip
        return GO_ON

    async with staged(tmp_path, changes={"characters": people}) as stage:
        await measured(stage, invite, max_turns=1)
        async with stage.proctor() as ues:
            events = (await ues.calendar.get_state()).events.values()

    assert {event.title: event.attendees[0].response for event in events} == {
        "Lunch": "declined",
        "Walk": "needs-action",
    }


@pytest.mark.promise("assessor.errors")
async def test_an_answer_that_the_simulator_refuses_costs_that_answer_alone(tmp_path: Path) -> None:
    people = {"mia": character("Mia", USER), "ben": character("Ben", BEN, scripted_replies=[{"body": " "}])}

    async with staged(tmp_path, changes={"characters": people}) as stage:
        results = await measured(stage, go_on_writing, max_turns=1)

    (told,) = [update.to_json() for update in stage.following.updates if update.message_type == "update_error_occurred"]
    assert (told["error_type"], told["recoverable"], results.status) == ("ues_error", True, "completed")
