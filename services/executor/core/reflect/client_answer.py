"""What clients are shown of a task: the answer with its additions, and the writes one by one."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from pydantic import JsonValue

from services.executor.core.session.context import AnswerRules
from services.executor.core.session.dossier import RunEnd, describe_verdict
from services.executor.core.session.ledger import (
    describe_doubt,
    describe_write,
    list_open_doubts,
    list_operator_decisions,
)
from services.executor.core.session.values import list_parts_to_do
from services.executor.core.states.machine import NOTHING_WRITTEN_TEXT
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Verdict
from shared.contracts.task import TaskRecord
from shared.domain.answer import is_json_list
from shared.domain.exact_json import to_i_json
from shared.domain.quality import Score
from shared.domain.words import TaskState, WriteStatus

_STATUS_IN_WORDS: dict[WriteStatus, str] = {
    WriteStatus.SENDING: "in doubt",
    WriteStatus.SENT: "sent",
    WriteStatus.DENIED: "refused, and not checked",
    WriteStatus.VERIFIED: "verified",
    WriteStatus.UNVERIFIED: "unverified",
    WriteStatus.REFUSED: "failed",
    WriteStatus.UNSENT: "not sent",
    WriteStatus.ABSENT: "not applied as far as a read can show, and not repeated",
    WriteStatus.IN_DOUBT: "in doubt, and not repeated",
    WriteStatus.RESEND: "not sent again",
    WriteStatus.ASKED: "waiting for an answer to what its agent asks",
    WriteStatus.SKIPPED: "left undone",
}
_PROCESS_FOOTER_PATTERN = re.compile(r"\n\n\[Process: [^\n]*\]\Z")


def compose_answer(record: TaskRecord, run_end: RunEnd, now: datetime, rules: AnswerRules, score: Score) -> str:
    """The answer with what is added below it: the writes, and for a completed task also rules and footer (not in a dry
    run or for the solver). If a task that was to act has ended without a write, that is said.
    """
    is_read_by_people = not record.request.is_dry_run and record.request.solver is None
    is_completed = is_read_by_people and run_end.state is TaskState.COMPLETED
    dossier = run_end.final_progress.dossier
    has_ended = run_end.state in (TaskState.COMPLETED, TaskState.FAILED)
    had_to_act = is_read_by_people and has_ended and bool(list_parts_to_do(dossier.parts))
    footer = _write_footer(record, run_end, now, score) if rules.footer and is_completed else ""
    verdict = dossier.verdict if is_completed and not run_end.is_escalated else None
    return append_writes_to_answer(run_end.answer, run_end.writes, verdict, footer, had_to_act=had_to_act)


def _write_footer(record: TaskRecord, run_end: RunEnd, now: datetime, score: Score) -> str:
    """A last line about the run: its process, whether the policy passed, its score and its duration."""
    verdict, process = run_end.final_progress.dossier.verdict, run_end.final_progress.process_type
    policy = "N/A" if verdict is None else "PASSED" if verdict.passed else "FAILED"
    duration_ms = round((now - record.accepted_at).total_seconds() * 1000)
    return f"[Process: {process} | Policy: {policy} | Quality: {score.value:.2f} | Duration: {duration_ms} ms]"


def append_writes_to_answer(
    text: str,
    writes: Sequence[LedgerEntry],
    verdict: Verdict | None = None,
    footer: str = "",
    *,
    had_to_act: bool = False,
) -> str:
    """The answer for the client: prose with rules, writes and footer; a JSON list unchanged.

    ``had_to_act``: whether the task had a part to be done, so that an answer without writes says so.
    """
    if is_json_list(text):
        return text
    remark = NOTHING_WRITTEN_TEXT if had_to_act and not writes and NOTHING_WRITTEN_TEXT not in text else ""
    policy = describe_verdict(verdict) if verdict and verdict.reasons else ""
    blocks = [policy, _describe_writes(writes) or remark, footer]
    additions = [block for block in blocks if block]
    return "\n\n".join([text.rstrip(), *additions]) if additions else text


def without_footer(answer: str) -> str:
    """The answer without its footer, whose duration differs from run to run."""
    return _PROCESS_FOOTER_PATTERN.sub("", answer)


def _describe_writes(writes: Sequence[LedgerEntry]) -> str:
    lines = ["Writes:"]
    for entry in writes:
        status = _STATUS_IN_WORDS[entry.status]
        lines.append(f"- {entry.call.tool} {entry.arguments_json}: {status} ({entry.note})")
    return "\n".join(lines) if writes else ""


def describe_ledger_for_clients(entries: Sequence[LedgerEntry]) -> dict[str, JsonValue]:
    """The writes with their outcomes, those in doubt, and the operators' decisions, for the task's metadata."""
    return {
        "writes": [
            cast(JsonValue, to_i_json({**describe_write(entry), "compensates": entry.compensates})) for entry in entries
        ],
        "doubts": [cast(JsonValue, to_i_json(describe_doubt(entry))) for entry in list_open_doubts(entries)],
        "resolutions": cast("list[JsonValue]", to_i_json(list_operator_decisions(entries))),
    }
