"""Waiting for what no event announces: the end or the first words of another process."""

import asyncio
from collections.abc import Callable
from pathlib import Path


async def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it held within the bound; looked at every 20 ms."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.02)
    except TimeoutError:
        return False
    return True


def is_gone(pid: int) -> bool:
    """Whether a process runs no more; a zombie that nobody has buried yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may go while it is read
        return True
