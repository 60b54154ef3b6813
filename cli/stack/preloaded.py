"""Imports the services' modules. The fork server imports this module once, for all processes it forks."""

import gc
from importlib import import_module

_MODULES = (  # what ``python -m`` of each package runs, but for its ``__main__``
    "services.policy.entrypoints.http",
    "services.planner.bootstrap",
    "examples.company.server",
    "services.gateway.bootstrap",
    "services.learner.bootstrap",
    "services.executor.bootstrap",
)
PACKAGES = frozenset(".".join(module.split(".")[:2]) for module in _MODULES)

gc.disable()  # whatever is imported stays: looking for garbage in it costs a fifth of the time
for module in _MODULES:
    try:
        import_module(module)
    except ModuleNotFoundError:  # not installed: the service that needs it says so when it starts
        continue
gc.freeze()  # and no process that shares these pages writes to them for the collector's sake
gc.enable()
