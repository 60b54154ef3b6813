"""``python -m tools.bench.executor queue``, ``sessions`` or ``recall``: what an executor costs, against its targets."""

import sys

from tools.bench.executor.queue import bench_queue
from tools.bench.executor.recall import bench_recall
from tools.bench.executor.sessions import bench_sessions

_BENCHES = {"queue": bench_queue, "sessions": bench_sessions, "recall": bench_recall}


def main(arguments: list[str]) -> int:
    """The exit code: 0, 1 for a missed target with ``--check``, 2 for a bench that there is not."""
    if not arguments or arguments[0] not in _BENCHES:
        sys.stderr.write(f"One of these is to be named: {', '.join(_BENCHES)}.\n")
        return 2
    return _BENCHES[arguments[0]](arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
