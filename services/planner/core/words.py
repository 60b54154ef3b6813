"""Compares words and names by their stems: a name in any style, a verb in any form, a noun in singular or plural."""

import re
from collections.abc import Iterable
from functools import lru_cache

_PARTS_PATTERN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_WORDS_PATTERN = re.compile(r"\b[Ee]-[Mm]ails?\b|[A-Za-z]+(?:['’][a-z]+)?")
_IS_PATTERN = re.compile(r"^(what|who|when|where|how)['’]s$")
_IRREGULAR = {"paid": "pay", "sent": "send", "spent": "spend", "people": "person", "left": "left", "made": "make"}

FAMILIES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "read": "get list find search fetch read show lookup look query retrieve check view describe count load tell "
        "give compute calculate determine report answer browse inspect see identify verify compare reconcile "
        "audit review examine assess analyse analyze investigate summarise summarize",
        "create": "create add register open submit insert new make file record enter draft log place append",
        "update": "update change set modify edit amend adjust correct put patch rename alter revise raise lower "
        "increase decrease reduce write",
        "delete": "delete remove erase drop purge destroy discard",
        "cancel": "cancel void revoke terminate withdraw deactivate disable abort",
        "close": "close resolve complete finish finalize finalise conclude",
        "approve": "approve accept authorize authorise clear confirm endorse",
        "reject": "reject decline deny refuse disapprove",
        "refund": "refund reimburse repay credit compensate",
        "pay": "pay settle disburse remit",
        "send": "send notify email mail message inform remind alert text",
        "assign": "assign allocate delegate reassign route",
        "schedule": "schedule book arrange reschedule plan",
        "ship": "ship dispatch deliver",
        "move": "move transfer relocate shift migrate upgrade downgrade switch",
        "restore": "restore reopen reactivate enable unblock resume",
        "block": "block suspend freeze hold lock pause",
        "archive": "archive store retire",
        "flag": "flag highlight",
        "return": "return",
        "escalate": "escalate",
        "grant": "grant",
        "release": "release",
        "match": "match",
    }.items()
}
GENERIC = frozenset({"process", "handle", "execute", "perform", "run", "deal", "treat"})
SENDING_FAMILIES = frozenset({"send"})
STOP = frozenset(
    "a an the of for to in on at by with from and or but if is are was were be been it its this that these those them "
    "they their his her our your my we i you he she as not no do does did don't any all each every still yet only "
    "than then what which who whom whose how when where why there here please has have had can could should must will "
    "would into about per so such".split()
)
_GENERIC_NOUNS = frozenset(
    "id ids by all of for the details detail info data record by_id one single from with to".split()
)
ID_WORDS = frozenset({"id", "no", "number", "code", "key", "ref", "reference", "identifier", "uuid", "num", "nr"})


_SHORT = 4_000  # characters; few longer texts are kept
_remembered = lru_cache(maxsize=20_000)  # the same few words and values are looked at again and again


@_remembered
def stem(word: str) -> str:
    """One spelling for the forms of a word: ``approved`` and ``approve``, ``entries`` and ``entry``."""
    word = word.lower().removesuffix("'s").removesuffix("’s")
    word = _IRREGULAR.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return _strip_double(_strip_verb_ending(word))


def _strip_verb_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        without_ending = word.removesuffix(ending)
        if without_ending != word and len(without_ending) >= 3 and re.search("[aeiouy]", without_ending):
            return without_ending
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _strip_double(word: str) -> str:
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou" else word


_PARTICIPLES = {
    "pay": "paid", "send": "sent", "make": "made", "set": "set", "put": "put", "write": "written", "give": "given",
    "take": "taken", "hold": "held", "freeze": "frozen", "withdraw": "withdrawn", "tell": "told", "lay": "laid",
}  # fmt: skip
_DOUBLED = frozenset("submit cancel transfer permit commit refer".split())


def participle(verb: str) -> str:
    """What a thing is once that was done to it: ``approved`` of ``approve``."""
    if verb in _PARTICIPLES or verb.endswith("e"):
        return _PARTICIPLES.get(verb, f"{verb}d")
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ied"
    is_doubled = verb in _DOUBLED or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", verb)  # shipped, flagged
    return f"{verb}{verb[-1] if is_doubled else ''}ed"


@_remembered
def parts(name: str) -> tuple[str, ...]:
    """The lower-case parts of an identifier in snake, camel, kebab or dotted style."""
    return tuple(part.lower() for part in _PARTS_PATTERN.findall(name))


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words)


def text_words(text: str) -> list[str]:
    return [_IS_PATTERN.sub(r"\1", word.lower().replace("-", "")) for word in _WORDS_PATTERN.findall(text)]


def text_stems(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    return _short_text_stems(text) if len(text) <= _SHORT else _long_text_stems(text)


def _text_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text_words(text) if word not in STOP)


_short_text_stems = lru_cache(maxsize=4_000)(_text_stems)
_long_text_stems = lru_cache(maxsize=4)(_text_stems)
_BY_STEM = {stem(word): name for name, words in FAMILIES.items() for word in words}
_GENERIC_STEMS = stems(GENERIC)


def family(verb: str) -> str | None:
    """The synonym family of a verb, or None."""
    return _BY_STEM.get(stem(verb))


def is_verb(word: str) -> bool:
    return stem(word) in _BY_STEM or stem(word) in _GENERIC_STEMS


def is_generic(verb: str) -> bool:
    return stem(verb) in _GENERIC_STEMS


@_remembered
def nouns(tool_name: str) -> frozenset[str]:
    """The stems of a tool's name without its verb and without filler."""
    words = parts(tool_name)
    if len(words) > 1 and is_verb(words[0]):
        words = words[1:]
    return stems(word for word in words if word not in _GENERIC_NOUNS)


@_remembered
def field_stems(name: str) -> frozenset[str]:
    return stems(parts(name))


@_remembered
def concept(name: str, owner: frozenset[str]) -> frozenset[str]:
    """The stems of what a field identifies: its name without ``id`` and the like, or the owner's noun if nothing is
    left.
    """
    own = stems(word for word in parts(name) if word not in ID_WORDS)
    return own or owner


@_remembered
def is_identifier(name: str) -> bool:
    return bool(ID_WORDS.intersection(parts(name)))


_FEWEST_COMMON_LETTERS = 3  # letters that two words begin with alike: ``owns`` and ``owner``


def are_related(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return word == other or (
        len(shorter) >= _FEWEST_COMMON_LETTERS and longer.startswith(shorter) and not re.search(r"\d", longer)
    )


def share_word(words: Iterable[str], others: Iterable[str]) -> bool:
    """Whether one of the words is related to one of the others."""
    known = [*others]
    return any(are_related(word, other) for word in words for other in known)


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text without filler."""
    return tuple(word for word in text_words(text) if word not in STOP)


_REST = stems("available left remaining remainder rest unspent unused".split())


def with_words_for_rest(word_stems: frozenset[str]) -> frozenset[str]:
    """The stems, with all words for what is left if one of them is such a word: what is available is left."""
    return word_stems | _REST if word_stems & _REST else word_stems
