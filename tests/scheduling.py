"""Which tests the processes of `make test` take, and in which order."""

from typing_extensions import override
from xdist.scheduler import LoadFileScheduling

# What waits for real processes comes first, so that nothing long is left over for one process alone.
_FIRST = ("e2e", "browser", "compat", "conformance", "planner_tasks", "processes", "integration", "assessor", "ports")
_TOGETHER = "tests/e2e/one_stack"


def rank(nodeid: str) -> int:
    """Lowest first."""
    folder = nodeid.split("/")[1]
    return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)


class ByStack(LoadFileScheduling):  # type: ignore[misc]  # ships no types
    """A file's tests run in one process, and so do all files that share a stack: it starts once."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        return _TOGETHER if nodeid.startswith(_TOGETHER) else nodeid.partition("::")[0]
