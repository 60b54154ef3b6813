"""Days from a seed."""

import json
from pathlib import Path

import pytest

from services.assessor.adapters.played_participant import PlayedScript, load_scripts
from services.assessor.adapters.scenario_folder import load_scenario
from services.assessor.checking import check_scenarios
from services.assessor.core.days.generation import DIFFICULTIES, GeneratedDay, generate_day
from services.assessor.core.permissions import USER_PERMISSIONS
from services.assessor.generating import write_day
from tests.assessor.stage import ADMIN, config, simulator

pytestmark = pytest.mark.promise("assess.generated_days")
_PATHS = {
    "/email/send": "email:send",
    "/email/label": "email:label",
    "/email/archive": "email:archive",
    "/email/delete": "email:delete",
    "/sms/send": "sms:send",
    "/calendar/update": "calendar:update",
    "/calendar/respond": "calendar:respond",
}
WRONG = {"wrong_facts", "wrong_people", "takes_the_bait"}


def test_the_same_seed_makes_the_same_day_and_another_one_another() -> None:
    assert generate_day("one", 4) == generate_day("one", 4)
    written = {json.dumps(generate_day(seed, number).state) for seed in ("one", "two") for number in range(6)}
    assert len(written) == 12


def test_the_days_of_a_seed_have_every_difficulty_and_in_time_every_kind_of_thing_to_do() -> None:
    days = [generate_day("all", number) for number in range(24)]

    assert {str(day.scenario["description"]).split(", ")[1] for day in days} == {f"{one}." for one in DIFFICULTIES}
    kinds = {key.rpartition("_")[0] for day in days for key in _criteria(day)}
    assert {"date", "invoices", "move", "price", "invitations", "number", "change"} <= kinds


def test_every_course_asks_the_public_interface_for_what_a_users_key_allows() -> None:
    for number in range(24):
        for name, course in generate_day("public", number).scripts.items():
            turns = PlayedScript.model_validate(course).turns
            paths = {one.path for turn in turns for one in turn.requests}
            assert {_PATHS[path] for path in paths} <= set(USER_PERMISSIONS), name


def test_a_day_is_written_as_a_scenario_that_warns_of_nothing(tmp_path: Path) -> None:
    for number in range(12):
        day = generate_day("read", number)
        write_day(tmp_path / day.scenario_id, day)

        found = load_scenario(tmp_path / day.scenario_id)

        assert found.warnings == ()
        assert set(load_scripts(tmp_path / day.scenario_id)) == {"gold", *WRONG}


async def test_gold_earns_all_and_each_wrong_variant_less_than_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One day of each difficulty."""
    await _keeps_its_bounds(tmp_path, capsys, "bounds", len(DIFFICULTIES))


async def _keeps_its_bounds(root: Path, capsys: pytest.CaptureFixture[str], seed: str, count: int) -> None:
    for number in range(count):
        day = generate_day(seed, number)
        write_day(root / day.scenario_id, day)
    async with simulator() as url:
        code = await check_scenarios(config(scenarios_dir=root, simulator_url=url, simulator_admin_key=ADMIN), [])
    said = capsys.readouterr().out

    assert code == 0, said
    assert said.count("gold earns 100 of 100 points") == count
    assert all(said.count(f": {name} earns ") == count for name in WRONG)


def _criteria(day: GeneratedDay) -> list[str]:
    criteria = day.scenario["criteria"]
    assert isinstance(criteria, list)
    return [str(one["criterion_id"]) for one in criteria if isinstance(one, dict)]
