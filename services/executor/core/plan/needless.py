"""Changes that need not be made, since the record that they name shows already all that they would leave."""

from services.executor.core.figures.columns import same
from services.executor.core.records.record_match import leaf_for, says_the_same
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import STATES, identifies, participles, words_of_tool
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import Leaf, RecordNode, leaves_of, nodes_of
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import JsonObject, as_text, loads_object
from shared.domain.keywords import stem

SO_ALREADY = "it is so already"
_SETTING = frozenset("set update change edit modify correct adjust amend patch replace".split())  # lead to no status


def describe_needless(call: PlannedCall, fact: Fact, quote: str) -> str:
    """What the fact shows of the one record that a change names, ``status=rejected``, if that is all which the change
    would leave, and its part asks for just that; else empty. ``quote``: the words of the part.

    The record has each value that the call sets under its own name, and every status of it is a form of the tool's
    verb, which the part says. A free text, such as a reason, does not count. Whatever may make a thing or remove one is
    never needless.
    """
    words, given = words_of_tool(call.tool), leaves_of(call.arguments)
    record = None if words.may_make or words.removes or not fact.ok else _find_named(fact, given)
    if record is None:
        return ""
    fields = [leaf for leaf in leaves_of(record.record) if len(leaf.path) == 1]
    states = [leaf for leaf in fields if STATES.intersection(words_of(leaf.name)[-1:])]
    asked = loads_object(fact.arguments_json)
    claims = [leaf for leaf in given if not _is_key(leaf, record, asked) and not _is_free_text(leaf)]
    found = [leaf for claim in claims if (leaf := leaf_for(claim, fields)) and says_the_same(claim, leaf)]
    if len(found) < len(claims):
        return ""
    if words.verb not in _SETTING:
        done = participles(call.tool)
        is_said = stem(words.verb) in {stem(word) for word in words_of(quote)}
        if not (is_said and states) or any(as_text(leaf.value).casefold() not in done for leaf in states):
            return ""
        found += states
    return ", ".join(dict.fromkeys(f"{leaf.name}={as_text(leaf.value)}" for leaf in found))


def _find_named(fact: Fact, given: list[Leaf]) -> RecordNode | None:
    """The one record of the answer whose own id the call names; or the answer itself, if it says no id and was asked
    for by nothing but what the call names.
    """
    nodes, asked = nodes_of(fact.result), loads_object(fact.arguments_json)
    named = [node for node in nodes if node.own is not None and any(_is_key(leaf, node, {}) for leaf in given)]
    if len(named) == 1:
        return named[0]
    first = nodes[0] if nodes and not named and nodes[0].own is None else None
    keys = {leaf.name for leaf in given if first and _is_key(leaf, first, asked)}
    return first if keys and keys == asked.keys() and isinstance(fact.result, dict) else None


def _is_key(leaf: Leaf, record: RecordNode, asked: JsonObject) -> bool:
    """Whether an argument says which record is meant: it has the record's id, or is what the record was asked by."""
    names_it = record.own is not None and identifies(leaf.name) and same(record.own, leaf.value)
    return names_it or (leaf.name in asked and len(leaf.path) == 1 and same(asked[leaf.name], leaf.value))


def _is_free_text(leaf: Leaf) -> bool:
    return isinstance(leaf.value, str) and " " in leaf.value.strip()
