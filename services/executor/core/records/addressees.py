"""Whom a notice tells: by its tool's name, by an argument's name, or by an address that a record of theirs shows."""

from collections.abc import Iterable, Iterator

from services.executor.core.dossier.dossier import Fact
from services.executor.core.records.plain_words import says
from services.executor.core.records.refs import literal_parts, references
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json


def tells(call: PlannedCall, party: str, plan: WritePlan, facts: Iterable[Fact]) -> bool:
    """Whether a notice of the plan goes to somebody who is called ``party`` (a word such as "vendor").

    What a text says of them does not count: a letter about the vendor is not a letter to the vendor.
    """
    if says(call.tool, party) or any(says(name, party) for name in call.arguments):
        return True
    made = set(references(call.arguments))
    if any(says(other.tool, party) for other in plan.calls if other.call_id in made):
        return True
    given = {part.strip().casefold() for part in literal_parts(call.arguments) if isinstance(part, str)}
    if any(" " not in text and says(text, party) for text in given):
        return True
    return not given.isdisjoint(_known_of(party, facts))


def _known_of(party: str, facts: Iterable[Fact]) -> Iterator[str]:
    """The texts that facts show under the party's name: who they are, and where they are reached."""
    for fact in facts:
        if fact.ok:
            yield from _texts(fact.result, party, under=says(fact.tool, party))


def _texts(value: Json, party: str, *, under: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, party, under=under or says(name, party))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, party, under=under)
    elif under and isinstance(value, str) and any(mark.isalpha() for mark in value):
        yield value.strip().casefold()
