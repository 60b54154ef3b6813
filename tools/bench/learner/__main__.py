"""``python -m tools.bench.learner``: the learner's speed, and what its bandit's choices cost."""

import sys

from tools.bench.learner.command import bench

if __name__ == "__main__":
    sys.exit(bench(sys.argv[1:]))
