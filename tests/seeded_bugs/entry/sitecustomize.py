"""Plants the bug that ``SEEDED_BUG`` names, in the service's process that has it, before its first line runs.

Python imports this module at its start where its folder stands in ``PYTHONPATH``; the product knows nothing of it.
"""

import os
import sys
import traceback


def _service() -> str:
    """The module that this process runs with ``-m``."""
    words = sys.orig_argv
    return words[words.index("-m") + 1] if "-m" in words[:-1] else ""


if (_bug := os.environ.get("SEEDED_BUG")) and _service().startswith("services."):
    try:
        from tests.seeded_bugs.bugs import plant_bug

        plant_bug(_bug, _service())
    except BaseException:  # noqa: BLE001  # the interpreter would go on without the bug
        traceback.print_exc()
        os._exit(70)
