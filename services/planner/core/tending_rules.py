"""Standing instructions: what a text wants done with whatever comes in, each as a kind of thing and steps for it."""

import re
from typing import NamedTuple

from services.planner.core.words import NOTICES, STOP, family, is_verb, stem, text_stems, text_words

_PIECE = re.compile(r"\n\s*[-*•]\s*|\n+|(?<=[.!?;])\s+(?=[A-Z])")
_HEADED = re.compile(r"^(?P<kind>[^:.]{3,120}):\s+(?P<steps>.+)$", re.S)
_STEP = re.compile(r"\s*(?:,|;|\band\b|\bthen\b)\s+", re.I)
_NOT = re.compile(r"^(?:please\s+)?(?:do not|don['’]t|never|no\b|without)|\bnothing\b|\bnobody\b|\belse\b", re.I)
_FORBIDS = re.compile(r"^(?:please\s+)?(?:(?:do not|don['’]t|never)\s+\w+|leave)\s+(?P<rest>.+)$", re.I | re.S)
_NEVER = re.compile(
    r"\b(\w+) nothing\b|\bnever (\w+) anything\b|\b(?:do not|don['’]t) (\w+) (?:anything|any (?:mail|message)s?)\b",
    re.I,
)
_LEADING = re.compile(r"^(?:please|also|and|then|kindly)[,\s]+", re.I)
_OF_ALL = frozenset(
    "mail email e message messages text letter inbox item thing one everything anything incoming new unread today "
    "morning day all every each any that those what which who is are come comes from by with about for needs need my "
    "own me i alone touch".split()
)
_ALTERNATIVES = re.compile(r"\s*(?:,|/|\bor\b|\band\b)\s*", re.I)
_SENDER = re.compile(r"\bfrom\s+(?P<who>[^\s,;:.]+(?:\s+[A-Z][^\s,;:.]*)*|\S+@\S+)")

# Words by which a thing of a kind shows itself, where it does not name its kind. General knowledge of mail, no more.
_SIGNS: dict[str, tuple[str, ...]] = {
    "newsletter": ("newsletter", "unsubscribe", "digest", "weekly issue", "this week in"),
    "invoice": ("invoice", "amount due", "now due"),
    "receipt": ("receipt", "order confirmation"),
    "bait": ("verify your", "your password", "account will be", "gift voucher", "confirm your account", "log in here"),
    "phishing": (
        "verify your",
        "your password",
        "account will be",
        "gift voucher",
        "confirm your account",
        "log in here",
    ),
    "decision": ("your decision", "you decide", "your approval", "decide by", "go-ahead"),
    "signature": ("your signature", "please sign", "to be signed", "sign it", "signed copy"),
}
_PROTECTIVE = frozenset({"bait", "phishing", "scam", "fraud", "spam"})


class TendingStep(NamedTuple):
    """``verb`` and the words after it."""

    verb: str
    clause: str


class StandingRule(NamedTuple):
    """``signs``: each is enough; ``sender``: who it comes from, where that is said; ``guards``: it goes before others.
    ``is_strict``: what only speaks of such a thing is none. ``piece``: the words that say all this.

    One without steps forbids: what it speaks of is left alone.
    """

    kind: str
    signs: tuple[str, ...]
    sender: str
    steps: tuple[TendingStep, ...]
    guards: bool = False
    is_strict: bool = False
    piece: str = ""


def find_standing_rules(text: str) -> tuple[StandingRule, ...]:
    """The instructions in the order of the text, those that forbid first."""
    barred = {stem(next(filter(None, match.groups()))) for match in _NEVER.finditer(text)}
    found = [(piece, _read_forbidding(piece) or _read_headed(piece) or _read_plain(piece)) for piece in _pieces(text)]
    rules = [one._replace(steps=_allowed_steps(one.steps, barred), piece=piece) for piece, one in found if one]
    strict = [text_stems(piece) for piece in _pieces(text) if _ONLY_SPEAKS.search(piece)]
    rules = [one._replace(is_strict=one.is_strict or _is_meant(one, strict)) for one in rules]
    return tuple(sorted(rules, key=lambda one: bool(one.steps)))


def _is_meant(rule: StandingRule, strict: list[frozenset[str]]) -> bool:
    """Whether a sentence says of this kind of thing that what only speaks of it is none."""
    return any(stem(sign) in said for said in strict for sign in rule.signs)


def _allowed_steps(steps: tuple[TendingStep, ...], barred: set[str]) -> tuple[TendingStep, ...]:
    return tuple(step for step in steps if stem(step.verb) not in barred)


def _read_forbidding(piece: str) -> StandingRule | None:
    """``Do not touch mail from Ann Lee.``, ``Leave receipts alone.``; not ``Leave everything else``."""
    match = _FORBIDS.match(piece)
    if match is None or re.search(r"\belse\b|\banything\b|\bnothing\b", piece, re.I):
        return None
    found = _build_rule(match["rest"].rstrip(" .;!"), ())
    return found._replace(guards=True) if found else None


def _pieces(text: str) -> list[str]:
    return [_LEADING.sub("", piece.strip(" -*•\t")) for piece in _PIECE.split(text) if piece.strip()]


def _read_headed(piece: str) -> StandingRule | None:
    """``Newsletters: archive them.``"""
    match = _HEADED.match(piece)
    if match is None or any(is_verb(word) for word in text_words(match["kind"])[:1]):
        return None
    steps = _steps(match["steps"])
    return _build_rule(match["kind"], steps) if steps else None


def _read_plain(piece: str) -> StandingRule | None:
    """``Archive newsletters.``, ``Star what is from Ann Lee.``"""
    words = text_words(piece)
    if not words or _NOT.search(_BESIDES.split(piece)[0]) or not _is_action(words[0]) or family(words[0]) in NOTICES:
        return None
    said, *besides = _BESIDES.split(piece, maxsplit=1)
    first, *others = _FURTHER_STEP.split(said)
    step = TendingStep(words[0], first.rstrip(" .;!"))
    kind = _QUOTED.sub(" ", re.split(r"\b(?:as|to|into|under|in|that|which)\b", first, maxsplit=1)[0])
    rule = _build_rule(kind.split(maxsplit=1)[-1] if " " in kind else "", (step, *_steps(", ".join(others))))
    return rule._replace(is_strict=bool(_ONLY_SPEAKS.search(" ".join(besides)))) if rule else None


_BESIDES = re.compile(r"\s*;\s+")
_FURTHER_STEP = re.compile(r",?\s+(?:and|then|and then)\s+(?=\w+\s+(?:it|them)\b)", re.I)
_QUOTED = re.compile(r"[\"“'‘][^\"”'’]+[\"”'’]")
_ONLY_SPEAKS = re.compile(r"\b(?:only|merely|just)\s+(?:talks?|speaks?|mentions?|writes?)\b", re.I)
_LONE = frozenset("star unstar label archive mark move delete file flag trash".split())


def _steps(text: str) -> tuple[TendingStep, ...]:
    parts = [_LEADING.sub("", part).strip(" .;!") for part in _STEP.split(text.strip())]
    kept = [part for part in parts if part and not _NOT.search(part)]
    return tuple(TendingStep(words[0], part) for part in kept if (words := text_words(part)) and _is_action(words[0]))


def _is_action(word: str) -> bool:
    return (is_verb(word) and family(word) != "read") or word in _LONE


def _build_rule(kind: str, steps: tuple[TendingStep, ...]) -> StandingRule | None:
    sender = _SENDER.search(kind)
    who = sender["who"].strip(" .'\"") if sender else ""
    rest = kind.replace(sender[0], " ") if sender else kind
    nouns = [noun for part in _ALTERNATIVES.split(rest) if (noun := _find_noun(part))]
    if not nouns and not who:
        return None
    signs = tuple(dict.fromkeys(sign for noun in nouns for sign in _SIGNS.get(noun, (noun,))))
    return StandingRule(kind.strip(), signs, who, steps, any(noun in _PROTECTIVE for noun in nouns))


def _find_noun(part: str) -> str:
    """The word that says what kind of thing is meant; the first one, as ``invoices of suppliers`` are invoices."""
    words = [word for word in text_words(part) if word not in STOP and word not in _OF_ALL and len(word) > 2]
    known = [name for word in words for name in (*_SIGNS, *_PROTECTIVE) if stem(name) == stem(word)]
    return known[0] if known else words[0].removesuffix("s") if words else ""
