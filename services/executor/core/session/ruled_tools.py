"""Which tools the policies' rules name; needed before the policy service is asked."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from services.executor.core.tools.toolbox import Toolbox
from shared.contracts.policy import Policy
from shared.domain.words import ToolClass

_TOOL_EQUALS_PATTERN = re.compile(r"\btool\s*==\s*([\"'])(?P<name>.+?)\1")
_TOOL_LIST_PATTERN = re.compile(r"\btool\s+in\s+\[(?P<names>[^\]]*)\]")
NEGATION_PATTERN = re.compile(r"!(?!=)|\btool\s*!=|!=\s*tool\b|\)\s*!=|\bnot\b")
# A quote that nothing closes ends with the condition, so that each character is looked at once.
QUOTED_TEXT_PATTERN = re.compile(r"\"(?:\\.|[^\"\\])*+\"?|'(?:\\.|[^'\\])*+'?", re.DOTALL)
_LEADING_TOOL_CONDITION_PATTERN = re.compile(rf"\s*{_TOOL_EQUALS_PATTERN.pattern}\s*(?:&&|$)")
_OR_SIGN = "||"
_QUOTED_NAME_PATTERN = re.compile(r"([\"'])(.+?)\1")


def list_tools_in_rules(policies: Iterable[Policy]) -> tuple[str, ...]:
    """The names and name patterns of tools in the policies' rules."""
    rules = [rule for policy in policies for rule in policy.tool_rules]
    return tuple(dict.fromkeys(name for rule in rules for name in (rule.tool, *rule.after)))


def describe_rules_about_unknown_tools(policies: Iterable[Policy], tools: Iterable[str]) -> list[str]:
    """A sentence for each rule whose tool is not offered, since a misspelt name would silently forbid nothing."""
    offered = frozenset(tools)
    mentions = [(policy.id, rule.id, rule.tool.strip()) for policy in policies for rule in policy.tool_rules]
    mentions += [
        (policy.id, rule.id, tool)
        for policy in policies
        for rule in policy.rules
        if (tool := find_tool_of_condition(rule.condition))
    ]
    return [
        f"rule {rule_id} of {policy_id} is about {tool!r}, and no such tool is offered"
        for policy_id, rule_id, tool in mentions
        if tool not in offered and not any(fnmatchcase(name, tool) for name in offered)
    ]


def find_tool_of_condition(condition: str) -> str:
    """The tool of a condition such as ``tool == "pay" && amount > 5``, without ``||``; empty for any other one."""
    equality = _LEADING_TOOL_CONDITION_PATTERN.match(condition)
    return equality["name"] if equality and _OR_SIGN not in without_quoted_texts(condition) else ""


def without_quoted_texts(condition: str) -> str:
    """The condition with a space in place of each quoted text: what is left are names, numbers and signs."""
    return QUOTED_TEXT_PATTERN.sub(" ", condition)


def has_tool_rules(policies: Iterable[Policy]) -> bool:
    return any(policy.tool_rules or policy.tool_default != "allow" for policy in policies)


@lru_cache(maxsize=4096)
def _find_tools_of_condition(condition: str) -> frozenset[str]:
    name_lists = [tool_list["names"] for tool_list in _TOOL_LIST_PATTERN.finditer(condition)]
    listed_names = (name[2] for names in name_lists for name in _QUOTED_NAME_PATTERN.finditer(names))
    return frozenset((*(equality["name"] for equality in _TOOL_EQUALS_PATTERN.finditer(condition)), *listed_names))


def mark_ruled_reads_as_changes(toolbox: Toolbox, policies: Iterable[Policy]) -> Toolbox:
    """The toolbox in which a read tool counts as a change if a rule's condition names it and it requires more than one
    argument: its calls are then planned and judged first. Conditions with a negation (``tool != "x"``) mark no tool.
    """
    rules = [rule for policy in policies for rule in policy.rules if not (rule.report_only or rule.if_known)]
    conditions = [rule.condition for rule in rules if not NEGATION_PATTERN.search(without_quoted_texts(rule.condition))]
    names = frozenset[str]().union(*map(_find_tools_of_condition, conditions))
    ruled_reads = {
        name: tool._replace(tool_class=ToolClass.CHANGE, why_class="a rule names it")
        for name, tool in toolbox.tools.items()
        if tool.name in names and tool.tool_class in (ToolClass.READ, ToolClass.COMPUTE) and len(tool.required) > 1
    }
    return toolbox._replace(tools={**toolbox.tools, **ruled_reads}) if ruled_reads else toolbox
