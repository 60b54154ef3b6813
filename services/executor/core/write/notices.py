"""When a notice may go out, and with which words: of a change that is only acknowledged it says so (I4)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.records.tool_words import properties_of
from services.executor.core.tools.near_names import words_of
from services.executor.core.write.compensation import took_hold
from services.executor.ports.tools import Tool
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass, WriteStatus

_BODIES = "body message text content html note comment description".split()  # the likeliest name first
_NO_BODIES = frozenset("subject title recipient to cc bcc from sender channel name email phone address".split())


class Going(NamedTuple):
    """Whether a notice may go out now. ``sentence``: what is added to its text; ``why_not``: what holds it back."""

    allowed: bool
    sentence: str = ""
    why_not: str = ""


def acknowledged_sentence(*changes: PlannedCall) -> str:
    """What a notice says of changes that their servers acknowledged, and that no read could prove."""
    named = "; ".join(dict.fromkeys(" ".join(words_of(change.tool)) for change in changes))
    confirmed = "not yet confirmed" if len(changes) == 1 else "not all of it confirmed yet"
    return f"Please note: accepted by the system, but {confirmed}: {named}."


def with_sentences(plan: WritePlan, tools: Mapping[tuple[str, str], Tool]) -> WritePlan:
    """The plan with the sentence of each notice that has a place for one, to be frozen, approved and hashed with it.

    ``tools``: by connection and name.
    """
    return plan.model_copy(update={"calls": tuple(_with_frozen_sentence(call, plan, tools) for call in plan.calls)})


def text_place(arguments: JsonObject, tool: Tool, sentence: str = "") -> tuple[str, ...] | None:
    """Where the free text of a notice stands in its arguments, if the sentence fits there; None if nothing is plain.

    An argument that is called so, in its schema or an object of it; else the only text of several words.
    """
    texts = list(_texts(arguments, properties_of(tool)))
    known = [text for name in _BODIES for text in texts if words_of(text.path[-1])[-1:] == [name]]
    others = [text for text in texts if " " in text.value.strip() and not _NO_BODIES & set(words_of(text.path[-1]))]
    found = known[:1] or (others if len(others) == 1 else [])
    if not found or (found[0].most is not None and len(_append_sentence(found[0].value, sentence)) > found[0].most):
        return None
    return found[0].path


def with_sentence(arguments: JsonObject, place: Sequence[str], sentence: str) -> JsonObject:
    """The arguments with the sentence at the end of the notice's text."""
    name, *further = place
    value = arguments[name]
    if further and isinstance(value, dict):
        return {**arguments, name: with_sentence(value, further, sentence)}
    return {**arguments, name: _append_sentence(str(value), sentence)}


def may_go_out(
    notice: PlannedCall, plan: WritePlan, ledger: Mapping[str, LedgerEntry], *, after_proof: bool = False
) -> Going:
    """Whether every change that the notice tells of is proved, or acknowledged and contradicted by no read.

    ``ledger``: the plan's entries by call id. ``after_proof``: the tenant wants proof and nothing less. A notice that
    was frozen without a sentence waits for proof, too.
    """
    open_ones = [change for change in changes_told_by(notice, plan) if not took_hold(ledger.get(change.call_id))]
    if not open_ones:
        return Going(allowed=True)
    unsure = [change for change in open_ones if not _is_acknowledged(ledger.get(change.call_id))]
    if unsure or after_proof or not notice.if_acknowledged:
        return Going(allowed=False, why_not=_why_not(unsure or open_ones, ledger))
    return Going(allowed=True, sentence=notice.if_acknowledged)


def changes_told_by(notice: PlannedCall, plan: WritePlan) -> list[PlannedCall]:
    """The changes of the notice's own part; all of the plan where either says no part, or the part has no change.

    A task that says "close it, and tell somebody that it is closed" has the notice in a part of its own.
    """
    changes = [call for call in plan.calls if call.tool_class is ToolClass.CHANGE]
    own = [call for call in changes if None in (notice.part, call.part) or notice.part == call.part]
    return own or changes


class _Text(NamedTuple):
    """A text among a notice's arguments. ``most``: how many characters its schema permits."""

    path: tuple[str, ...]
    value: str
    most: int | None


def _texts(arguments: JsonObject, properties: Mapping[str, Json], path: tuple[str, ...] = ()) -> Iterable[_Text]:
    for name, value in arguments.items():
        declared = properties.get(name)
        schema = declared if isinstance(declared, dict) else {}
        if isinstance(value, str):
            most = schema.get("maxLength")
            if "enum" not in schema:
                yield _Text((*path, name), value, most if isinstance(most, int) else None)
        elif isinstance(value, dict):
            inner = schema.get("properties")
            yield from _texts(value, inner if isinstance(inner, dict) else {}, (*path, name))


def _append_sentence(text: str, sentence: str) -> str:
    return f"{text.rstrip()}\n\n{sentence}" if sentence else text


def _with_frozen_sentence(call: PlannedCall, plan: WritePlan, tools: Mapping[tuple[str, str], Tool]) -> PlannedCall:
    changes = changes_told_by(call, plan)
    tool = tools.get((call.connection_id, call.tool))
    if call.tool_class is not ToolClass.NOTIFY or not changes or tool is None:
        return call
    sentence = acknowledged_sentence(*changes)
    fits = text_place(call.arguments, tool, sentence) is not None
    return call.model_copy(update={"if_acknowledged": sentence}) if fits else call


def _is_acknowledged(entry: LedgerEntry | None) -> bool:
    return entry is not None and entry.status is WriteStatus.UNVERIFIED and not entry.contradicted


def _why_not(changes: Sequence[PlannedCall], ledger: Mapping[str, LedgerEntry]) -> str:
    return ", ".join(f"{change.call_id} {change.tool} is {_status(ledger.get(change.call_id))}" for change in changes)


def _status(entry: LedgerEntry | None) -> str:
    if entry is None:
        return "not made"
    return "contradicted by its read-back" if entry.contradicted else entry.status.value.replace("_", " ")
