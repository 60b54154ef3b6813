"""What an author is told of a scenario: read, booted to the end of its day, and played."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from cli.assess.command import create_scenario
from cli.console import CommandError
from services.assessor.checking import check_scenarios
from shared.contracts.assessment.messages import JsonObject
from tests.assessor.stage import ADMIN, config, simulator

pytestmark = pytest.mark.promise("assess.check")
Change = Callable[[JsonObject], None]
DAY = "my_day"


@pytest.mark.promise("assess.new")
async def test_a_scenario_that_was_just_begun_can_be_used_and_tells_gold_from_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_scenario(tmp_path, DAY)

    code, said = await _checked(tmp_path, capsys)

    assert (code, said) == (0, [
        "my_day: 5 criteria, 100 points, 2 people",
        "my_day: gold earns 100 of 100 points",
        "my_day: idle earns 0 of 100 points",
        "my_day: takes_the_bait earns 0 of 100 points",
        "my_day: wrong_day earns 0 of 100 points",
    ])  # fmt: skip


@pytest.mark.promise("assess.new")
def test_a_scenario_is_not_written_over_another_nor_under_a_name_that_is_none(tmp_path: Path) -> None:
    create_scenario(tmp_path, DAY)
    for name in (DAY, "My Day", "../my_day", ""):
        with pytest.raises(CommandError):
            create_scenario(tmp_path, name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda state: _mails(state)["m-ben"].pop("subject"),
            "environment.modality_states.email.emails.m-ben.subject: Field required",
        ),
        (
            lambda state: _mails(state)["m-ben"].update(priority="odd"),
            "environment.modality_states.email.emails.m-ben.priority: Input should be 'high', 'normal' or 'low'",
        ),
        (
            lambda state: state["environment"].update(time_state={"current_time": "2026-03-02T08:00:00Z"}),
            "environment.time_state.current_time is 2026-03-02 08:00:00+00:00, start_time 2026-03-02 09:00:00+00:00",
        ),
        (lambda state: _later(state).update(subject=None), "events.0.data.subject: Input should be a valid string"),
        (
            lambda state: _later(state).update(message_id="m-ben"),
            "events: email.receive at 2026-03-02 10:20:00+00:00 fails: ActionFailed:",
        ),
    ],
)
async def test_a_world_that_cannot_be_had_is_named_with_its_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, said: str
) -> None:
    _changed(create_scenario(tmp_path, DAY) / "initial_state.json", change)

    code, lines = await _checked(tmp_path, capsys)

    assert code == 1
    assert lines[0].startswith(f"my_day: cannot be used: initial_state: {said}")


async def test_a_scenario_that_cannot_be_read_is_named_with_its_field_and_the_others_are_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _changed(create_scenario(tmp_path, "broken") / "scenario.json", lambda written: written.update(criteria=[]))
    create_scenario(tmp_path, DAY)

    code, lines = await _checked(tmp_path, capsys)

    assert code == 1
    assert lines[0].startswith("broken: cannot be used: broken/scenario.json: criteria")
    assert "my_day: gold earns 100 of 100 points" in lines


async def test_what_nothing_knows_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = create_scenario(tmp_path, DAY) / "initial_state.json"
    _changed(state, lambda written: _states(written).update(smell={"strength": 3}))

    code, lines = await _checked(tmp_path, capsys)

    assert code == 0
    assert "my_day: warning: Unknown modality 'smell' was skipped" in lines


async def test_courses_that_earn_too_little_or_too_much_are_told_with_the_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = create_scenario(tmp_path, DAY) / "played"
    gold, wrong = (played / "gold.json").read_text(), (played / "wrong_day.json").read_text()
    (played / "gold.json").write_text(wrong.replace("/email/label", "/email/delete"))
    (played / "wrong_day.json").write_text(gold)

    code, lines = await _checked(tmp_path, capsys)

    assert code == 1
    assert "my_day: gold earns 0 of 100 points, at least 95% is expected" in lines
    assert "my_day:   Ben has the date: Missing: the answer to Ben." in lines
    assert "my_day: wrong_day earns 100 of 100 points, less than 50% is expected" in lines


async def test_a_course_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (create_scenario(tmp_path, DAY) / "played" / "gold.json").write_text(
        '{"turns": [{"requests": [{"path": "http://x"}]}]}'
    )

    code, lines = await _checked(tmp_path, capsys)

    assert code == 1
    assert lines[0].startswith("my_day: cannot be used: played/gold.json")


async def test_a_folder_without_a_scenario_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await _checked(tmp_path, capsys) == (1, [f"There is no scenario in {tmp_path}."])


async def _checked(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    async with simulator() as url:
        given = config(scenarios_dir=root, simulator_url=url, simulator_admin_key=ADMIN)
        code = await check_scenarios(given, [])
    return code, capsys.readouterr().out.splitlines()


def _changed(path: Path, change: Change) -> None:
    written = cast(JsonObject, json.loads(path.read_text()))
    change(written)
    path.write_text(json.dumps(written))


def _states(state: JsonObject) -> JsonObject:
    return cast(JsonObject, cast(JsonObject, state["environment"])["modality_states"])


def _mails(state: JsonObject) -> dict[str, JsonObject]:
    return cast(dict[str, JsonObject], cast(JsonObject, _states(state)["email"])["emails"])


def _later(state: JsonObject) -> JsonObject:
    events = cast(list[JsonObject], cast(JsonObject, state["events"])["events"])
    return cast(JsonObject, events[0]["data"])
