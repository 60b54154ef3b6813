"""Which fields the rules of some policies look at: names in their conditions, and by which they tell calls apart."""

import re
from collections.abc import Iterable, Iterator

from shared.contracts.policy import Policy

_TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_NO_FIELDS = frozenset("true false null in tool verb tool_class process_type call_id".split())


def asked_fields(policies: Iterable[Policy]) -> tuple[str, ...]:
    """Each name once, in the order of the rules; a word too many does no harm, one too few would."""
    return tuple(dict.fromkeys(name for policy in policies for name in _fields_of_policy(policy)))


def _fields_of_policy(policy: Policy) -> Iterator[str]:
    conditions = [*(rule.condition for rule in policy.rules), *(rule.condition or "" for rule in policy.tool_rules)]
    for condition in conditions:
        names = _NAME.findall(_TEXT.sub(" ", condition))
        yield from (name for name in names if name not in _NO_FIELDS and not name.startswith("figures."))
    for rule in policy.tool_rules:
        yield from rule.per
