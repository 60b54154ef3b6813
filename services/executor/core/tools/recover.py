"""Finds what can replace a read whose tool is gone: a read of the same server that asks the same, by names and schemas.

A write whose tool is gone is not made.
"""

from collections.abc import Iterable, Sequence

from services.executor.core.tools.classes import classify_by_name
from services.executor.core.tools.name_similarity import may_mean_same, singular, words_of
from services.executor.core.tools.schema_drift import match_columns
from services.executor.core.tools.toolbox import problems_with
from services.executor.ports.tools import ReadCall, Tool
from shared.domain.exact_json import Json, JsonObject, walk_json
from shared.domain.words import ToolClass

_PAIRS = """approve/deny approve/reject approve/decline approve/disapprove accept/reject accept/decline accept/deny
accept/refuse allow/deny allow/block allow/forbid grant/revoke grant/deny grant/refuse permit/deny freeze/release
freeze/unfreeze hold/release lock/unlock lock/release block/unblock block/release open/close reopen/close reopen/resolve
enable/disable activate/deactivate activate/suspend start/stop start/end begin/end pause/resume suspend/resume
suspend/reinstate add/remove add/delete create/delete create/remove create/cancel insert/delete restore/delete
install/uninstall attach/detach assign/unassign enroll/unenroll enroll/withdraw register/unregister register/deregister
subscribe/unsubscribe book/cancel confirm/cancel confirm/deny charge/refund charge/credit debit/credit pay/refund
deposit/withdraw send/recall ship/return publish/unpublish publish/retract promote/demote upgrade/downgrade
increase/decrease raise/lower hire/terminate onboard/offboard provision/deprovision commit/rollback deploy/rollback
archive/restore archive/unarchive hide/show mark/unmark flag/unflag link/unlink import/export upload/download
push/pull encrypt/decrypt mute/unmute dispute/accept escalate/deescalate escalate/resolve connect/disconnect
incoming/outgoing inbound/outbound sent/received paid/unpaid open/closed active/inactive enabled/disabled
approved/rejected approved/denied approved/pending first/last min/max start/finish old/new before/after
first/latest oldest/newest earliest/latest payable/receivable payables/receivables debit/credit debits/credits
buy/sell bought/sold customer/vendor customer/supplier customers/vendors customers/suppliers gross/net asset/liability
assets/liabilities public/private internal/external available/reserved available/unavailable valid/invalid"""
_OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())
_NEGATIONS = ("un", "in", "non", "dis", "de", "ir", "im")
MOST_TRIED = 3
MOST_SINGLES = 20
# Verbs of one line ask the same question of a server.
_ALIKE = tuple(
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
_SINGLE_READ_VERBS = _ALIKE[0]
_SAYS_NOTHING = frozenset("a an the by id ids for of details detail info information record data full up".split())


def has_opposites(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a word only in one is the opposite of a word only in the other, by a table or a negating prefix."""
    left, right = set(some), set(others)
    return any(_are_opposites(one, other) for one in left - right for other in right - left)


def may_stand_in(gone: Tool, other: Tool) -> bool:
    """Whether a tool may replace another: both are reads of one server, and their names have no opposite words."""
    classes = {each for tool in (gone, other) for each in (tool.tool_class, classify_by_name(tool.name).tool_class)}
    if classes != {ToolClass.READ}:
        return False
    is_another = other.connection_id == gone.connection_id and other.name != gone.name
    return is_another and not has_opposites(words_of(gone.name), words_of(other.name))


def find_renamed_reads(gone: Tool, arguments: JsonObject, tools: Iterable[Tool]) -> list[ReadCall]:
    """At most three calls of reads that ask the same under another name, the most similar first."""
    found = [
        (_find_noun(tool) != _find_noun(gone), tool.name, ReadCall(tool, given))
        for tool in tools
        if may_stand_in(gone, tool)
        and _ask_the_same(gone, tool)
        and (given := _fit_arguments(tool, arguments)) is not None
    ]
    return [instead for _, _, instead in sorted(found, key=lambda each: each[:2])][:MOST_TRIED]


def find_single_reads(bulk: Tool, arguments: JsonObject, tools: Iterable[Tool]) -> list[ReadCall]:
    """The reads of single records that replace a read of several; empty if the arguments do not allow that."""
    lists = [key for key, value in arguments.items() if isinstance(value, list)]
    wanted = arguments.get(lists[0]) if len(lists) == 1 else None
    if not isinstance(wanted, list) or not 0 < len(wanted) <= MOST_SINGLES:
        return []
    if any(isinstance(value, dict | list) or value is None for value in wanted):
        return []
    others = {key: value for key, value in arguments.items() if key != lists[0]}
    for tool in sorted(tools, key=lambda each: each.name):
        if (
            may_stand_in(bulk, tool)
            and _find_verb(tool) in _SINGLE_READ_VERBS
            and _find_noun(tool) == _singularize(_find_noun(bulk))
        ):
            calls = [_build_single(tool, lists[0], value, others) for value in wanted]
            made = [call for call in calls if call is not None]
            if len(made) == len(calls):
                return made
    return []


def check_stand_in(gone: Tool, arguments: JsonObject, tool: Tool | None, given: JsonObject) -> ReadCall | None:
    """The proposed call, if it may replace the other and has only values of the other's arguments; else None."""
    if tool is None or not may_be_offered(gone, tool) or problems_with(given, tool):
        return None
    known = _list_values(arguments)
    declares = _declared_parameters(tool)
    fits = declares is None or declares.issuperset(given)
    return ReadCall(tool, given) if fits and known >= _list_values(given) else None


def may_be_offered(gone: Tool, other: Tool) -> bool:
    """Whether a tool may be offered to a model as a replacement: it is a read about the same kind of record."""
    kinds = [_singularize(_find_noun(tool))[-1:] for tool in (gone, other)]
    return may_stand_in(gone, other) and bool(kinds[0]) and kinds[0] == kinds[1]


def _are_opposites(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    negated = len(short) > 2 and any(long == prefix + short for prefix in _NEGATIONS)
    return negated or frozenset((one, other)) in _OPPOSITES


def _ask_the_same(gone: Tool, other: Tool) -> bool:
    verbs, noun, another = {_find_verb(gone), _find_verb(other)}, _find_noun(gone), _find_noun(other)
    if not any(verbs <= line for line in _ALIKE) or not len(noun) == len(another) > 0:
        return False
    are_of_one_number = (noun == _singularize(noun)) == (another == _singularize(another))
    return are_of_one_number and (noun == another or may_mean_same("_".join(noun), "_".join(another)))


def _fit_arguments(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """The arguments with their keys renamed to the tool's own; None if they do not fit."""
    declared = _declared_parameters(tool)
    if declared is None:
        return arguments if problems_with(arguments, tool) is None else None
    free = [name for name in sorted(declared) if name not in arguments]
    strange = [key for key in arguments if key not in declared]
    new = match_columns(strange, free)
    if len(new) < len(strange):
        return None
    given: JsonObject = {new[key].name if key in new else key: value for key, value in arguments.items()}
    return given if problems_with(given, tool) is None else None


def _build_single(tool: Tool, plural: str, value: Json, others: JsonObject) -> ReadCall | None:
    """The read of one record, with the id under the list's name in the singular or as ``id``; None if neither fits."""
    noun, declared = "_".join(_find_noun(tool)), set(tool.parameters)
    names = dict.fromkeys(["_".join(_singularize(words_of(plural))), f"{noun}_id", "id"])
    name = next((name for name in names if name in declared), None)
    given = {**others, name: value} if name is not None else None
    if given is None or not declared.issuperset(given) or problems_with(given, tool):
        return None
    return ReadCall(tool, given)


def _declared_parameters(tool: Tool) -> set[str] | None:
    """The parameters that a tool's schema declares; None if it declares none."""
    properties = tool.input_schema.get("properties")
    return set(properties) if isinstance(properties, dict) else None


def _find_verb(tool: Tool) -> str:
    return next(iter(words_of(tool.name)), "")


def _find_noun(tool: Tool) -> list[str]:
    """The words of a tool's name for what it is about."""
    return [word for word in words_of(tool.name)[1:] if word not in _SAYS_NOTHING]


def _singularize(noun: Sequence[str]) -> list[str]:
    """The words with the last one in the singular."""
    return [*noun[:-1], *map(singular, noun[-1:])]


def _list_values(value: Json) -> set[str]:
    return {repr(inner) for _, inner in walk_json(value) if not isinstance(inner, dict | list)}
