"""The README as a newcomer follows it: its commands, in their order, as they are written."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.stack.plan import find_free_ports
from tests.deployment.dockerfile import ROOT
from tests.e2e.commands import Done, bare_environment, call_purple
from tests.redis_server import short_folder

_BLOCKS = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
COMMANDS = [line.split("   #")[0].rstrip() for block in _BLOCKS for line in block.splitlines() if line.strip()]
_OURS = {**bare_environment(), "PYTHONPATH": str(ROOT)}  # this checkout, whichever one the environment was made for
_UP = "make up"
_READY = 90.0
_LONGEST = 300.0


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.promise("readme.commands")
async def test_the_first_command_shows_the_main_job() -> None:
    assert COMMANDS[0] == "make demo"
    done = await _run(COMMANDS[0], _OURS)
    assert done.code == 0, done.err


@pytest.mark.timeout(400)
@pytest.mark.promise("readme.commands", "cli.finds_the_stack")
async def test_a_stack_is_given_work_and_a_person_decides() -> None:
    """Nothing but a port and a folder is changed, by variables; the commands find the stack by themselves, and so do
    those that the page does not show.

    ``ID`` stands for what the list of approvals has shown.
    """
    assert COMMANDS[1] == _UP
    said: dict[str, Done] = {}
    with short_folder() as folder:
        environ = _environ(Path(folder))
        async with _up(environ):
            await _follow(COMMANDS[2:], environ, said)
            audit = await call_purple("audit", "--json", environ=environ)
            task = json.loads(audit.out)["writes"][0]["task_id"]
            backtest = "policy backtest cli/defaults/company_tenant.json"
            for further in (f"replay {task}", "dlq list", backtest):
                said[further] = await call_purple(*further.split(), environ=environ)
    assert {command: done.err for command, done in said.items() if done.code} == {}
    assert "EXP-1001" in _out(said, 'purple send "Which')
    assert "manager" in _out(said, 'purple send "Approve')
    assert "EXP-1001" in _out(said, "purple approvals list")
    assert "approved" in _out(said, "purple approvals approve")
    assert "verified" in _out(said, "purple audit")


async def _follow(commands: list[str], environ: Mapping[str, str], said: dict[str, Done]) -> None:
    for command in commands:
        if re.search(r"\bID\b", command):
            listed = json.loads((await call_purple("approvals", "list", "--json", environ=environ)).out)
            assert listed["approvals"], said
            command = re.sub(r"\bID\b", listed["approvals"][0]["approval_id"], command)
        if not command.startswith("source "):  # each runs in a shell of its own, which has done that
            said[command] = await _run(command, environ)


def _out(said: Mapping[str, Done], beginning: str) -> str:
    return next(done.out for command, done in said.items() if command.startswith(beginning))


def _environ(folder: Path) -> dict[str, str]:
    (port,) = find_free_ports(1)
    return {**_OURS, "PURPLE_PORT": str(port), "PURPLE_DIR": str(folder / "data"), "XDG_RUNTIME_DIR": str(folder)}


@asynccontextmanager
async def _up(environ: Mapping[str, str]) -> AsyncIterator[None]:
    """As in a first terminal, and Ctrl-C there at the end."""
    process = await _start(_UP, environ)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_READY):
            while b"Ctrl-C" not in (line := await process.stdout.readline()):
                assert line, "make up ended early"
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        await process.communicate()


async def _run(command: str, environ: Mapping[str, str]) -> Done:
    process = await _start(command, environ)
    out, err = await asyncio.wait_for(process.communicate(), _LONGEST)
    return Done(process.returncode or 0, out.decode(), err.decode())


async def _start(command: str, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """In the environment that runs this suite: ``make`` is told that it is there."""
    words = command.replace("make ", "make --assume-old=.venv/.ready ", 1) if command.startswith("make ") else command
    return await asyncio.create_subprocess_exec(
        *("bash", "-c", f"source .venv/bin/activate && exec {words}"),
        cwd=ROOT,
        env=dict(environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
