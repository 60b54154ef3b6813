"""Runs a module of the project for its JSON result, since the command line imports no service."""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cli.console import CommandError, err
from shared.domain.exact_json import JsonObject, loads_object

_MOST_CHARACTERS_SHOWN = 2000  # characters of what a process complained about


async def run_for_json(
    *arguments: str, doing: str, seconds: float, environ: Mapping[str, str] | None = None, code: int = 1
) -> JsonObject:
    """Runs ``python -m`` with the arguments in its own process, and returns the JSON object in the last line that it
    prints. ``doing``: what is shown meanwhile.

    ``environ``: its whole environment, by default this process's. Raises ``CommandError`` with the process's own
    sentence, and with ``code``, if it fails, or is not done within ``seconds``.
    """
    with show_spinner(err, doing):
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
                output, error_output = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise CommandError(f"{doing}: no result within {seconds:.0f} seconds.", code=code) from None
    complaints = error_output.decode().strip()
    if process.returncode and complaints:
        *earlier_lines, last_line = complaints.splitlines()
        raise CommandError(last_line, "\n".join(earlier_lines)[-_MOST_CHARACTERS_SHOWN:], code)
    try:
        return loads_object(output.decode().strip().splitlines()[-1])
    except (IndexError, ValueError):
        sentence = f"{doing}: there was no result (exit code {process.returncode})."
        raise CommandError(sentence, complaints[-_MOST_CHARACTERS_SHOWN:], code) from None


def run_module_for_json(
    *arguments: str, doing: str, seconds: float, environ: Mapping[str, str] | None = None, code: int = 1
) -> JsonObject:
    """``run_for_json`` for synchronous callers; raises the same."""
    return asyncio.run(run_for_json(*arguments, doing=doing, seconds=seconds, environ=environ, code=code))


@contextmanager
def show_spinner(console: Console, doing: str) -> Iterator[None]:
    """Shows a spinner with ``doing`` and the elapsed seconds; without a terminal it prints ``doing`` once."""
    if not console.is_terminal:
        console.print(f"{doing} ...", style="dim", markup=False, soft_wrap=True)
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description} ...", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(doing, total=None)
        yield
