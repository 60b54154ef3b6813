"""Whether a proposed change agrees with the words of the task's part that it carries out, as far as code can see.

A change agrees if it is a call of the tool that the part speaks of: a word for the tool, or a value that only this call
sets, is enough. A disagreement is sent back to the model once. If the model proposes the same call again, a person is
asked: words prove nothing, so a disagreement alone refuses no call.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from itertools import takewhile

from services.executor.core.figures.arguments import FIGURE_KINDS, RECORD_KINDS, ArgumentKind
from services.executor.core.figures.identifiers import has_digit
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import looks_like_id_text
from services.executor.core.figures.vocabulary import (
    CLAUSE_END_PATTERN,
    find_names_inside_sentences,
    has_condition,
    leaves_choice_open,
)
from services.executor.core.plan import exclusions
from services.executor.core.plan.faults import (
    ArgumentToCheck,
    CallFault,
    CallToCheck,
    Severity,
    say_what_part_states,
    shorten_value,
)
from services.executor.core.plan.stated_values import find_contrary_answers, find_other_counts, find_wrong_amounts
from services.executor.core.records.references import argument_at
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools import classes
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_id_name
from services.executor.ports.tools import Tool
from shared.domain.exact_json import JsonObject, as_object, as_text, loads_object, walk_json
from shared.domain.keywords import stem
from shared.domain.words import ToolClass

_CLAUSE_BEGINNING_PATTERN = re.compile(  # the word that begins a clause
    r"(?i)(?:^\W*|[.,:;!?]\s+|\b(?:and|then|to|you|we|must|should|now|also|just|please)\s+)"
    r"(?:(?:please|kindly|also|now|be|then|to|we|must|should|just)\s+)*([^\W\d_]+)"
)
_FURTHER_ORDER_PATTERN = re.compile(  # "approve it and settle it", "then transfer the money"; not "and tell them"
    r"(?i)\b(?:and|then)\s+(?!(?:let|tell|send|give|ask|inform|notify|thank|remind|call|leave|keep|make)\s)"
    r"[^\W\d_]+\s+(?:it|them|her|him|this|that|both)\b|"
    r"\bthen\s+[^\W\d_]+\s+the\b"
)
_VAGUE_VERBS = classes.EDIT_VERBS | frozenset(
    "add create do give insert log make mark move open put record save take write".split()
)
_STEMS_OF_VERBS = frozenset(map(stem, (classes.CHANGE_VERBS | classes.VERBS_OR_NOUNS) - _VAGUE_VERBS))
_STATE_VERBS = frozenset("block cancel close complete finish hold reopen resolve start".split())
_WRITING_VERBS = frozenset("add comment create log note open record remark write".split())
_BATCH_WORDS = frozenset("batch bulk mass multi multiple many several".split())  # in a tool's name
_KINDS_THAT_ADD_UP = FIGURE_KINDS | {ArgumentKind.FREE_TEXT}
_FEWEST_LETTERS_OF_SHORT_VERB = 3  # of a verb that a tool's name shortens


def find_wrong_tool(change: CallToCheck) -> Iterator[CallFault]:
    """Yields one fault if the part speaks of what another tool does: "Reject claim A-1" is not carried out by
    ``settle_claim``.

    The part lacks the called tool's verb, but has all words of another tool's name, or orders that tool's verb for the
    call's record, or has a noun of that tool alone. And the part has no word of the called tool's name, or orders the
    other one's verb. If the other tool is proposed, too, only a call on the same record after it is a fault: "Approve
    invoice 7" is no reason to pay it.
    """
    quote, part = change.part_mentions.text, change.part
    stems, called_words = _find_stems(quote), classes.words_of_tool(change.tool.name)
    if _says_verb(called_words.verb, stems) or _describing_verb_of(change.tool) in stems:
        return
    other_tools = [tool for tool in part.write_tools if tool.name != change.tool.name]
    meant_tools = [tool for tool in other_tools if _is_tool_mentioned(classes.words_of_tool(tool.name), stems)]
    meant_tools = meant_tools or [tool for tool in other_tools if _is_ordered_instead(tool, change)]
    meant_tools = meant_tools or [tool for tool in other_tools if _is_named_instead(tool, change)]
    if len({stem(classes.words_of_tool(tool.name).verb) for tool in meant_tools}) != 1:
        return
    meant_words = classes.words_of_tool(meant_tools[0].name)
    meant_names = {tool.name for tool in meant_tools}
    if has_condition(quote) or _is_note_or_transition(change, meant_words.verb):
        return
    single_names = {tool.name for tool in other_tools if _is_batch_tool_of(change.tool, tool)}
    called_names = {name for name, _ in _list_made_and_proposed_calls(change)}
    if single_names and single_names <= meant_names and single_names.isdisjoint(called_names):
        return
    is_unmentioned = stems.isdisjoint(_list_stems_of_tool(called_words))
    is_called = not meant_names.isdisjoint(name for name, _ in part.proposed_calls)
    if not is_unmentioned and not _orders_other_verb(meant_tools[0], called_words, quote):
        return
    if not is_called or _is_further_change(change, meant_tools[0]):
        yield CallFault("", f"{change.tool.name}: this part speaks of what {meant_tools[0].name} does")


def _is_ordered_instead(other: Tool, change: CallToCheck) -> bool:
    """Whether the part orders what ``other`` does, to the record that the call names: "Lock 7", and the call retires 7.

    A clause of the part begins with the verb of ``other``, or with that of its description, and ``other`` has a field
    for the call's record, too. The part has a digit or the record's name: "confirm it" orders nothing. It has no noun
    that only the called tool's name has, and no value that only the called tool takes.
    """
    quote, stems = change.part_mentions.text, _find_stems(change.part_mentions.text)
    called_words = classes.words_of_tool(change.tool.name)
    other_words = classes.words_of_tool(other.name)
    names = _list_naming_arguments(change)
    if not has_digit(quote) and not any(
        title.casefold() in quote.casefold() for title in _list_titles_of_named_records(names, change)
    ):
        return False
    is_clear = other_words.verb not in _VAGUE_VERBS or _describing_verb_of(other)
    if called_words.verb in classes.ASKING_VERBS or not (is_clear and _is_tool_ordered_by_text(other, quote)):
        return False
    id_fields = {_singular_words_of_field(name.field_name) for name in names}
    takes_same_record = not id_fields.isdisjoint(_list_schema_fields(other.input_schema))
    names_called_things = not stems.isdisjoint(map(stem, called_words.nouns - other_words.nouns))
    return takes_same_record and not names_called_things and not _has_stated_value(change, stems, other)


def _is_named_instead(other: Tool, change: CallToCheck) -> bool:
    """Whether the part names what ``other`` does, and nothing of the called tool.

    It has a noun of the name of ``other``, which takes the call's record, too; and no word of the called tool's name or
    description, and no value or second record that only the call has.
    """
    stems = _find_stems(change.part_mentions.text)
    called_words = classes.words_of_tool(change.tool.name)
    other_words = classes.words_of_tool(other.name)
    id_fields = {_singular_words_of_field(name.field_name) for name in _list_naming_arguments(change)}
    if other.tool_class is not ToolClass.CHANGE or id_fields.isdisjoint(_list_schema_fields(other.input_schema)):
        return False
    called_nouns = {*called_words.nouns, *words_of(change.tool.description)}.difference(_VAGUE_VERBS, *id_fields)
    other_nouns = other_words.nouns.difference(called_nouns, *id_fields)
    is_called_told, is_other_told = (
        any(len(noun) > _FEWEST_LETTERS_OF_SHORT_VERB and stem(noun) in stems for noun in nouns)
        for nouns in (called_nouns, other_nouns)
    )
    if is_called_told or not is_other_told:
        return False
    return not (_has_stated_value(change, stems, other) or _is_joined_record_stated(change, stems))


def _is_note_or_transition(change: CallToCheck, verb: str) -> bool:
    """Whether the call only notes that ``verb`` is to be done ("a task to lock X"), or is a transition that does it."""
    tool_words = classes.words_of_tool(change.tool.name)
    stems = _find_stems(change.part_mentions.text)
    if verb in _STATE_VERBS and "transition" in words_of(change.tool.name):
        return True
    if tool_words.verb not in _WRITING_VERBS or stems.isdisjoint(map(stem, _WRITING_VERBS | {tool_words.head})):
        return False
    texts = (str(argument.value) for argument in change.scalars if argument.kind is ArgumentKind.FREE_TEXT)
    return any(_says_verb(verb, _find_stems(text)) for text in texts)


def _is_further_change(change: CallToCheck, meant_tool: Tool) -> bool:
    """Whether a call of ``meant_tool``, which the part asks for, came before on the same record, and no word or value
    of the part asks for this call, too.
    """
    called_words, quote = classes.words_of_tool(change.tool.name), change.part_mentions.text
    if called_words.verb in _VAGUE_VERBS or called_words.nouns != classes.words_of_tool(meant_tool.name).nouns:
        return False
    if _FURTHER_ORDER_PATTERN.search(quote) or _has_stated_value(change, _find_stems(quote), meant_tool):
        return False
    ids = {argument.text for argument in _list_naming_arguments(change)}
    earlier_calls = takewhile(lambda call: call[0] != change.tool.name, _list_made_and_proposed_calls(change))
    return any(name == meant_tool.name and not ids.isdisjoint(values) for name, values in earlier_calls)


def find_unasked_call(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a call that no word of the user asks for, in two cases: a text that was read orders it
    ("retire it") or names its tool; or another call is asked for, and this one changes a record that the user does not
    name.
    """
    called_words = classes.words_of_tool(change.tool.name)
    stems = frozenset[str]().union(*(_find_stems(mentions.text) for mentions in change.user_mentions))
    first_word = next(iter(words_of(change.tool.description)), "")  # "End the lock-out of a device"
    is_described = first_word not in _VAGUE_VERBS and stem(first_word) in stems
    if is_described or _is_act_of_tool_mentioned(called_words, stems):
        return
    if _has_stated_value(change, stems) or _is_joined_record_stated(change, stems):
        return
    fields = (argument for argument in change.scalars if not classes.is_identifying_name(argument.field_name))
    stems_of_values = [_find_stems(str(field.value)) for field in fields if words_of(str(field.value))]
    for text in change.untrusted_texts:
        text_stems = _find_stems(text)
        has_value = any(value_stems <= text_stems for value_stems in stems_of_values)
        has_order = (has_value or _is_act_of_tool_mentioned(called_words, text_stems)) and _does_verb_begin_clause(
            called_words, text
        )
        if has_order or _names_tool(text, change.tool):
            yield CallFault("", f"{change.tool.name}: no word of the task tells of it, only a text that somebody wrote")
            return
    if stems.isdisjoint(_list_stems_of_tool(called_words)) and _is_beside_asked_change(change, stems):
        yield CallFault("", f"{change.tool.name}: no word of the task tells of it, nor of the record that it changes")


def _names_tool(text: str, tool: Tool) -> bool:
    """Whether the text has the tool's own name, if that has several words: "call removeEntry"."""
    is_compound = len(words_of(tool.name)) > 1
    return is_compound and re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", text) is not None


def _is_beside_asked_change(change: CallToCheck, stems: frozenset[str]) -> bool:
    """Whether the call has no free text, and names a record whose id and name the user does not say, while the user's
    words (``stems``) have a word of the tool of another proposed call.
    """
    if any(argument.kind is ArgumentKind.FREE_TEXT for argument in change.scalars):
        return False
    read_names = (name for name in _list_naming_arguments(change) if name.origin == "fact")
    words_by_name = [(name.text, *_list_titles_of_named_records((name,), change)) for name in read_names]
    texts = change.user_mentions
    is_named = all(any(text.has_words(word) for text in texts for word in words) for words in words_by_name)
    others = {name for name, _ in change.part.proposed_calls} - {change.tool.name}
    stems_of_others = (_list_stems_of_tool(classes.words_of_tool(other)) for other in others)
    return not is_named and not all(map(stems.isdisjoint, stems_of_others))


def _list_made_and_proposed_calls(change: CallToCheck) -> list[tuple[str, Collection[str]]]:
    """``(tool, all argument values as text)`` of each change: those that were made, then those that are proposed."""
    writes = {tool.name for tool in change.part.write_tools}
    made_calls = [(fact.tool, loads_object(fact.arguments_json)) for fact in change.facts if fact.tool in writes]
    calls = (*made_calls, *change.part.proposed_calls)
    return [(name, {as_text(value) for _, value in walk_json(arguments)}) for name, arguments in calls]


def _list_naming_arguments(change: CallToCheck) -> list[ArgumentToCheck]:
    """The arguments that name a record."""
    return [argument for argument in change.scalars if argument.kind in RECORD_KINDS]


def _list_titles_of_named_records(arguments: Iterable[ArgumentToCheck], change: CallToCheck) -> Iterator[str]:
    """Yields the names of the records that these arguments name."""
    for argument in arguments:
        yield from change.titles.get(argument.text.casefold(), ())


def _has_stated_value(change: CallToCheck, stems: Collection[str], other: Tool | None = None) -> bool:
    """Whether a value of the call, neither free text nor id, is stated, and no call of another tool has it.

    A value is stated if its origin is the task, or if ``stems``, those of the part's or the user's words, have all its
    words (of a boolean, its field's name). With ``other``, only values count whose field this tool does not have.
    """
    fields = {*_list_schema_fields(other.input_schema)} if other is not None else set()
    calls_of_others = (values for name, values in _list_made_and_proposed_calls(change) if name != change.tool.name)
    values_of_others = {value for values in calls_of_others for value in values}
    for argument in change.scalars:
        name = argument.field_name
        is_value = argument.kind is not ArgumentKind.FREE_TEXT and not classes.is_identifying_name(name)
        if not is_value or argument.text in values_of_others:
            continue
        words = words_of(name if isinstance(argument.value, bool) else argument.text)
        is_stated = argument.origin == "task" or (words and all(stem(word) in stems for word in words))
        if is_stated and _singular_words_of_field(name) not in fields:
            return True
    return False


def _is_joined_record_stated(change: CallToCheck, stems: Collection[str]) -> bool:
    """Whether ``stems`` have the first word in the name of a record that is not of the tool's kind: "7 to Mira". False
    for a tool that names no kind, such as ``delete_record``.
    """
    own_nouns, names = classes.words_of_tool(change.tool.name).nouns, _list_naming_arguments(change)
    if not own_nouns:
        return False
    partners = (name for name in names if own_nouns.isdisjoint(words_of(name.field_name)))
    first_names = (words[0] for title in _list_titles_of_named_records(partners, change) if (words := words_of(title)))
    return any(len(name) > _FEWEST_LETTERS_OF_SHORT_VERB and stem(name) in stems for name in first_names)


def _is_batch_tool_of(called: Tool, single: Tool) -> bool:
    """Whether ``called`` does for a list what ``single`` does for one thing: it takes a list, and has only fields of
    ``single`` and all that this requires; its name has only words of that name and such as ``batch``.
    """
    called_stems, single_stems = (
        {stem(classes.normalize_noun(word)) for word in words_of(tool.name) if word not in _BATCH_WORDS}
        for tool in (called, single)
    )
    fields = {*_list_schema_fields(called.input_schema)}
    is_list = any(schema.get("type") == "array" for schema in called.parameters.values())
    is_same = {*map(_singular_words_of_field, single.required)} <= fields <= {*_list_schema_fields(single.input_schema)}
    return is_list and is_same and bool(called_stems) and called_stems <= single_stems


def _list_schema_fields(schema: JsonObject) -> Iterator[tuple[str, ...]]:
    """Yields each field's name as singular words; of a field that holds fields, or a list of such, the inner names."""
    for name, declared in as_object(schema.get("properties")).items():
        inner = as_object(as_object(declared).get("items", declared))
        yield from _list_schema_fields(inner) if "properties" in inner else (_singular_words_of_field(name),)


def _singular_words_of_field(name: str) -> tuple[str, ...]:
    """The words of a field's name, the same for ``claim_id`` and ``claim_ids``."""
    return singular_words(name.removesuffix("s"))


def _orders_other_verb(meant_tool: Tool, called_words: classes.ToolWords, quote: str) -> bool:
    """Whether the part (``quote``) orders what ``meant_tool`` does.

    False if the called tool only asks, which may come before, or edits things of another kind, which may carry out the
    order.
    """
    meant_nouns = classes.words_of_tool(meant_tool.name).nouns
    edits_other_things = called_words.verb in classes.EDIT_VERBS and meant_nouns.isdisjoint(called_words.nouns)
    if edits_other_things or called_words.verb in classes.ASKING_VERBS:
        return False
    return _is_tool_ordered_by_text(meant_tool, quote)


def _is_tool_ordered_by_text(tool: Tool, text: str) -> bool:
    """Whether a clause of the text begins with the tool's verb, or with that of its description."""
    is_described = _describing_verb_of(tool) in _find_stems_of_clause_beginnings(text)
    return is_described or _does_verb_begin_clause(classes.words_of_tool(tool.name), text)


def _does_verb_begin_clause(tool_words: classes.ToolWords, text: str) -> bool:
    """Whether the tool's verb begins a clause of the text."""
    return _says_verb(tool_words.verb, _find_stems_of_clause_beginnings(text))


def _find_stems_of_clause_beginnings(text: str) -> frozenset[str]:
    """The stems of the words with which the clauses of a text begin."""
    return frozenset(stem(match[1].lower()) for match in _CLAUSE_BEGINNING_PATTERN.finditer(text))


def _describing_verb_of(tool: Tool) -> str:
    """The stem of the verb with which a tool's description begins ("Pays an invoice"); empty if it begins otherwise."""
    first_stem = stem(next(iter(words_of(tool.description)), ""))
    return first_stem if first_stem in _STEMS_OF_VERBS else ""


def _says_verb(verb: str, stems: Iterable[str]) -> bool:
    """Whether a stem is the verb's, or begins with the verb as a tool's name shortens it: ``appr``."""
    is_short = len(verb) >= _FEWEST_LETTERS_OF_SHORT_VERB and verb not in classes.CHANGE_VERBS | classes.VERBS_OR_NOUNS
    return any(word_stem == stem(verb) or (is_short and word_stem.startswith(verb)) for word_stem in stems)


@lru_cache(maxsize=4096)
def _find_stems(text: str) -> frozenset[str]:
    """The stems of a text's words, each also in its form by ``normalize_noun``."""
    words = words_of(text)
    return frozenset(stem(form) for word in words for form in (word, classes.normalize_noun(word)))


def _list_stems_of_tool(tool_words: classes.ToolWords) -> set[str]:
    return {stem(word) for word in (tool_words.verb, *tool_words.nouns)}


def _is_tool_mentioned(tool_words: classes.ToolWords, stems: frozenset[str]) -> bool:
    return bool(tool_words.nouns) and _list_stems_of_tool(tool_words) <= stems


def _is_act_of_tool_mentioned(tool_words: classes.ToolWords, stems: frozenset[str]) -> bool:
    """Whether ``stems`` have the tool's verb; a vague verb, such as "add", only counts with all the tool's nouns."""
    is_vague = tool_words.verb in _VAGUE_VERBS
    return _is_tool_mentioned(tool_words, stems) if is_vague else _says_verb(tool_words.verb, stems)


_SUPERLATIVE_WORD_PATTERN = re.compile(r"(?i)(?<!\bat )\b(?:most|least|fewest|highest|lowest|next|free)\b")
_WORD_BEFORE_NEW_VALUE_PATTERN = re.compile(r"(?i)\b(?:to|as|auf|als|à|en|como)\s+(?:the\s+)?$")
_LONGEST_CLAUSE = 500  # characters of a clause on one side of a value
_CAPITALIZED_NAME_PATTERN = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_ORIGINS_TO_CHECK = frozenset({"fact", "schema", "none"})
_LONGEST_NAME = 60
_LEAST_LIKENESS_OF_MISSPELLED_NAMES = 0.9  # of a name with a letter too few or too many
_WORD_FOR_SEVERAL_PATTERN = re.compile(
    r"(?i)\b(?:twice|two|three|both|again|another|second|more|each|every|several|separate\w*|zwei\w*|drei\w*|beide\w*|noch|je|"
    r"deux|trois|encore|chaque|dos|tres|otra|cada)\b"
)
_MESSAGE_VERBS_REGEX = (
    r"(?:tell|told|inform|notif|writ|wrote|send|sent|messag|e-?mail|mail|letter|text|sms|call|phon|announc|remind|ask|repl|"
    r"answer|respon|post|say|let|contact|alert|ping|report|invit|warn|confirm|thank|apolog|explain|shar|forward|brief|"
    r"publish|broadcast|escalat|page|schreib|sag|informier|benachrichtig|schick|send|antwort|erinner|meld|teil|bescheid|"
    r"écri|ecri|envo|dis|dit|inform|prév|prev|avert|répon|repon|rappel|escrib|envía|envia|enví|avis|dile|di|notifi|responde|"
    r"recuerd)\w*"
)
_PROHIBITED_MESSAGE_PATTERN = re.compile(
    rf"(?i)\b(?:do\s+not|don't|without|never|nicht|ohne|sans|sin)\s+(?!forget|fail|hesitate)(?:\w+\s+)?{_MESSAGE_VERBS_REGEX}"
)
_REPETITION_WORD_PATTERN = re.compile(
    r"(?i)\b(?:twice|thrice|(?:two|three|four|[2-9])\s+times|as\s+(?:two|three|four|[2-9])\s|zweimal|dreimal|"
    r"(?:deux|trois)\s+fois|(?:dos|tres)\s+veces|"
    r"(?:another|an?\s+(?:further|additional|extra)|weitere|noch(?:mals?|\s+einmal)|encore|otr[ao]s)\s+\W?\d)"
)


def asks_to_repeat(quote: str) -> bool:
    """Whether the part asks for exactly the same thing more than once: "twice", "as two bookings", "another 150"."""
    return _REPETITION_WORD_PATTERN.search(quote) is not None


def asks_for_several(quote: str) -> bool:
    """Whether the part asks for more than one thing of a kind."""
    return _WORD_FOR_SEVERAL_PATTERN.search(quote) is not None


def find_empty_changes(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a call of an editing tool that only names the record, although the tool has arguments for new
    values, or that sets nothing but what the record has already; the latter may be what is meant.
    """
    tool, arguments = change.tool, change.arguments
    if classes.words_of_tool(tool.name).verb not in classes.EDIT_VERBS:
        return
    settable = [name for name in tool.parameters if not is_id_name(name)]
    is_given_value = any(arguments.get(name, {}) != {} for name in settable)
    if 0 < len(settable) < len(tool.parameters) and not is_given_value:
        reason = f"{tool.name} is given nothing to change: say what is to be set"
        yield CallFault("", reason, Severity.REFUSED)
    values = [argument for argument in change.scalars if not is_id_name(argument.field_name)]
    names_one_record = len(change.scalars) - len(values) <= 1  # of several, one may be what is set
    fields = change.fields.list_fields_within_records(change.texts) if values and names_one_record else ()
    recorded_values = {(singular_words(field.name), as_text(field.value)) for field in fields}
    if values and all((singular_words(value.field_name), value.text) in recorded_values for value in values):
        sentence = "the record has it already; if it is to be set all the same, propose the call again as it is"
        yield values[0].build_fault(sentence, Severity.DOUBTFUL)


def find_overwritten_values(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a value that another proposed call of the tool gives otherwise to the same field of the same
    record: a pupil is in one class. It may be meant, as one after the other.

    Numbers and texts are not compared: they may add up.
    """
    for name in _list_naming_arguments(change):
        calls = [call for call in change.list_same_tool_arguments() if argument_at(call, name.path) == name.value]
        fields = change.fields.list_fields_within_records({name.text}) if len(calls) > 1 else ()
        own_fields = {singular_words(field.name) for field in fields}
        for argument in change.scalars if own_fields else ():
            is_comparable = argument is not name and argument.kind not in _KINDS_THAT_ADD_UP
            if not is_comparable or singular_words(argument.field_name) not in own_fields:
                continue
            values = [argument_at(call, argument.path) for call in calls]
            if other_values := [value for value in values if value not in (None, argument.value)]:
                sentence = (
                    f"another call sets {shorten_value(other_values[0])} there; if both are meant, propose them again"
                )
                yield argument.build_fault(sentence, Severity.DOUBTFUL)


def find_disagreements(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a change does not agree with the words of its part."""
    checks = (
        _find_excluded_records,
        find_wrong_amounts,
        find_other_counts,
        find_contrary_answers,
        _find_conflicting_words,
        find_wrong_tool,
        find_unasked_call,
        find_overwritten_values,
    )
    for check in checks:
        yield from check(change)


def find_disagreements_of_notice(notice: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a notice does not agree with its part: the part wants nobody told, or says
    another value than an argument has.
    """
    if _PROHIBITED_MESSAGE_PATTERN.search(notice.part.quote):
        yield CallFault("", f"{notice.tool.name}: this part says that nobody is to be told")
    yield from _find_conflicting_words(notice)


def _find_excluded_records(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each record that the user names as an exception: by an id or a title ("all but not EXP-7"), or
    by a value that it has ("all but the one to Old Mill").
    """
    quote, all_titles = change.part_mentions.text, change.all_titles
    for argument in change.scalars:
        name, is_excepted = argument.field_name, False
        if has_digit(argument.text) and (is_id_name(name) or isinstance(argument.value, str)):
            words = " ".join((name, *words_of(change.tool.name)))
            is_excepted = any(
                exclusions.is_named_as_exception(argument.text, words, text) for text in change.user_mentions
            )
        if _is_record_identifier(argument) and not is_excepted:
            titles = (title for title in change.titles.get(argument.text.casefold(), ()) if _has_length_of_name(title))
            fields = change.fields.list_fields_of_records({argument.text})
            values = {field.value for field in fields if isinstance(field.value, str) and _looks_like_name(field.value)}
            is_excepted = any(exclusions.is_title_excepted(title, all_titles, quote) for title in titles) or any(
                exclusions.is_excepted_by_value(value, quote) for value in values
            )
        if is_excepted:
            yield argument.build_fault("the task names it as an exception")


def _has_length_of_name(text: str) -> bool:
    return 2 < len(text) <= _LONGEST_NAME


def _looks_like_name(text: str) -> bool:
    return text[:1].isupper() and _has_length_of_name(text)


def _find_conflicting_words(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a text argument that has another value than the part says: priority "low" where the part says
    "high". That is, no word of the user says "low"; "high" is a value that the argument can have (one of its schema, or
    of a read field of its name); and no argument of the call is "high".

    If the part asks to choose, only values count that it sets ("to high"). A name without a source also conflicts with
    a capitalized name of the part, and an address without one with words of the part that are spelled nearly so. Free
    texts, ids, numbers, and values from a calculation are not compared.
    """
    mentions, call_values = change.part_mentions, [argument.value for argument in change.scalars]
    call_texts = [value for value in call_values if isinstance(value, str)]
    is_open = _asks_to_choose(mentions.text_without_dates)
    stems = {stem(word) for word in words_of(mentions.text)}
    for argument in change.scalars:
        value, origin = argument.value, argument.origin
        if not isinstance(value, str) or not value.strip() or origin not in _ORIGINS_TO_CHECK:
            continue
        if argument.kind is ArgumentKind.FREE_TEXT or is_id_name(argument.field_name):
            continue
        is_said = any(_has_words(text, value) for text in (mentions, *change.user_mentions))
        if is_said or argument.number is not None or {*map(stem, words_of(value))} <= stems:
            continue
        possible_values = _possible_argument_values(argument, change)
        part_values = [text for text in possible_values if text not in call_texts and _has_words(mentions, text)]
        if is_open:  # its other words say which things are meant
            part_values = [part_value for part_value in part_values if _does_part_set_value(part_value, change)]
        if origin == "none" and not part_values and _CAPITALIZED_NAME_PATTERN.fullmatch(value):
            names = find_names_inside_sentences(mentions.text)
            names = get_close_matches(value, names, cutoff=_LEAST_LIKENESS_OF_MISSPELLED_NAMES) if is_open else names
            part_values = [name for name in names if not any(name in text for text in call_texts)]
        if origin == "none" and not part_values:
            part_values = _find_phrases_like(value, mentions.text)
        if part_values:
            yield argument.build_fault(say_what_part_states(dict.fromkeys(part_values)))


def _find_phrases_like(value: str, text: str) -> list[str]:
    """The words of a text that differ from an address or a name of several words in a few letters of it."""
    size, words = len(value.split()), text.split()
    if size < 2 or not (value[0].isupper() or value[0].isdecimal()):
        return []
    phrases = (" ".join(words[start : start + size]).strip(".,;:!?\"'()") for start in range(len(words) - size + 1))
    return get_close_matches(value, phrases, cutoff=_LEAST_LIKENESS_OF_MISSPELLED_NAMES)


def _asks_to_choose(text: str) -> bool:
    return leaves_choice_open(text) or _SUPERLATIVE_WORD_PATTERN.search(text) is not None


def _does_part_set_value(value: str, change: CallToCheck) -> bool:
    """Whether a part that asks to choose says the value as a new one: after "to" or the like; or in a clause without a
    word of choice, if no record that the call names has it yet: "make A-1 a P1, all agree".
    """
    text = change.part_mentions.text
    for position in _find_word_positions(value, text):
        clause_before = CLAUSE_END_PATTERN.split(text[max(0, position - _LONGEST_CLAUSE) : position])[-1]
        clause_after = CLAUSE_END_PATTERN.split(text[position : position + _LONGEST_CLAUSE])[0]
        if _WORD_BEFORE_NEW_VALUE_PATTERN.search(clause_before):
            return True
        if not (leaves_choice_open(clause_before + clause_after) or _SUPERLATIVE_WORD_PATTERN.search(clause_before)):
            return all(recorded_value != value for _, recorded_value in _values_of_named_records(change))
    return False


def _values_of_named_records(change: CallToCheck) -> set[tuple[tuple[str, ...], str]]:
    """``{(words of a field's name, its value as text)}`` of the records that the call names, as read.

    A record is named by its id, or by a code that it has in a field of the argument's own name, such as ``ticket``.
    """
    scalars = {(argument.field_name, argument.text) for argument in change.scalars}
    fields_of_records = change.fields.list_fields_of_records(
        {value for name, value in scalars if classes.is_identifying_name(name)}
    )
    codes = {(name, value) for name, value in scalars if looks_like_id_text(value)}
    fields = change.fields.all if codes else ()
    parents = {(field.fact_id, field.parent) for field in fields if (field.field_name, as_text(field.value)) in codes}
    beside_codes = (field for field in fields if (field.fact_id, field.parent) in parents)
    return {(singular_words(field.name), as_text(field.value)) for field in (*fields_of_records, *beside_codes)}


@lru_cache(maxsize=4096)
def _find_word_positions(phrase: str, text: str) -> tuple[int, ...]:
    """The positions at which the text has these words; ``on_hold`` is found as "on hold", too."""
    if phrase.strip()[:1].casefold() not in text.casefold():
        return ()
    pattern = re.escape(phrase.strip()).replace("_", "[ _-]").replace("\\ ", "[ _-]")
    return tuple(match.start() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE))


def _is_record_identifier(argument: ArgumentToCheck) -> bool:
    is_code = isinstance(argument.value, str) and looks_like_id_text(argument.value)
    return is_code or classes.is_identifying_name(argument.field_name)


def _possible_argument_values(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[str]:
    """The words that the argument can have: those in its schema, and those of read fields of the same name."""
    choices = change.tool.parameters.get(argument.path, {}).get("enum")
    yield from (choice for choice in choices if isinstance(choice, str)) if isinstance(choices, list) else ()
    field_words = singular_words(argument.field_name)
    for field in change.fields.all if field_words else ():
        is_word = isinstance(field.value, str) and 0 < len(field.value.strip()) <= _LONGEST_NAME
        if is_word and singular_words(field.name) == field_words:
            yield str(field.value)


def _has_words(text: Mentions, value: str) -> bool:
    """Whether the text has the words; ``on_hold`` counts as "on hold"."""
    return text.has_words(value.replace("_", " "))
