"""Translates prose policies into rules, for sentences of plain forms; any other sentence is left for a model."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from services.planner.core.request import Request, objects
from services.planner.core.words import field_stems, parts, stem, text_stems
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import EscalationLevel

_SENTENCE_PATTERN = re.compile(r"\s*(?:\d{1,3}[.)]\s+|[-*•]\s+)?(?P<said>\S.*?)(?:[.;!](?=\s|$)|$)", re.MULTILINE)
_NUMBERS = {"once": 1, "one": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_COUNT_PATTERN = re.compile(
    r"\b(?:only|at most|no more than|not more than|never more than|a maximum of|up to|just)(?:\s+\w+){0,2}?"
    rf"\s+(?P<first>\d{{1,4}}|{'|'.join(_NUMBERS)})\b|\b(?P<then>once|twice)\s+(?:only|at most)\b",
    re.IGNORECASE,
)
_NEVER_PATTERN = re.compile(
    r"\b(?:never|do not|don['’]t|must not|may not|cannot|can['’]t|is forbidden|are forbidden|is not allowed"
    r"|are not allowed|is prohibited)\b",
    re.IGNORECASE,
)
_EXCEPT_PATTERN = re.compile(r"\b(?:unless|without|except|if|when|until|before|after)\b", re.IGNORECASE)
_CONFIRM_PATTERN = re.compile(r"\b(?:confirm(?:ation|ed|s)?|confirming)\b", re.IGNORECASE)
_OUTRIGHT_PATTERN = re.compile(
    r"\b(?:forbidden|prohibited|not (?:be )?(?:allowed|permitted)|rejected|blocked|never)\b", re.IGNORECASE
)
_LEVEL_PATTERN = re.compile(rf"\b({'|'.join(level.word for level in EscalationLevel)})\b", re.IGNORECASE)
_OVER_PATTERN = re.compile(
    r"\b(?P<how>over|above|more than|greater than|exceed(?:s|ing)?|at least|of)\s+[$€£]?\s?"
    r"(?P<limit>\d[\d,]*(?:\.\d+)?)(?P<more>\s+or more)?",
    re.IGNORECASE,
)
_MONEY = ("amount", "total", "price", "cost", "value", "sum")


class _Tool(NamedTuple):
    name: str
    fields: tuple[str, ...]
    writes: bool


class _Mention(NamedTuple):
    name: str
    start: int
    end: int


def translate_policy(request: Request) -> JsonObject:
    """The rules found, each with its sentence; a sentence of no known form gives none."""
    tools = [_parse_tool(item) for item in objects(request.section("tools"))]
    sentences = split_sentences(request.sections.get("source", ""))
    rules: list[Json] = [rule for sentence in sentences for rule in _rules_in(sentence, tools)]
    return {"rules": rules}


def split_sentences(source: str) -> list[str]:
    """The sentences as they stand in the text, without their numbers and bullets."""
    matches = (match for line in source.splitlines() for match in _SENTENCE_PATTERN.finditer(line))
    return [match["said"] for match in matches if match["said"]]


def _rules_in(sentence: str, tools: Sequence[_Tool]) -> Iterable[JsonObject]:
    mentions = _mentions(sentence, tools)
    rules = next(filter(None, (form(sentence, mentions, tools) for form in _FORMS)), [])
    return [{**_EMPTY, "quote": sentence, "reason": sentence, **rule} for rule in rules]


_EMPTY: JsonObject = {
    "quote": "", "kind": "", "tool": "", "limit": None, "after": [], "condition": "", "action": "", "level": "",
    "reason": "",
}  # fmt: skip
_Form = Callable[[str, Sequence[_Mention], Sequence[_Tool]], list[JsonObject]]


def _read_confirmation(sentence: str, mentions: Sequence[_Mention], _tools: Sequence[_Tool]) -> list[JsonObject]:
    if not _CONFIRM_PATTERN.search(sentence) or _OVER_PATTERN.search(sentence):
        return []
    level = _LEVEL_PATTERN.search(sentence)
    level_name = level[0].lower() if level else ""
    return [{"kind": "only_after_confirmation", "tool": mention.name, "level": level_name} for mention in mentions]


def _read_order(sentence: str, mentions: Sequence[_Mention], _tools: Sequence[_Tool]) -> list[JsonObject]:
    """The rule on the order of two tools: ``A before B``, ``B only after A``; a "not" before ``A before B`` turns it
    round.
    """
    if len(mentions) != 2:
        return []
    first, second = mentions
    between, before = sentence[first.end : second.start], sentence[: first.start]
    forbidden = bool(_NEVER_PATTERN.search(before) or _NEVER_PATTERN.search(between))
    if re.search(r"\bbefore\b|\buntil\b|\bunless\b|\bwithout\b", between, re.IGNORECASE):
        later, earlier = (first, second) if forbidden else (second, first)
    elif re.search(r"\bafter\b|\bonce\b", between, re.IGNORECASE) and not forbidden:
        later, earlier = first, second
    else:
        return []
    return [{"kind": "only_after", "tool": later.name, "after": [earlier.name]}]


def _read_count(sentence: str, mentions: Sequence[_Mention], _tools: Sequence[_Tool]) -> list[JsonObject]:
    match = _COUNT_PATTERN.search(sentence)
    if match is None:
        return []
    word = (match["first"] or match["then"]).lower()
    limit = int(word) if word.isdecimal() else _NUMBERS.get(word)
    return [{"kind": "at_most", "tool": mention.name, "limit": limit} for mention in mentions if limit]


def _read_ban(sentence: str, mentions: Sequence[_Mention], _tools: Sequence[_Tool]) -> list[JsonObject]:
    if not _NEVER_PATTERN.search(sentence) or _EXCEPT_PATTERN.search(sentence) or _OVER_PATTERN.search(sentence):
        return []
    return [{"kind": "never", "tool": mention.name} for mention in mentions]


def _read_limit(sentence: str, mentions: Sequence[_Mention], tools: Sequence[_Tool]) -> list[JsonObject]:
    """The rule on an amount, as in ``over $5,000 requires approval``, for the money field of the tools that the
    sentence is about.
    """
    over = _OVER_PATTERN.search(sentence)
    consequence = _parse_consequence(sentence) if over else None
    if over is None or consequence is None or (over["how"].lower() == "of" and not over["more"]):
        return []
    about = _tools_about(sentence[: over.start()], mentions, tools)
    named = sorted({(tool.name, field) for tool in about if (field := _money_field(tool))})
    fields = {field for _, field in named}
    if len(fields) != 1:
        return []
    sign = ">=" if over["more"] or over["how"].lower() == "at least" else ">"
    names = [name for name, _ in named]
    which = f'tool == "{names[0]}"' if len(names) == 1 else f"tool in [{', '.join(f'{name!r}' for name in names)}]"
    condition = f"{which} && {fields.pop()} {sign} {over['limit'].replace(',', '')}".replace("'", '"')
    return [{"kind": "condition", "condition": condition, **consequence}]


def _parse_consequence(sentence: str) -> JsonObject | None:
    level = _LEVEL_PATTERN.search(sentence)
    level_name = level[0].lower() if level else min(EscalationLevel).word
    if re.search(r"\bescalat", sentence, re.IGNORECASE):
        return {"action": "escalate", "level": level_name}
    if re.search(r"\bapprov(?:al|ed)\b|\bsign-?off\b", sentence, re.IGNORECASE):
        return {"action": "require_approval", "level": level_name}
    if _OUTRIGHT_PATTERN.search(sentence):
        return {"action": "block"}
    return None


def _tools_about(subject: str, mentions: Sequence[_Mention], tools: Sequence[_Tool]) -> list[_Tool]:
    """The tools that a sentence names, else the writing ones whose name shares a word with its subject, else all."""
    if named := {mention.name for mention in mentions}:
        return [tool for tool in tools if tool.name in named]
    writers = [tool for tool in tools if tool.writes]
    return [tool for tool in writers if text_stems(subject) & field_stems(tool.name)] or writers


def _money_field(tool: _Tool) -> str | None:
    """The field that is an amount of money, if exactly one is plainly so; else None."""
    for word in _MONEY:
        fields = [field for field in tool.fields if stem(word) in field_stems(field)]
        exact = [field for field in fields if field == word]
        if len(exact or fields) == 1:
            return (exact or fields)[0]
    return None


def _mentions(sentence: str, tools: Sequence[_Tool]) -> list[_Mention]:
    """The places where a sentence names tools, in order; of overlapping names the longest counts."""
    mentions: list[_Mention] = []
    for tool in sorted(tools, key=lambda tool: -len(tool.name)):
        for match in _name_pattern(tool.name).finditer(sentence):
            if all(match.end() <= mention.start or match.start() >= mention.end for mention in mentions):
                mentions.append(_Mention(tool.name, match.start(), match.end()))
    return sorted(mentions, key=lambda mention: mention.start)


def _name_pattern(name: str) -> re.Pattern[str]:
    words = [re.escape(part) for part in parts(name)]
    name_pattern = r"\s+(?:(?:a|an|the|any|each|every)\s+)?".join(f"{word}(?:s|es)?" for word in words)
    return re.compile(rf"(?<![\w-])(?:{re.escape(name)}|{name_pattern})(?![\w-])", re.IGNORECASE)


def _parse_tool(item: JsonObject) -> _Tool:
    fields = item.get("fields")
    listed = tuple(map(str, fields)) if isinstance(fields, list) else ()
    return _Tool(str(item.get("name")), listed, item.get("class") in ("change", "notify"))


_FORMS: tuple[_Form, ...] = (_read_confirmation, _read_limit, _read_order, _read_count, _read_ban)
