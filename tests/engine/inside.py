"""Run inside a container of ours, by its own Python: what it finds there, as one JSON object on stdout."""

import importlib.util
import json
import os
import sys


def main() -> None:
    files = [os.path.join(at, name) for at, _, names in os.walk("/app") for name in names]
    sources = [name for name in files if name.endswith(".py")]
    found = {
        "user": os.getuid(),
        "writable": [at for at in ("/", "/app", "/venv", "/etc") if os.access(at, os.W_OK)],
        "pip": os.path.exists(os.path.join(sys.prefix, "bin", "pip")),
        "uncompiled": [name for name in sources if not os.path.exists(importlib.util.cache_from_source(name))],
        "tests": [name for name in files if "/tests/" in name],
    }
    sys.stdout.write(json.dumps(found))


main()
