"""Parses standing instructions: what a text wants done with whatever comes in, each as a kind of thing and steps for
it.
"""

import re
from typing import NamedTuple

from services.planner.core.words import SENDING_FAMILIES, STOP, family, is_verb, stem, text_stems, text_words

_PIECE_PATTERN = re.compile(r"\n\s*[-*•]\s*|\n+|(?<=[.!?;])\s+(?=[A-Z])")
_HEADED_PATTERN = re.compile(r"^(?P<kind>[^:.]{3,120}):\s+(?P<steps>.+)$", re.S)
_STEP_PATTERN = re.compile(r"\s*(?:,|;|\band\b|\bthen\b)\s+", re.I)
_NOT_PATTERN = re.compile(
    r"^(?:please\s+)?(?:do not|don['’]t|never|no\b|without)|\bnothing\b|\bnobody\b|\belse\b", re.I
)
_FORBIDS_PATTERN = re.compile(r"^(?:please\s+)?(?:(?:do not|don['’]t|never)\s+\w+|leave)\s+(?P<rest>.+)$", re.I | re.S)
_NEVER_PATTERN = re.compile(
    r"\b(\w+) nothing\b|\bnever (\w+) anything\b|\b(?:do not|don['’]t) (\w+) (?:anything|any (?:mail|message)s?)\b",
    re.I,
)
_LEADING_PATTERN = re.compile(r"^(?:please|also|and|then|kindly)[,\s]+", re.I)
_OF_ALL = frozenset(
    "mail email e message messages text letter inbox item thing one everything anything incoming new unread today "
    "morning day all every each any that those what which who is are come comes from by with about for needs need my "
    "own me i alone touch".split()
)
_ALTERNATIVES_PATTERN = re.compile(r"\s*(?:,|/|\bor\b|\band\b)\s*", re.I)
_SENDER_PATTERN = re.compile(r"\bfrom\s+(?P<who>[^\s,;:.]+(?:\s+[A-Z][^\s,;:.]*)*|\S+@\S+)")

_BAIT_SIGNS = ("verify your", "your password", "account will be", "gift voucher", "confirm your account", "log in here")

# Words by which a thing of a kind shows itself, where it does not name its kind. General knowledge of mail, no more.
_SIGNS: dict[str, tuple[str, ...]] = {
    "newsletter": ("newsletter", "unsubscribe", "digest", "weekly issue", "this week in"),
    "invoice": ("invoice", "amount due", "now due"),
    "receipt": ("receipt", "order confirmation"),
    "bait": _BAIT_SIGNS,
    "phishing": _BAIT_SIGNS,
    "decision": ("your decision", "you decide", "your approval", "decide by", "go-ahead"),
    "signature": ("your signature", "please sign", "to be signed", "sign it", "signed copy"),
}
_PROTECTIVE_WORDS = frozenset({"bait", "phishing", "scam", "fraud", "spam"})


class TendingStep(NamedTuple):
    """One step of a standing instruction: a verb and the words after it."""

    verb: str
    clause: str


class StandingRule(NamedTuple):
    """A standing instruction: which rows it matches, and its steps. Without steps it forbids to touch them.

    ``signs``: words of which one in a row is enough; ``sender``: whom the row must come from, if that is said;
    ``guards``: it goes before other rules. ``is_strict``: a row that only mentions such a thing does not match.
    ``piece``: its words.
    """

    kind: str
    signs: tuple[str, ...]
    sender: str
    steps: tuple[TendingStep, ...]
    guards: bool = False
    is_strict: bool = False
    piece: str = ""


def find_standing_rules(text: str) -> tuple[StandingRule, ...]:
    """The standing instructions in the order of the text, but first those that protect rows."""
    barred = {stem(next(filter(None, match.groups()))) for match in _NEVER_PATTERN.finditer(text)}
    pieces, rules = _split_into_rules(text), list[StandingRule]()
    # of these kinds a sentence says that what only speaks of such a thing is none
    strict = frozenset().union(*(text_stems(piece) for piece in pieces if _ONLY_SPEAKS.search(piece)))
    for piece in pieces:
        if rule := _read_forbidding(piece) or _read_headed(piece) or _read_plain(piece):
            steps = tuple(step for step in rule.steps if stem(step.verb) not in barred)
            is_strict = rule.is_strict or any(stem(sign) in strict for sign in rule.signs)
            rules.append(rule._replace(steps=steps, piece=piece, is_strict=is_strict))
    return tuple(sorted(rules, key=lambda rule: bool(rule.steps)))


def _read_forbidding(piece: str) -> StandingRule | None:
    """The rule that protects a kind of rows (``Do not touch mail from Ann Lee.``, ``Leave receipts alone.``); else
    None.
    """
    match = _FORBIDS_PATTERN.match(piece)
    if match is None or re.search(r"\belse\b|\banything\b|\bnothing\b", piece, re.I):
        return None
    rule = _build_rule(match["rest"].rstrip(" .;!"), ())
    return rule._replace(guards=True) if rule else None


def _split_into_rules(text: str) -> list[str]:
    return [_LEADING_PATTERN.sub("", one.strip(" -*•\t")) for one in _PIECE_PATTERN.split(text) if one.strip()]


def _read_headed(piece: str) -> StandingRule | None:
    """The rule of a kind with its steps after a colon (``Newsletters: archive them.``); else None."""
    match = _HEADED_PATTERN.match(piece)
    if match is None or any(is_verb(word) for word in text_words(match["kind"])[:1]):
        return None
    steps = _split_into_steps(match["steps"])
    return _build_rule(match["kind"], steps) if steps else None


def _read_plain(piece: str) -> StandingRule | None:
    """The rule that begins with its verb (``Archive newsletters.``, ``Star what is from Ann Lee.``); else None."""
    words = text_words(piece)
    if (
        not words
        or _NOT_PATTERN.search(_BESIDES_PATTERN.split(piece)[0])
        or not _is_action(words[0])
        or family(words[0]) in SENDING_FAMILIES
    ):
        return None
    kind_text, *besides = _BESIDES_PATTERN.split(piece, maxsplit=1)
    first, *others = _FURTHER_STEP.split(kind_text)
    step = TendingStep(words[0], first.rstrip(" .;!"))
    kind = _QUOTED_PATTERN.sub(" ", re.split(r"\b(?:as|to|into|under|in|that|which)\b", first, maxsplit=1)[0])
    rule = _build_rule(kind.split(maxsplit=1)[-1] if " " in kind else "", (step, *_split_into_steps(", ".join(others))))
    return rule._replace(is_strict=bool(_ONLY_SPEAKS.search(" ".join(besides)))) if rule else None


_BESIDES_PATTERN = re.compile(r"\s*;\s+")
_FURTHER_STEP = re.compile(r",?\s+(?:and|then|and then)\s+(?=\w+\s+(?:it|them)\b)", re.I)
_QUOTED_PATTERN = re.compile(r"[\"“'‘][^\"”'’]+[\"”'’]")
_ONLY_SPEAKS = re.compile(r"\b(?:only|merely|just)\s+(?:talks?|speaks?|mentions?|writes?)\b", re.I)
_LONE_WORDS = frozenset("star unstar label archive mark move delete file flag trash".split())


def _split_into_steps(text: str) -> tuple[TendingStep, ...]:
    parts = [_LEADING_PATTERN.sub("", part).strip(" .;!") for part in _STEP_PATTERN.split(text.strip())]
    step_texts = [part for part in parts if part and not _NOT_PATTERN.search(part)]
    return tuple(
        TendingStep(words[0], part) for part in step_texts if (words := text_words(part)) and _is_action(words[0])
    )


def _is_action(word: str) -> bool:
    return (is_verb(word) and family(word) != "read") or word in _LONE_WORDS


def _build_rule(kind: str, steps: tuple[TendingStep, ...]) -> StandingRule | None:
    sender = _SENDER_PATTERN.search(kind)
    sender_name = sender["who"].strip(" .'\"") if sender else ""
    kind_without_sender = kind.replace(sender[0], " ") if sender else kind
    nouns = [noun for part in _ALTERNATIVES_PATTERN.split(kind_without_sender) if (noun := _find_noun(part))]
    if not nouns and not sender_name:
        return None
    signs = tuple(dict.fromkeys(sign for noun in nouns for sign in _SIGNS.get(noun, (noun,))))
    return StandingRule(kind.strip(), signs, sender_name, steps, any(noun in _PROTECTIVE_WORDS for noun in nouns))


def _find_noun(part: str) -> str:
    """The word that says what kind of thing is meant; the first one, as ``invoices of suppliers`` are invoices."""
    words = [word for word in text_words(part) if word not in STOP and word not in _OF_ALL and len(word) > 2]
    known_signs = [name for word in words for name in (*_SIGNS, *_PROTECTIVE_WORDS) if stem(name) == stem(word)]
    return known_signs[0] if known_signs else words[0].removesuffix("s") if words else ""
