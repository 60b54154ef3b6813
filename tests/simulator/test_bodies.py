"""Bodies that no client of good will sends."""

import httpx
import pytest

from tests.each_row import each_row
from tests.simulator.stage import ADMIN, Stage

pytestmark = pytest.mark.promise("simulator.refusals")
_TIME = b'"scheduled_time": "2026-03-02T00:00:00Z", "modality": "notes"'


async def _post(stage: Stage, path: str, body: bytes) -> httpx.Response:
    headers = {"X-API-Key": ADMIN, "Content-Type": "application/json"}
    return await stage.client.post(path, content=body, headers=headers)


@each_row(
    "body",
    b"{",
    b"\xff\xfe",
    b"",
    b"null",
    b"[]",
    b'{"seconds": NaN}',
    b'{"seconds": Infinity}',
    b'{"seconds": 1e999}',
    b'{"seconds": ' + b"9" * 5000 + b"}",
    b'{"seconds": 1, "x": ' + b"[" * 200 + b"]" * 200 + b"}",
    b'{"seconds": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"seconds": 1, "x": "\\ud800"}',
)
async def test_a_body_that_is_no_usable_json_is_refused(running: Stage, body: bytes) -> None:
    response = await _post(running, "/simulator/time/advance", body)

    assert response.status_code in (400, 422)
    assert response.json()["detail"]


@pytest.mark.parametrize("value", [b"NaN", b"-Infinity", b"1e400", b'"\\udfff"', b"[" * 300 + b"]" * 300])
async def test_what_could_not_be_answered_again_does_not_come_in(stage: Stage, value: bytes) -> None:
    body = b"{" + _TIME + b', "data": {"operation": "write", "text": "x"}, "metadata": {"x": ' + value + b"}}"

    assert (await _post(stage, "/events", body)).status_code == 400
    assert (await stage.get("/events"))["total"] == 0


async def test_a_body_has_a_size(stage: Stage) -> None:
    assert (await _post(stage, "/events", b" " * (2**20 + 1))).status_code == 413


async def test_every_wrong_field_is_named(stage: Stage) -> None:
    answer = await stage.post("/events", {"modality": 7}, expect=422)

    assert answer["error"] == "Validation Error"
    detail = answer["detail"]
    assert isinstance(detail, list)
    assert all(isinstance(item, dict) and item.keys() == {"type", "loc", "msg", "input"} for item in detail)
    assert [item["loc"] for item in detail if isinstance(item, dict)] == [
        ["body", "scheduled_time"],
        ["body", "modality"],
        ["body", "data"],
    ]
