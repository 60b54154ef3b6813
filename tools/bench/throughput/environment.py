"""The environment of its own that LangGraph runs in: what it brings stands beside what the product brings."""

import asyncio
import shutil
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_FOLDER = _ROOT / ".venvs" / "langgraph"
_PINNED = _ROOT / "locks" / "langgraph.txt"
PYTHON = _FOLDER / "bin" / "python"


async def make_environment() -> str:
    """Make it once, and keep it until other versions are pinned; the reason if it cannot be had, else nothing."""
    made = _FOLDER / "langgraph.txt"
    if made.exists() and made.read_bytes() == _PINNED.read_bytes():
        return ""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    for command in (
        (uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(_FOLDER)),
        (uv, "pip", "install", "--quiet", "--python", str(PYTHON), "--require-hashes", "-r", str(_PINNED)),
    ):
        try:
            process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        except OSError as problem:
            return f"{command[0]}: {problem}"
        _, said = await process.communicate()
        if process.returncode:
            return said.decode(errors="replace").strip()[-300:]
    shutil.copyfile(_PINNED, made)
    return ""
