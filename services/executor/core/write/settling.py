"""Finds out what became of a call that was sent: from its answer and by reading, never by sending it again (I3, I4).

``judge_write`` says what each combination of answer and read means; ``field_proof.prove_rows`` what the reads show.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta, tzinfo
from typing import NamedTuple

from services.executor.core.reads.server_call import call_server_once
from services.executor.core.records.references import resolve_references
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.session.context import TurnContext, get_task_time
from services.executor.core.session.journal import Journal
from services.executor.core.session.ledger import get_plan_results, list_writes, move_attempt_to_earlier
from services.executor.core.tools.classes import (
    EDIT_VERBS,
    STATE_WORDS,
    ToolWords,
    find_nouns_of_identifier,
    list_verb_participles,
    normalize_noun,
    words_of_tool,
)
from services.executor.core.tools.failures import classify_failure, says_record_absent, says_refused
from services.executor.core.tools.listing import open_paged_list
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import NoSuchPath, find_leaves, is_id_name
from services.executor.core.tools.toolbox import MOST_SENDS_OF_A_WRITE
from services.executor.core.write.claimed_fields import find_leaf_for_claim, has_similar_name, replace_epochs_by_claims
from services.executor.core.write.field_proof import ProofFinding, RowProof, WriteEvidence, is_shown_before, prove_rows
from services.executor.core.write.record_match import RecordsOfAnswer, find_subjects, identifiers_in
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent, ToolUnreachable, UnfinishedAgentTask
from services.executor.ports.turns import TurnStore
from shared.contracts.ledger import AgentCall, LedgerEntry
from shared.contracts.plan import PlannedCall, ReadBack, WritePlan
from shared.domain.exact_json import Json, JsonObject, as_text, dumps, loads, loads_object
from shared.domain.words import DOUBTFUL_STATUSES, ToolClass, WriteStatus

_MOST_PROOFS = 6  # fields in a note
_MOST_ROWS = 5  # rows in a note
_CANNOT_TELL_TEXT = "the read-back has no field that the call sets, nor shows what it makes"


class WriteJudgement(NamedTuple):
    """The status of a write, with a note. ``contradicted``: a read shows something else than what was to be written;
    ``shows_other_value``: it shows a field that the call set with another value, in a record that did not change.
    """

    status: WriteStatus
    note: str
    contradicted: bool = False
    shows_other_value: bool = False


def judge_write(entry: LedgerEntry, after: Json, zone: tzinfo = UTC) -> WriteJudgement:
    """Judges a write by how it was answered, and by what its read-back shows after it, whose days are in the zone:

    | the read-back shows           | an answer                | an error             | no answer |
    |-------------------------------|--------------------------|----------------------|-----------|
    | it, and did not before        | verified                 | in doubt             | verified  |
    | only some rows of the call    | unverified               | in doubt             | in doubt  |
    | more records than were made   | unverified, contradicted | refused              | in doubt  |
    | it, and did so before         | unverified               | refused, or in doubt | in doubt  |
    | something else                | unverified, contradicted | refused              | in doubt  |
    | nothing of it                 | unverified               | refused              | in doubt  |
    | the same as before            | unverified               | refused              | absent    |
    | what cannot show it, or none  | unverified               | by the error's words | in doubt  |
    """
    evidence = _evidence_of_write(entry, after, zone)
    if entry.refusal is not None:
        return judge_failed_write(entry, evidence)
    return judge_unanswered_write(evidence) if entry.result_json is None else judge_answered_write(evidence)


def judge_answered_write(evidence: WriteEvidence) -> WriteJudgement:
    """Judges a write that the server answered: the answer alone proves nothing, so the reads decide."""
    if not evidence.reader:
        return WriteJudgement(WriteStatus.UNVERIFIED, "no read tool can show it")
    if evidence.after is None:
        note = f"nothing was read back: {evidence.reader} could not be asked, or did not answer"
        return WriteJudgement(WriteStatus.UNVERIFIED, note)
    rows = prove_rows(evidence)
    if all(finding.shown for _, finding in rows):
        return WriteJudgement(WriteStatus.VERIFIED, f"read back: {', '.join(_list_proofs(rows))}")
    return _judge_unproved_rows(rows)


def _judge_unproved_rows(rows: Sequence[RowProof]) -> WriteJudgement:
    """``UNVERIFIED``, with a note on why each row without proof has none; a single note if all rows lack it for one
    reason.
    """
    judgements = {
        _describe_row(number, row): _judge_unproved_row(row, finding)
        for number, (row, finding) in enumerate(rows, 1)
        if not finding.shown
    }
    notes = {judgement.note for judgement in judgements.values()}
    note = next(iter(notes))
    if len(judgements) < len(rows) or len(notes) > 1:
        row_notes = [f"{name}: {judgement.note}" for name, judgement in judgements.items()]
        more = [f"and {len(row_notes) - _MOST_ROWS} more rows"] if len(row_notes) > _MOST_ROWS else []
        note = "; ".join([*row_notes[:_MOST_ROWS], *more])
    return WriteJudgement(
        WriteStatus.UNVERIFIED,
        note,
        any(judgement.contradicted for judgement in judgements.values()),
        any(judgement.shows_other_value for judgement in judgements.values()),
    )


def _judge_unproved_row(row: WriteEvidence, finding: ProofFinding) -> WriteJudgement:
    contradicted = finding.shows_other_values and not finding.shown_before
    if finding.miscount:
        expected = finding.expected_count
        contradicted = finding.miscount > expected
        counted = (
            "1 more record than before shows"
            if finding.miscount == 1
            else f"{finding.miscount} more records than before show"
        )
        note = f"{counted} it, where {'one was' if expected == 1 else f'{expected} were'} to be made"
    elif finding.shown_before:
        note = f"the read-back shows it, but it did so before the call as well: {', '.join(finding.shown_before)}"
    elif finding.shows_other_values:
        shown = f": {', '.join(finding.other_values[:_MOST_PROOFS])}" if finding.other_values else ""
        note = f"the read-back shows something else{shown}"
    elif _can_read_show_row(row):
        note = "the read-back does not show what was written"
    else:
        note = f"no read can show it: {_CANNOT_TELL_TEXT}"
    return WriteJudgement(WriteStatus.UNVERIFIED, note, contradicted, contradicted and finding.is_unchanged)


def _describe_row(place: int, row: WriteEvidence) -> str:
    ids = [f"{name}={value}" for name, value in identifiers_in(row.arguments).items() if name in row.row_field_names]
    return f"row {place} ({', '.join(ids)})" if ids else f"row {place}"


def _list_proofs(rows: Sequence[RowProof]) -> list[str]:
    """What proves the rows that are proved, each text once."""
    return [*dict.fromkeys(text for _, finding in rows for text in finding.shown)][:_MOST_PROOFS]


def judge_unanswered_write(evidence: WriteEvidence) -> WriteJudgement:
    """Judges a write that got no answer, by the difference between the reads before and after it."""
    status, reason = WriteStatus.IN_DOUBT, "and what the read-back shows may have another cause"
    if not evidence.reader:
        reason = "and no read tool can show it"
    elif evidence.before is None:
        reason = "and nothing is known of the state before the call"
    elif evidence.after == evidence.before and can_read_show_write(evidence):
        status, reason = WriteStatus.ABSENT, "and the read-back shows no change"
    elif evidence.after == evidence.before:
        reason = f"and nothing can tell: {_CANNOT_TELL_TEXT}"
    else:
        rows = prove_rows(evidence)
        if all(finding.shown for _, finding in rows):
            status = WriteStatus.VERIFIED
            reason = f"but the read-back shows it: {', '.join(_list_proofs(rows))}"
    return WriteJudgement(status, f"no answer came, {reason}")


def judge_failed_write(entry: LedgerEntry, evidence: WriteEvidence) -> WriteJudgement:
    """Judges a write that the server answered with an error.

    The error is believed unless the read-back shows the write.

    Where no read can tell, the protocol, the operator's catalogue or a clear reason has to say that nothing was
    written, and no earlier sending may be undecided. A notice is not read back, and counts as refused.
    """
    is_read = bool(evidence.reader) and evidence.after is not None
    is_known = evidence.before is not None
    rows = prove_rows(evidence) if is_read else ()
    proofs = (
        _list_proofs(rows)
        or ["some of its rows" for _, finding in rows if 0 < finding.miscount < finding.expected_count][:1]
    )
    is_clear = entry.call.tool_class is not ToolClass.CHANGE or (
        entry.not_begun and not _may_have_taken_effect_before(entry)
    )
    if proofs:
        doubt = "" if is_known else ", and nothing is known of the state before"
        reason = f"but the read-back shows it: {', '.join(proofs)}{doubt}"
    elif is_read and (entry.earlier or not is_known) and is_shown_before(evidence._replace(before=evidence.after)):
        cause = "an earlier sending may have done it" if is_known else "nothing is known of the state before"
        reason = f"but the read-back shows it, and {cause}"
    elif is_clear or (is_read and can_read_show_write(evidence)):
        return WriteJudgement(WriteStatus.REFUSED, f"the server refused: {entry.refusal or ''}")
    else:
        reason = "and no read shows whether it was written all the same"
    note = f"the server answered with an error, {reason}; it said: {entry.refusal or ''}"
    return WriteJudgement(WriteStatus.IN_DOUBT, note)


_VERBS_FOR_NEW_VALUES = EDIT_VERBS | {"replace", "overwrite"}


def can_read_show_write(evidence: WriteEvidence) -> bool:
    """Whether this read-back could show the write, all rows of it; if it could not, its silence means nothing.

    It could if, before the call, it showed a field that the call sets of a record that the call names, or if it shows
    records of the kind that the call makes.
    """
    return all(map(_can_read_show_row, evidence.split_rows()))


def _can_read_show_row(evidence: WriteEvidence) -> bool:
    content = evidence.after if evidence.before is None else evidence.before
    words, reader_words = words_of_tool(evidence.tool), words_of_tool(evidence.reader)
    subjects = find_subjects(RecordsOfAnswer(content), evidence.arguments, None, evidence.read_arguments)
    records = [node.record for node in subjects.direct]
    if words.is_removal:
        return bool(records)
    if words.may_make_record and _shows_kind_of_made_record(words, reader_words, evidence, records):
        return True
    set_fields = [leaf for leaf in find_leaves({**evidence.arguments, **evidence.expect}) if leaf.value is not None]
    set_fields = [leaf for leaf in set_fields if not is_id_name(leaf.name) and not is_id_text(leaf.value)]
    leaves = [leaf for record in records for leaf in find_leaves(record)]
    named_leaves = [leaf for field in set_fields for leaf in leaves if has_similar_name(field, leaf)]
    if named_leaves or any(find_leaf_for_claim(field, leaves) for field in set_fields):
        return True
    if set_fields and (words.may_make_record or words.verb in _VERBS_FOR_NEW_VALUES):
        return False
    state_words = STATE_WORDS | list_verb_participles(evidence.tool)
    return any(not state_words.isdisjoint(words_of(leaf.name)) for leaf in leaves)


def _shows_kind_of_made_record(
    words: ToolWords, reader_words: ToolWords, evidence: WriteEvidence, records: Sequence[JsonObject]
) -> bool:
    """Whether the read is about what the call makes, or its records have a field of it: ``notes`` for ``add_note``."""
    if words.verb_makes(reader_words.nouns):
        return True
    ids = [
        name for name in identifiers_in(evidence.arguments) if words.head in find_nouns_of_identifier(name, words.nouns)
    ]
    if ids and records:  # the call names the thing itself, which is there: it makes none
        return False
    field_nouns = {normalize_noun(word) for record in records for key in record for word in words_of(key)}
    return words.head in {reader_words.head, *field_nouns}


def _evidence_of_write(entry: LedgerEntry, after: Json, zone: tzinfo) -> WriteEvidence:
    """What a write is judged by: its arguments and answer, and the reads before and after it."""
    call, read_back = entry.call, entry.call.read_back
    arguments = loads_object(entry.arguments_json)
    expect = loads_object(read_back.expect_json) if read_back else {}
    claims = [leaf.value for leaf in (*find_leaves(arguments), *find_leaves(expect))]
    return WriteEvidence(
        tool=call.tool,
        arguments=arguments,
        expect=expect,
        before=replace_epochs_by_claims(loads(entry.before_json or "null"), claims, zone),
        result=loads(entry.result_json or "null"),
        after=replace_epochs_by_claims(after, claims, zone),
        read_arguments=loads_object(read_back.arguments_json) if read_back else {},
        reader=read_back.tool if read_back and _can_be_read_back(entry) else "",
        row_reads=read_back.of_rows if read_back else (),
    )


def was_shown_before(entry: LedgerEntry, zone: tzinfo = UTC) -> bool:
    """Whether the read before the call shows all that the call sets: by chance, or because it was made before."""
    return is_shown_before(_evidence_of_write(entry, None, zone))


async def read_state_before(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> Json:
    """What the read-back shows before the call, as ``_read_state_after``; None also if it needs the call's result."""
    return await _make_read_back(ctx, call, await get_plan_results(ctx.store, plan))


async def _read_state_after(ctx: TurnContext, entry: LedgerEntry) -> Json:
    """What the read-back shows after the call; ``[]`` if it says that there is no such record, None if it cannot be
    made or gets no answer.
    """
    entries = (*await list_writes(ctx.store), entry)
    results = {written.call.call_id: loads(written.result_json) for written in entries if written.result_json}
    return await _make_read_back(ctx, entry.call, results)


async def _make_read_back(ctx: TurnContext, call: PlannedCall, results: Mapping[str, Json]) -> Json:
    """The answer of the call's read-back, whose arguments may refer to ``results``, by call id.

    Of several reads a list of their answers; None if one of them cannot be made or gets no answer.
    """
    answers: list[Json] = []
    for read in call.read_back.distinct_reads if call.read_back else ():
        answer = await _make_single_read(ctx, call, read, results)
        if answer is None:
            return None
        answers.append(answer)
    return answers if call.read_back and call.read_back.of_rows else next(iter(answers), None)


async def _make_single_read(ctx: TurnContext, call: PlannedCall, read: ReadBack, results: Mapping[str, Json]) -> Json:
    """The read's answer, all pages of a list; ``[]`` if it is null or there is no such record; None if it fails."""
    reader = ctx.toolbox.find_tool(call.connection_id, read.tool)
    # The class of the reading tool may have changed.
    if reader is None or reader.tool_class is not ToolClass.READ:
        return None
    try:
        arguments = resolve_references(loads_object(read.arguments_json), results)
    except NoSuchPath:
        return None
    try:
        answer = await call_server_once(ctx, reader, arguments, is_read=True)
        if classify_failure(answer) is not None:
            return [] if says_record_absent(answer.content) else None
        return [] if answer.content is None else await _read_all_rows(ctx, call, reader, arguments, answer.content)
    except (ToolUnreachable, ToolSilent) as error:
        ctx.journal.add_event("note", call=call.call_id, problem=f"the read-back did not answer: {error}")
        return None


async def _read_all_rows(ctx: TurnContext, call: PlannedCall, reader: Tool, arguments: JsonObject, first: Json) -> Json:
    """All rows of a list that comes in pages; None if not all can be read, since a part proves nothing."""
    listing = open_paged_list(reader, arguments, first, ctx.limits.lists)
    if listing is None:
        return first
    await listing.read_to_end(lambda following: call_server_once(ctx, reader, following, is_read=True))
    if listing.why_partial:
        ctx.journal.add_event("note", call=call.call_id, problem=f"the read-back came in part: {listing.why_partial}")
        return None
    return listing.merge_rows(first)


async def store_answer(ctx: TurnContext, entry: LedgerEntry, answer: ToolAnswer) -> LedgerEntry:
    """Stores the server's answer; returns the entry.

    It is ``SENT``, or ``DENIED`` for an error, until a read has shown more. If no read can, an error's words decide at
    once (``judge_write``). For an agent's unfinished work see ``store_unfinished_agent_call``.
    """
    if answer.unfinished is not None:
        return await store_unfinished_agent_call(ctx, entry, answer.unfinished)
    if not answer.is_error:
        sent = entry.model_copy(update={"result_json": dumps(answer.content)})
        return await store_status(ctx.journal, sent, WriteStatus.SENT, "the server answered")
    error_text = as_text(answer.content)
    # The protocol, the operator's catalogue or a clear reason may say that nothing was written.
    tool = ctx.toolbox.find_tool(entry.call.connection_id, entry.call.tool)
    by_operator = tool is not None and tool.catalogue.errors_change_nothing
    not_begun = answer.not_begun or by_operator or says_refused(answer.content)
    refused = entry.model_copy(update={"refusal": error_text, "not_begun": not_begun})
    if _can_be_read_back(entry):
        return await store_status(
            ctx.journal, refused, WriteStatus.DENIED, f"the server answered with an error: {error_text}"
        )
    judgement = judge_write(refused, None)
    return await store_status(ctx.journal, refused, judgement.status, judgement.note)


async def store_unfinished_agent_call(
    ctx: TurnContext, entry: LedgerEntry, unfinished: UnfinishedAgentTask
) -> LedgerEntry:
    """Stores the id of the agent's task and its question (``ASKED``); without one the agent works on (``SENDING``).

    Returns the entry as stored.
    """
    agent_before, question = entry.agent or AgentCall(task=""), unfinished.question
    if not question:
        agent = agent_before.model_copy(
            update={"task": unfinished.task_id, "at_work": True, "question": "", "asked_in": ""}
        )
        # Nothing of ours is on its way any more: it may be judged at any time.
        updated = entry.model_copy(update={"agent": agent, "open_until": None})
        return await store_status(ctx.journal, updated, WriteStatus.SENDING, "the agent is at work")
    agent = AgentCall(
        task=unfinished.task_id, question=question, asked_in=ctx.turn.turn_id, replies=agent_before.replies
    )
    updated = entry.model_copy(update={"agent": agent})
    return await store_status(ctx.journal, updated, WriteStatus.ASKED, f"the agent asks: {question}")


async def settle_by_reading(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    """Settles an open write (no answer, an answer without proof, an error) and returns its entry.

    With ``may_resend``, a call without an answer whose server honours the idempotency key comes back as ``RESEND``,
    while sendings are left.
    """
    if is_resent_by_key(entry) and not may_resend:
        reason = (entry.earlier[-1].note if entry.earlier else "") or "no answer came"
        return await store_status(ctx.journal, entry, WriteStatus.IN_DOUBT, f"{reason}; it was not sent again")
    if entry.status is WriteStatus.SENDING:
        await wait_until_call_is_over(ctx.store, ctx.journal, entry)
    elif not entry.waits_for_proof and entry.status is not WriteStatus.DENIED:
        return entry
    after = await _read_state_after(ctx, entry) if _can_be_read_back(entry) else None
    status, note, contradicted, shows_other_value = judge_write(entry, after, get_task_time(ctx).tzinfo or UTC)
    proof = {"proof_json": dumps(after)} if _can_be_read_back(entry) else {}
    judged = entry.model_copy(update={"contradicted": contradicted, "shows_other_value": shows_other_value, **proof})
    is_lost = entry.status is WriteStatus.SENDING and status in DOUBTFUL_STATUSES
    if is_lost and may_resend and entry.idempotency_field and entry.attempt < MOST_SENDS_OF_A_WRITE:
        judged = move_attempt_to_earlier(judged, status, note)
        return await store_status(
            ctx.journal, judged, WriteStatus.RESEND, f"{note}; it is sent again under the same key"
        )
    return await store_status(ctx.journal, judged, status, note)


async def store_status(journal: Journal, entry: LedgerEntry, status: WriteStatus, note: str) -> LedgerEntry:
    """Stores a write's new status and note; returns the entry as stored.

    For a doubt or a question it also stores the time by which somebody has to decide, as long from now as the tenant
    gave when the call went out.
    """
    update: dict[str, object] = {"status": status, "note": note}
    if status in (*DOUBTFUL_STATUSES, WriteStatus.ASKED):
        decide_by = journal.now + timedelta(hours=entry.decide_hours)
        update |= {"doubted_at": journal.now, "decide_by": decide_by}
    settled_entry = entry.model_copy(update=update)
    journal.add_event("write", call=entry.call.call_id, tool=entry.call.tool, status=status.value, note=note)
    await journal.settle_write(settled_entry, entry.status)
    return settled_entry


async def settle_without_reading(store: TurnStore, journal: Journal, reason: str) -> None:
    """Settles writes in flight where no tool server can be asked: none becomes verified, and nothing is guessed."""
    for entry in await list_writes(store):
        status = _status_without_reading(entry)
        if status is not None:
            await wait_until_call_is_over(store, journal, entry)
            note = f"{entry.note or 'no answer came'}, and nothing could be read: {reason}"
            await store_status(journal, entry, status, note)


def is_resent_by_key(entry: LedgerEntry | None) -> bool:
    """Whether the call may be repeated since the server honours the idempotency key, not since an operator said so."""
    return entry is not None and entry.status is WriteStatus.RESEND and entry.operator_decision is None


def judge_before_resend(entry: LedgerEntry, now_json: str, zone: tzinfo = UTC) -> WriteJudgement | None:
    """The judgement on a write that an operator wants sent again, by what a read shows now (``now_json``): verified, if
    it shows the write and did not when the operator decided; in doubt, if it shows it and no read had an answer then.
    None if the write may be sent, or no operator wants it.
    """
    if entry.status is not WriteStatus.RESEND or entry.operator_decision is None:
        return None
    shown_at_decision = (text for text in (entry.proof_json, entry.before_json) if text not in (None, dumps(None)))
    seen_json = next(shown_at_decision, None)
    if seen_json is None:
        is_shown = was_shown_before(entry.model_copy(update={"before_json": now_json}), zone)
        note = "a read shows it by now, and none had an answer when the operator spoke"
        return WriteJudgement(WriteStatus.IN_DOUBT, note) if is_shown else None
    seen_entry = entry.model_copy(update={"before_json": seen_json})
    judgement = judge_unanswered_write(_evidence_of_write(seen_entry, loads(now_json), zone))
    return judgement if judgement.status is WriteStatus.VERIFIED else None


def _may_have_taken_effect_before(entry: LedgerEntry) -> bool:
    """Whether an earlier sending may have taken effect, and no operator has decided about it."""
    spoken_of = {word.doubt for word in entry.resolutions}
    return any(f"{entry.key}:{attempt.number}" not in spoken_of for attempt in entry.earlier)


def _status_without_reading(entry: LedgerEntry) -> WriteStatus | None:
    """The status of an open write that cannot be read back; None for one that is not open."""
    if entry.waits_for_proof or entry.status is WriteStatus.DENIED:
        return judge_write(entry, None).status
    is_open = entry.status in (WriteStatus.SENDING, WriteStatus.ASKED) or is_resent_by_key(entry)
    return WriteStatus.IN_DOUBT if is_open else None


async def wait_until_call_is_over(store: TurnStore, journal: Journal, entry: LedgerEntry) -> None:
    """Waits until the call's time has passed by the store's clock; the heartbeat keeps the lease alive meanwhile."""
    journal.update_time(await store.get_stop_state())
    if entry.open_until is not None:
        await asyncio.sleep(max(0.0, (entry.open_until - journal.now).total_seconds()))
    journal.update_time(await store.get_stop_state())


def _can_be_read_back(entry: LedgerEntry) -> bool:
    return entry.call.tool_class is ToolClass.CHANGE and entry.call.read_back is not None
