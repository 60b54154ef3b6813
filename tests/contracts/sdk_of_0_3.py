"""The 0.3 line of the official SDK, in an environment of its own that is made once and kept."""

import asyncio
import shutil
import sys
from pathlib import Path

from tests.authorities import environment_of_the_user

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".legacy-venv"
PYTHON = ENVIRONMENT / "bin" / "python"
MARK = ENVIRONMENT / "complete"
UNREACHABLE = ("failed to fetch", "error sending request", "dns error", "connect", "timed out")
SDK = "a2a-sdk[http-server,signing]>=0.3.20,<0.4"


async def run(*command: str | Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        env=environment_of_the_user(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def make_environment() -> str | None:
    """Make the environment once for each list of what it holds; the reason if the package index cannot be reached."""
    if MARK.exists() and MARK.read_text() == SDK:
        return None
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    for command in (
        (uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, ENVIRONMENT),
        (uv, "pip", "install", "--quiet", "--python", PYTHON, SDK),
    ):
        code, out = await run(*command)
        if code and any(sign in out.lower() for sign in UNREACHABLE):
            return out.strip()[-300:]
        assert code == 0, out
    MARK.write_text(SDK)
    return None
