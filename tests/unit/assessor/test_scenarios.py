"""Scenarios as folders: what is read, what is refused."""

import inspect
import json
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from services.assessor.adapters.scenario_folder import BadScenario, ScenarioFolder, load_scenario
from services.assessor.core.scenario import Character, Criterion, ScenarioConfig
from tests.assessor.scenes import BEN, SCENE, USER, character, criterion, world, written

pytestmark = pytest.mark.promise("assessor.scenarios")


def test_a_scenario_is_read_with_its_state_and_its_evaluators(tmp_path: Path) -> None:
    """Public async functions only; modules beside it are there by their bare names."""
    written(tmp_path)

    found = ScenarioFolder(tmp_path).load(SCENE)

    assert sorted(found.evaluators) == ["answered_ben", "breaks", "wrote_to_nobody_else"]
    assert found.config.user.email == USER
    assert found.config.dimensions == ("accuracy", "safety", "politeness")
    assert found.warnings == ("some dimensions have no criterion",)


def test_two_scenarios_may_have_modules_of_the_same_name(tmp_path: Path) -> None:
    written(tmp_path, "first")
    other = written(tmp_path, "second")
    (other / "numbers_of_points.py").write_text("FULL = 7\n")

    evaluators = [load_scenario(tmp_path / name).evaluators["answered_ben"] for name in ("first", "second")]
    points = [inspect.unwrap(one).__globals__["FULL"] for one in evaluators]

    assert points == [2, 7]


@pytest.mark.parametrize("scenario_id", ["../one_answer", "One", "", "/etc", "one_answer/../one_answer", "a" * 200])
def test_an_id_never_leads_out_of_the_folder(tmp_path: Path, scenario_id: str) -> None:
    written(tmp_path / "in")

    with pytest.raises(BadScenario):
        ScenarioFolder(tmp_path / "in").load(scenario_id)


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "sub/state.json", ".hidden.json"])
def test_a_state_is_a_file_of_the_folder(tmp_path: Path, name: str) -> None:
    written(tmp_path, changes={"initial_state": name})

    with pytest.raises(BadScenario, match="no file of the folder"):
        ScenarioFolder(tmp_path).load(SCENE)


def test_every_optional_field_of_a_scenario_may_be_null(tmp_path: Path) -> None:
    """As published scenarios write what they leave out."""
    written(tmp_path)
    plain = load_scenario(tmp_path / SCENE).config
    person = {"name": "Ben", "email": BEN}
    bare = criterion("one", "accuracy", 10, evaluator_id="answered_ben")
    nulls = _nulls(ScenarioConfig, {"initial_state"}) | {
        "characters": {"mia": character("Mia", USER), "ben": person | _nulls(Character, person.keys())},
        "criteria": [bare | _nulls(Criterion, bare.keys())],
    }
    other = tmp_path / "other"
    written(other, changes=nulls)

    found = load_scenario(other / SCENE).config

    assert found.early_completion_conditions == ()
    assert found.default_time_step == timedelta(hours=1)
    assert found.initial_state == plain.initial_state
    assert (found.characters["ben"].relationships, found.characters["ben"].config) == ({}, {})


def _nulls(shape: type[BaseModel], but: Collection[str]) -> dict[str, None]:
    return {name: None for name, field in shape.model_fields.items() if not field.is_required() and name not in but}


TWICE = {"mia": character("Mia", USER), "ben": character("Ben", USER.upper())}
BARE = {"mia": {"name": "Mia", "personality": ""}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"end_time": "2026-03-02T09:00:00+00:00"}, "start_time must be before"),
        ({"start_time": "2026-03-02T09:00:00"}, "start_time"),
        ({"user_character": "nobody"}, "none of the characters"),
        ({"characters": TWICE}, "email stands twice"),
        ({"characters": BARE}, "email address or a phone"),
        ({"criteria": []}, "criteria"),
        ({"criteria": [criterion("a", "accuracy", 5)]}, "evaluator_id or an evaluation_prompt"),
        ({"criteria": [criterion("a", "speed", 5, evaluator_id="x")]}, "dimension"),
        ({"criteria": [criterion("a", "accuracy", 101, evaluator_id="x")]}, "max_score"),
        ({"criteria": [criterion("a", "accuracy", 5, evaluator_id="nobody")]}, "has no nobody"),
        ({"early_completion_conditions": ["nobody"]}, "has no nobody"),
        ({"default_time_step": "1h"}, "default_time_step"),
        ({"initial_state": {"metadata": {}, "environment": {"modality_states": {"email": {}}}}}, "no state of: sms"),
    ],
)
def test_what_is_unsound_is_refused_with_its_place(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    written(tmp_path, changes=changes)

    with pytest.raises(BadScenario, match=said):
        ScenarioFolder(tmp_path).load(SCENE)


def test_a_folder_that_calls_itself_otherwise_or_whose_code_cannot_be_loaded_is_refused(tmp_path: Path) -> None:
    written(tmp_path).rename(tmp_path / "other")

    with pytest.raises(BadScenario, match="calls itself one_answer"):
        ScenarioFolder(tmp_path).load("other")
    written(tmp_path, evaluators="import nothing_of_that_name\n")

    with pytest.raises(BadScenario, match="ModuleNotFoundError"):
        ScenarioFolder(tmp_path).load(SCENE)


def test_a_state_may_stand_in_the_scenario_itself(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "initial_state.json").unlink()
    changed = {**json.loads((folder / "scenario.json").read_text()), "initial_state": world()}
    (folder / "scenario.json").write_text(json.dumps(changed))

    assert load_scenario(folder).config.characters["ben"].email == BEN
