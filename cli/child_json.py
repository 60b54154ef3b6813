"""Run one of the project's modules for its result: the command line imports no service."""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cli.console import Complaint, err
from shared.domain.exact_json import JsonObject, loads_object

_SHOWN = 2000  # characters of what a process complained about


async def run_for_json(
    *arguments: str, doing: str, seconds: float, environ: Mapping[str, str] | None = None
) -> JsonObject:
    """``python -m`` these arguments, in a process of its own; its last line on stdout is one JSON object.

    ``environ`` is its whole environment, this one's by default.

    Raises ``Complaint`` with the process's own sentence if it ends with an error, or not in time.
    """
    with in_progress(err, doing):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environ,
        )
        try:
            async with asyncio.timeout(seconds):
                said, complained = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise Complaint(f"{doing}: no result within {seconds:.0f} seconds.") from None
    return _result(doing, said.decode(), complained.decode().strip(), process.returncode or 0)


def _result(doing: str, said: str, complained: str, code: int) -> JsonObject:
    if code and complained:
        *before, last = complained.splitlines()
        raise Complaint(last, "\n".join(before)[-_SHOWN:])
    try:
        return loads_object(said.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise Complaint(f"{doing}: there was no result (exit code {code}).", complained[-_SHOWN:]) from None


@contextmanager
def in_progress(console: Console, doing: str) -> Iterator[None]:
    """A spinner with its seconds at a terminal, gone when the work is done; elsewhere one line."""
    if not console.is_terminal:
        console.print(f"{doing} ...", style="dim", markup=False, soft_wrap=True)
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description} ...", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(doing, total=None)
        yield
