"""Tasks as the console lists and shows them."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from services.gateway.features.console.views import formatting
from services.gateway.features.tasks.views import build_answer_text
from services.gateway.features.webhooks.model import RegisteredWebhook
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import JsonObject, as_object, objects_in, to_exact
from shared.domain.words import DoubtResolutionKind, TaskState

RESOLUTION_CHOICES = (
    (DoubtResolutionKind.DONE, "It took hold", "The plan goes on; the write counts as made."),
    (DoubtResolutionKind.RETRY, "It did not: send it again", "The same call goes out once more."),
    (DoubtResolutionKind.SKIP, "Leave it undone", "The plan goes on without it."),
    (DoubtResolutionKind.TAKE_OVER, "I take over", "The task ends; a person does the rest."),
)


class WriteInDoubt(NamedTuple):
    """A write of which it is unknown whether it took hold, as an operator sees it."""

    call_id: str
    title: str
    tool: str
    arguments: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    deadline: datetime | None


def list_writes_in_doubt(record: TaskRecord) -> tuple[WriteInDoubt, ...]:
    """The writes that an operator has to resolve; empty if the task does not wait for that."""
    is_waiting = record.state is TaskState.INPUT_REQUIRED
    return tuple(map(_build_write_in_doubt, objects_in(record.metadata.get("doubts")))) if is_waiting else ()


def _build_write_in_doubt(doubt: JsonObject) -> WriteInDoubt:
    tool = str(doubt.get("tool") or "a call")
    labels = (
        ("note", "What is known"),
        ("sent", "Sent"),
        ("waited_until", "Waited for until"),
        ("answered", "It answered"),
        ("before", "Read before"),
        ("after", "Read after"),
    )
    return WriteInDoubt(
        call_id=str(doubt.get("call_id") or ""),
        title=formatting.humanize_name(tool),
        tool=tool,
        arguments=formatting.field_rows(to_exact(doubt.get("arguments"))),
        facts=tuple((label, formatting.format_json(to_exact(doubt[key]))) for key, label in labels if doubt.get(key)),
        deadline=formatting.parse_time_or_none(doubt.get("deadline")),
    )


WRITE_BADGES = {
    "verified": formatting.Badge("Verified", "good"),
    "unverified": formatting.Badge("Not verified", "warn"),
    "sending": formatting.Badge("Being sent", "info"),
    "sent": formatting.Badge("Sent", "info"),
    "refused": formatting.Badge("Refused", "bad"),
    "denied": formatting.Badge("Refused", "bad"),
    "absent": formatting.Badge("Not found", "bad"),
    "in_doubt": formatting.Badge("In doubt", "bad"),
    "skipped": formatting.Badge("Skipped", "mute"),
    "unsent": formatting.Badge("Not sent", "mute"),
}
DRY_RUN_REMARK = "Dry run: nothing is written."


class TaskFilter(NamedTuple):
    """A choice of task states by which the list of tasks can be filtered."""

    name: str
    text: str
    states: tuple[TaskState, ...]


RUNNING_STATES = (TaskState.SUBMITTED, TaskState.WORKING)
BAD_END_STATES = (TaskState.FAILED, TaskState.REJECTED)
TASK_FILTERS = (
    TaskFilter("all", "All", tuple(TaskState)),
    TaskFilter("waiting", "Waiting", (TaskState.INPUT_REQUIRED,)),
    TaskFilter("running", "Running", RUNNING_STATES),
    TaskFilter("completed", "Completed", (TaskState.COMPLETED,)),
    TaskFilter("failed", "Failed or rejected", BAD_END_STATES),
    TaskFilter("canceled", "Canceled", (TaskState.CANCELED,)),
)


class FileRow(NamedTuple):
    """A file that came with the task. ``file_id``: empty if the file is not stored."""

    name: str
    description: str
    file_id: str


class TaskPage(NamedTuple):
    """What a task's page shows in addition to its record. ``brief``: the main facts in one line."""

    answer: str
    facts: tuple[tuple[str, str, str], ...]
    brief: str
    files: tuple[FileRow, ...]
    asks: str  # the approval that the task waits for


def find_task_filter(name: str) -> TaskFilter:
    return next((task_filter for task_filter in TASK_FILTERS if task_filter.name == name), TASK_FILTERS[0])


def remark_on_task(record: TaskRecord) -> str:
    """Why the task failed, was rejected or canceled, in one line; else whether it is a dry run; else empty."""
    if record.state in BAD_END_STATES or record.state is TaskState.CANCELED:
        return (record.reason or "").partition("\n")[0]
    return DRY_RUN_REMARK if record.request.is_dry_run else ""


def build_task_page(record: TaskRecord, now: datetime) -> TaskPage:
    answer = build_answer_text(record) if record.state.is_terminal else None
    asks = record.metadata.get("approval_id")
    facts = tuple(_build_fact_rows(record, now))
    return TaskPage(
        answer=answer.text if answer else "",
        facts=facts,
        brief=" · ".join(filter(None, ("dry run" if record.request.is_dry_run else "", _summarize_facts(facts)))),
        files=tuple(_build_file_rows(record)),
        asks=asks if record.state is TaskState.INPUT_REQUIRED and isinstance(asks, str) else "",
    )


def _build_file_rows(record: TaskRecord) -> Iterator[FileRow]:
    """Yields the files that were sent with the task, with type, size, and the problem if one could not be read."""
    read_files = objects_in(record.metadata.get("files"))
    for index, file in enumerate(record.request.files):
        row = read_files[index] if index < len(read_files) else {}
        kind, size = row.get("type") or file.media_type, row.get("bytes") or file.size
        size_text = f"{size:,} bytes" if isinstance(size, int) else ""
        problem = f"not read: {row['problem']}" if row.get("problem") else ""
        description = " · ".join(filter(None, (str(kind or ""), size_text, problem)))
        yield FileRow(file.shown_name, description, str(row.get("file_id") or file.file_id))


def delivery_badge(registered: RegisteredWebhook) -> formatting.Badge:
    if registered.progress.disabled:
        return formatting.Badge("Given up", "bad")
    return formatting.Badge("Failing", "warn") if registered.progress.tries else formatting.Badge("Told", "good")


def artifact_text(artifact: Artifact) -> str:
    data = formatting.format_json(to_exact(artifact.data)) if artifact.data is not None else ""
    return "\n\n".join(filter(None, (artifact.text, data)))


def format_nanos_as_dollars(nanos: int) -> str:
    """Format nano-dollars as dollars: to the cent, or with more digits for less than a cent."""
    amount = Decimal(nanos) / 1_000_000_000
    if amount == 0 or amount >= Decimal("0.01"):
        return f"${amount:,.2f}"
    return f"${amount:.2g}" if amount < Decimal("0.0001") else f"${amount:.4f}"


def _build_fact_rows(record: TaskRecord, now: datetime) -> list[tuple[str, str, str]]:
    """Facts about the task as (name, value, remark); unknown ones are left out."""
    data, spend = record.metadata, as_object(record.metadata.get("spend"))
    verdict = as_object(data.get("verdict"))
    rules = [str(rule.get("ruleId")) for rule in objects_in(verdict.get("triggeredRules"))]
    until = record.updated_at if record.state.is_terminal else now
    facts = [
        ("Process", process_title(record), ""),
        (
            "Strategy",
            formatting.strategy_title(formatting.text_or_empty(data.get("strategy"))),
            formatting.text_or_empty(data.get("strategy_why")),
        ),
        ("Took" if record.state.is_terminal else "So far", format_duration(until - record.accepted_at), ""),
        ("Cost", _format_money(spend.get("dollars")), _prefix_if_set("limit $", spend.get("dollar_limit"))),
        (
            "Tokens",
            _format_number(spend.get("tokens")),
            _prefix_if_set("limit ", _format_number(spend.get("token_limit"))),
        ),
        ("Model calls", _format_number(data.get("model_calls")), ""),
        ("Tool calls", _format_number(data.get("tool_calls")), ""),
        ("Policy", verdict_badge(verdict).text if verdict else "", ", ".join(rules)),
        ("Approval", formatting.text_or_empty(data.get("approval")), ""),
        ("Quality", _format_number(data.get("quality")), "of 1"),
    ]
    return [fact for fact in facts if fact[1]]


def _summarize_facts(facts: Sequence[tuple[str, str, str]]) -> str:
    """The main facts in one line: process, time, cost, quality."""
    values = {name: value for name, value, _ in facts}
    words = (values.get("Process"), values.get("Took") or values.get("So far"), values.get("Cost"))
    quality = f"quality {values['Quality']}" if "Quality" in values else ""
    return " · ".join(word for word in (*words, quality) if word)


def format_duration(length: timedelta) -> str:
    seconds = length.total_seconds()
    return f"{seconds:.1f} s" if 0 <= seconds < 60 else formatting.duration_words(length)


def verdict_badge(verdict: JsonObject) -> formatting.Badge:
    if verdict.get("blocked"):
        return formatting.Badge("Blocked", "bad")
    if verdict.get("escalate"):
        return formatting.Badge("Escalates", "warn")
    if verdict.get("requiresApproval"):
        return formatting.Badge("Asks for approval", "warn")
    return formatting.Badge("Allowed", "good") if verdict.get("passed") else formatting.Badge("Not passed", "bad")


def process_title(record: TaskRecord) -> str:
    """The kind of process; empty while it is not known."""
    return formatting.humanize_name(formatting.text_or_empty(record.metadata.get("process_type")))


def _format_number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:,}"


def _format_money(value: object) -> str:
    try:
        return format_nanos_as_dollars(int(Decimal(value) * 1_000_000_000)) if isinstance(value, str) else ""
    except InvalidOperation:
        return ""


def _prefix_if_set(words: str, value: object) -> str:
    return f"{words}{value}" if value else ""
