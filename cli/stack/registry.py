"""Which stacks this user runs on this machine, so that commands find theirs without being told its address.

Each has a file, which its launcher holds locked for as long as it lives: a file that nobody holds is of a launcher that
was killed, and counts for nothing.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cli.console import Complaint, err
from shared.domain.exact_json import dumps, loads_object

USUAL_URL = "http://127.0.0.1:9010"
_OWNERS_FOLDER = 0o700


class RunningStack(NamedTuple):
    """Where its gateway answers, and where its data lie."""

    url: str
    folder: Path


@contextmanager
def register_stack(stack: RunningStack) -> Iterator[None]:
    """For as long as the stack runs. Where no file can be kept, commands have to be told ``--url`` and ``--dir``."""
    try:
        path = _registry() / f"{os.getpid()}.json"
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        err.print(f"Commands will not find this stack by themselves: {error}", style="dim", markup=False)
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(dumps({"url": stack.url, "folder": str(stack.folder)}))
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def running_stacks() -> tuple[RunningStack, ...]:
    """Every stack of this user whose launcher lives."""
    try:
        files = sorted(_registry().glob("*.json"))
    except OSError:
        return ()
    return tuple(stack for file in files if (stack := _read(file)) is not None)


def gateway_url() -> str:
    """Where commands without ``--url`` go: the stack that runs, else the usual address. Raises ``Complaint``."""
    stack = stack_here(running_stacks(), Path.cwd())
    if stack is None:
        return USUAL_URL
    if stack.url != USUAL_URL:
        err.print(f"(the stack at {stack.url})", style="dim", markup=False)
    return stack.url


def data_folder(url: str = "") -> Path | None:
    """Where the stack keeps its data that answers at ``url``, or the one that runs here; None where none does."""
    stacks = running_stacks()
    named = [stack for stack in stacks if stack.url == url.rstrip("/")]
    found = named[0] if named else stack_here(stacks, Path.cwd())
    return found.folder if found else None


def stack_here(stacks: tuple[RunningStack, ...], here: Path) -> RunningStack | None:
    """The only one; of several the one whose data lie nearest, here or above, else that at the usual address."""
    above = [stack for stack in stacks if stack.folder.parent in (here, *here.parents)]
    depth = max((len(stack.folder.parts) for stack in above), default=0)
    near = [stack for stack in above if len(stack.folder.parts) == depth]
    for chosen in (stacks, near, [stack for stack in near or stacks if stack.url == USUAL_URL]):
        if len(chosen) == 1:
            return chosen[0]
    if not stacks:
        return None
    raise Complaint(f"{len(stacks)} stacks run here: say which one, with --url.", "\n".join(one.url for one in stacks))


def _registry() -> Path:
    """A folder that this user alone can write. Raises ``OSError`` where somebody else has made it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "purple-agent" if runtime else Path(tempfile.gettempdir()) / f"purple-agent-{os.getuid()}"
    folder.mkdir(mode=_OWNERS_FOLDER, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not this user's alone")
    return folder


def _read(file: Path) -> RunningStack | None:
    try:
        with file.open(encoding="utf-8") as opened:
            if _is_free(opened.fileno()):
                return None
            said = loads_object(opened.read())
        return RunningStack(str(said["url"]), Path(str(said["folder"])))
    except (OSError, ValueError, KeyError):  # it is going away, or being written
        return None


def _is_free(descriptor: int) -> bool:
    """Whether nobody holds it: then its launcher is gone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
