"""The official client of the 0.3 line, in an environment of its own, against the gateway."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.integration.gateway_stage import stage

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".legacy-venv"
PYTHON = ENVIRONMENT / "bin" / "python"
MARK = ENVIRONMENT / "complete"
UNREACHABLE = ("failed to fetch", "error sending request", "dns error", "connect", "timed out")
SDK = "a2a-sdk[http-server]>=0.3.20,<0.4"


async def _run(*command: str | Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def _make_environment() -> str | None:
    """Make the environment once; the reason if the package index cannot be reached."""
    if MARK.exists():
        return None
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    for command in (
        (uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, ENVIRONMENT),
        (uv, "pip", "install", "--quiet", "--python", PYTHON, SDK),
    ):
        code, out = await _run(*command)
        if code and any(sign in out.lower() for sign in UNREACHABLE):
            return out.strip()[-300:]
        assert code == 0, out
    MARK.touch()
    return None


@pytest.mark.promise("gateway.a2a_0_3")
async def test_it_sends_reads_approves_and_cancels(redis: Redis, redis_url: str) -> None:
    if reason := await _make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    async with stage(redis, redis_url) as play:
        code, out = await _run(PYTHON, Path(__file__).with_name("client_of_0_3.py"), play.url)
    assert code == 0, out
    assert json.loads(out) == {
        "protocol": "0.3",
        "streaming": False,
        "states": ["completed", "completed", "input-required", "completed", "canceled"],
        "text": "done: hello",
        "same_task": True,
        "unknown_task": -32001,
    }
