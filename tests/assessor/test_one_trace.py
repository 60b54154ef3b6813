"""One assessment is one trace, also at the agent that is measured."""

from pathlib import Path

import pytest

from cli.assess.asked import WantedRun, run_assessment
from services.assessor.bootstrap import build
from services.assessor.settings import AssessorSettings
from shared.infra.traced_app import trace_requests
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import ADMIN, simulator
from tests.doubles.kept_spans import KeptSpans
from tests.http_client import open_http
from tests.serving import serving


@pytest.mark.promise("assessor.one_trace")
async def test_the_agent_is_told_of_the_trace_that_its_assessments_request_began(tmp_path: Path) -> None:
    written(tmp_path)
    kept, gold = KeptSpans(), Gold()
    given = {"scenarios_dir": tmp_path, "anthropic_api_key": "", "anthropic_base_url": ""}
    async with simulator() as ues, reached(gold.participant) as agent, open_http(trust_env=False) as http:
        settings = AssessorSettings.model_validate({**given, "simulator_url": ues, "simulator_admin_key": ADMIN})
        async with serving(trace_requests(build(settings, tracer=kept.tracer), kept.tracer)) as url:
            await run_assessment(url, http, WantedRun(SCENE, agent.url), lambda _: None)

    calls = [span for span in kept.all if span.name.startswith("agent ")]
    told = [headers["traceparent"].split("-")[1:3] for headers in gold.participant.headers]
    asked = ("assessment_start", "turn_start", "turn_start", "assessment_complete")
    assert [(span.name, span.kind) for span in calls] == [(f"agent {said}", "client") for said in asked]
    assert told == [[span.trace_id, span.span_id] for span in calls]
    assert {span.parent_id for span in calls} == {kept.named("assessment").span_id}
    assert kept.named("assessment").parent_id == kept.named("POST /").span_id
    assert str(gold.start["api_key"]) not in kept.said()
