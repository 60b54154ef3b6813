"""A process that answers nobody: it sleeps until it is told to end, and with DEAF_TO_SIGTERM even then."""

import os
import signal
import sys

if os.environ.get("DEAF_TO_SIGTERM"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdout.write("asleep\n")
sys.stdout.flush()
signal.pause()
