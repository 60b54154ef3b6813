"""What published scenario code imports: the modules of the assessor that it was written for, and message classes.

They stand for our own classes, and only where a scenario's code is being loaded: nothing else finds them.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from typing_extensions import override

from services.assessor.core import chat_model, evaluation, scenario
from shared.contracts.assessment import results

_ROOTS = ("src", "langchain_core")
_MESSAGES: Mapping[str, object] = {
    "BaseMessage": chat_model.PromptMessage,
    "SystemMessage": chat_model.SystemMessage,
    "HumanMessage": chat_model.HumanMessage,
    "AIMessage": chat_model.AIMessage,
}
_ASSESSOR: Mapping[str, object] = {
    "AgentBeatsEvalContext": evaluation.AgentBeatsEvalContext,
    "EvalContext": evaluation.EvalContext,
    "EvalResult": evaluation.EvalResult,
    "EvaluatorRegistry": evaluation.EvaluatorRegistry,
    "ActionLogEntry": results.ActionLogEntry,
    "CriterionResult": results.CriterionResult,
    "Dimension": results.Dimension,
    "ScenarioConfig": scenario.ScenarioConfig,
    "Character": scenario.Character,
    "Criterion": scenario.Criterion,
    "ResponseTiming": scenario.ResponseTiming,
}


@contextmanager
def published_names() -> Iterator[None]:
    """Let ``src.*`` and ``langchain_core.*`` be imported; afterwards they are gone again.

    What is installed under these names, or was imported before, comes back untouched.
    """
    finder = _Finder()
    before = {name: module for name, module in sys.modules.items() if _is_published(name)}
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_published(name)]:
            del sys.modules[name]
        sys.modules.update(before)


class _StandIn(ModuleType):
    """A module of any name; it says which names it lacks."""

    def __getattr__(self, name: str) -> object:
        published = _MESSAGES if self.__name__.startswith("langchain_core") else _ASSESSOR
        if name in published:
            return published[name]
        raise AttributeError(f"{self.__name__}.{name} has no counterpart here; there are: {', '.join(published)}")


class _Finder(MetaPathFinder, Loader):
    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A class that is imported is no module, though Python asks for one of its name once it has no such class."""
        is_module = _is_published(fullname) and fullname.rpartition(".")[2].islower()
        return ModuleSpec(fullname, self, is_package=True) if is_module else None

    @override
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    @override
    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def _is_published(name: str) -> bool:
    return name.partition(".")[0] in _ROOTS
