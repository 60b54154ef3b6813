"""A whole stack tells what it does: every process shows its metrics, and its lines name nobody's secret."""

import asyncio
import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cli.stack.plan import find_free_ports
from tests.e2e.whole_stack import whole_stack
from tests.http_client import open_http

SECRET = "Bearer hunter2-hunter2-hunter2"
TASK = "Update the phone of employee EMP-447 to +1 555 4200."


async def _scraped(url: str) -> tuple[str, dict[str, float]]:
    """The page, and the sum of each metric's samples."""
    async with open_http(trust_env=False) as client:
        text = (await client.get(f"{url}/metrics")).text
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    return text, sums


async def _scraped_with(url: str, **wanted: float) -> tuple[str, dict[str, float]]:
    """The page once it shows this: a process counts what it did after others have seen that it did it."""
    async with asyncio.timeout(30):
        while not wanted.items() <= (found := await _scraped(url))[1].items():
            await asyncio.sleep(0.05)
    return found


@pytest.mark.long
@pytest.mark.promise("metrics.shown", "logs.no_secret")
async def test_one_task_shows_in_the_metrics_of_every_process_and_no_secret_in_a_log() -> None:
    (port,) = find_free_ports(1)
    async with whole_stack(1, METRICS_PORT=str(port), LOG_LEVEL="debug") as stack:
        done = await stack.send(TASK, "of-anna", api_key=SECRET)
        url = stack.stack.get_url
        ended = await _scraped_with(url("executor-1"), purple_tasks_ended_total=1, purple_writes_total=1)
        pages = {"executor-1": ended, **{name: await _scraped(url(name)) for name in ("policy", "planner")}}
        waiting = {"purple_turns_accepted_total": 1, "purple_sessions_waiting": 0}
        pages["gateway"] = await _scraped_with(f"http://127.0.0.1:{port}", **waiting)
        await _scraped_with(url("learner"), purple_outcomes_applied_total=1)
        logs = {path.stem: path.read_text() for path in stack.stack.logs.glob("*.log")}

    executor = pages["executor-1"][1]
    assert done["status"] is not None
    assert executor["purple_model_tokens_total"] > 0
    assert pages["policy"][1]["purple_verdicts_total"] > 0
    assert pages["planner"][1]["purple_http_requests_total"] >= executor["purple_model_calls_total"]
    assert [name for name, (text, _) in pages.items() if "of-anna" in text or SECRET in text] == []
    assert [name for name, text in logs.items() if SECRET in text] == []
    lines = [json.loads(line) for line in logs["executor-1"].splitlines() if line.startswith("{")]
    assert {line["service"] for line in lines} == {"executor"}
    assert any(line.get("request") for line in map(json.loads, _objects(logs["gateway"])))


def _objects(log: str) -> list[str]:
    return [line for line in log.splitlines() if line.startswith("{")]
