"""Who is measured knows nothing of what it is measured by: no name, address or id of a scenario is in the product."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.assessor.settings import SCENARIOS

_SERVICES = Path(__file__).parents[2] / "services"
_MEASURED = ("executor", "planner", "gateway", "learner", "policy")
_ADDRESS = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)*\.example)")
_ID = re.compile(r'"(m-[a-z0-9-]+|e-[a-z0-9-]+)"')


@pytest.mark.promise("assessor.scenario_bounds")
def test_no_word_of_a_scenario_stands_in_what_is_measured() -> None:
    telling = {word for path in SCENARIOS.glob("*/*.json") for word in _words(path.read_text(encoding="utf-8"))}
    found = {(path.name, word) for path, text in _sources() for word in telling if word in text}

    assert len(telling) > 40  # names, domains and ids of all scenarios
    assert found == set()


def _words(text: str) -> Iterator[str]:
    """Domains of addresses, ids of mails and appointments, whole names of characters."""
    yield from _ADDRESS.findall(text)
    yield from _ID.findall(text)
    people = json.loads(text).get("characters", {})
    yield from (person["name"] for person in people.values() if person["name"].istitle() and " " in person["name"])


def _sources() -> Iterator[tuple[Path, str]]:
    for service in _MEASURED:
        for path in sorted((_SERVICES / service).rglob("*")):
            if path.suffix in (".py", ".md", ".json", ".html"):
                yield path, path.read_text(encoding="utf-8")
