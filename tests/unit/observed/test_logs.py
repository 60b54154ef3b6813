"""What every service logs: one line an event, whose it is, and never a credential."""

import json
import subprocess
import sys
from typing import cast

import httpx
import pytest
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from structlog.contextvars import merge_contextvars

from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.core.turn.session_run import RunnerLimits, SessionRunDependencies, run_or_end_turn
from services.executor.ports.turns import Lease, Sessions, TurnRunner, TurnStore, TurnWork
from shared.domain.redaction import redact_credentials
from shared.infra.counted_app import LoggedApp
from shared.infra.service_settings import LogSettings
from tests.deployment.dockerfile import STACK, images
from tests.doubles.heard_wakes import HeardWakes
from tests.each_row import each_row
from tests.unit.executor.stage import Stage, message

SECRETS = (
    "redis://user:hunter2hunter2@redis:6379/0",
    "Authorization: Bearer abcdefgh12345678",
    "x-api-key sk-ant-REDACTED",
    "pa_0123456789ab_abcdefghijklmnopqrstuvwxyz",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
)
_PARTS = ("hunter2", "abcdefgh1234", "sk-ant", "klmnop", "eyJzdWIi")
_SCRIPT = """
import logging, sys, structlog
from shared.infra.process import configure_logging
configure_logging("gateway", sys.argv[1], sys.argv[2])
log = structlog.get_logger()
log.debug("quiet")
log.info("event", given=sys.argv[3:], inner={"url": sys.argv[3]})
logging.getLogger("uvicorn.error").warning("a library says %s", sys.argv[4])
try:
    raise ValueError(sys.argv[5])
except ValueError:
    log.exception("broke")
"""


def _logged(level: str, form: str) -> str:
    called = [sys.executable, "-c", _SCRIPT, level, form, *SECRETS]
    return subprocess.run(called, capture_output=True, text=True, timeout=60, check=True).stderr


@pytest.mark.promise("logs.one_pipeline", "logs.no_secret")
def test_lines_of_ours_and_of_libraries_are_json_with_service_level_and_time_and_without_secrets() -> None:
    shown = _logged("info", "json")
    lines = [json.loads(line) for line in shown.splitlines()]

    assert [line["event"].split()[0] for line in lines] == ["event", "a", "broke"]
    assert {line["service"] for line in lines} == {"gateway"}
    assert [line["level"] for line in lines] == ["info", "warning", "error"]
    assert all("timestamp" in line for line in lines)
    assert [part for part in _PARTS if part in shown] == []
    assert "ValueError" in lines[2]["exception"]


@pytest.mark.promise("logs.one_pipeline", "logs.no_secret")
def test_text_for_people_is_as_careful_and_the_level_is_the_operators() -> None:
    shown = _logged("error", "text")

    assert "broke" in shown
    assert "a library says" not in shown
    assert [part for part in _PARTS if part in shown] == []


@pytest.mark.promise("logs.no_secret")
@each_row("text", ["see http://host:8080/path", "the bearer of news", "a task-1 of pa_1", "10:30@noon"])
def test_what_is_no_credential_stays(text: str) -> None:
    assert redact_credentials(text) == text


@pytest.mark.promise("logs.one_pipeline")
def test_every_service_has_the_same_two_settings() -> None:
    settings = {name: image.settings for name, image in images().items() if name not in (STACK, "company")}

    assert [name for name, one in settings.items() if not {"log_level", "log_format"} <= one.model_fields.keys()] == []


@pytest.mark.promise("logs.whose")
@each_row(("given", "kept"), [("from-the-caller-1", True), ("short", False), ("x" * 65, False), ("a b\tc", False)])
async def test_a_request_has_one_id_in_its_lines_and_in_its_answer(given: str, kept: bool) -> None:
    async def work(_: Request) -> Response:
        structlog.get_logger().info("inside")
        return Response("done")

    app = LoggedApp(Starlette(routes=[Route("/tasks/{task}", work)]))
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")
    with structlog.testing.capture_logs(processors=[merge_contextvars]) as lines:
        async with client:
            answer = await client.get("/tasks/anna", headers={"X-Request-Id": given})

    ids = {line["request"] for line in lines} | {answer.headers["x-request-id"]}
    assert [line["event"] for line in lines] == ["inside", "response_sent"]
    assert len(ids) == 1
    assert (ids == {given}) is kept
    assert (lines[1]["route"], lines[1]["status"]) == ("/tasks/{task}", 200)
    assert "anna" not in str(lines)


@pytest.mark.promise("logs.whose")
async def test_lines_of_a_turn_name_its_session_task_and_turn_and_those_after_it_do_not() -> None:
    class Talks(TurnRunner):
        async def run(self, work: TurnWork, store: TurnStore) -> None:
            structlog.get_logger().info("at work")

    stage = Stage()
    with structlog.testing.capture_logs(processors=[merge_contextvars]) as lines:
        parts = SessionRunDependencies(
            cast(Sessions, None), HeardWakes(), Talks(), RunnerLimits(), RepairedFaultCounter()
        )
        await run_or_end_turn(
            parts, Lease("acme", "session-1", 1, "me"), stage.turns.work(message("hello")), stage.turns
        )
        structlog.get_logger().info("after")

    named = {key: lines[0][key] for key in ("tenant", "session", "task", "turn")}
    assert named == {"tenant": "acme", "session": "session-1", "task": "task-1", "turn": "turn-1"}
    assert not named.keys() & lines[1].keys()


@pytest.mark.promise("logs.one_pipeline")
@each_row("word", ["warning", "WARNING"])
def test_the_level_is_a_word_in_any_case(word: str) -> None:
    assert LogSettings.model_validate({"log_level": word}).log_level == "warning"
