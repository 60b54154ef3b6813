"""The fields that rules ask for, by the names in their conditions."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from shared.contracts.policy import Policy

# A quote that nothing closes ends with the condition, so that each character is looked at once.
_TEXT = re.compile(r"\"(?:\\.|[^\"\\])*+\"?|'(?:\\.|[^'\\])*+'?", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_TOOL = re.compile(r"\btool\b")
_NO_FIELDS = frozenset("true false null in tool verb tool_class process_type call_id".split())


def asked_fields(policies: Iterable[Policy]) -> tuple[str, ...]:
    """The fields that the policies' rules ask for, each once, in the order of the rules; one too many does no harm."""
    per = (name for policy in policies for rule in policy.tool_rules for name in rule.per)
    return tuple(dict.fromkeys((*(one for text in _conditions(policies) for one in _fields_in(text)), *per)))


def fields_asked_of(tool: str, policies: Iterable[Policy]) -> Iterator[tuple[str, bool]]:
    """Yields the fields that conditions of rules ask of a call of the tool, and whether the rule is about tools; not of
    rules about other tools.
    """
    for policy in policies:
        for rule in policy.rules:
            is_about_tools = _TOOL.search(_TEXT.sub(" ", rule.condition)) is not None
            if not is_about_tools or tool in rule.condition:
                yield from ((name, is_about_tools) for name in _fields_in(rule.condition))
        of_tool = (rule.condition or "" for rule in policy.tool_rules if fnmatchcase(tool, rule.tool))
        yield from ((name, True) for text in of_tool for name in _fields_in(text))


def _conditions(policies: Iterable[Policy]) -> Iterator[str]:
    for policy in policies:
        yield from (rule.condition for rule in policy.rules)
        yield from (rule.condition for rule in policy.tool_rules if rule.condition)


def _fields_in(condition: str) -> Iterator[str]:
    names = _NAME.findall(_TEXT.sub(" ", condition))
    return (name for name in names if name not in _NO_FIELDS and not name.startswith("figures."))
