"""Tools that the request does not list: searched for by the words of the task, and called by name through
``use_tool``.
"""

from collections.abc import Iterable, Iterator, Sequence

from services.planner.core.intents import Intent
from services.planner.core.mentions import MentionKind, find_of_kind
from services.planner.core.phrases import TELLS_PATTERN
from services.planner.core.references import is_reference
from services.planner.core.request import CALL_NOTE, FIND_TOOLS, USE_TOOL, Call, Request, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.toolmatch import tools_for
from services.planner.core.words import ID_WORDS, SENDING_FAMILIES, family, parts
from shared.domain.exact_json import JsonObject

_AT_ONCE, _IN_ALL = 3, 6
_NAMED = 8  # tools that a search by name shows at once


def find_tools_calls(request: Request, situation: Situation, writers: Sequence[ToolSpec]) -> tuple[Call, ...]:
    """The tool searches to make now: for each clause, then for readers of what the found tools write to.

    If the request has a line for each tool, tools that may fit the task are asked for by name with the first reply.
    """
    if request.tool(FIND_TOOLS) is None:
        return ()
    if request.has_lines:
        calls_by_name = () if request.calls else _name_meant(situation, writers)
        return ((FIND_TOOLS, {"words": " ".join(calls_by_name)}),) if calls_by_name else ()
    searched_words = [str(call.arguments.get("words")) for call in request.calls if call.tool == FIND_TOOLS]
    new_words = [words for words in _search_words(situation, writers) if words not in searched_words]
    return tuple((FIND_TOOLS, {"words": words}) for words in new_words[: min(_AT_ONCE, _IN_ALL - len(searched_words))])


def _name_meant(situation: Situation, writers: Sequence[ToolSpec]) -> Sequence[str]:
    tiers = [tier for intent in situation.reading.actions for tier in tools_for(intent, situation, writers)[:1]]
    return list(dict.fromkeys(tool.name for tier in tiers for tool in tier[:_AT_ONCE]))[:_NAMED]


def wrap_searched_calls(calls: Iterable[Call], request: Request) -> tuple[Call, ...]:
    """The calls, each call of a tool that the request does not list wrapped in a call of ``use_tool``."""
    return tuple(_wrap_call(call) if call[0] in request.wrapped else call for call in calls)


def _wrap_call(call: Call) -> Call:
    name, given_arguments = call
    note: JsonObject = {CALL_NOTE: given_arguments[CALL_NOTE]} if CALL_NOTE in given_arguments else {}
    arguments: JsonObject = {argument: value for argument, value in given_arguments.items() if argument != CALL_NOTE}
    return USE_TOOL, {"tool": name, "arguments": arguments, **note}


def _search_words(situation: Situation, writers: Sequence[ToolSpec]) -> Iterator[str]:
    reading = situation.reading
    clauses = (*map(_action_words, (*reading.actions, *reading.unnamed)), *reading.questions)
    yield from dict.fromkeys(filter(None, map(_without_names, clauses)))
    noun_words = {
        words
        for action in reading.actions
        for tool in _find_meant_tools(action, situation, writers)
        for words in _noun_words(tool)
    }
    if noun_words:
        yield " ".join(("get", *sorted(noun_words)))


def _find_meant_tools(intent: Intent, situation: Situation, writers: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    """The tools that may do an action; for a message every tool that sends, since anybody may be its recipient."""
    if intent.sends_message:
        return [tool for tool in writers if family(next(iter(parts(tool.name)), "")) in SENDING_FAMILIES]
    return [tool for tier in tools_for(intent, situation, writers)[:1] for tool in tier[:2]]


def _action_words(intent: Intent) -> str:
    """The words of an action by which tools are searched: its clause; of a message only the recipient."""
    if not intent.sends_message:
        return intent.clause
    recipient_text = TELLS_PATTERN.split(intent.clause)[0]
    return recipient_text if "notify" in recipient_text.lower() else f"notify {recipient_text}"


def _without_names(clause: str) -> str:
    """The words of a clause without its identifiers and its quoted texts."""
    for mention in reversed(find_of_kind(clause, MentionKind.ID, MentionKind.QUOTE)):
        clause = f"{clause[: mention.start]} {clause[mention.end :]}"
    return " ".join(clause.split())[:160]


def _noun_words(tool: ToolSpec) -> Iterator[str]:
    """Yields the nouns of the things that a tool's required identifiers identify."""
    for name in tool.required:
        if is_reference(tool, name):
            own = [word for word in parts(name) if word not in ID_WORDS]
            yield " ".join(own or parts(tool.name)[1:])
