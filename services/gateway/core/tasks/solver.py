"""The solver endpoint's request and response, as seed 001 writes them."""

from typing import NamedTuple, cast

from pydantic import JsonValue

from services.gateway.core.errors import InvalidField
from services.gateway.core.fields import kind_of, list_at, required_id, text_at
from services.gateway.core.tasks.answers import Format, answers_in, asks_for_an_order
from services.gateway.core.tasks.message import ClientMessage, policy_document
from services.gateway.core.tasks.policy_shape import refuse_unreadable
from shared.contracts.task import PriorTurn, SolverRequest, TaskRecord
from shared.domain.exact_json import Json, JsonObject, digest
from shared.domain.words import Dialect, TaskState

_FORMATS = ("list", "single", "json")
_ROLES = ("user", "assistant")


class Ask(NamedTuple):
    """One request. ``message`` is what the desk takes in; its session is named after the request's content."""

    task_id: str
    wanted: Format
    message: ClientMessage


def read_solver(body: JsonObject) -> Ask:
    """The request in a body; raises ``InvalidField``."""
    task_id = required_id(body, "task_id", "task_id")
    task = _required_text(body, "task")
    context = text_at(body, "context", "context")
    wanted = _format(body)
    solver = SolverRequest(history=_history(body), expected_format=wanted)
    policy = body.get("policy_doc")
    refuse_unreadable(policy, "policy_doc")
    message = ClientMessage(
        dialect=Dialect.LEGACY,
        task_id=task_id,
        session_id=f"solver-{digest(body)[:32]}",
        message_id=None,
        text=f"{task}\n\n{context}" if context else task,
        data=(),
        policy_doc=policy_document(policy, "policy_doc"),
        tools_endpoint=None,
        metadata={},
        solver=solver,
    )
    return Ask(task_id, wanted, message)


def solver_view(ask: Ask, record: TaskRecord) -> dict[str, JsonValue]:
    """The response of a task that has ended; what was not answered has no answers."""
    said = record.answer if record.state is TaskState.COMPLETED else None
    ordered = asks_for_an_order(ask.message.text)
    answers = answers_in(said or "", ask.wanted, in_given_order=ordered)
    return {"task_id": ask.task_id, "answers": list(answers), "metadata": _metadata(record)}


def status_of(record: TaskRecord) -> int:
    """200 for an answer or a refusal by policy, 202 while it is open, 502 if a model or server failed, else 500.

    What is known when a budget is spent is no answer to the question.
    """
    if not record.state.is_terminal:
        return 202 if record.state is TaskState.INPUT_REQUIRED else 504
    if record.metadata.get("partial"):
        return 500
    if record.state in (TaskState.COMPLETED, TaskState.REJECTED):
        return 200
    return 502 if record.metadata.get("failed_part") else 500


def _metadata(record: TaskRecord) -> dict[str, JsonValue]:
    checked, memory = _object(record, "text_policy"), _object(record, "memory")
    violations = list(cast("list[JsonValue]", checked.get("violations", [])))
    if record.state is TaskState.REJECTED and record.reason:
        violations.append(record.reason)
    unenforced = record.metadata.get("policy_unenforced")
    return {
        **({"policy_unenforced": unenforced} if unenforced else {}),
        "policy_compliant": checked.get("compliant", True) is True and not violations,
        "policy_violations": violations,
        "applied_rules": checked.get("applied_rules", []),
        "memory_compressed": memory.get("compressed", False),
        "memory_summary": memory.get("summary"),
    }


def _object(record: TaskRecord, name: str) -> dict[str, JsonValue]:
    value = record.metadata.get(name)
    return value if isinstance(value, dict) else {}


def _required_text(body: JsonObject, key: str) -> str:
    text = text_at(body, key, key)
    if text is None or not text.strip():
        raise InvalidField(key, "is required and must not be empty")
    return text


def _format(body: JsonObject) -> Format:
    value = text_at(body, "expected_format", "expected_format")
    if value is None:
        return "list"
    if value not in _FORMATS:
        raise InvalidField("expected_format", f"must be one of {', '.join(_FORMATS)}")
    return cast(Format, value)


def _history(body: JsonObject) -> tuple[PriorTurn, ...]:
    if body.get("history") is None:
        return ()
    return tuple(_turn(item, f"history.{index}") for index, item in enumerate(list_at(body, "history", "history")))


def _turn(item: Json, path: str) -> PriorTurn:
    if not isinstance(item, dict):
        raise InvalidField(path, f"must be an object, not {kind_of(item)}")
    role, content = text_at(item, "role", f"{path}.role"), text_at(item, "content", f"{path}.content")
    if role not in _ROLES:
        raise InvalidField(f"{path}.role", f"must be one of {', '.join(_ROLES)}")
    if content is None:
        raise InvalidField(f"{path}.content", "is required")
    return PriorTurn.model_validate({"role": role, "content": content})
