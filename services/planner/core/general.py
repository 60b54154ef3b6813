"""Roles that need no records: a summary, the draft of a process, and any other schema, filled with what the request
gives. What rules cannot fill says that it needs a model.
"""

import re

from services.planner.core.request import Request, as_object, objects
from services.planner.core.words import family, text_words
from shared.domain.exact_json import Json, JsonObject, dumps

NEEDS_A_MODEL = "This needs a model; a rule-based planner answered."
_UNJUDGED_WORDS = frozenset({"score", "details"})
_MODEST = ("unknown", "none", "general", "other", "unjudged", "prose", "fail")


def fill_schema(request: Request) -> str:
    """JSON that fits the request's schema; without a schema, a text that says that a model is needed."""
    return NEEDS_A_MODEL if request.schema is None else dumps(_fill_field("", request.schema, request))


def _fill_field(name: str, schema: JsonObject, request: Request) -> Json:
    if options := objects(schema.get("anyOf")):
        nullable = any(option.get("type") == "null" for option in options)
        return None if nullable else _fill_field(name, options[0], request)
    listed = schema.get("enum")
    if isinstance(listed, list) and listed:
        return _pick_choice(listed, request)
    kinds = schema.get("type", "string")
    kind = ("null" if "null" in kinds else kinds[0]) if isinstance(kinds, list) else kinds
    simple: JsonObject = {"array": [], "integer": 0, "number": 0, "boolean": name == "unjudged", "null": None}
    if kind == "object":
        return _fill_object(schema, request)
    return simple.get(str(kind), NEEDS_A_MODEL)


def _fill_object(schema: JsonObject, request: Request) -> JsonObject:
    """The object with each of its fields; a criterion that it cannot judge gets 0 and says so."""
    fields = as_object(schema.get("properties"))
    filled: JsonObject = {name: _fill_field(name, as_object(inner), request) for name, inner in fields.items()}
    if not {*fields} >= _UNJUDGED_WORDS:
        return filled
    as_text = as_object(fields["details"]).get("type") == "string"
    noted: Json = dumps({"unjudged": True}) if as_text else {**as_object(filled["details"]), "unjudged": True}
    return {**filled, "score": 0, "details": noted}


def _pick_choice(listed: list[Json], request: Request) -> Json:
    """The one choice that the request's text uses, else the one that claims least."""
    text = f"{request.task} {request.said}".lower()
    said = [word for word in listed if isinstance(word, str) and word.lower() in text]
    return said[0] if len(said) == 1 else next((word for word in listed if word in _MODEST), listed[0])


_WORDS = 200
_FEWEST_WORDS = 5


def summarize(request: Request) -> str:
    """A summary of a conversation in at most 200 words: the beginning of each turn, with an equal share of the words;
    if the turns are too many for that, of the newest ones.
    """
    turns = objects(request.section("history"))[-_WORDS // _FEWEST_WORDS :]
    return " ".join(_shorten_turn(turn, _WORDS // len(turns)) for turn in turns)


def _shorten_turn(turn: JsonObject, share: int) -> str:
    words = f"{turn.get('role', 'user')}: {turn.get('text', '')}".split()
    return " ".join(words if len(words) <= share else [*words[: share - 1], "..."])


_APPROVAL_PATTERN = re.compile(
    r"\b(?:approval|sign-?off|authori[sz]ation|go-ahead|second (?:person|pair of eyes))\b", re.IGNORECASE
)
_IRREVERSIBLE_WORDS = frozenset({"delete", "cancel"})
_WEIGHTY_WORDS = frozenset({"pay", "refund", "approve", "grant", "release"})
_INSTRUCTIONS: list[Json] = [
    {"state": "ASSESS", "text": "Read every record that the task names, and those that its decision depends on."},
    {"state": "MUTATE", "text": "Write only what the task asks for, once, and prove it by reading it back."},
]


def draft_process(request: Request) -> JsonObject:
    """The structured output PROCESS for a new kind of task, without anything of the one task that it was made from:
    read, compute, check, write, and what the task's words ask besides.
    """
    families = {family(word) for word in text_words(request.task)}
    risk = "high" if families & _IRREVERSIBLE_WORDS else "medium" if families & _WEIGHTY_WORDS else "low"
    asks = bool(_APPROVAL_PATTERN.search(request.task))
    states: list[Json] = ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK"]
    states += ["APPROVAL_GATE"] if asks or risk == "high" else []
    states += ["MUTATE", *(["SCHEDULE_NOTIFY"] if "send" in families else []), "COMPLETE"]
    outputs: list[Json] = ["what was changed", "what could not be done"]
    process: JsonObject = {"states": states, "risk": risk, "approval_wanted": asks}
    return {**process, "instructions": _INSTRUCTIONS, "outputs": outputs}
