"""Images and compose file tried for real: ``python -m tests.engine [images] [run] [compose]`` (all, if none is named).

Builds every image and looks into it, then starts what they are for, gives it tasks, runs the demo and stops it. Where
there is no container engine it says what is missing, and that is no failure. The ports 9009 and 9010 must be free.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.engine.docker import PYTHON, DockerFailed, missing, not_to_be_had
from tests.engine.images import build_all, differs_the_second_time, strangers
from tests.engine.stack import (
    OF_ONES_OWN,
    QUESTION,
    answered,
    carried_out_demo,
    composed,
    left_after_stop,
    stopped,
    whole_stack,
)

_MB = 1_000_000
_COLUMNS = "{:<12}{:>12}{:>12}\n"


def main(arguments: Sequence[str]) -> int:
    parts = {"images": _images, "run": _run, "compose": _compose}
    if not set(arguments) <= parts.keys():
        sys.stderr.write(__doc__ or "")
        return 2
    if absent := missing() or not_to_be_had():
        sys.stdout.write(f"Skipped, nothing was tried: {'; '.join(absent)}.\n")
        return 0
    try:
        problems = [problem for name in arguments or parts for problem in parts[name]()]
    except DockerFailed as failed:
        problems = [str(failed)]
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


def _images() -> Iterator[str]:
    """Problems; sizes go to stdout as they are known."""
    sys.stdout.write(_COLUMNS.format("image", "own MB", f"with {PYTHON.rpartition('/')[2]}"))
    for built in build_all():
        sys.stdout.write(_COLUMNS.format(built.name, round(built.own / _MB), round(built.whole / _MB)))
        yield from (f"The image {built.name} {problem}." for problem in built.problems)
    if differs_the_second_time():
        yield "Two builds of the same files have different layers."
    with tempfile.TemporaryDirectory() as folder:
        yield from (f"{name} is sent to the engine, and no image holds it." for name in strangers(Path(folder)))
    sys.stdout.write("Two builds and the context were compared.\n")


def _run() -> Iterator[str]:
    """The whole stack in one container, by the documented commands."""
    began = time.monotonic()
    with whole_stack() as container:
        _tell("docker run: ready", began)
        yield from _wrong_answer()
        if code := stopped(container):
            yield f"The container of the whole stack ended with exit code {code}."
    with whole_stack(*OF_ONES_OWN) as container:
        sys.stdout.write(
            "docker run, with a model and tools of one's own, on a file system that cannot be written: ready\n"
        )
        if code := stopped(container):
            yield f"The container with a model of one's own ended with exit code {code}."


def _compose() -> Iterator[str]:
    """Every service in a container of its own, by the compose file."""
    began = time.monotonic()
    with composed():
        _tell("docker compose up: all healthy", began)
        yield from _wrong_answer()
        sys.stdout.write(carried_out_demo())
        yield from (
            f"{left.Service} ended with exit code {left.ExitCode} ({left.State})."
            for left in left_after_stop()
            if left.ExitCode or left.State != "exited"
        )


def _tell(what: str, began: float) -> None:
    sys.stdout.write(f"{what} after {time.monotonic() - began:.1f} s\n")


def _wrong_answer() -> Iterator[str]:
    answer = answered(QUESTION)
    if not answer.startswith('["EXP-'):
        yield f"{QUESTION!r} was answered {answer!r}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
