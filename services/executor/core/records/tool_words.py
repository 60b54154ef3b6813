"""What the name of a tool says: its verb, the thing it is about, and what its identifier arguments identify."""

import re
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.record_tree import names_a_record
from services.executor.core.tools import classes as verbs
from services.executor.core.tools.near_names import words_of
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json
from shared.domain.keywords import stem

_NAMESPACE = re.compile(r"[./:]|__")
_VERBS = verbs.READ | verbs.COMPUTE | verbs.NOTIFY | verbs.DELIVER | verbs.RECORD | verbs.CHANGE | verbs.AMBIGUOUS
_FILLERS = frozenset("a an the all one single full current detail details info information record records data".split())
_PREPOSITIONS = frozenset("by for of from to in into on at with".split())  # what follows is not what the tool is about
_NUMBERING = frozenset("id number no reference ref code key".split())  # a last word by which a name identifies
_ROOT = 5  # letters that a verb and the thing it makes share: ``register``, ``registration``
REMOVING = frozenset(
    """delete remove drop erase purge destroy wipe discard detach unlink unassign untag unflag deregister unregister
    unsubscribe unenroll disenroll revoke uninstall clear""".split()
)
# Verbs that leave another state of a thing that is there already; any other one may make a thing.
_ALTERING = REMOVING | frozenset(
    """update change set edit modify rename correct adjust amend patch replace overwrite move reschedule swap merge
    cancel void close reopen resolve approve reject accept decline deny confirm acknowledge complete finish finalize
    finalise settle waive reverse suspend reinstate freeze unfreeze lock unlock enable disable activate deactivate
    pause resume promote demote upgrade downgrade renew extend escalate assign reassign allocate release hold mark
    flag archive restore reset rotate verify authorize authorise withdraw terminate ship""".split()
)


class ToolWords(NamedTuple):
    """A tool's verb, and the stems of the words for what it is about. ``head`` is that of the last."""

    verb: str
    nouns: frozenset[str]
    head: str = ""

    @property
    def removes(self) -> bool:
        return self.verb in REMOVING

    @property
    def may_make(self) -> bool:
        return self.verb not in _ALTERING

    def is_akin_to(self, nouns: frozenset[str]) -> bool:
        """Whether the verb names the thing: ``book`` a booking, ``register`` a registration."""
        verb = stem(self.verb)
        return bool(nouns) and all(noun == verb or (len(verb) >= _ROOT and noun.startswith(verb)) for noun in nouns)


@lru_cache(maxsize=8192)
def words_of_tool(name: str) -> ToolWords:
    """``crm.add_note_to_ticket`` adds a note; ``booking_create`` and ``bookings.create`` create a booking."""
    *spaces, last = [part for part in _NAMESPACE.split(name) if words_of(part)] or [name]
    words = words_of(last) or [""]
    if len(words) == 1 and spaces:
        words = [*words, *words_of(spaces[-1])]
    elif words[0] not in _VERBS and words[-1] in _VERBS:
        words = [words[-1], *words[:-1]]
    verb, *rest = words
    about = next((rest[:place] for place, word in enumerate(rest) if place and word in _PREPOSITIONS), rest)
    nouns = [stem(word) for word in about if word not in _FILLERS | _PREPOSITIONS]
    return ToolWords(verb, frozenset(nouns), nouns[-1] if nouns else "")


def identifies(name: str) -> bool:
    """Whether an argument's name is that of an identifier: ``claim_id``, ``orderNumber``, ``reference``."""
    words = words_of(name)
    return names_a_record(name) or words[-1:] == ["sku"] or (bool(words) and words[-1] in _NUMBERING)


@lru_cache(maxsize=8192)
def subject_of(name: str, own: frozenset[str]) -> frozenset[str]:
    """What an identifier identifies, in stems; a plain ``id`` identifies its owner's thing."""
    words = words_of(name)
    if len(words) > 1 and words[-1] in _NUMBERING:
        words = words[:-1]
    elif len(words) == 1 and words[0] in _NUMBERING:
        return own
    elif len(words) == 1 and words[0].endswith("id") and names_a_record(name):  # orderid
        words = [words[0].removesuffix("id")]
    return frozenset(map(stem, words))


def as_typed(value: Json, tool: Tool, name: str) -> Json:
    """An id as the tool's schema wants it: some servers give numbers, and take them back as texts or the reverse."""
    kind = tool.parameters.get(name, {}).get("type")
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind in ("integer", "number") and isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return value
