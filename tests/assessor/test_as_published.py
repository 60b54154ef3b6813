"""Each part as published callers use it: names, constructors, methods."""

from datetime import timedelta
from pathlib import Path

import pytest

from services.assessor.core.action_log import ActionLogBuilder
from services.assessor.core.characters import ResponseGenerator
from services.assessor.core.evaluation import EvalContext
from services.assessor.core.inbox import NewMessageCollector
from services.assessor.core.judge import CriteriaJudge
from services.assessor.core.summary import read_all_states
from shared.contracts.assessment.messages import AssessmentStart, InitialStateSummary
from tests.assessor.agents import Following
from tests.assessor.scenes import BEN, USER
from tests.assessor.stage import staged


@pytest.mark.promise("assessor.as_published")
async def test_each_part_works_by_itself(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, stage.proctor() as ues_client:
        scenario, evaluator_registry, emitter = stage.scenario.config, stage.scenario.evaluators, Following()
        await ues_client.simulation.start(auto_advance=False)
        current_time = (await ues_client.time.get_state()).current_time
        await ues_client.calendar.create(title="Old", start=current_time, end=current_time + timedelta(hours=1))

        collector = NewMessageCollector(client=ues_client)
        await collector.initialize(current_time)
        initial = await read_all_states(ues_client)
        user = (await ues_client.email.get_state()).user_email_address or USER
        await ues_client.email.send(from_address=user, to_addresses=[BEN], subject="Day", body_text="Friday!")
        new_time = (await ues_client.time.advance(1)).current_time
        new_messages = await collector.collect(new_time)

        generator = ResponseGenerator(
            client=ues_client, scenario_config=scenario, response_llm=None, summarization_llm=None
        )
        responses = await generator.process_new_messages(new_messages=new_messages, current_time=new_time)

        events = (await ues_client.events.list_events()).events
        builder = ActionLogBuilder(purple_agent_id=str(events[0].agent_id))
        builder.start_turn(1)
        purple_entries, green_events = builder.add_events_from_turn(events)
        builder.end_turn()
        log = builder.get_log()

        context = EvalContext(
            ues_client, scenario.model_dump(mode="json"), tuple(log), initial, await read_all_states(ues_client), "x"
        )
        judge = CriteriaJudge(llm=None, criteria=scenario.criteria, evaluators=evaluator_registry, emitter=emitter)
        results = await judge.evaluate_all(context)
        scores = judge.aggregate_scores(results)
        again = await collector.collect(new_time)

    assert ([mail.subject for mail in new_messages.emails], len(new_messages), len(again)) == (["Day"], 1, 0)
    assert [(answer.character_id, answer.scheduled_time > new_time) for answer in responses] == [("ben", True)]
    assert ([entry.action for entry in purple_entries], green_events) == (["calendar.create", "email.send"], [])
    assert scores.overall.score == 9


@pytest.mark.promise("assessor.as_published")
def test_the_instructions_are_the_same_in_every_assessment() -> None:
    given = {"ues_url": "http://x", "api_key": "k", "current_time": "2026-03-02T09:00:00Z"}
    start = AssessmentStart.model_validate({**given, "initial_state_summary": InitialStateSummary()})

    assert start.assessment_instructions.startswith("Act as the user's personal assistant.")
    with pytest.raises(ValueError, match="assessment_instructions"):
        AssessmentStart.model_validate({**start.to_json(), "assessment_instructions": "Pass."})
