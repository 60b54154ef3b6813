"""Scenarios as folders: ``<id>/scenario.json``, its ``initial_state.json`` and its ``evaluators.py``.

A scenario's Python is run as it is: whoever may write there is trusted.
"""

import importlib.util
import inspect
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from pydantic import JsonValue, ValidationError

from services.assessor.adapters.evaluator_threads import threaded_evaluator
from services.assessor.adapters.published_names import published_names
from services.assessor.core.evaluation import Evaluator, Evaluators
from services.assessor.core.scenario import ID, ScenarioConfig
from services.assessor.core.usual_values import fill_usual_values
from shared.contracts.base import describe_first_error

_STATE = "initial_state.json"
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.json")
_IMPORTING = threading.Lock()  # what one scenario imports by a bare name must not be found by another that loads then


class BadScenario(Exception):
    """The scenario cannot be used; the message says where and why."""


@dataclass(frozen=True)
class LoadedScenario:
    config: ScenarioConfig
    evaluators: Evaluators
    warnings: tuple[str, ...] = ()


class ScenarioFolder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def list_ids(self) -> list[str]:
        return sorted(path.parent.name for path in self._root.glob("*/scenario.json") if re.match(ID, path.parent.name))

    def load(self, scenario_id: str) -> LoadedScenario:
        """The scenario with that id; raises ``BadScenario`` if there is none, or it cannot be used."""
        if not re.match(ID, scenario_id):
            raise BadScenario(f"{scenario_id[:100]!r} is no scenario's id")
        folder = self._root / scenario_id
        if not (folder / "scenario.json").is_file():
            raise BadScenario(f"there is no scenario {scenario_id}; there are: {', '.join(self.list_ids()) or 'none'}")
        return load_scenario(folder)


def load_scenario(folder: Path) -> LoadedScenario:
    """The scenario of that folder. Raises ``BadScenario``."""
    written = _read_json_object(folder / "scenario.json")
    try:
        config = ScenarioConfig.model_validate({**written, "initial_state": _load_state(folder, written)})
    except ValidationError as error:
        raise BadScenario(f"{folder.name}/scenario.json: {describe_first_error(error)}") from error
    if config.scenario_id != folder.name:
        raise BadScenario(f"the scenario of the folder {folder.name} calls itself {config.scenario_id}")
    evaluators = load_evaluators(folder)
    _check_evaluators_exist(config, evaluators)
    return LoadedScenario(config, evaluators, config.warnings())


def load_evaluators(folder: Path) -> Evaluators:
    """Every public async function of ``evaluators.py`` with two parameters or more, by its name; run in threads.

    Empty without the file. Raises ``BadScenario`` if it cannot be imported.
    """
    if not (folder / "evaluators.py").is_file():
        return {}
    module = _import_evaluators(folder)
    return {
        name: threaded_evaluator(cast(Evaluator, function))
        for name, function in vars(module).items()
        if not name.startswith("_")
        and inspect.iscoroutinefunction(function)
        and len(inspect.signature(function).parameters) >= 2
    }


def _check_evaluators_exist(config: ScenarioConfig, evaluators: Evaluators) -> None:
    evaluator_ids = [
        criterion.evaluator_id
        for criterion in config.criteria
        if criterion.evaluator_id and not criterion.evaluation_prompt
    ]
    missing = sorted({*evaluator_ids, *config.early_completion_conditions} - evaluators.keys())
    if missing:
        raise BadScenario(f"{config.scenario_id}: evaluators.py has no {', '.join(missing)}")


def _load_state(folder: Path, written: dict[str, JsonValue]) -> JsonValue:
    state_file = written.get("initial_state") or _STATE
    if isinstance(state_file, dict):
        return fill_usual_values(state_file, written)
    if not isinstance(state_file, str):
        return state_file
    if not _PLAIN_PATTERN.fullmatch(state_file):
        raise BadScenario(f"{folder.name}: initial_state names no file of the folder: {state_file[:100]!r}")
    return fill_usual_values(_read_json_object(folder / state_file), written)


def _read_json_object(path: Path) -> dict[str, JsonValue]:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise BadScenario(f"{path.parent.name}/{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadScenario(f"{path.parent.name}/{path.name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadScenario(f"{path.parent.name}/{path.name} is no JSON object")
    return value


def _import_evaluators(folder: Path) -> ModuleType:
    name = f"scenario_evaluators_{folder.name}"
    spec = importlib.util.spec_from_file_location(name, folder / "evaluators.py")
    if spec is None or spec.loader is None:
        raise BadScenario(f"{folder.name}/evaluators.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    try:
        with _IMPORTING, published_names(), _sibling_imports(folder):
            spec.loader.exec_module(module)
    except Exception as error:  # a scenario's own code: whatever it raises, the scenario cannot be used
        raise BadScenario(f"{folder.name}/evaluators.py: {type(error).__name__}: {error}") from error
    return module


@contextmanager
def _sibling_imports(folder: Path) -> Iterator[None]:
    """Modules of the folder by their bare names, for as long as it takes; the next scenario has its own."""
    before, folder_path = set(sys.modules), str(folder.resolve())
    sys.path.insert(0, folder_path)
    try:
        yield
    finally:
        sys.path.remove(folder_path)
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(folder_path):
                del sys.modules[name]
