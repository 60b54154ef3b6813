"""The answer of a dry run: the plan that a real run would carry out, and what that plan leaves out."""

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from services.executor.core.plan.draft import Omission
from services.executor.core.reflect.outcome import describe_verdict
from services.executor.core.session.dossier import Progress
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import JsonObject, dumps, loads_object, to_i_json

DRY_RUN_KEY = "dry_run"  # in a task's metadata
_OMISSIONS_KEY = "not_planned"  # in a task's metadata and in the plan's artifact
_PLAN_TABLE_HEAD = "| # | call | arguments | kind | proved by | if it fails |\n|---|---|---|---|---|---|"


def with_plan_as_answer(progress: Progress, approvers: str | None, omissions: Sequence[Omission]) -> Progress:
    """A dry run's progress, its plan as the answer. ``approvers``: who would have to approve it; None if nobody."""
    visited = progress.visited[:-1] or progress.visited
    note = f"a real run would wait for {approvers}" if approvers else "a real run would wait for nobody"
    dossier = progress.dossier
    answer = _describe_plan(dossier.present_plan, dossier.verdict, note, omissions)
    listed: list[JsonValue] = [{"what": omission.what, "reason": omission.reason} for omission in omissions]
    progress = progress.add_notes(**{_OMISSIONS_KEY: listed}) if listed else progress
    return progress.model_copy(update={"visited": visited}).update_dossier(answer=answer, approval_note=note)


def list_dry_run_artifacts(record: TaskRecord, progress: Progress | None) -> tuple[Artifact, ...]:
    """The plan of a dry run as a data artifact; empty for other runs."""
    if not record.request.is_dry_run or progress is None or progress.dossier.plan is None:
        return ()
    dossier, plan = progress.dossier, progress.dossier.plan
    data: JsonObject = {
        "plan_hash": plan.hash,
        "calls": [_describe_call(call) for call in plan.calls],
        "approval": dossier.approval_note,
    }
    others: dict[str, JsonValue] = {
        "verdict": dossier.verdict.model_dump(mode="json", by_alias=True) if dossier.verdict else None,
        _OMISSIONS_KEY: progress.notes.get(_OMISSIONS_KEY, []),
    }
    return (Artifact(name="plan", data={**cast("dict[str, JsonValue]", to_i_json(data)), **others}),)


def _describe_plan(plan: WritePlan, verdict: Verdict | None, note: str, omissions: Sequence[Omission]) -> str:
    return "\n".join(
        [
            "Dry run: nothing was written and nobody was told. The plan:",
            "",
            _PLAN_TABLE_HEAD,
            *(_format_call_row(call) for call in plan.calls),
            "",
            *(f"Not in this plan: {omission.what}: {omission.reason.rstrip('.')}." for omission in omissions),
            describe_verdict(verdict) if verdict else "Policy: no rule was asked.",
            f"Approval: {note.rstrip('.')}.",
        ]
    )


def _format_call_row(call: PlannedCall) -> str:
    arguments = ", ".join(f"{name}={dumps(value)}" for name, value in call.arguments.items())
    proof = call.read_back.tool if call.read_back else "-"
    cells = (call.call_id, call.tool, arguments, call.tool_class.value, proof, call.on_failure)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _describe_call(call: PlannedCall) -> JsonObject:
    read_back = call.read_back
    return {
        "call_id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "class": call.tool_class.value,
        "arguments": call.arguments,
        "read_back": {"tool": read_back.tool, "arguments": loads_object(read_back.arguments_json)}
        if read_back
        else None,
        "on_failure": call.on_failure,
        "compensation": _describe_call(call.compensation) if call.compensation else None,
    }
