"""Which tests the processes of `make test` take, and in which order."""

from typing_extensions import override
from xdist.scheduler import LoadFileScheduling

# What takes long comes first, so that nothing long is left over for one process alone.
_FIRST = ("e2e", "browser", "integration", "compat", "conformance", "planner_tasks", "processes", "assessor", "ports")
_WAITING = ("e2e", "browser", "integration", "ports")  # mostly for real processes and for time to pass
_TOGETHER = "tests/e2e/one_stack"


def rank(nodeid: str) -> int:
    """Lowest first."""
    folder = _folder(nodeid)
    return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)


def _folder(nodeid: str) -> str:
    return nodeid.split("/")[1]


class ByStack(LoadFileScheduling):  # type: ignore[misc]  # ships no types
    """A file's tests run in one process, and so do all files that share a stack: it starts once.

    While some processes wait, one computes, so that no core is idle at first and crowded in the end.
    """

    @override
    def _split_scope(self, nodeid: str) -> str:
        return _TOGETHER if nodeid.startswith(_TOGETHER) else nodeid.partition("::")[0]

    @override
    def _assign_work_unit(self, node: object) -> None:
        others = [units for other, units in self.assigned_work.items() if other is not node and units]
        waiting = sum(_folder(next(reversed(units))) in _WAITING for units in others)
        may_wait = waiting < len(self.nodes) - 1
        fitting = (scope for scope in self.workqueue if (_folder(scope) in _WAITING) is may_wait)
        if scope := next(fitting, None):
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)
