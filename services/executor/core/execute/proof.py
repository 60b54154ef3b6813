"""The proof of a write: comparing what a read-back shows with what was to be written (I4)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.execute.records import records_in
from services.executor.core.execute.sameness import names_a_record, same
from services.executor.core.execute.subject import own_id, subjects
from services.executor.core.tooling.echo import is_echo
from shared.contracts.ledger import LedgerEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass, WriteStatus

_IRREGULAR = {"hold": "held", "pay": "paid", "send": "sent", "set": "set", "split": "split", "withdraw": "withdrawn"}


class Evidence(NamedTuple):
    """What is known of one write. ``result`` is None where the answer was lost; ``before`` where nothing was read."""

    tool: str
    arguments: JsonObject
    expect: JsonObject
    before: Json
    result: Json
    after: Json
    asked: frozenset[str] = frozenset()  # the names of the read-back's own arguments


class Shown(NamedTuple):
    """A record and those of its fields that show the write; no fields: nothing shows it."""

    fields: list[str]
    record: JsonObject


class Judgement(NamedTuple):
    status: WriteStatus
    note: str


def judge(evidence: Evidence) -> Judgement:
    """Verified or unverified for a write that was answered."""
    showing = _showing(evidence, evidence.after)
    matched, record = _newly_shown(evidence, showing)
    if matched:
        return Judgement(WriteStatus.VERIFIED, f"read back: {_listed(matched, record)}")
    if showing:
        return Judgement(WriteStatus.UNVERIFIED, "the read-back shows it, but it did so before the call as well")
    return Judgement(WriteStatus.UNVERIFIED, "the read-back does not show what was written")


def judge_lost(evidence: Evidence) -> Judgement:
    """The same where no answer came: the difference between the reads before and after is all there is."""
    if evidence.after == evidence.before:
        return Judgement(WriteStatus.ABSENT, "no answer came, and the read-back shows no change")
    matched, record = _difference(evidence)
    if matched:
        return Judgement(
            WriteStatus.VERIFIED, f"no answer came, but the read-back shows it: {_listed(matched, record)}"
        )
    return Judgement(WriteStatus.IN_DOUBT, "no answer came, and what the read-back shows may have another cause")


def judge_refused(evidence: Evidence, said: str) -> Judgement:
    """The same for an answer that is an error, where a read answered: one that wrote all the same is found out."""
    matched, record = _difference(evidence)
    if matched:
        earlier = "" if evidence.before is not None else ", and nothing is known of the state before"
        shown = f"but the read-back shows it: {_listed(matched, record)}{earlier}"
        return Judgement(WriteStatus.IN_DOUBT, f"the server answered with an error, {shown}; it said: {said}")
    return Judgement(WriteStatus.REFUSED, f"the server refused: {said}")


def judge_unread(entry: LedgerEntry) -> Judgement:
    """The same where no read shows what became of it: an error alone does not say that nothing was written.

    It does where the protocol or the operator's catalogue says so, of this sending and not of an earlier one that
    was lost. A notice is not read back, and is refused.
    """
    if entry.call.tool_class is not ToolClass.CHANGE or (entry.not_begun and not _was_lost_before(entry)):
        return Judgement(WriteStatus.REFUSED, f"the server refused: {entry.refusal}")
    unread = "and no read shows whether it was written all the same"
    return Judgement(WriteStatus.IN_DOUBT, f"the server answered with an error, {unread}; it said: {entry.refusal}")


def _was_lost_before(entry: LedgerEntry) -> bool:
    """Whether an earlier sending may have taken hold, as far as any operator said."""
    spoken_of = {word.doubt for word in entry.resolutions}
    return any(f"{entry.key}:{attempt.number}" not in spoken_of for attempt in entry.earlier)


def _showing(evidence: Evidence, shown: Json) -> list[Shown]:
    """The records about the call that show what was to be written, each with the fields that do."""
    claims = _claims(evidence)
    found = [Shown(_matches(record, claims), record) for record in _subjects(evidence, shown)]
    return [match for match in found if match.fields and not _is_echo(match, evidence)]


def _newly_shown(evidence: Evidence, showing: Sequence[Shown]) -> Shown:
    """One that more records show after the call than before it: older look-alikes and running clocks prove nothing."""
    earlier = _subjects(evidence, evidence.before)
    for match in showing:
        now = sum(_agree(match, other.record) for other in showing)
        if match.record not in earlier and now > sum(_agree(match, old) for old in earlier):
            return match
    return Shown([], {})


def _difference(evidence: Evidence) -> Shown:
    """What the reads before and after tell by themselves, whatever the server answered."""
    shown = _newly_shown(evidence, _showing(evidence, evidence.after))
    return shown if shown.fields else _done_by_verb(evidence)


def _agree(match: Shown, record: JsonObject) -> bool:
    return all(key in record and same(record[key], match.record[key]) for key in match.fields)


def _is_echo(match: Shown, evidence: Evidence) -> bool:
    """Whether a record shows only what the read itself asked for: a server may repeat that and know nothing."""
    own = [key for key in match.record if names_a_record(key) and key not in evidence.asked]
    return not own and evidence.asked.issuperset(match.fields)


def _subjects(evidence: Evidence, shown: Json) -> list[JsonObject]:
    return subjects(shown, evidence.arguments, evidence.result)


def _claims(evidence: Evidence) -> JsonObject:
    """The fields a read-back should show: expected ones, arguments, and what the server's answer said, if it did."""
    claims: JsonObject = {}
    for record in () if is_echo(evidence.tool, evidence.result) else records_in(evidence.result):
        claims.update({key: value for key, value in _scalars(record).items() if not _acknowledges(key, value)})
        break
    claims.update(_scalars(evidence.arguments))
    claims.update(_scalars(evidence.expect))
    return claims


def _acknowledges(key: str, value: Json) -> bool:
    """Whether a field of an answer speaks of the call, not of what was written: ``"status": "ok"``."""
    return key.lower() in ("status", "result") and str(value).lower() in ("ok", "success")


def _matches(record: JsonObject, claims: Mapping[str, Json]) -> list[str]:
    """The claimed fields that a record shows, if it contradicts none and shows more than identifiers."""
    common = [key for key in claims if key in record]
    if any(not same(record[key], claims[key]) for key in common):
        return []
    return common if any(not names_a_record(key) for key in common) else []


def _done_by_verb(evidence: Evidence) -> Shown:
    """Fields that changed to a form of the tool's own verb: ``approve_x`` leaves "approved" in a status.

    Not where another changed field says something else than the call's argument of that name.
    """
    done = participles(evidence.tool)
    before = _subjects(evidence, evidence.before)
    for record in _subjects(evidence, evidence.after):
        earlier = [old for old in before if set(old) == set(record) and _is_the_same(old, record)]
        changed = [key for key in record if any(old[key] != record[key] for old in earlier)]
        fields = [key for key in changed if str(record[key]).lower() in done]
        if fields and not any(_contradicts(record, key, evidence.arguments) for key in changed):
            return Shown(fields, record)
    return Shown([], {})


def _contradicts(record: JsonObject, key: str, arguments: JsonObject) -> bool:
    return key in arguments and not same(record[key], arguments[key])


def participles(tool: str) -> frozenset[str]:
    """What the first word of a tool's name has done: ``cancel_order`` has ``canceled``, or ``cancelled``."""
    verb = tool.replace("-", "_").split("_")[0].lower()
    regular = {f"{verb}d", f"{verb}ed", f"{verb}{verb[-1:]}ed", f"{verb[:-1]}ied"}
    return frozenset(regular | {_IRREGULAR.get(verb, verb + "ed")})


def _is_the_same(old: JsonObject, record: JsonObject) -> bool:
    """By its own id; a record without one, by every identifier in it."""
    if own_id(record) is not None:
        return own_id(old) == own_id(record)
    return all(old[key] == record[key] for key in record if names_a_record(key))


def _scalars(record: JsonObject) -> JsonObject:
    return {key: value for key, value in record.items() if not isinstance(value, dict | list) and value is not None}


def _listed(keys: list[str], record: JsonObject) -> str:
    return ", ".join(f"{key}={record[key]}" for key in keys[:6])
