"""`purple assess` as people run it: an assessor and a simulator of its own, results kept, compared."""

from pathlib import Path

import pytest

from shared.domain.exact_json import loads_object
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.e2e.commands import purple


@pytest.mark.promise("assess.command")
async def test_an_agent_is_measured_twice_and_the_results_are_compared(tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    written(tmp_path / "scenarios")
    async with reached(Gold().participant) as agent:
        asked = ("--scenario", SCENE, "--agent", agent.url, "--scenarios-dir", str(tmp_path / "scenarios"))
        done = await purple("assess", *asked, "--dir", kept, "--json")
    assert done.code == 0, done.err
    said = loads_object(done.out)
    compared = await purple("assess", "compare", str(said["name"]), str(said["kept_in"]), "--dir", kept)

    assert said["pass_hat"] == {"1": 1}
    assert (tmp_path / "kept" / f"{said['name']}.json").is_file()
    assert compared.code == 0, compared.err
    assert "overall" in compared.out


@pytest.mark.promise("assess.command")
async def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path) -> None:
    unknown = await purple("assess", "compare", "a", "b", "--dir", str(tmp_path))
    neither = await purple("assess")

    assert (unknown.code, unknown.err.strip()) == (
        1,
        f"There is no assessment a in {tmp_path}, nor a file of that name.",
    )
    assert (neither.code, "--scenario and --agent" in neither.err) == (2, True)
