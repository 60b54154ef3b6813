"""``POST /events/batch``."""

from typing import cast

import pytest

from services.simulator.core.records import JsonObject
from tests.simulator.stage import Stage
from tests.simulator.writing import later

pytestmark = pytest.mark.promise("simulator.events")
GOOD = later(10, "good")
LATE = later(-10, "late")


def results(answer: JsonObject) -> list[JsonObject]:
    return cast(list[JsonObject], answer["results"])


@pytest.mark.parametrize("bad", [LATE, {"modality": "notes"}, {**GOOD, "modality": "smell"}, {**GOOD, "data": {}}])
async def test_what_is_wrong_is_told_and_the_rest_made(stage: Stage, bad: JsonObject) -> None:
    answer = await stage.post("/events/batch", {"events": [bad, GOOD]}, expect=207)

    assert (answer["total"], answer["successful"], answer["failed"]) == (2, 1, 1)
    assert [item["success"] for item in results(answer)] == [False, True]
    assert results(answer)[0]["error"]
    assert results(answer)[1]["modality"] == "notes"
    assert (await stage.get("/events"))["total"] == 1


async def test_a_strict_batch_makes_all_or_none(stage: Stage) -> None:
    body = {"events": [GOOD, LATE, GOOD], "stop_on_first_error": True}

    answer = await stage.post("/events/batch", body, expect=400)

    detail = cast(JsonObject, answer["detail"])
    assert (detail["failed_index"], detail["events_validated"], detail["total_events"]) == (1, 1, 3)
    assert (await stage.get("/events"))["total"] == 0


async def test_a_validation_makes_nothing(stage: Stage) -> None:
    answer = await stage.post("/events/batch", {"events": [GOOD, LATE], "validate_only": True})

    assert [(item["index"], item["valid"]) for item in results(answer)] == [(0, True), (1, False)]
    assert (await stage.get("/events"))["total"] == 0


@pytest.mark.parametrize("count", [0, 1001])
async def test_a_batch_is_neither_empty_nor_endless(stage: Stage, count: int) -> None:
    answer = await stage.post("/events/batch", {"events": [GOOD] * count}, expect=400)

    assert cast(JsonObject, answer["detail"])["total_events"] == count
