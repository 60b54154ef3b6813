"""Two assessments of one seed tell the same; one is one trace; a rule-based planner judges nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from cli.assess.assessor import RunParameters, run_assessment
from services.assessor.adapters.played_participant import load_scripts
from services.assessor.bootstrap import build
from services.assessor.core.assessment import Models
from services.assessor.settings import SCENARIOS, AssessorSettings
from shared.contracts.assessment.results import AssessmentResults
from shared.infra.traced_app import trace_requests
from tests.assessor.agents import Gold, reached
from tests.assessor.days.cast import lived_as_written
from tests.assessor.scenes import BEN, SCENE, USER, character, written
from tests.assessor.stage import ADMIN, simulator, staged
from tests.doubles.kept_spans import KeptSpans
from tests.http_client import open_http
from tests.integration.planner_server import model_at, planner_server
from tests.serving import serving

DIFFER = (
    "assessment_id",
    "participant",  # its address: the port is another one
    "duration_seconds",
    "world/*/changes/*/key",  # the id of a row that was made
    "world/*/changes/*/after/*_id",
    "action_log/*/parameters/*_id",
)
_ALLOWED = re.compile("|".join(one.replace("*_id", r"\w+_ids?(?:/\d+)?").replace("*", r"\d+") for one in DIFFER))


@pytest.mark.promise("assessor.repeatable")
async def test_two_assessments_that_are_played_alike_are_equal_but_for_what_is_listed() -> None:
    gold = load_scripts(SCENARIOS / "board_figures")["gold"]

    first, second = [await lived_as_written("board_figures", gold) for _ in range(2)]

    assert _strange(first, second) == []


@pytest.mark.long
@pytest.mark.promise("assessor.repeatable")
async def test_answers_of_characters_and_their_delays_are_the_seeds() -> None:
    gold = load_scripts(SCENARIOS / "review_scheduling")["gold"]

    first, second = [await lived_as_written("review_scheduling", gold) for _ in range(2)]

    assert _strange(first, second) == []


def _strange(first: AssessmentResults, second: AssessmentResults) -> list[str]:
    """Where the two differ, and the list has nothing of it."""
    return [place for place in _differences(first.to_json(), second.to_json(), "") if not _ALLOWED.fullmatch(place)]


def _differences(left: JsonValue, right: JsonValue, place: str) -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted({*left, *right}):
            yield from _differences(left.get(name), right.get(name), f"{place}/{name}".strip("/"))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(one, other, f"{place}/{number}")
    elif left != right:
        yield place


@pytest.mark.promise("assessor.one_trace")
async def test_the_agent_is_told_of_the_trace_that_its_assessments_request_began(tmp_path: Path) -> None:
    written(tmp_path)
    kept, gold = KeptSpans(), Gold()
    given = {"scenarios_dir": tmp_path, "anthropic_api_key": "", "anthropic_base_url": ""}
    async with simulator() as ues, reached(gold.participant) as agent, open_http(trust_env=False) as http:
        settings = AssessorSettings.model_validate({**given, "simulator_url": ues, "simulator_admin_key": ADMIN})
        async with serving(trace_requests(build(settings, tracer=kept.tracer), kept.tracer)) as url:
            await run_assessment(url, http, RunParameters(SCENE, agent.url), lambda _: None)

    calls = [span for span in kept.all if span.name.startswith("agent ")]
    told = [headers["traceparent"].split("-")[1:3] for headers in gold.participant.headers]
    asked = ("assessment_start", "turn_start", "turn_start", "assessment_complete")
    assert [(span.name, span.kind) for span in calls] == [(f"agent {said}", "client") for said in asked]
    assert told == [[span.trace_id, span.span_id] for span in calls]
    assert {span.parent_id for span in calls} == {kept.named("assessment").span_id}
    assert kept.named("assessment").parent_id == kept.named("POST /").span_id
    assert str(gold.start["api_key"]) not in kept.said()


@pytest.mark.promise("assessor.judge")
async def test_the_planner_leaves_unjudged_what_needs_a_model(tmp_path: Path) -> None:
    people = {"mia": character("Mia", USER), "ben": character("Ben", BEN)}
    gold = Gold()

    async with (
        planner_server() as url,
        model_at(url) as model,
        reached(gold.participant) as participant,
        staged(tmp_path, Models(model, model, model), changes={"characters": people}) as stage,
    ):
        results = await stage.assessed(participant)

    assert results.unjudged == ("polite",)
    assert (results.costs.calls, results.costs.models) == (2, ("offline-planner-1",))
    assert gold.inbox == ["Friday?"]  # Ben, whom nobody plays, said nothing
