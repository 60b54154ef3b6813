"""What the MCP server's tools take: one model a tool, which is its input schema as well."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

_ID = Field(min_length=1, max_length=256)


class ToolCall(BaseModel):
    """``name``: the tool's. ``reads``: it changes nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: ClassVar[str]
    about: ClassVar[str]
    reads: ClassVar[bool] = False


class SendTask(ToolCall):
    name = "send_task"
    about = (
        "Give the agent a task in plain words, or a message in a task that waits for input. It may read and change "
        "business records through its tenant's tools; what needs an approval waits for one."
    )

    text: str = Field(min_length=1, description="the task, with all that it needs")
    idempotency_key: str | None = Field(
        default=None, min_length=1, max_length=256, description="two calls with the same key are one task"
    )
    session_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="the session that it belongs to; a new one without",
    )
    task_id: str | None = Field(
        default=None, min_length=1, max_length=256, description="the task that is answered, where it waits for input"
    )
    wait: bool = Field(
        default=True, description="whether to wait, for a while, until the task ends or asks; else look with get_task"
    )


class GetTask(ToolCall):
    name = "get_task"
    about = "How a task stands: its state, answer or question, its writes with their proof, and what it waits for."
    reads = True

    task_id: str = _ID


class ListTasks(ToolCall):
    name = "list_tasks"
    about = "The tasks that the caller may see, the last changed first."
    reads = True

    session_id: str | None = Field(default=None, min_length=1, max_length=256)
    page_size: int = Field(default=20, ge=1, le=100)
    page_token: str = ""


class ListApprovals(ToolCall):
    name = "list_approvals"
    about = "The approvals that wait, the nearest deadline first: calls, reasons, and whether the caller may decide."
    reads = True


class DecideApproval(ToolCall):
    name = "decide_approval"
    about = (
        "Approve or reject the calls of one approval, as list_approvals shows it. It takes an approver's key; nobody "
        "approves what they asked for themselves."
    )

    approval_id: str = _ID
    decision: Literal["approve", "reject"]
    comment: str = Field(default="", max_length=2000)


CALLS: tuple[type[ToolCall], ...] = (SendTask, GetTask, ListTasks, ListApprovals, DecideApproval)
