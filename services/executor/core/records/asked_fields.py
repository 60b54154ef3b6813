"""The fields that rules ask for, by the names in their conditions."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.tools.toolbox import NEGATION_PATTERN, QUOTED_TEXT_PATTERN, without_quoted_texts
from shared.contracts.policy import Policy

_QUOTES = "\"'"
_NAME_PATTERN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_WORD_TOOL_PATTERN = re.compile(r"\btool\b")
_CALL_VARIABLE_PATTERN = re.compile(r"\b(?:tool|verb)\b")
_CONDITION_BEYOND_NAMES_PATTERN = re.compile(rf"{NEGATION_PATTERN.pattern}|\w\(|\|\||\bor\b|\bverb\b")
_WORDS_THAT_ARE_NO_FIELDS = frozenset("true false null in tool verb tool_class process_type call_id".split())


class ConditionFields(NamedTuple):
    """What a rule's condition asks for. ``names``: of fields, such as ``order.total``; a few may be no fields.
    ``is_about_calls``: the condition has ``tool`` or ``verb``. ``lists_tools``: only names of tools say which calls it
    is about: it has no ``verb``, "not" or "or". ``quoted_texts``: its quoted texts, among them names of tools; empty if
    it does not have ``tool``.
    """

    names: tuple[str, ...]
    is_about_calls: bool
    lists_tools: bool
    quoted_texts: frozenset[str]


@lru_cache(maxsize=16_384)
def _read_condition(condition: str) -> ConditionFields:
    unquoted = without_quoted_texts(condition)
    names = (
        name
        for name in _NAME_PATTERN.findall(unquoted)
        if name not in _WORDS_THAT_ARE_NO_FIELDS and not name.startswith("figures.")
    )
    lists_tools = (
        _WORD_TOOL_PATTERN.search(unquoted) is not None and _CONDITION_BEYOND_NAMES_PATTERN.search(unquoted) is None
    )
    quoted = QUOTED_TEXT_PATTERN.findall(condition) if _WORD_TOOL_PATTERN.search(unquoted) else ()
    texts = frozenset(text.strip(_QUOTES) for text in quoted)
    return ConditionFields(tuple(names), _CALL_VARIABLE_PATTERN.search(unquoted) is not None, lists_tools, texts)


def list_rule_fields(policies: Iterable[Policy]) -> tuple[str, ...]:
    """The names that the policies' rules ask for, each once, in the order of the rules; a few may be no fields."""
    names: list[str] = []
    for policy in policies:
        conditions = [*(rule.condition for rule in policy.rules), *(rule.condition or "" for rule in policy.tool_rules)]
        names += (name for text in conditions for name in _read_condition(text).names)
        names += (name for rule in policy.tool_rules for name in rule.per)
    return tuple(dict.fromkeys(names))


def list_tools_named_together(policies: Iterable[Policy]) -> tuple[frozenset[str], ...]:
    """For each rule that names more than one text, the set of them: all quoted texts of a condition that has ``tool``,
    and the items of lists in the policy's ``context`` that it names. Besides names of tools these may be other texts.
    """
    texts_of_rules: list[frozenset[str]] = []
    for policy in policies:
        for rule in policy.rules:
            condition = _read_condition(rule.condition)
            lists = (policy.context.get(name) for name in condition.names)
            listed_texts = (str(text) for listed in lists if isinstance(listed, list) for text in listed)
            texts_of_rules.append(condition.quoted_texts.union(listed_texts))
    return tuple(texts for texts in texts_of_rules if len(texts) > 1)


def list_rule_fields_of_tool(tool: str, policies: Iterable[Policy]) -> dict[str, bool]:
    """The fields that rules ask of a call of the tool, as ``{name: whether such a rule says which calls it is about}``.

    Rules about tools do, and conditions with ``tool`` or ``verb``. Rules that only name other tools do not count.
    """
    fields: dict[str, bool] = {}
    for policy in policies:
        for rule in policy.rules:
            condition = _read_condition(rule.condition)
            if not condition.lists_tools or tool in rule.condition:
                fields |= {name: condition.is_about_calls or fields.get(name, False) for name in condition.names}
        conditions = (rule.condition or "" for rule in policy.tool_rules if fnmatchcase(tool, rule.tool))
        fields |= {name: True for text in conditions for name in _read_condition(text).names}
    return fields
