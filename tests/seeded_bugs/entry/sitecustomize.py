"""Plants the bug that ``SEEDED_BUG`` names, in the service's process that has it, before its first line runs.

Python imports this module at its start where its folder stands in ``PYTHONPATH``; the product knows nothing of it. A
service is what ``python -m`` runs, or what ``runpy`` runs in a process that was forked.
"""

import os
import runpy
import sys
import traceback


def _plant(service: str) -> None:
    bug = os.environ.get("SEEDED_BUG")
    if not bug or not service.startswith("services."):
        return
    try:
        from tests.seeded_bugs.bugs import plant_bug

        plant_bug(bug, service)
    except BaseException:  # noqa: BLE001  # the interpreter would go on without the bug
        traceback.print_exc()
        os._exit(70)


def _plant_and_run(module: str, *arguments: object, **more: object) -> dict[str, object]:
    _plant(module)
    return _run(module, *arguments, **more)  # type: ignore[arg-type]  # handed on as they came


_run = runpy.run_module
runpy.run_module = _plant_and_run  # type: ignore[assignment]  # it takes whatever comes
if "-m" in sys.orig_argv[:-1]:
    _plant(sys.orig_argv[sys.orig_argv.index("-m") + 1])
