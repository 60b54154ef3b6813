"""``python -m tools.bench.policy``: the condition language against its rivals, and the service under load."""

import sys

from tools.bench.policy.command import bench

if __name__ == "__main__":
    sys.exit(bench(sys.argv[1:]))
