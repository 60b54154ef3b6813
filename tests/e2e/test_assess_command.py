"""`purple assess` as people run it: an assessor and a simulator of its own, results kept, compared."""

from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from services.assessor.bootstrap import build
from services.assessor.settings import AssessorSettings
from shared.domain.exact_json import loads_object
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import ADMIN, simulator
from tests.doubles.scripted_participant import ScriptedParticipant
from tests.e2e.commands import call_purple, purple, run_purple
from tests.serving import serving


@pytest.mark.promise("assess.command")
def test_an_agent_is_measured_twice_and_the_results_are_compared(tmp_path: Path) -> None:
    """The agent serves in a thread of its own; the command takes signals, which only the first thread hears."""
    kept = str(tmp_path / "kept")
    written(tmp_path / "scenarios")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(reached(Gold().participant)) as agent:
        asked = ("--scenario", SCENE, "--agent", agent.url, "--scenarios-dir", str(tmp_path / "scenarios"))
        done = run_purple("assess", *asked, "--dir", kept, "--json")
    assert done.code == 0, done.err
    said = loads_object(done.out)
    compared = run_purple("assess", "compare", str(said["name"]), str(said["kept_in"]), "--dir", kept)

    assert said["pass_hat"] == {"1": 1}
    assert (tmp_path / "kept" / f"{said['name']}.json").is_file()
    assert compared.code == 0, compared.err
    assert "overall" in compared.out


@pytest.mark.promise("assess.new", "assess.check")
def test_an_author_begins_a_scenario_draws_days_and_has_them_checked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Days are drawn and checked by a process of the assessor, which writes to the output that it inherits."""
    where = ("--scenarios-dir", str(tmp_path))
    begun = run_purple("assess", "new", "my_day", *where)
    again = run_purple("assess", "new", "my_day", *where)
    drawn = run_purple("assess", "days", "--seed", "one", "--count", "1", *where)
    day = capfd.readouterr().out.partition(":")[0]
    checked = run_purple("assess", "check", *where)
    shown = capfd.readouterr()
    missing = run_purple("assess", "check", "nowhere", *where)

    assert (begun.code, drawn.code, checked.code) == (0, 0, 0), shown
    assert (again.code, again.err.strip()) == (1, f"There is {tmp_path / 'my_day'} already.")
    assert {f"{name}: gold earns 100 of 100 points" for name in (day, "my_day")} <= set(shown.out.splitlines())
    assert missing.code == 1
    assert "there is no scenario nowhere" in capfd.readouterr().out


@pytest.mark.promise("assess.command")
async def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path) -> None:
    unknown = await call_purple("assess", "compare", "a", "b", "--dir", str(tmp_path))
    neither = await call_purple("assess")

    assert (unknown.code, unknown.err.strip()) == (
        1,
        f"There is no assessment a in {tmp_path}, nor a file of that name.",
    )
    assert (neither.code, "--scenario and --agent" in neither.err) == (2, True)


@pytest.mark.long
@pytest.mark.promise("assess.command")
async def test_a_run_that_breaks_leaves_those_before_it_kept(tmp_path: Path) -> None:
    written(tmp_path / "scenarios")
    given = {"scenarios_dir": tmp_path / "scenarios", "anthropic_api_key": "", "anthropic_base_url": ""}
    async with simulator() as ues:
        settings = AssessorSettings.model_validate({**given, "simulator_url": ues, "simulator_admin_key": ADMIN})
        async with serving(build(settings)) as assessor, reached(_Once(Gold())) as agent:
            asked = ("--scenario", SCENE, "--agent", agent.url, "--assessor", assessor, "--runs", "2")
            done = await purple("assess", *asked, "--dir", str(tmp_path / "kept"))

    (file,) = (tmp_path / "kept").iterdir()
    runs = loads_object(file.read_text("utf-8"))["runs"]
    assert (done.code, len(runs) if isinstance(runs, list) else runs) == (1, 1)
    assert "the agent answered 500" in done.err.splitlines()[-1]
    assert "9 of 9 points" in done.out


class _Once(ScriptedParticipant):
    """Is measured once, and is out of order from then on."""

    def __init__(self, gold: Gold) -> None:
        super().__init__(gold.turn)
        gold.participant = self

    @override
    def app(self) -> Starlette:
        inner = super().app()

        async def once(scope: Scope, receive: Receive, send: Send) -> None:
            over = any(heard["message_type"] == "assessment_complete" for heard in self.heard)
            broken = over and Request(scope).method == "POST"
            await (JSONResponse({}, 500) if broken else inner)(scope, receive, send)

        return Starlette(routes=[Mount("/", app=once)])
