"""docs/scenarios.md as a stranger follows it: its commands, in their order, as they are written, in an empty folder."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.stack.plan import find_free_ports
from tests.deployment.dockerfile import ROOT
from tests.e2e.commands import bare_environment

_STEP = re.compile(r"```bash\n(?P<commands>.*?)```(?:\s*```text\n(?P<shown>.*?)```)?", re.DOTALL)
_PORT = "9010"
_AGENT = f"http://127.0.0.1:{_PORT}"
_READY, _LONGEST = 90.0, 300.0

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.promise("scenarios.tutorial")]


class TutorialStep(NamedTuple):
    """``shown``: the lines that the page says the commands print."""

    commands: str
    shown: tuple[str, ...]


def read_steps() -> list[TutorialStep]:
    page = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
    return [
        TutorialStep(found["commands"], tuple((found["shown"] or "").splitlines())) for found in _STEP.finditer(page)
    ]


async def test_each_step_does_and_shows_what_the_page_says(tmp_path: Path) -> None:
    """Nothing but the port of the stack in the other terminal is changed, and where it keeps its data."""
    (port,) = find_free_ports(1)
    ours = {**bare_environment(), "PYTHONPATH": str(ROOT), "PURPLE_PORT": str(port), "XDG_RUNTIME_DIR": str(tmp_path)}
    place = tmp_path / "empty"
    place.mkdir()
    steps = read_steps()
    alone = [step for step in steps if _AGENT not in step.commands]
    with_agent = [step for step in steps if _AGENT in step.commands]
    assert (len(alone), len(with_agent)) == (5, 1)

    for step in alone:
        await _follow(step, place, ours)
    async with _other_terminal(place, {**ours, "PURPLE_DIR": str(tmp_path / "data")}):
        for step in with_agent:
            said = await _follow(step._replace(commands=step.commands.replace(_PORT, str(port))), place, ours)

    assert "Kept as my_day-" in said
    assert "The offer is starred" in said


async def _follow(step: TutorialStep, place: Path, environ: Mapping[str, str]) -> str:
    """The commands end well unless the page shows that something is wrong."""
    process = await _start(step.commands, place, environ)
    out, err = await asyncio.wait_for(process.communicate(), _LONGEST)
    said = out.decode() + err.decode()
    assert "Traceback" not in said
    assert [line for line in step.shown if line not in said.splitlines()] == [], said
    is_wrong = any("cannot be used" in line or "is expected" in line for line in step.shown)
    assert process.returncode == int(is_wrong), said
    return said


@asynccontextmanager
async def _other_terminal(place: Path, environ: Mapping[str, str]) -> AsyncIterator[None]:
    process = await _start("exec purple up", place, environ)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_READY):
            while b"Ctrl-C" not in (line := await process.stdout.readline()):
                assert line, "purple up ended early"
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        await process.communicate()


async def _start(commands: str, place: Path, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *("bash", "-c", f"source {ROOT}/.venv/bin/activate\nset -e\n{commands}"),
        cwd=place,
        env=dict(environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
