"""The fields that rules ask for, by the names in their conditions."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from shared.contracts.policy import Policy

# A quote that nothing closes ends with the condition, so that each character is looked at once.
_TEXT = re.compile(r"\"(?:\\.|[^\"\\])*+\"?|'(?:\\.|[^'\\])*+'?", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_TOOL = re.compile(r"\btool\b")
_EXCLUDES = re.compile(r"!|\bnot\b")
_NO_FIELDS = frozenset("true false null in tool verb tool_class process_type call_id".split())


class AskedFields(NamedTuple):
    """The fields that a condition asks for; whether it says something of the call's tool, and may exclude some."""

    names: tuple[str, ...]
    is_about_tools: bool
    excludes_tools: bool


@lru_cache(maxsize=16_384)
def _read_condition(condition: str) -> AskedFields:
    plain = _TEXT.sub(" ", condition)
    names = (name for name in _NAME.findall(plain) if name not in _NO_FIELDS and not name.startswith("figures."))
    return AskedFields(tuple(names), _TOOL.search(plain) is not None, _EXCLUDES.search(plain) is not None)


def asked_fields(policies: Iterable[Policy]) -> tuple[str, ...]:
    """The fields that the policies' rules ask for, each once, in the order of the rules; one too many does no harm."""
    found: list[str] = []
    for policy in policies:
        conditions = [*(rule.condition for rule in policy.rules), *(rule.condition or "" for rule in policy.tool_rules)]
        found += (name for text in conditions for name in _read_condition(text).names)
        found += (name for rule in policy.tool_rules for name in rule.per)
    return tuple(dict.fromkeys(found))


def fields_asked_of(tool: str, policies: Iterable[Policy]) -> dict[str, bool]:
    """The fields that conditions of rules ask of a call of the tool, each with whether such a rule is about tools; not
    of rules about other tools alone.
    """
    found: dict[str, bool] = {}
    for policy in policies:
        for rule in policy.rules:
            asked = _read_condition(rule.condition)
            if not asked.is_about_tools or asked.excludes_tools or tool in rule.condition:
                found |= {name: asked.is_about_tools or found.get(name, False) for name in asked.names}
        of_tool = (rule.condition or "" for rule in policy.tool_rules if fnmatchcase(tool, rule.tool))
        found |= {name: True for text in of_tool for name in _read_condition(text).names}
    return found
