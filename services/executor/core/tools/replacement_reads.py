"""Finds what can replace a read whose tool is gone: a read of the same server that asks the same, by names and schemas.

A write whose tool is gone is not made.
"""

from collections.abc import Iterable

from services.executor.core.tools.classes import classify_by_name
from services.executor.core.tools.name_similarity import may_mean_same, with_last_singular, words_of
from services.executor.core.tools.schema_drift import match_columns
from services.executor.core.tools.toolbox import find_argument_problems
from services.executor.ports.tools import ReadCall, Tool
from shared.domain.exact_json import Json, JsonObject, walk_json
from shared.domain.words import ToolClass

# A word that makes a tool a writing one, and one with a prefix of negation, need no line here.
_ANTONYMS = """allow/block allow/forbid grant/refuse hold/release block/release open/close start/stop start/end
begin/end attach/detach charge/refund charge/credit debit/credit increase/decrease raise/lower hide/show import/export
upload/download encrypt/decrypt incoming/outgoing inbound/outbound sent/received open/closed enabled/disabled
approved/rejected approved/denied approved/pending first/last min/max start/finish old/new before/after first/latest
oldest/newest earliest/latest payable/receivable payables/receivables debits/credits bought/sold customer/vendor
customer/supplier customers/vendors customers/suppliers gross/net asset/liability assets/liabilities public/private
internal/external available/reserved"""
_OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _ANTONYMS.split())
_NEGATIONS = ("un", "in", "non", "dis", "de", "ir", "im")
MOST_STAND_INS = 3
MOST_SINGLE_READS = 20
# Verbs of one line ask the same question of a server.
_EQUIVALENT_READ_VERBS = tuple(
    frozenset(line.split())
    for line in (
        "get fetch read retrieve lookup look show view describe display load",
        "list find search query browse enumerate filter",
        "check verify validate",
        "compare",
        "count",
        "sum aggregate",
        "preview",
        "inspect examine",
    )
)
_SINGLE_READ_VERBS = _EQUIVALENT_READ_VERBS[0]
_FILLER_WORDS = frozenset("a an the by id ids for of details detail info information record data full up".split())


def has_opposites(words: Iterable[str], other_words: Iterable[str]) -> bool:
    """Whether a word that only ``words`` has is the opposite of one that only ``other_words`` has: open, close."""
    some, others = set(words), set(other_words)
    return any(_are_opposites(word, other_word) for word in some - others for other_word in others - some)


def _may_replace(missing: Tool, other: Tool) -> bool:
    """Whether a tool may replace another: both are reads of one server, and their names have no opposite words."""
    tools = (missing, other)
    if not all(tool.tool_class is classify_by_name(tool.name).tool_class is ToolClass.READ for tool in tools):
        return False
    is_another = other.connection_id == missing.connection_id and other.name != missing.name
    return is_another and not has_opposites(words_of(missing.name), words_of(other.name))


def find_renamed_reads(missing: Tool, arguments: JsonObject, tools: Iterable[Tool]) -> list[ReadCall]:
    """At most three calls of reads that ask the same under another name, the most similar first."""
    ranked = [
        (_find_noun(tool) != _find_noun(missing), tool.name, ReadCall(tool, renamed))
        for tool in tools
        if _may_replace(missing, tool)
        and _are_equivalent_reads(missing, tool)
        and (renamed := _fit_arguments(tool, arguments)) is not None
    ]
    return [call for *_, call in sorted(ranked, key=lambda candidate: candidate[:2])][:MOST_STAND_INS]


def find_single_reads(bulk: Tool, arguments: JsonObject, tools: Iterable[Tool]) -> list[ReadCall]:
    """A read of one record for each id in ``arguments``, which together replace ``bulk``, a read of several. Empty if
    no tool fits, or if the arguments do not have just one list, of 1 to 20 ids.
    """
    lists = {key: value for key, value in arguments.items() if isinstance(value, list)}
    ids = next(iter(lists.values()), [])
    has_scalars = not any(isinstance(value, dict | list) or value is None for value in ids)
    if len(lists) != 1 or not has_scalars or not 0 < len(ids) <= MOST_SINGLE_READS:
        return []
    other_arguments = {key: value for key, value in arguments.items() if key not in lists}
    noun = with_last_singular(_find_noun(bulk))
    for tool in sorted(tools, key=lambda candidate: candidate.name):
        if _may_replace(bulk, tool) and _find_verb(tool) in _SINGLE_READ_VERBS and _find_noun(tool) == noun:
            calls = [_build_single_read(tool, next(iter(lists)), value, other_arguments) for value in ids]
            fitting = [call for call in calls if call is not None]
            if len(fitting) == len(calls):
                return fitting
    return []


def accept_stand_in(missing: Tool, arguments: JsonObject, tool: Tool | None, proposed: JsonObject) -> ReadCall | None:
    """The call of ``tool`` with the ``proposed`` arguments, if it may replace that of ``missing`` with ``arguments``:
    the tool takes them, and each value in them is also in ``arguments``. Else None.
    """
    if tool is None or not may_be_offered_as_replacement(missing, tool) or find_argument_problems(proposed, tool):
        return None
    values = _list_values(arguments)
    declares = _list_declared_parameters(tool)
    fits = declares is None or declares.issuperset(proposed)
    return ReadCall(tool, proposed) if fits and values >= _list_values(proposed) else None


def may_be_offered_as_replacement(missing: Tool, other: Tool) -> bool:
    """Whether a tool may be offered to a model in place of a missing one: a read of its server about the same kind."""
    kinds = [with_last_singular(_find_noun(tool))[-1:] for tool in (missing, other)]
    return _may_replace(missing, other) and bool(kinds[0]) and kinds[0] == kinds[1]


def _are_opposites(word: str, other_word: str) -> bool:
    short, long = sorted((word, other_word), key=len)
    negated = len(short) > 2 and any(long == prefix + short for prefix in _NEGATIONS)
    return negated or frozenset((word, other_word)) in _OPPOSITES


def _are_equivalent_reads(missing: Tool, other: Tool) -> bool:
    verbs, noun, other_noun = {_find_verb(missing), _find_verb(other)}, _find_noun(missing), _find_noun(other)
    if not any(verbs <= line for line in _EQUIVALENT_READ_VERBS) or not len(noun) == len(other_noun) > 0:
        return False
    are_of_one_number = (noun == with_last_singular(noun)) == (other_noun == with_last_singular(other_noun))
    return are_of_one_number and (noun == other_noun or may_mean_same("_".join(noun), "_".join(other_noun)))


def _fit_arguments(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """The arguments with their keys renamed to the tool's own; None if they do not fit."""
    declared = _list_declared_parameters(tool)
    if declared is None:
        return arguments if find_argument_problems(arguments, tool) is None else None
    unused = [name for name in sorted(declared) if name not in arguments]
    undeclared = [key for key in arguments if key not in declared]
    matches = match_columns(undeclared, unused)
    if len(matches) < len(undeclared):
        return None
    fitted: JsonObject = {matches[key].name if key in matches else key: value for key, value in arguments.items()}
    return fitted if find_argument_problems(fitted, tool) is None else None


def _build_single_read(tool: Tool, plural: str, value: Json, other_arguments: JsonObject) -> ReadCall | None:
    """The read of one record, with the id under the list's name in the singular or as ``id``; None if neither fits."""
    noun, declared = "_".join(_find_noun(tool)), set(tool.parameters)
    names = dict.fromkeys(["_".join(with_last_singular(words_of(plural))), f"{noun}_id", "id"])
    name = next((name for name in names if name in declared), None)
    arguments = {**other_arguments, name: value} if name is not None else None
    if arguments is None or not declared.issuperset(arguments) or find_argument_problems(arguments, tool):
        return None
    return ReadCall(tool, arguments)


def _list_declared_parameters(tool: Tool) -> set[str] | None:
    """The parameters that a tool's schema declares; None if it declares none."""
    properties = tool.input_schema.get("properties")
    return set(properties) if isinstance(properties, dict) else None


def _find_verb(tool: Tool) -> str:
    return next(iter(words_of(tool.name)), "")


def _find_noun(tool: Tool) -> list[str]:
    """The words of a tool's name for what it is about: order, line for ``get_order_line_by_id``."""
    return [word for word in words_of(tool.name)[1:] if word not in _FILLER_WORDS]


def _list_values(value: Json) -> set[str]:
    return {repr(inner) for _, inner in walk_json(value) if not isinstance(inner, dict | list)}
