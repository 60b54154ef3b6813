"""Lists the stacks that this user runs on this machine: one file for each, which its launcher locks while it runs."""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from cli.console import CommandError, err
from shared.domain.exact_json import as_object, dumps, loads_object

DEFAULT_URL = "http://127.0.0.1:9010"
_OWNER_ONLY_MODE = 0o700


class RunningStack(NamedTuple):
    """A stack that runs on this machine: its gateway's URL, its data folder, and the variables that lead to its Redis
    and tools (no secrets).
    """

    url: str
    folder: Path
    environ: Mapping[str, str] = MappingProxyType({})


@contextmanager
def register_stack(stack: RunningStack) -> Iterator[None]:
    """Lists the stack while the context lasts. If its file cannot be written, commands need ``--url`` and ``--dir``."""
    try:
        path = _open_registry() / f"{os.getpid()}.json"
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        err.print(f"Commands will not find this stack by themselves: {error}", style="dim")
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(dumps({"url": stack.url, "folder": str(stack.folder), "environ": {**stack.environ}}))
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def list_running_stacks() -> tuple[RunningStack, ...]:
    """The user's stacks whose launchers still run."""
    try:
        files = sorted(_open_registry().glob("*.json"))
    except OSError:
        return ()
    return tuple(stack for file in files if (stack := _read_running_stack(file)) is not None)


def find_gateway_url() -> str:
    """The gateway's URL for commands without ``--url``: that of the stack that runs here, else the default URL.

    Raises ``CommandError`` if several stacks run and ``choose_stack`` finds none of them.
    """
    stack = choose_stack(list_running_stacks(), Path.cwd())
    if stack is None:
        return DEFAULT_URL
    if stack.url != DEFAULT_URL:
        err.print(f"(the stack at {stack.url})", style="dim")
    return stack.url


def find_data_folder(url: str = "") -> Path | None:
    """The data folder of the stack at ``url``, else of the stack that runs here; None if there is none.

    Raises ``CommandError`` if several stacks run and none is meant.
    """
    stack = _find_stack(url)
    return stack.folder if stack else None


def find_stack_environ(url: str = "") -> Mapping[str, str]:
    """The variables that lead to Redis and tools of the stack at ``url``, else of the stack that runs here; empty if
    there is none.

    Raises ``CommandError`` if several stacks run and none is meant.
    """
    stack = _find_stack(url)
    return stack.environ if stack else {}


def _find_stack(url: str) -> RunningStack | None:
    stacks = list_running_stacks()
    stacks_at_url = [stack for stack in stacks if stack.url == url.rstrip("/")]
    return stacks_at_url[0] if stacks_at_url else choose_stack(stacks, Path.cwd())


def choose_stack(stacks: tuple[RunningStack, ...], folder: Path) -> RunningStack | None:
    """The stack that a command run in ``folder`` is meant for; None if no stack runs.

    If several run: the one whose data folder is in ``folder`` or in the nearest folder above, else the one at the
    default URL. Raises ``CommandError`` if that does not single out one.
    """
    stacks_above = [stack for stack in stacks if stack.folder.parent in (folder, *folder.parents)]
    depth = max((len(stack.folder.parts) for stack in stacks_above), default=0)
    nearest = [stack for stack in stacks_above if len(stack.folder.parts) == depth]
    for candidates in (stacks, nearest, [stack for stack in nearest or stacks if stack.url == DEFAULT_URL]):
        if len(candidates) == 1:
            return candidates[0]
    if not stacks:
        return None
    urls = "\n".join(stack.url for stack in stacks)
    raise CommandError(f"{len(stacks)} stacks run here: say which one, with --url.", urls)


def _open_registry() -> Path:
    """The registry's folder, which only this user can write. Raises ``OSError`` if somebody else made it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "purple-agent" if runtime else Path(tempfile.gettempdir()) / f"purple-agent-{os.getuid()}"
    folder.mkdir(mode=_OWNER_ONLY_MODE, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not this user's alone")
    return folder


def _read_running_stack(file: Path) -> RunningStack | None:
    try:
        with file.open(encoding="utf-8") as opened:
            if _is_unlocked(opened.fileno()):
                return None
            entry = loads_object(opened.read())
        environ = {name: str(value) for name, value in as_object(entry.get("environ")).items()}
        return RunningStack(str(entry["url"]), Path(str(entry["folder"])), environ)
    except (OSError, ValueError, KeyError):  # it is going away, or being written
        return None


def _is_unlocked(descriptor: int) -> bool:
    """Whether no launcher holds the lock on the file, which means that the launcher has ended."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
