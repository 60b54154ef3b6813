"""Arguments for a tool, from a task's words and the facts: every required field, and the optional ones it speaks of."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import product

from services.planner.core.binding import CallPlan, kind_of
from services.planner.core.foreign import say_done
from services.planner.core.intents import Intent
from services.planner.core.mentions import (
    AMOUNTS,
    Mention,
    MentionKind,
    find_amounts,
    find_mentions,
    find_of_kind,
    identifiers_in,
)
from services.planner.core.pages import is_paging
from services.planner.core.phrases import drop_spans, find_exclusions, find_spoken, find_target, is_affirmed, says_which
from services.planner.core.records import MINOR, FactRecord
from services.planner.core.references import find_identifiers, is_reference
from services.planner.core.request import ToolSpec
from services.planner.core.selection import NAME, is_compared, proper_names
from services.planner.core.situation import (
    CERTAIN,
    LIKELY,
    POSSIBLE,
    ArgumentCandidate,
    Situation,
    best,
    places_of,
    says,
    take_field,
)
from services.planner.core.words import (
    STOP,
    family,
    field_stems,
    nouns,
    participle,
    parts,
    stem,
    stems,
    text_stems,
    text_words,
)
from shared.domain.exact_json import JsonObject

_WHY_WORDS = stems(("reason", "cause", "justification", "why", "rationale", "explanation"))
_PROSE_WORDS = stems(("note", "comment", "message", "body", "text", "memo", "remark", "content", "subject", "summary"))
_OUTCOME_WORDS = stems(("outcome", "resolution", "result", "solution", "finding"))
_ABOUT_WORDS = stems(("description", "title", "detail", "topic"))
_SUM_WORDS = stems(("amount", "total", "price", "cost", "value", "sum", "figure"))
_ASKED_WORDS = stems(("query", "search", "term", "keyword", "q", "text", "name", "contains"))
_FORM_PATTERN = re.compile(r"\b(?:json|list|array)\b", re.I)
_COMPUTED_PATTERN = re.compile(
    r"(?:the|that|this|its|their|how)\b|(?:sum|total|number|count|average|difference)\b|\d[\d.]*\s?%", re.I
)
_AS_PATTERN = re.compile(
    r"\bas ((?:an? |the )?(?:(?:duplicate|copy|repetition|part) of .+|duplicate|repetition))$", re.I
)
_GIVING_WORDS = frozenset({"assign", "update", "move"})
_TO_NAME = re.compile(
    r"\b(?:to|into)\s+(?:the\s+)?(?:[a-z]+\s+){0,2}(?P<name>[A-Z][^\W\d]+(?:[\s-]+[A-Z][^\W\d]+)*)\b(?![-_]?\d)"
    r"(?!\s+[A-Z]|\s*(?:,|/|\bor\b|\band\b)\s*[A-Z])"
)
_TWO_FIGURES = re.compile(r"\d,\d{1,2}(?!\d)")  # "12,50": two figures, or one as it is not written here
_WHAT_FOR = re.compile(r"\bwhat\b.*\bfor\b", re.I)


def find_value(tool: ToolSpec, name: str, situation: Situation, intent: Intent) -> ArgumentCandidate | None:
    """The value of one field that is no identifier, or None if the task does not give it."""
    schema = tool.properties[name]
    required = name in tool.required
    choices = _enum_choices(schema)
    is_set = bool(intent.verb) and kind_of(schema) == "string"
    if is_set and (set_value := _find_set_value(tool, name, choices, intent, situation)):
        return set_value
    if choices:
        return _find_choice(choices, name, intent, situation)
    if (kind := kind_of(schema)) in ("number", "integer"):
        if _TWO_FIGURES.search(intent.clause):
            return None
        return _find_number(name, kind, intent, situation) or _find_only_number(tool, name, intent)
    if kind == "boolean":
        return _find_flag(name, intent)
    if kind != "string":
        return None
    shaped = (
        _find_by_shape(name, schema, situation, intent)
        or _as_candidate(_find_example(schema, situation))
        or _drop_foreign(find_stated(name, intent), name, situation)
    )
    described = str(schema.get("description", ""))
    return shaped or _find_prose(name, described, _text_after_colon(tool, intent), intent, situation, required)


def _find_set_value(
    tool: ToolSpec, name: str, choices: list[str], intent: Intent, situation: Situation
) -> ArgumentCandidate | None:
    """The value to which the clause sets the field, as in ``to done``, ``on hold`` or ``to Ada``.

    It is never a value by which the clause chooses its things. None if there is none, or if the field is for a reason,
    an outcome or prose.
    """
    own = field_stems(name)
    if own & (_WHY_WORDS | _PROSE_WORDS | _OUTCOME_WORDS | _ABOUT_WORDS):
        return None
    known_values = {str(record.fields[name]) for record in situation.records if name in record.fields}
    described = NAME.findall(f"{tool.description} {tool.properties[name].get('description', '')}")
    values = choices or [*known_values, *(word for word in described if word.lower() not in STOP)]
    target = find_target(intent.clause, values, nouns(tool.name), intent.means_every)
    if target and (target.is_stated or choices):
        return _as_candidate(target.span.value)
    others = [other for other in tool.required if other != name and not is_reference(tool, other)]
    match = _TO_NAME.search(drop_spans(intent.clause, find_exclusions(intent.clause)))
    is_given = family(parts(tool.name)[0]) in _GIVING_WORDS and not choices and not others and match
    return _as_candidate(match["name"]) if match and is_given else None


def _drop_foreign(candidate: ArgumentCandidate | None, name: str, situation: Situation) -> ArgumentCandidate | None:
    """The candidate; None if there is none, or if records have its value in other fields alone."""
    holders = {field for _, field in places_of(str(candidate.value), situation)} if candidate else set()
    return candidate if not holders or name in holders else None


def _enum_choices(schema: JsonObject) -> list[str]:
    listed = schema.get("enum")
    return [str(word) for word in listed if word is not None] if isinstance(listed, list) else []


def _find_choice(choices: list[str], name: str, intent: Intent, situation: Situation) -> ArgumentCandidate | None:
    """The choice whose words stand in the clause, or in the verb itself (``approve`` chooses ``approved``).

    None if there is none, or several.
    """
    if intent.verb:
        choices = [choice for choice in choices if not _only_selects(choice, intent)]
    named = [choice for choice in choices if says(intent.clause, choice)]
    if len(named) == 1 and (intent.verb or any(mark.isdigit() for mark in named[0])):
        return _as_candidate(named[0])
    if not intent.verb:  # what a task makes is not what it seeks
        verb_stems = {stem(action.verb) for action in situation.reading.actions}
        exact = [one for one in choices if stem(one) not in verb_stems and is_affirmed(one, situation.text)]
        return _as_candidate(exact[0]) if len(exact) == 1 else None
    own = text_stems(intent.clause) | {stem(intent.verb)}
    for words in (own, situation.stems):
        fits = [choice for choice in choices if stems(parts(choice)) and stems(parts(choice)) <= words]
        if len(fits) > 1 and (after := find_stated(name, intent)):
            word_stems = text_stems(str(after.value))
            fits = [choice for choice in fits if stems(parts(choice)) <= word_stems]
            return _as_candidate(fits[0]) if len(fits) == 1 else None
        if len(fits) == 1:
            return _as_candidate(fits[0])
    return None


def _only_selects(choice: str, intent: Intent) -> bool:
    """Whether the clause contains the choice only in words that say which things are meant or left out."""
    if not find_spoken(choice, intent.clause):
        return False
    kept_text = drop_spans(intent.clause, find_exclusions(intent.clause))
    return all(says_which(kept_text, span, (), intent.means_every) for span in find_spoken(choice, kept_text))


def _find_number(name: str, kind: str, intent: Intent, situation: Situation) -> ArgumentCandidate | None:
    stated_amount = find_stated(name, intent)
    mention = next(iter(find_mentions(str(stated_amount.value))), None) if stated_amount else None
    if mention is None or mention.kind not in AMOUNTS:
        mention = _figure_near(name, intent.clause, intent) or _figure_near(name, situation.text, intent)
    shares = [percent.value for percent in find_of_kind(intent.clause, MentionKind.PERCENT)]
    if mention is None or (field_stems(name) & _SUM_WORDS and mention.value in shares):
        return None
    amount = mention.number * 100 if MINOR.intersection(parts(name)) else mention.number
    is_whole = kind == "integer" and amount == amount.to_integral_value()
    return ArgumentCandidate(int(amount) if is_whole else amount, "task", "", CERTAIN)


def _find_only_number(tool: ToolSpec, name: str, intent: Intent) -> ArgumentCandidate | None:
    """The one bare whole number of a clause, for the one number that a tool has to be given.

    None if the clause has another amount too, or the tool takes another number.
    """
    numeric = [other for other, schema in tool.properties.items() if kind_of(schema) in ("number", "integer")]
    mentions = find_amounts(intent.clause)
    if not intent.verb or intent.means_every or numeric != [name] or name not in tool.required or len(mentions) != 1:
        return None
    is_whole = mentions[0].number == mentions[0].number.to_integral_value()
    if mentions[0].kind is not MentionKind.NUMBER or not is_whole:
        return None
    return ArgumentCandidate(int(mentions[0].number), "task", "", CERTAIN)


def _figure_near(name: str, text: str, intent: Intent) -> Mention | None:
    """The figure of a text for a field: money for an amount, else a bare number.

    First comes one that stands beside the field's words. None if there is none, or if several could be meant; one that
    only says which things are meant (``all loans over 500``) counts for nothing.
    """
    mentions = find_mentions(text)
    if intent.means_every:
        mentions = tuple(mention for mention in mentions if not is_compared(text, mention))
    own = field_stems(name) - stems(MINOR)
    money = [mention for mention in mentions if mention.kind is MentionKind.MONEY]
    plain = [mention for mention in mentions if mention.kind is MentionKind.NUMBER]
    for mention in (*money, *plain) if len(money) + len(plain) > 1 else ():
        before = text[max(0, mention.start - 25) : mention.start]
        behind = text[mention.end : mention.end + 20]
        if own & text_stems(f"{before} {behind}"):
            return mention
    if own & _SUM_WORDS or len(own & text_stems(text)) == len(own):
        chosen = money or plain
        return chosen[0] if len({mention.value for mention in chosen}) == 1 else None
    return None


def _find_flag(name: str, intent: Intent) -> ArgumentCandidate | None:
    own = field_stems(name)
    return ArgumentCandidate(True, "task", "", LIKELY) if own and own <= text_stems(intent.clause) else None


def _find_by_shape(name: str, schema: JsonObject, situation: Situation, intent: Intent) -> ArgumentCandidate | None:
    own = parts(name)
    shape = f"{schema.get('format', '')} {' '.join(own)}"
    for kind, words in (
        (MentionKind.EMAIL, ("email", "mail")),
        (MentionKind.PHONE, ("phone", "mobile", "tel")),
        (MentionKind.DATE, ("date", "day", "due", "on", "at", "time", "until", "when")),
    ):
        if any(word in shape.split() for word in words):
            amounts = find_of_kind(intent.clause, kind) or situation.of_kind(kind)
            return ArgumentCandidate(amounts[0].value, "task", "", CERTAIN) if amounts else None
    if field_stems(name) & _SUM_WORDS:
        near = _figure_near(name, intent.clause, intent) or _figure_near(name, situation.text, intent)
        return ArgumentCandidate(_decimal_text(near.number), "task", "", CERTAIN) if near else None
    if "currency" in own:
        amounts = [m for m in situation.of_kind(MentionKind.MONEY) if m.currency]
        return ArgumentCandidate(amounts[0].currency, "task", "", CERTAIN) if amounts else None
    return None


def _decimal_text(amount: Decimal) -> str:
    exponent = amount.as_tuple().exponent
    return format(amount, "f") if isinstance(exponent, int) and exponent <= -2 else format(amount, ".2f")


def find_stated(name: str, intent: Intent) -> ArgumentCandidate | None:
    """The value that a clause states for a field: ``set the FIELD of ... to VALUE``, ``FIELD: VALUE``, ``with FIELD
    VALUE``.

    None if it states none, or one that is only a form (``as a list``) or yet to be computed (``the sum of ...``).
    """
    words = [re.escape(word) for word in parts(name)]
    spelled = r"[\s_-]*".join(words)
    joined = r"[^.,;:]*?\s(?:to|as|into)\s+|\s+(?:is|be|at)\s+|" if intent.verb else ""
    bare = r"\s+(?=[A-Z\d\"'“‘]|\w+(?:,|$|\sand\s))" if intent.verb else r"\s+(?=[\"'“‘])"
    match = re.search(rf"\b(?i:{spelled})\b(?:{joined}\s*[:=]\s*|{bare})(?P<v>.+)$", intent.clause)
    if match is None or not spelled:
        return None
    value = _first_value(match["v"])
    if value.lower() in STOP or _FORM_PATTERN.search(value) or _COMPUTED_PATTERN.match(value):
        return None
    return ArgumentCandidate(value, "task", "", CERTAIN) if value else None


def _first_value(text: str) -> str:
    mentions = find_mentions(text)
    if mentions and mentions[0].start == 0:
        return mentions[0].value
    return re.split(r"\s*(?:,|;|\band\b|\bfor\b|\bon\b|\bof\b|\bwith\b|\bto\b|\.\s|\.$)", text)[0].strip().strip("\"'")


def _text_after_colon(tool: ToolSpec, intent: Intent) -> str:
    """The text after a clause's colon, as in ``make a note of K-1: it is torn``; empty after the name of a field, as in
    ``set the colour: red``.
    """
    head, _, tail = intent.clause.partition(": ")
    fields = frozenset().union(*map(field_stems, tool.properties))
    if not intent.verb or stems(text_words(head)[-1:]) & fields:
        return ""
    for name, schema in tool.properties.items():  # "it is torn, colour red" gives another field, too
        spelled = r"[\s_-]*".join(parts(name))
        choices = "|".join(map(re.escape, _enum_choices(schema))) or r"\S*\d\S*"
        stated = rf"(?:{spelled}(?:\s+is|\s*[:=])?\s+(?:{choices})|(?:{choices})\s+{spelled})"
        tail = re.sub(rf",\s+(?:and\s+)?(?:with\s+)?{stated}(?=\s*[.!]?$|,)", "", tail, flags=re.I)
    return tail.strip().rstrip(" .!")


def _find_prose(
    name: str, described: str, behind_colon: str, intent: Intent, situation: Situation, required: bool
) -> ArgumentCandidate | None:
    own = field_stems(name)
    if own & _WHY_WORDS or described.lower().startswith("why "):
        reason_text = _find_remark(intent.clause) or _find_ground(intent, situation) or _find_occasion(intent.clause)
        return _as_candidate(intent.reason or (reason_text if required else ""))
    if own & _PROSE_WORDS:
        if not (required or own & text_stems(intent.clause)):
            return None
        said = _message_to_recipient(intent.clause) if intent.sends_message else _find_said(intent.clause)
        news = _describe_done(intent, situation) if required and (intent.sends_message or not intent.verb) else ""
        return _as_candidate(_find_quotation(intent.clause) or said or behind_colon or news)
    if own & _OUTCOME_WORDS and required and intent.verb:
        return _as_candidate(_literal_text(intent.clause) or _find_remark(intent.clause) or intent.reason)
    if own & _ABOUT_WORDS or _WHAT_FOR.search(described):
        return _as_candidate(_find_quotation(situation.text) or behind_colon or _words_after_for(situation.text))
    says_what = required and intent.verb and described.lower().startswith("what ")
    if says_what and (literal_text := _literal_text(intent.clause)):
        return _as_candidate(literal_text)
    if intent.verb and own & text_stems(intent.clause):
        return _find_proper_name(own, situation) or _find_in_named_records(name, intent, situation)
    return (
        _find_same_field(name, situation)
        or _find_proper_name(own, situation)
        or (_find_search_words(situation, intent) if own & _ASKED_WORDS else None)
    )


def _as_candidate(text: str) -> ArgumentCandidate | None:
    return ArgumentCandidate(text, "task", "", CERTAIN) if text else None


def _describe_done(intent: Intent, situation: Situation) -> str:
    """What a notice without words of its own tells: the other actions of this task, unless they have a condition of
    their own, else the notice's condition, which holds; empty if it has none either, as a notice never is the order to
    send it. For anything else the clause itself.
    """
    changes = [action for action in situation.reading.actions if not action.sends_message]
    same = intent.condition, intent.holds
    told = [_tell_action(one, situation) for one in changes if not one.condition or (one.condition, one.holds) == same]
    if not intent.sends_message:
        return intent.clause
    if told:
        return " ".join(told)
    return f"{intent.condition[0].upper()}{intent.condition[1:]}." if intent.condition and intent.holds else ""


_ONE_THING = re.compile(r"(?:(?!(?:to|for|from|with|by|in|on|as|at)\b)[a-z]+\s+){0,4}[A-Za-z]+-?\d\S*", re.I)


def _tell_action(action: Intent, situation: Situation) -> str:
    """A sentence on an action that was done: ``Kite K-1 is mended.``, ``Mended: all torn kites.``"""
    match = re.search(rf"\b{re.escape(action.verb)}\b", action.clause, re.I) if action.verb else None
    rest, done = action.clause[match.end() :].strip(" .,") if match else "", participle(action.verb)
    if match is None or not rest or identifiers_in(action.clause[: match.start()]):
        return f"Done: {action.clause}."
    if not _ONE_THING.fullmatch(rest):
        return f"{done.capitalize()}: {rest}."
    if rest in identifiers_in(rest) and (foreign := say_done(rest, done, situation.original)):
        return foreign
    return f"{rest[0].upper()}{rest[1:]} is {done}."


def _find_remark(clause: str) -> str:
    """The remark after the clause's colon or last comma; empty if that is short or begins with an identifier."""
    head, comma, tail = clause.partition(": ") if ": " in clause else clause.rpartition(", ")
    is_thing = any(mention.start == 0 for mention in find_of_kind(tail.strip(), MentionKind.ID))
    return tail.strip() if comma and len(text_words(tail)) >= 3 and head and not is_thing else ""


def _find_ground(intent: Intent, situation: Situation) -> str:
    """The reason that the task gives: ``as a duplicate of ...``, or a sentence about the thing that the clause names;
    else empty.
    """
    if match := _AS_PATTERN.search(intent.clause):
        return match[1].strip()
    named = "|".join(map(re.escape, identifiers_in(intent.clause)))
    statement = rf"(?:^|[.;\n]\s*)((?:the )?(?:\w+ ){{0,2}}(?:{named}) (?:is|was|has)\b[^.;?\n]+)[.;\n]"
    match = re.search(statement, situation.text, re.I) if named else None
    return match[1].strip() if match else ""


def _find_occasion(clause: str) -> str:
    """What money is asked for: the words of a ``for ...`` behind the sum that name nobody and nothing by its name."""
    for mention in find_amounts(clause):
        match = re.match(r"\s+for\s+(?P<what>[a-z][^,.;]*)$", clause[mention.end :])
        if match and not proper_names(match["what"]):
            return match["what"].strip()
    return ""


def _literal_text(clause: str) -> str:
    """What a clause says in so many words: in quotation marks, after ``that``, or after a colon."""
    return _find_quotation(clause) or _message_to_recipient(clause) or clause.partition(": ")[2].strip()


def _find_quotation(text: str) -> str:
    return next((mention.value for mention in find_of_kind(text, MentionKind.QUOTE)), "")


_SPEECH_PATTERN = re.compile(
    r"\b(?:(?:that says|that reads|saying|say|says|stating|to the effect)(?:[:,]?\s+that)?"
    r"|that(?!\s+\w+ed\b.*\bthat\b)(?!\s+(?:is|are|was|were|has|have|had|do|does|did|\w+\s+(?:us|me|them|no|any|more|less"
    r"|over|under|at least|our|their|an?|the))\b))[:,]?\s+(?P<said>.+)$",
    re.I,
)
_OF_ADDRESSEE = re.compile(r"^(?:her|his|their)\s+(?=[a-z])", re.I)


def _find_said(clause: str) -> str:
    match = _SPEECH_PATTERN.search(clause)
    return match["said"].strip().rstrip(" .!") if match else ""


def _message_to_recipient(clause: str) -> str:
    """What somebody is to be told, as a sentence to them: of ``tell her that her loan is agreed``."""
    message_text = _OF_ADDRESSEE.sub("your ", _find_said(clause))
    return f"{message_text[0].upper()}{message_text[1:].rstrip(' .!')}." if message_text else ""


def _words_after_for(text: str) -> str:
    """The words after the first ``for`` without an identifier, amount or mail address among them; else empty."""
    matches = re.finditer(r"\bfor\s+(?:an?\s+|the\s+)?([^,.;]+)", text, re.I)
    others = (MentionKind.ID, MentionKind.MONEY, MentionKind.EMAIL)
    return next((match[1].strip() for match in matches if not find_of_kind(match[1], *others)), "")


def _find_example(schema: JsonObject, situation: Situation) -> str:
    """One of the words that a description offers with ``such as a, b, c``, if the task uses exactly one."""
    described = str(schema.get("description", ""))
    match = re.search(r"(?:such as|e\.g\.|one of|for example)[:,]?\s+([^.;)]+)", described, re.I)
    words = map(str.strip, re.split(r",\s*|\s+or\s+", match[1])) if match else ()
    fits = [word for word in words if says(situation.text, word)]
    return fits[0] if len(fits) == 1 else ""


def _find_same_field(name: str, situation: Situation) -> ArgumentCandidate | None:
    """The same field of a record that the task speaks of; a value that stands in the task first.

    None if no such record has the field, or if they differ in it.
    """
    holders = [record for record in situation.records if name in record.fields]
    named = [record for record in holders if says(situation.text, str(record.fields[name]))]
    return _take_agreed(best(named or holders, situation), name)


def _find_in_named_records(name: str, intent: Intent, situation: Situation) -> ArgumentCandidate | None:
    """A record's value of the field ``name`` that the clause contains; None if it contains none or several."""
    holders = [record for record in situation.records if says(intent.clause, str(record.fields.get(name, "")))]
    return _take_agreed(holders, name)


def _take_agreed(holders: Sequence[FactRecord], name: str) -> ArgumentCandidate | None:
    """The value on which all these records agree in a field; None if there is none."""
    values = {str(record.fields[name]) for record in holders}
    return take_field(holders[0], name, LIKELY) if len(values) == 1 else None


def _find_proper_name(own: frozenset[str], situation: Situation) -> ArgumentCandidate | None:
    """The proper name beside the field's word: ``the Alpha fleet`` or ``fleet Alpha`` for a field called fleet.

    None if there is none. ``own``: the stems of the field's words.
    """
    for match in NAME.finditer(situation.text):
        name = " ".join(word for word in match[0].split() if word.lower() not in STOP)
        before = [stem(word) for word in text_words(situation.text[: match.start()])][-2:]
        after = [stem(word) for word in text_words(situation.text[match.end() :])][:1]
        if name and own and (own <= {*after} or own <= {*before}):
            return ArgumentCandidate(re.sub(r"['’]s$", "", name), "task", "", LIKELY)
    return None


def _find_search_words(situation: Situation, intent: Intent) -> ArgumentCandidate | None:
    words = _find_quotation(intent.clause) or next(iter(proper_names(situation.text)), "")
    return ArgumentCandidate(words, "task", "", LIKELY) if words else None


_MANY = 6


def bind_arguments(tool: ToolSpec, situation: Situation, intent: Intent, least: int = POSSIBLE) -> list[CallPlan]:
    """Every possible call of a tool: one for each combination of identifiers, the surest first.

    ``least``: the lowest sureness that an identifier may have.
    """
    fields = [name for name in tool.properties if not is_paging(tool, name)]
    candidates_by_name = {name: _find_candidates(tool, name, situation, intent, least) for name in fields}
    missing = tuple(name for name in tool.required if not candidates_by_name.get(name))
    fixed = {name: values[:1] for name, values in candidates_by_name.items() if values and not is_reference(tool, name)}
    references = {name: values for name, values in candidates_by_name.items() if values and is_reference(tool, name)}
    references = {
        name: values for name, values in references.items() if name in tool.required or values[0].sure == CERTAIN
    }
    names = [name for name in fields if name in fixed or name in references]
    ways = product(*((references.get(name) or fixed[name])[:_MANY] for name in names))
    return [CallPlan(tool, tuple(zip(names, plan, strict=True)), missing) for plan in ways][:_MANY]


def _find_candidates(
    tool: ToolSpec, name: str, situation: Situation, intent: Intent, least: int
) -> list[ArgumentCandidate]:
    if is_reference(tool, name) and kind_of(tool.properties[name]) in ("string", "integer"):
        identifiers = find_identifiers(tool, name, situation, intent.clause)
        return [candidate for candidate in identifiers if candidate.sure >= least]
    value_candidate = find_value(tool, name, situation, intent)
    return [value_candidate] if value_candidate and value_candidate.sure >= least else []
