"""One condition in every engine: ours, written by hand with and without our checks, and the libraries' dialects."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, TypeAlias, cast

from services.policy.core.conditions import parse_condition
from tools.bench.policy.by_hand import with_checks

Facts: TypeAlias = dict[str, int | bool]
Engine: TypeAlias = Callable[[Facts], object]

CONDITION = "amount > 5000 && !is_manager || requires_board"
CONTEXTS: tuple[Facts, ...] = (
    {"amount": 7200, "is_manager": False, "requires_board": False},
    {"amount": 100, "is_manager": False, "requires_board": True},
    {"amount": 9000, "is_manager": True, "requires_board": False},
    {"amount": 100, "is_manager": True, "requires_board": False},
)
_JSON_LOGIC = {
    "or": [{"and": [{">": [{"var": "amount"}, 5000]}, {"!": [{"var": "is_manager"}]}]}, {"var": "requires_board"}]
}


class NotInstalled(Exception):
    """A library to measure against is missing; the message says how to get it."""


class Engines(NamedTuple):
    """``libraries`` by the names of their packages."""

    ours: Engine
    by_hand: Engine
    bare: Engine
    libraries: Mapping[str, Engine]

    def by_name(self) -> dict[str, Engine]:
        own = {"ours": self.ours, "by_hand_with_checks": self.by_hand, "by_hand_bare": self.bare}
        return {**own, **self.libraries}


def load_engines() -> Engines:
    """All of them, made ready once. Raises ``NotInstalled``, and ``ArithmeticError`` where two of them disagree."""
    ours, by_hand = cast(Engine, parse_condition(CONDITION).decide), cast(Engine, with_checks)
    found = Engines(
        ours,
        by_hand,
        _by_hand_unchecked,
        {"common-expression-language": _cel(), "rule-engine": _rule_engine(), "panzi-json-logic": _json_logic()},
    )
    for name, engine in found.by_name().items():
        for facts in CONTEXTS:
            if bool(engine(facts)) is not found.ours(facts):
                raise ArithmeticError(f"{name} decides {CONDITION!r} otherwise over {facts}")
    return found


def _by_hand_unchecked(facts: Facts) -> object:
    return (facts["amount"] > 5000 and not facts["is_manager"]) or facts["requires_board"]


def _cel() -> Engine:
    return cast(Engine, _import_library("cel").compile(CONDITION).execute)


def _rule_engine() -> Engine:
    rule = _import_library("rule_engine").Rule("amount > 5000 and not is_manager or requires_board")
    return cast(Engine, rule.matches)


def _json_logic() -> Engine:
    decide = cast(Callable[[object, object], object], _import_library("json_logic").jsonLogic)
    return lambda facts: decide(_JSON_LOGIC, facts)


def _import_library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise NotInstalled(f"{name} is not installed: pip install 'purple-agent[policy-bench]'") from error
