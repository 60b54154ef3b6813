"""What a tool's name says: the class of the tool, its verb, and what it is about (I1).

A tool's class is the strictest that its annotations and name say; the catalogue or the tenant's server may lower it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from services.executor.core.tools.name_similarity import singular, words_of
from services.executor.core.tools.record_tree import is_id_name
from shared.contracts.tenant import CatalogueEntry
from shared.domain.keywords import stem
from shared.domain.words import TOOL_CLASSES_BY_STRICTNESS, ToolClass

COMPUTE_VERBS = frozenset("calculate compute estimate forecast simulate prorate".split())
READ_VERBS = frozenset(
    """get list fetch read search find query check verify lookup look describe show view preview validate inspect count
    sum aggregate filter compare browse retrieve explain summarize summarise analyze analyse display examine enumerate
    is has can does""".split()
)
# These tell somebody something, whatever they are about.
NOTIFY_VERBS = frozenset("notify alert remind inform announce ping".split())
# These tell only if their object is a message, and only if it has nothing to do with money.
# To schedule or book a visit makes an appointment, which is a change; to schedule a reminder tells.
DELIVERY_VERBS = frozenset("send schedule post publish deliver queue broadcast email mail message".split())
# These tell only if their object is an audit trail.
RECORD_VERBS = frozenset("log record append write".split())
# These change something wherever they stand in a name.
CHANGE_VERBS = frozenset(
    """create update delete cancel approve reject submit modify add remove revoke pay deploy migrate rollback
    terminate execute apply dispatch write insert upsert patch push publish lock unlock escalate initiate finalize
    finalise activate deactivate enable disable pause resume confirm acknowledge resolve reopen assign
    reassign unassign enroll unenroll disenroll provision deprovision promote demote regenerate rotate deregister
    unregister invoke purge freeze unfreeze deny proceed reimburse adjust replace rename restore destroy drop erase wipe
    truncate suspend reinstate hire offboard onboard withdraw remit settle waive reverse allocate authorize
    authorise send accept decline unflag untag unlink edit make save install uninstall unsubscribe subscribe redeem ship
    fulfill fulfil renew downgrade upgrade override bypass buy sell repay overwrite shutdown reboot
    kill""".split()
)
# These are nouns as often: they change only where a verb stands, in front or after a conjunction.
VERBS_OR_NOUNS = frozenset(
    """order refund charge transfer book report request access budget invoice credit debit claim lease rent bill mark
    flag tag link export import payment deposit return exchange release reserve process set reset issue close schedule
    commit start stop halt run raise lower attach detach store place sign split upload void fix correct open trigger
    sync permit archive put register file
    dispute chargeback contract ticket comment hold block ban purchase trade swap loan quote offer bid grant extend
    complete message email mail queue log record clear capture wire fund advance award change merge move
    fire append deduct lift""".split()
)
EDIT_VERBS = frozenset("update edit modify change set amend correct patch adjust".split())  # verbs that set fields
ASKING_VERBS = frozenset("quote estimate preview check simulate calculate compute validate lookup inquire".split())
MESSAGE_NOUNS = frozenset(
    """message messages email emails mail sms text texts notification notifications notice notices alert alerts reminder
    reminders letter letters newsletter announcement announcements memo invitation invitations chat slack dm digest
    acknowledgement greeting note notes""".split()
)
MONEY_NOUNS = frozenset(
    """money payment payments payout payouts pay wire transfer transfers fund funds cash refund refunds credit credits
    debit invoice invoices charge charges deposit withdrawal salary payroll reimbursement cheque check remittance
    disbursement transaction transactions bitcoin crypto""".split()
)
CONJUNCTIONS = frozenset("and or then plus".split())
# Words before the verb that say how, not what.
MANNER_WORDS = frozenset("bulk batch async auto quick".split())
# Verbs of reading that change something together with the next word.
PHRASAL_VERBS = frozenset({("check", "in"), ("check", "out"), ("check", "off"), ("get", "rid"), ("count", "down")})
_WORD_IN_NAME_PATTERN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMESPACE_SIGN_PATTERN = re.compile(r"[./:]|__")
CLEAR_VERBS = COMPUTE_VERBS.union(READ_VERBS, NOTIFY_VERBS, DELIVERY_VERBS, RECORD_VERBS, CHANGE_VERBS)
_KNOWN_VERBS = CLEAR_VERBS | VERBS_OR_NOUNS


class ToolAnnotations(NamedTuple):
    """What a server says about its tool. It can lower only the class of an unknown name on a tenant's own server."""

    read_only: bool | None = None
    destructive: bool | None = None


class ToolClassification(NamedTuple):
    tool_class: ToolClass
    reason: str


_UNKNOWN_VERB_CLASSIFICATION = ToolClassification(ToolClass.CHANGE, "its name begins with no known verb")


def classify_tool(
    name: str, annotations: ToolAnnotations | None, catalogue: CatalogueEntry | None, *, is_own: bool = False
) -> ToolClassification:
    """The class of a tool, and what decided it in a few words. ``is_own``: the tenant chose the server itself."""
    if catalogue is not None and catalogue.tool_class is not None:
        return ToolClassification(catalogue.tool_class, "the operator's catalogue says so")
    claims, by_name = annotations or ToolAnnotations(), classify_by_name(name)
    only_reads = claims.read_only and not claims.destructive
    words = set(_split_words(name))
    says_nothing = (
        by_name is _UNKNOWN_VERB_CLASSIFICATION and name.isascii() and words and words.isdisjoint(CHANGE_VERBS)
    )
    if is_own and says_nothing and only_reads:
        reason = "its name says nothing, and the tenant's own server that it only reads"
        return ToolClassification(ToolClass.READ, reason)
    if by_name.tool_class is ToolClass.CHANGE:
        return by_name
    if claims.destructive:
        return ToolClassification(ToolClass.CHANGE, "the server calls it destructive")
    if claims.read_only is False and by_name.tool_class is not ToolClass.NOTIFY:
        return ToolClassification(ToolClass.CHANGE, "the server says that it does not only read")
    return by_name


@lru_cache(maxsize=8_192)
def classify_by_name(name: str) -> ToolClassification:
    """The class that the name alone suggests; for an unknown name it is CHANGE."""
    if not name.isascii():  # letters that only look like those of a known verb
        return _UNKNOWN_VERB_CLASSIFICATION
    *namespaces, words = _split_name(name)
    classes = [_classify_clause(clause) for clause in _split_clauses(words)] or [_UNKNOWN_VERB_CLASSIFICATION]
    classes += [_build_change_class(word) for namespace in namespaces for word in namespace if word in CHANGE_VERBS]
    return max(classes, key=lambda classification: TOOL_CLASSES_BY_STRICTNESS.index(classification.tool_class))


def find_deciding_verb(name: str) -> str:
    """The verb that decides a tool's class, the strictest in its name; equally strict ones joined by ``_and_``."""
    clauses = _split_clauses(_split_name(name)[-1])
    ranked_verbs = [
        (TOOL_CLASSES_BY_STRICTNESS.index(_classify_clause(clause).tool_class), _find_effect_verb(clause))
        for clause in clauses
        if clause
    ]
    strictest = [verb for strictness, verb in ranked_verbs if strictness == max(ranked_verbs)[0]]
    return "_and_".join([verb for verb in strictest if verb in _KNOWN_VERBS] or strictest[:1])


def _split_name(name: str) -> list[list[str]]:
    """The words of each namespace, and last of the name itself: ``[["crm"], ["get", "bill"]]`` for ``crm.getBill``."""
    return [words for text in _NAMESPACE_SIGN_PATTERN.split(name) if (words := _split_words(text))] or [[]]


def _find_effect_verb(clause: Sequence[str]) -> str:
    """The verb for what a clause does: ``refund`` for ``create_refund``."""
    return clause[-1] if clause[0] == "create" and clause[-1] in CHANGE_VERBS | VERBS_OR_NOUNS else clause[0]


def _build_change_class(word: str) -> ToolClassification:
    return ToolClassification(ToolClass.CHANGE, f"{word!r} in its name changes something")


def _split_words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD_IN_NAME_PATTERN.findall(text)]


def _split_clauses(words: Sequence[str]) -> list[Sequence[str]]:
    """The parts of a name that begin with a verb: two in "get and delete order", one in "terms and conditions"."""
    starts = [0, *(index + 1 for index, word in enumerate(words) if word in CONJUNCTIONS)]
    parts = [words[start : end - 1] for start, end in pairwise([*starts, len(words) + 1])]
    conjunctions = ["", *(words[start - 1] for start in starts[1:])]
    previous_parts: list[Sequence[str]] = [[], *parts[:-1]]
    return [
        part[1:] if len(part) > 1 and part[0] in MANNER_WORDS else part
        for part, conjunction, previous in zip(parts, conjunctions, previous_parts, strict=True)
        if part and not _is_lone_noun(part, conjunction, previous)
    ]


def _is_lone_noun(part: Sequence[str], conjunction: str, previous: Sequence[str]) -> bool:
    """Whether a part is one unknown word after a clause of several, and therefore no verb: ``and conditions``."""
    return len(part) == 1 and part[0] not in _KNOWN_VERBS and conjunction != "then" and len(previous) > 1


def _classify_clause(words: Sequence[str]) -> ToolClassification:
    verb, *other_words = words
    if tuple(words[:2]) in PHRASAL_VERBS:
        return _build_change_class(" ".join(words[:2]))
    for word in other_words:
        if word in CHANGE_VERBS:
            return _build_change_class(word)
    if _tells_somebody(verb, frozenset(other_words)):
        return ToolClassification(ToolClass.NOTIFY, f"{verb!r} in its name tells somebody")
    if verb in READ_VERBS:
        return ToolClassification(ToolClass.READ, f"{verb!r} in its name reads")
    if verb in COMPUTE_VERBS:
        return ToolClassification(ToolClass.COMPUTE, f"{verb!r} in its name computes")
    return _build_change_class(verb) if verb in _KNOWN_VERBS else _UNKNOWN_VERB_CLASSIFICATION


def _tells_somebody(verb: str, other_words: frozenset[str]) -> bool:
    if verb in NOTIFY_VERBS:
        return True
    if other_words & MONEY_NOUNS:
        return False
    if verb in RECORD_VERBS:
        return "audit" in other_words
    return verb in DELIVERY_VERBS and bool(MESSAGE_NOUNS & (other_words | {verb}))


_FILLERS = frozenset("a an the all one single full current detail details info information record records data".split())
_PREPOSITIONS = frozenset("by for of from to in into on at with".split())  # what follows is not what the tool is about
_ID_WORDS = frozenset("id ids uuid guid number num nr no reference ref code key sku isbn vin".split())
_WORDS_OF_NO_ID = frozenset(  # ``code`` or ``number`` after one of these is no id: ``currency_code``
    """currency country language lang locale zip postal post area state status color colour promo phone mobile
    fax""".split()
)
_FEWEST_SHARED_LETTERS = 5  # letters that a verb and the thing it makes share: ``register``, ``registration``
REMOVAL_VERBS = frozenset(
    """delete remove drop erase purge destroy wipe discard detach unlink unassign untag unflag deregister unregister
    unsubscribe unenroll disenroll revoke uninstall clear""".split()
)
# Verbs that leave another state of a thing that is there already; any other one may make a thing.
_VERBS_THAT_ALTER = REMOVAL_VERBS | frozenset(
    """update change set edit modify rename correct adjust amend patch replace overwrite move reschedule swap merge
    cancel void close reopen resolve approve reject accept decline deny confirm acknowledge complete finish finalize
    finalise settle waive reverse suspend reinstate freeze unfreeze lock unlock enable disable activate deactivate
    pause resume promote demote upgrade downgrade renew extend escalate assign reassign allocate release lift hold mark
    flag archive restore reset rotate verify authorize authorise withdraw terminate ship""".split()
)


STATE_WORDS = frozenset("status state stage phase".split())  # words of a field that tells what became of its record
_PARTICIPLES = {"hold": "held", "pay": "paid", "send": "sent", "set": "set", "split": "split", "withdraw": "withdrawn"}


class ToolWords(NamedTuple):
    """A tool's verb, and the nouns for what it is about, from ``normalize_noun``; ``head`` is the last noun."""

    verb: str
    nouns: frozenset[str]
    head: str = ""

    @property
    def is_removal(self) -> bool:
        return self.verb in REMOVAL_VERBS

    @property
    def may_make_record(self) -> bool:
        return self.verb not in _VERBS_THAT_ALTER

    def verb_makes(self, nouns: frozenset[str]) -> bool:
        """Whether the verb makes things of these nouns: ``book`` makes a booking, ``pay`` a payment, ``register`` a
        registration.
        """
        verb, roots = stem(self.verb), [stem(noun) for noun in nouns]
        return bool(roots) and all(
            root in (verb, f"{verb}ment") or (len(verb) >= _FEWEST_SHARED_LETTERS and root.startswith(verb))
            for root in roots
        )


def normalize_noun(word: str) -> str:
    """A form that the singular and the plural of a noun share. It is no stem: an applicant is no application."""
    noun = singular(word)
    return noun[:-1] if noun.endswith(("se", "xe", "ze", "che", "she", "oe")) else noun  # addresses, boxes, churches


@lru_cache(maxsize=8192)
def split_tool_name(name: str) -> tuple[str, ...]:
    """The words of a tool's name, the verb first: cancel, orders for ``orders.cancel``."""
    *namespaces, own_name = [text for text in _NAMESPACE_SIGN_PATTERN.split(name) if words_of(text)] or [name]
    words = words_of(own_name) or [""]
    if len(words) == 1 and namespaces:
        return (*words, *words_of(namespaces[-1]))
    return tuple(words)


@lru_cache(maxsize=8192)
def words_of_tool(name: str) -> ToolWords:
    """The verb and nouns of a tool's name: add, note for ``add_note``; create, booking for ``bookings.create``."""
    verb, *other_words = split_tool_name(name)
    if verb not in _KNOWN_VERBS and other_words and other_words[-1] in _KNOWN_VERBS:
        verb, *other_words = other_words[-1], verb, *other_words[:-1]
    object_words = next(
        (other_words[:index] for index, word in enumerate(other_words) if index and word in _PREPOSITIONS), other_words
    )
    nouns = [normalize_noun(word) for word in object_words if word not in _FILLERS | _PREPOSITIONS]
    return ToolWords(verb, frozenset(nouns), nouns[-1] if nouns else "")


def strip_batch_word(tool: str) -> str:
    """The tool's name without a first word that says how it does its work: ``add_note`` for ``bulk_add_note``."""
    first_word, *other_words = split_tool_name(tool)
    return "_".join(other_words) if other_words and first_word in MANNER_WORDS else tool


def list_verb_participles(tool: str) -> frozenset[str]:
    """The past participles of a tool's verb in every possible spelling: ``canceled`` and ``cancelled``."""
    verb = words_of_tool(tool).verb
    regular = {f"{verb}d", f"{verb}ed", f"{verb}{verb[-1:]}ed", f"{verb[:-1]}ied"}
    return frozenset(regular | {_PARTICIPLES.get(verb, verb + "ed")})


def is_identifying_name(name: str) -> bool:
    """Whether a field or argument of this name identifies a record: ``claim_id``, ``orderNumber``, ``reference``."""
    *other_words, last_word = words_of(name) or [""]
    return is_id_name(name) or (last_word in _ID_WORDS and _WORDS_OF_NO_ID.isdisjoint(other_words))


@lru_cache(maxsize=8192)
def find_nouns_of_identifier(name: str, owner_nouns: frozenset[str]) -> frozenset[str]:
    """The nouns for what an identifier identifies: order for ``order_id``; for ``id`` its record's ``owner_nouns``."""
    words = words_of(name)
    if len(words) > 1 and words[-1] in _ID_WORDS:
        words = words[:-1]
    elif len(words) == 1 and words[0] in _ID_WORDS:
        return owner_nouns
    elif len(words) == 1 and words[0].endswith("id") and is_id_name(name):  # orderid
        words = [words[0].removesuffix("id")]
    return frozenset(map(normalize_noun, words))
