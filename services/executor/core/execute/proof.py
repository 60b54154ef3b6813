"""The proof of a write: comparing what a read-back shows with what was to be written (I4)."""

from collections.abc import Mapping
from typing import NamedTuple

from services.executor.core.execute.records import records_in
from services.executor.core.finance.figures import figure
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import WriteStatus


class Evidence(NamedTuple):
    """What is known of one write. ``result`` is None where the answer was lost; ``before`` where nothing was read."""

    tool: str
    arguments: JsonObject
    expect: JsonObject
    before: Json
    result: Json
    after: Json


class Judgement(NamedTuple):
    status: WriteStatus
    note: str


def judge(evidence: Evidence) -> Judgement:
    """Verified or unverified for a write that was answered."""
    unchanged = list(records_in(evidence.before))
    note = "the read-back does not show what was written"
    for record in records_in(evidence.after):
        matched = _matches(record, _claims(evidence)) if _is_subject(record, evidence) else []
        if matched and record not in unchanged:
            return Judgement(WriteStatus.VERIFIED, f"read back: {_listed(matched, record)}")
        if matched:
            note = "the read-back shows it, but it did so before the call as well"
    return Judgement(WriteStatus.UNVERIFIED, note)


def judge_lost(evidence: Evidence) -> Judgement:
    """The same where no answer came: the difference between the reads before and after is all there is."""
    if evidence.after == evidence.before:
        return Judgement(WriteStatus.ABSENT, "no answer came, and the read-back shows no change")
    for record in _new_records(evidence):
        matched = _matches(record, _claims(evidence)) or _effects_of_verb(record, evidence)
        if matched:
            return Judgement(
                WriteStatus.VERIFIED, f"no answer came, but the read-back shows it: {_listed(matched, record)}"
            )
    return Judgement(WriteStatus.IN_DOUBT, "no answer came, and what the read-back shows may have another cause")


def _claims(evidence: Evidence) -> JsonObject:
    """The fields a read-back should show: expected ones, arguments, and what the server's answer said, if it did."""
    claims: JsonObject = {}
    for record in records_in(evidence.result):
        claims.update(_scalars(record))
        break
    claims.update(_scalars(evidence.arguments))
    claims.update(_scalars(evidence.expect))
    return claims


def _matches(record: JsonObject, claims: Mapping[str, Json]) -> list[str]:
    """The claimed fields that a record shows, if it contradicts none and shows more than identifiers."""
    common = [key for key in claims if key in record]
    if any(not _same(record[key], claims[key]) for key in common):
        return []
    return common if any(not _is_identifier(key, claims) for key in common) else []


def _is_subject(record: JsonObject, evidence: Evidence) -> bool:
    """Whether a record is about what the call names: it shows one of its identifiers, or is all that there is."""
    ids = [value for key, value in evidence.arguments.items() if key.lower().endswith("id")]
    alone = len(list(records_in(evidence.after))) == 1
    return not ids or alone or any(_same(shown, value) for shown in record.values() for value in ids)


def _new_records(evidence: Evidence) -> list[JsonObject]:
    before = list(records_in(evidence.before))
    return [record for record in records_in(evidence.after) if record not in before]


def _effects_of_verb(record: JsonObject, evidence: Evidence) -> list[str]:
    """Fields that changed to a form of the tool's own verb: ``approve_x`` leaves "approved" in a status."""
    verb = evidence.tool.replace("-", "_").split("_")[0].lower()[:5]
    earlier = [old for old in records_in(evidence.before) if set(old) == set(record)]
    changed = [key for key in record if any(old[key] != record[key] for old in earlier)]
    return [key for key in changed if str(record[key]).lower().startswith(verb)]


def _is_identifier(key: str, arguments: Mapping[str, Json]) -> bool:
    return key.lower().endswith("id") and key in arguments


def _scalars(record: JsonObject) -> JsonObject:
    return {key: value for key, value in record.items() if not isinstance(value, dict | list) and value is not None}


def _same(shown: Json, claimed: Json) -> bool:
    if shown == claimed:
        return True
    number, other = figure(shown), figure(claimed)
    if number is not None and other is not None:
        return number == other
    return (
        isinstance(shown, str) and isinstance(claimed, str) and shown.strip().casefold() == claimed.strip().casefold()
    )


def _listed(keys: list[str], record: JsonObject) -> str:
    return ", ".join(f"{key}={record[key]}" for key in keys[:6])
