"""Translates a task from plain German or French into plain English, sentence by sentence and word by word.

Identifiers, figures, names, quotations and reasons stay as they are; so does a word that the dictionary lacks.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from services.planner.core.languages import (
    ALSO_ENGLISH,
    FRENCH_VERBS,
    FRENCH_WORDS,
    GERMAN_VERBS,
    GERMAN_WORDS,
    PHRASES,
)
from services.planner.core.words import SENDING_FAMILIES, STOP, family, is_verb, text_words

_SENTENCE_PATTERN = re.compile(r"(?<=[.!?;])\s+(?=\S)|\n+")
_TOKEN_PATTERN = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]|\w*\d[\w.,:-]*\w|\w+(?:-\w+)*|\s+|.", re.S)
_GERMAN_WORDS = frozenset(
    "der die das den dem und oder nicht bitte mit für ist sind welche wie ein eine einen weil wenn von zu dass ihre "
    "alle viel noch wer wann wurde".split()
)
_FRENCH_WORDS = frozenset(
    "le la les des du et ou ne pas pour est sont quel quelle quelles quels une parce que veuillez avec l à au "
    "combien quand".split()
)
_QUESTION_WORDS = frozenset("welche welcher welches wer wie was wann wo quel quelle quels quelles qui combien".split())
_FILLER_WORDS = frozenset("bitte dann danach anschließend auch veuillez puis ensuite merci do not de".split())
_REASON_PATTERN = re.compile(
    r"\b(?:(?:weil|da|denn|parce que|car|puisque)\b|(?:parce |puis)qu['’]"
    r"|(?:grund|begründung|motif|raison)\s*:)\s*(?P<why>[^.!?;]+?)(?=[.!?;]|\s*$|,?\s+(?:nur,?\s+)?(?:wenn|falls|sofern"
    r"|sobald|nachdem|solange|bevor|unless|si\s+(?:elle|il|le|la|les|l['’]|son|sa|leur)s?\b|s['’]ils?\b"
    r"|à condition|pourvu|dès que|une fois que|après que|avant que|tant que|au cas où)(?!\w))",
    re.I,
)
_UNLESS_PATTERN = re.compile(r"\b(?:es sei denn,?(?: dass)?|au(?:ß|ss)er wenn|sauf si|à moins que)\s*,?\s+", re.I)
_JOIN_PATTERN = re.compile(r"(,?\s+(?:und dann|und|aber|et puis|et|puis|mais)\s+)")
_NOT_FRENCH = re.compile(r"\bn(?:['’]|e\s)\s*(\w+)\s+pas\b", re.I)
_ASKS_PATTERN = re.compile(
    r"^(?:können|könnten|würden|kannst|könntest) (?:sie|du)(?: bitte)? |^(?:pouvez-vous|peux-tu|pourriez-vous) ", re.I
)
_FURTHER_PATTERN = re.compile(
    r",?\s+(?:und|aber|et|puis|mais)\s+(?:(?:dann|auch|bitte|puis|aussi)\s+)*(?=(?P<verb>(?P<asks>sage?|lass|fai(?:s|tes)(?:-l[ea])?)\b|[^\W\d_]+)"
    r"\s+(?-i:(?:savoir|d(?:ie|en|er|as|em)|l[ea]s?|ein\w*|une?|ih[rmn]|[\w-]*\d[\w-]*|[A-ZÄÖÜÉ]\w+)\b|l['’]))",
    re.I,
)
_IF_PATTERN = re.compile(
    r"\b(?P<word>nur,? wenn|nur,? falls|wenn|falls|sofern|sobald|nachdem|solange|bevor|während|unless) "
    r"(?P<who>er|sie|es|(?:(?:der|die|das|ihre?|seine?)\s+)?(?!mehr\b|weniger\b|noch\b|nur\b|nicht\b|mindestens\b"
    r"|höchstens\b)[\w-]+(?:\s+[\w-]*\d[\w-]*)?) (?P<rest>[^,.;!?]+?) (?:ist|liegt|sind|bleibt|wurde|wird)\b",
    re.I,
)
_DECIMAL_PATTERN = re.compile(r"\d{1,3}(?:\.\d{3})*,\d{2}|\d+,\d{2}")
_ENDINGS_PATTERN = re.compile(r"(?:issez|issons|ez|er|ons|ir|re|es|ent|en|st|et|e|t|n|(?<!s)s)$")
_TOLD_PATTERN = re.compile(
    r"(?<!dès)(?<!parce)(?<!puis)(?<!avant)(?<!après)(?<!tant)(?<!fois)(?<!pourvu)(?<!condition)(?<!moins),?\s+"
    r"(?:dass|que)\s+(?P<said>.+?)(?P<end>[.!?;]*)$",
    re.I | re.S,
)


_INFLECTED_PATTERN = re.compile(r"(?P<stem>\w{4,}?)(?:e[nrsm]?|n|s)")
_WHO_HAS_PATTERN = re.compile(r"^who (?:has|a) (?P<what>\S*\d\S*) (?P<done>\w+ed)\b")


class Language(NamedTuple):
    verbs: Mapping[str, str]
    words: Mapping[str, str]
    is_german: bool


GERMAN = Language(GERMAN_VERBS, GERMAN_WORDS, True)
FRENCH = Language(FRENCH_VERBS, FRENCH_WORDS, False)


class ForeignSentence(NamedTuple):
    """A sentence as the task has it (``said``), and its translation (``english``)."""

    said: str
    english: str


@lru_cache(maxsize=500)
def in_english(text: str) -> str:
    """The text in English; the text itself if it is in no language that the dictionaries cover."""
    sentences = sentences_of(text)
    return " ".join(sentence.english for sentence in sentences) if sentences else text


@lru_cache(maxsize=500)
def sentences_of(text: str) -> tuple[ForeignSentence, ...]:
    """Each sentence with its translation; none if the text is in no language that the dictionaries cover."""
    language = _guess_language(text)
    if language is None:
        return ()
    parts = [part.strip() for part in _SENTENCE_PATTERN.split(text) if part.strip()]
    return tuple(ForeignSentence(part, _translate_sentence(part, language)) for part in parts)


def say_done(thing: str, participle: str, text: str) -> str:
    """``K-1 ist genehmigt.``, in the language of the text; empty if that is English, or the dictionary has no word."""
    language = _guess_language(text)
    word = next((said for said, english in language.words.items() if english == participle), "") if language else ""
    if not (language and word):
        return ""
    return f"{thing} ist {word}." if language.is_german else f"{word.capitalize()} : {thing}."


def _guess_language(text: str) -> Language | None:
    words = re.findall(r"[^\W\d_]+", text.lower())
    german = sum(word in _GERMAN_WORDS for word in words)
    french = sum(word in _FRENCH_WORDS for word in words)
    verbs = {*map(_foreign_stem, words)}
    german += len(verbs & {*GERMAN_VERBS}) if any(mark in text for mark in "äöüßÄÖÜ") or german else 0
    french += len(verbs & {*FRENCH_VERBS}) if french else 0
    if words and not (is_verb(words[0]) or words[0] in STOP | ALSO_ENGLISH):  # an order may show it by its verb alone
        german += any(key.partition("_")[0] == _foreign_stem(words[0]) for key in GERMAN_VERBS)
        french += _foreign_stem(words[0]) in FRENCH_VERBS
    english = len({"the", "and", "of", "to", "is", "are", "for", "with", "approve", "that"} & {*words})
    best, least = max((german, GERMAN), (french, FRENCH), key=lambda one: one[0]), english
    return best[1] if best[0] > max(1, least) or (best[0] == 1 and not english and len(words) < 6) else None


def _translate_sentence(text: str, language: Language) -> str:
    text = _UNLESS_PATTERN.sub("unless ", re.sub(r"(?<!parce )(?<!puis)\bqu['’](?=\w)", "que ", text, flags=re.I))
    if (told := _TOLD_PATTERN.search(text)) and not _REASON_PATTERN.search(text):
        head = _translate_sentence(text[: told.start()], language).rstrip(".")
        if any(
            family(word) in SENDING_FAMILIES for word in text_words(head)[:2]
        ):  # what somebody is told stays as it is
            return f"{head} that {told['said']}{told['end'] or '.'}"
    reason = _REASON_PATTERN.search(text)
    if reason and (further := _find_further(reason["why"], language)):
        first, rest = text[: reason.start("why") + further.start()], reason["why"][further.end() :]
        rest = _translate_sentence(f"{rest}{text[reason.end('why') :]}", language)
        return f"{_translate_sentence(first, language).rstrip('.')}, and {rest}"
    because = f" because {reason['why'].strip()}" if reason else ""
    rest = text[: reason.start()].rstrip(" ,") + text[reason.end() :] if reason else text
    for phrase, english in PHRASES.items():
        rest = re.sub(rf"\b{phrase}\b", english, rest, flags=re.I)
    rest = re.sub(r"(?<=\w\w\w)-l(?:ui|es?|a)\b", " it", rest) if not language.is_german else rest
    request = _ASKS_PATTERN.match(rest)
    rest = rest[request.end() :].rstrip("?") + "." if request else rest
    rest = _NOT_FRENCH.sub(r"do not \1", _IF_PATTERN.sub(r"\g<word> \g<who> ist \g<rest>", rest))
    end = rest[-1] if rest[-1:] in ".!?;" else "."
    clauses = _JOIN_PATTERN.split(rest.rstrip(".!?;"))
    clauses[::2] = [_translate_clause(clause, language) for clause in clauses[::2]]
    clauses[1::2] = [_translate_words(joint, language) for joint in clauses[1::2]]
    english = re.sub(r"\s+", " ", f"{''.join(clauses)}{because}{end}").strip()
    return _WHO_HAS_PATTERN.sub(r"who \g<done> \g<what>", english)


def _find_further(reason: str, language: Language) -> re.Match[str] | None:
    """Where another order follows a reason: ``, and`` before a known verb with its object; None if none does."""
    found = _FURTHER_PATTERN.finditer(reason)
    return next((match for match in found if _known_verb(match["verb"], language, False) or match["asks"]), None)


def _translate_clause(clause: str, language: Language) -> str:
    """One clause with its verb first, and ``do not`` before a verb that is denied."""
    tokens = _TOKEN_PATTERN.findall(clause)
    verb, other_tokens = _translate_verb(tokens, language)
    if not verb:
        return _translate_words(clause, language)
    text = _translate_words("".join(other_tokens), language)
    kept = re.sub(r"\bnot\s*$", "", text) if language.is_german else text
    lead = re.match(r"\s*((?:please|then|also|do not|but)\s+)*", kept)
    before = lead[0] if lead else ""
    return f"{before}{'' if kept == text else 'do not '}{verb} {kept[len(before) :].lstrip()}"


def _translate_verb(tokens: list[str], language: Language) -> tuple[str, list[str]]:
    """The English verb of a clause and its other tokens; German verbs may stand at the end, or in two pieces."""
    places = [place for place, token in enumerate(tokens) if token.isalpha() and token.lower() not in _FILLER_WORDS]
    is_question = places and tokens[places[0]].lower() in _QUESTION_WORDS
    if not places or is_question:
        return "", tokens
    first, last = places[0], places[-1]
    if language.is_german and (verb := language.verbs.get(f"{_foreign_stem(tokens[first])}_{tokens[last].lower()}")):
        return verb, [token for place, token in enumerate(tokens) if place not in (first, last)]
    for place in (first, last) if language.is_german else (first,):
        if verb := _known_verb(tokens[place], language, place != first):
            return verb, [token for at, token in enumerate(tokens) if at != place]
    return "", tokens


def _known_verb(token: str, language: Language, at_end: bool) -> str:
    word = token.lower()
    if token[:1].isupper() and at_end:
        return ""  # a German noun
    english_verb = language.verbs.get(_foreign_stem(word), "") or language.verbs.get(word.removesuffix("e"), "")
    if not english_verb and language.is_german:
        for key, verb in language.verbs.items():
            stem, _, particle = key.partition("_")
            if particle and _foreign_stem(word) in (f"{particle}{stem}", f"{particle}zu{stem}"):
                return verb
    return english_verb


@lru_cache(maxsize=10_000)
def _foreign_stem(word: str) -> str:
    without_ending = _ENDINGS_PATTERN.sub("", word.lower())
    return without_ending if len(without_ending) >= 2 else word.lower()


def _translate_words(text: str, language: Language) -> str:
    text = re.sub(r"\bs['’](?=ils?\b)", "si ", re.sub(r"(?<=\b[ldLD])['’]", " ", text))
    return "".join(_translate_word(token, language) for token in _TOKEN_PATTERN.findall(text))


def _translate_word(token: str, language: Language) -> str:
    if _DECIMAL_PATTERN.fullmatch(token):
        return token.replace(".", "").replace(",", ".")
    english_word = language.words.get(token.lower())
    if english_word is None and language.is_german and (inflected := _INFLECTED_PATTERN.fullmatch(token.lower())):
        english_word = language.words.get(inflected["stem"]) or language.words.get(f"{inflected['stem']}e")
    return english_word if english_word is not None and not token.isupper() else token
