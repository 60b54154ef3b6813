"""Names say what they are of, and one class has each: what `make check` asks of the project finds what breaks it."""

from collections import Counter
from pathlib import Path

import pytest

from tests.architecture.names import is_bare, offenders


def _project(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / "shared" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("name", ["told", "_shown", "settled", "besides", "held_to", "carried_out", "of", "patiently"])
def test_a_name_without_noun_and_verb_is_bare(name: str) -> None:
    assert is_bare(name)


@pytest.mark.parametrize(
    "name", ["seed", "apply", "is_settled", "settled_tasks", "find", "wrapped", "__enter__", "feed"]
)
def test_a_name_with_one_is_not(name: str) -> None:
    assert not is_bare(name)


def test_properties_and_overrides_are_not_asked(tmp_path: Path) -> None:
    text = """class Task:
    @property
    def settled(self): ...
    @override
    def told(self): ...
    def found(self): ...
"""
    assert offenders(_project(tmp_path, task=text)) == Counter({"bare:Task.found": 1})


def test_a_class_twice_and_names_of_the_house_are_found(tmp_path: Path) -> None:
    one, two = "class Desk: ...\nclass Call: ...\n", "class Call: ...\ndef open_door(): ...\n"

    found = offenders(_project(tmp_path, one=one, errands=two))

    assert found == Counter({"class:Desk": 1, "twice:Call": 2, "function:open_door": 1, "file:errands.py": 1})


def test_so_are_parameters_variables_attributes_and_contracts(tmp_path: Path) -> None:
    text = "import a as desk\ndef take(clerk): self._seats = [face for face in clerk.rooms]\n"
    (tmp_path / "pyproject.toml").write_text('[[tool.importlinter.contracts]]\nname = "core > rooms"\nlayers = []\n')

    found = offenders(_project(tmp_path, one=text))

    named = ["import:desk", "variable:clerk", "variable:_seats", "variable:face", "contract:rooms"]
    assert found == Counter(named)


def test_a_word_that_its_thing_has_in_the_world_outside_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "examples" / "company" / "tools"
    folder.mkdir(parents=True)
    (folder / "customers.py").write_text("seats = 3\nrooms = 4\n")

    assert offenders(tmp_path) == Counter({"variable:rooms": 1})


def test_moving_a_file_changes_nothing(tmp_path: Path) -> None:
    text = "def told(): ...\n"

    assert offenders(_project(tmp_path / "a", one=text)) == offenders(_project(tmp_path / "b", other=text))
