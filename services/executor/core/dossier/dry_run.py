"""A dry run: everything but writes and notices, with the plan as the answer."""

from typing import cast

from pydantic import JsonValue

from services.executor.core.dossier.dossier import Progress
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import JsonObject, dumps, i_json, loads_object
from shared.domain.words import FsmState

KEY = "dry_run"
_UNREACHED = (FsmState.APPROVAL_GATE, FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)
_HEAD = "| # | call | arguments | kind | proved by | if it fails |\n|---|---|---|---|---|---|"


def is_dry_run(record: TaskRecord) -> bool:
    """Whether the request asks for one. Whatever is not plainly no means yes: then nothing is written."""
    return record.request.metadata.get(KEY) not in (None, False)


def as_answer(progress: Progress, needed: str | None) -> Progress:
    """The progress with its plan as the answer, as it stood before the state that a dry run does not enter.

    ``needed``: who would have to approve and why; None if nobody.
    """
    visited = progress.visited[:-1] or progress.visited
    note = f"a real run would wait for {needed}" if needed else "a real run would wait for nobody"
    dossier = progress.dossier
    answer = _describe_plan(dossier.plan or WritePlan(task_id=""), dossier.verdict, note)
    return progress.model_copy(update={"visited": visited}).update_dossier(answer=answer, approval_note=note)


def artifacts(record: TaskRecord, progress: Progress | None) -> tuple[Artifact, ...]:
    """The plan as data, where a dry run has one."""
    if not is_dry_run(record) or progress is None or progress.dossier.plan is None:
        return ()
    dossier, plan = progress.dossier, progress.dossier.plan
    data: JsonObject = {
        "plan_hash": plan.hash,
        "calls": [_call(call) for call in plan.calls],
        "why_none": plan.why_none,
        "approval": dossier.approval_note,
    }
    verdict = dossier.verdict.model_dump(mode="json", by_alias=True) if dossier.verdict else None
    return (Artifact(name="plan", data={**cast("dict[str, JsonValue]", i_json(data)), "verdict": verdict}),)


def _describe_plan(plan: WritePlan, verdict: Verdict | None, note: str) -> str:
    rows = [_row(call) for call in plan.calls]
    parts = ["Dry run: nothing was written and nobody was told. The plan:", "", _HEAD, *rows, "", _policy(verdict)]
    return "\n".join([*parts, f"Approval: {note.rstrip('.')}."])


def _row(call: PlannedCall) -> str:
    arguments = ", ".join(f"{name}={dumps(value)}" for name, value in call.arguments.items())
    proof = call.read_back.tool if call.read_back else "-"
    cells = (call.call_id, call.tool, arguments, call.tool_class.value, proof, call.on_failure)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _policy(verdict: Verdict | None) -> str:
    if verdict is None:
        return "Policy: no rule was asked."
    rules = "; ".join(dict.fromkeys(f"{rule.rule_id}: {rule.reason}" for rule in verdict.triggered_rules))
    word = "passed" if verdict.passed else "not passed"
    return f"Policy: {word}. {rules}" if rules else f"Policy: {word}."


def _call(call: PlannedCall) -> JsonObject:
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
        "compensation": _call(call.compensation) if call.compensation else None,
    }
