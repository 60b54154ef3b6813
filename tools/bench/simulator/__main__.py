"""``python -m tools.bench.simulator``: what a simulator costs, against its stated targets."""

import sys

from tools.bench.simulator.command import bench

if __name__ == "__main__":
    sys.exit(bench(sys.argv[1:]))
