"""Whether the value of a field shows that a tool's verb was carried out, the opposite, or neither."""

from collections.abc import Mapping

from services.executor.core.tools.classes import REMOVAL_VERBS, ToolWords, list_verb_participles
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import Leaf

WITHDRAWAL_VERBS = frozenset("cancel void withdraw archive terminate".split())  # besides the verbs that remove
_REFUSAL_VERBS = frozenset("reject decline deny refuse dismiss".split())
_END_VERBS = frozenset("close end stop finish expire".split()) | _REFUSAL_VERBS  # besides all these
_APPROVAL_VERBS = frozenset("approve accept grant confirm allow authorize".split())
STATUS_WORDS = frozenset("status state stage decision outcome verdict result".split())
_WORDS_FOR_FORMER = frozenset("previous last old former prior".split())
_WORDS_FOR_APPROVED = frozenset("approved accepted granted confirmed allowed passed".split())
_WORDS_FOR_REFUSED = frozenset("rejected declined denied refused dismissed".split())
_WORDS_FOR_DECIDED = frozenset({"decided"})  # which says neither
_WORDS_FOR_ENDED = _WORDS_FOR_REFUSED | frozenset(
    """cancelled canceled closed ended stopped void voided withdrawn terminated deleted removed dropped archived
    expired""".split()
)
_WORDS_FOR_UNDONE = frozenset(
    """failed failing error invalid pending waiting queued requested processing review draft blocked hold held
    suspended unknown not""".split()
)

# By the name of a field that is true or false: the verbs that make it true, and those that make it false.
_VERBS_BY_BOOLEAN_FIELD: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(on.split()), frozenset(off.split()))
    for name, on, off in (
        (
            "active",
            "activate reactivate enable reinstate resume restore reopen",
            "deactivate disable suspend pause freeze end stop close cancel terminate void archive revoke expire",
        ),
        ("enabled", "activate reactivate reinstate resume", "deactivate suspend pause revoke disable"),
        ("open", "reopen", "close"),
        ("closed archived", "", "reopen restore"),
        ("suspended paused disabled", "", "activate reactivate enable reinstate resume"),
        ("locked blocked held on_hold", "", "release resume"),
    )
    for name in name.split()
}
_RELEASE_VERBS = frozenset("release lift remove clear".split())
_RESTRAINT_NOUNS = frozenset("hold lock block ban freeze suspension restriction reservation embargo".split())


def has_participle(leaf: Leaf, participles: frozenset[str]) -> bool:
    """Whether a field has a participle of the verb as its value, "approved", or as its name and the value true."""
    is_true = leaf.value is True and leaf.name.lower().removeprefix("is_") in participles
    return is_true or str(leaf.value).lower() in participles


def has_value_after_verb(leaf: Leaf, tool_words: ToolWords) -> bool:
    """Whether a field that is true or false has the value that the tool's verb leads to: ``active`` is false after
    ``suspend``, and after ``release_hold``; ``locked`` is false after ``unlock``.
    """
    verb, name = tool_words.verb, "_".join(words_of(leaf.name)).removeprefix("is_")
    verbs_to_true, verbs_to_false = _VERBS_BY_BOOLEAN_FIELD.get(name, (frozenset[str](), frozenset[str]()))
    if leaf.value is not False:
        return leaf.value is True and verb in verbs_to_true
    is_undone = verb.startswith("un") and name in list_verb_participles(f"{verb.removeprefix('un')} x")
    is_lifted = name == "active" and verb in _RELEASE_VERBS and tool_words.head in _RESTRAINT_NOUNS
    return verb in verbs_to_false or is_undone or is_lifted


def may_be_status_after_verb(leaf: Leaf, verb: str) -> bool:
    """Whether a field is a status that means neither failure nor waiting.

    Only a verb that ends something may lead to a status that means an end.
    """
    words = frozenset(words_of(str(leaf.value)))
    if words_of(leaf.name)[-1:] not in (["status"], ["state"], ["stage"]) or not isinstance(leaf.value, str):
        return False
    ends = verb in REMOVAL_VERBS | WITHDRAWAL_VERBS | _END_VERBS
    return bool(words) and words.isdisjoint(_WORDS_FOR_UNDONE) and (ends or words.isdisjoint(_WORDS_FOR_ENDED))


def says_failed_or_waiting(leaf: Leaf) -> bool:
    """Whether a status says that something failed or waits."""
    is_status = not STATUS_WORDS.isdisjoint(words_of(leaf.name))
    return is_status and not _WORDS_FOR_UNDONE.isdisjoint(words_of(str(leaf.value)))


def says_opposite(leaf: Leaf, verb: str) -> bool:
    """Whether a present status says "denied" or the like after a verb that neither closes nor refuses, "approved" after
    one that refuses, or only "decided" after one that approves or refuses.
    """
    words = words_of(leaf.name)
    if STATUS_WORDS.isdisjoint(words[-1:]) or not _WORDS_FOR_FORMER.isdisjoint(words):
        return False
    if verb in _REFUSAL_VERBS:
        contrary = _WORDS_FOR_APPROVED | _WORDS_FOR_DECIDED
    elif verb in _APPROVAL_VERBS:
        contrary = _WORDS_FOR_REFUSED | _WORDS_FOR_DECIDED
    else:
        contrary = frozenset[str]() if verb in _END_VERBS else _WORDS_FOR_REFUSED
    return str(leaf.value).lower() in contrary
