"""``POST /api/a2a/purple-agent``: a task and its answers in one plain HTTP call.

It answers only when the task has ended: idle time-outs of proxies must exceed ``BLOCKING_LIMIT``.
"""

import re
from collections.abc import Iterator
from typing import Literal, cast

import structlog
from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse

from services.gateway.edge.errors import GatewayRefusal, InvalidField, TaskHasEnded
from services.gateway.edge.fields import BadCall, list_at, read_json_object_body, require_type, required_id_at, text_at
from services.gateway.edge.replies import INTERNAL_ERROR_TEXT, build_error_reply
from services.gateway.features.identity.middleware import get_identified_caller
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.tasks.intake import derive_caller_scoped_id
from services.gateway.features.tasks.message import ClientMessage, convert_policy_document, normalize_field_spelling
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import build_answer_text
from shared.contracts.policy_document import BadPolicyDocument, parse_rules, parse_rules_in_text
from shared.contracts.task import PriorTurn, SolverRequest, TaskRecord
from shared.domain.answer import is_json_list
from shared.domain.exact_json import EXACT_DECODER, Json, JsonObject, as_object, as_text, digest, dumps, loads
from shared.domain.words import A2aVersion, TaskState
from shared.ports.store import StoreUnavailable


def _require_valid_policy_document(document: Json, path: str) -> None:
    """Raises ``InvalidField`` for a policy document with invalid rules, also in a text; prose is accepted."""
    try:
        rules = parse_rules_in_text(document) if isinstance(document, str) else document
        if rules and isinstance(rules, dict | list):
            parse_rules(rules, "request")
    except BadPolicyDocument as error:
        raise InvalidField(".".join(filter(None, (path, error.field))), error.problem) from error


SolverAnswerFormat = Literal["list", "single", "json"]

_ITEM_LINE_PATTERN = re.compile(r"^[^\S\n]*(?:[-*•‣]|\(?\d{1,3}[.)])\s+(?P<item>\S(?:.*\S)?)", re.MULTILINE)
_LIST_SEPARATOR_PATTERN = re.compile(r";|,(?!\d{3}(?!\d))")  # the comma of 5,000 separates nothing
_ORDERING_PHRASE_PATTERN = re.compile(
    r"\bin (?:(?:the|this|that|a) )?(?:(?:a|de)scending|(?:in|de)creasing|\w+ical|numeric|reverse|given|same|original"
    r"|right|correct|date|size|following) order\b"
    r"|\b(?:order|sort|rank)(?:ed)? (?:them )?by\b|\brank(?:ed|ing)?\b|\bchronological(?:ly)?\b"
    r"|\b(?:a|de)scending\b|\bin sequence\b|\bstep[- ]by[- ]step\b"
    r"|\b(?:earliest|latest|oldest|newest|largest|smallest|highest|lowest) first\b",
    re.IGNORECASE,
)
_REFUSAL_PHRASE_PATTERN = re.compile(  # says by itself that there is no answer
    r"\b(?:sorry|apolog\w+|unfortunately|unable to|not able to|cannot|can't|can not|could not|couldn't|won't|will not"
    r"|did not|didn't|failed to|not possible|nothing (?:more )?was|timed out|against (?:the |our )?polic\w+)\b"
    r"|\b(?:request|task|question|access|permission|call|change|write|this|that|it) (?:was|is|has been|were|are)"
    r" (?:\w+ )?(?:refused|rejected|denied|declined|blocked|forbidden|prohibited|not \w+)\b"
    r"|^(?:access|permission|request|task) (?:denied|refused|rejected|declined|failed|blocked)\b"
    r"|^(?:no (?:access|answer|permission|result|data)|not (?:allowed|permitted|authori[sz]ed|available))\b"
    r"|^(?:error|failure|failed|refused|rejected|denied|blocked)\s*[:.!-]",
    re.IGNORECASE,
)
_AMBIGUOUS_REFUSAL_WORD_PATTERN = re.compile(  # may be one of several words of a refusal, or a state of something
    r"\b(?:refus\w+|reject\w+|den(?:y|ied|ies)|declin\w+|forbidden|prohibited|blocked|fail\w*|errors?|unavailable"
    r"|violat\w+|no (?:access|answer|permission|result|data)|not (?:allowed|permitted|authori[sz]ed|available|possible)"
    r"|(?:needed|required|timeout|unanswered))\b",
    re.IGNORECASE,
)
_MOST_BRACKETS = 100  # brackets of a text that are looked at


def asks_for_certain_order(task: str) -> bool:
    """Whether the task's text asks for answers in a certain order, so that they must not be sorted."""
    return _ORDERING_PHRASE_PATTERN.search(task) is not None


def extract_answers(text: str, answer_format: SolverAnswerFormat, *, keeps_order: bool) -> tuple[str, ...]:
    """Extract the answers from a text; sorted alphabetically unless ``keeps_order``; empty if there are none."""
    answers = tuple(filter(None, (item.strip() for item in _find_answers(text.strip(), answer_format))))
    return answers if keeps_order else tuple(sorted(answers, key=lambda item: (item.casefold(), item)))


def _find_answers(text: str, answer_format: SolverAnswerFormat) -> tuple[str, ...]:
    match answer_format, _parse_json(text):
        case "single", [only]:
            return (as_text(only),)
        case "single", _:
            return (text,)
        case "json", list(values):
            return tuple(map(as_text, values))
        case "json", dict(value):
            return (dumps(value),)
        case _:
            return _list_answer_items(text)


def _list_answer_items(text: str) -> tuple[str, ...]:
    """The items of a JSON array, else of a numbered or bulleted list, else the parts between commas or semicolons."""
    array = _find_answer_array(text)
    if array is not None:
        return tuple(map(as_text, array))
    items = tuple(_ITEM_LINE_PATTERN.finditer(text))
    if items and _REFUSAL_PHRASE_PATTERN.search(text[: items[0].start()].replace("’", "'").strip()):
        return (text,)
    return tuple(match["item"] for match in items) or _split_at_separators(text)


def _split_at_separators(text: str) -> tuple[str, ...]:
    if "\n" in text or _is_refusal(text):
        return (text,)
    return tuple(_LIST_SEPARATOR_PATTERN.split(text))


def _is_refusal(text: str) -> bool:
    """Whether a text says why there is no answer; it is then one answer, even if it contains commas.

    Words that may also be states ("Rejected, Approved") count only if most parts of the text contain one.
    """
    normalized = text.replace("’", "'").strip()
    parts = [part.strip() for part in _LIST_SEPARATOR_PATTERN.split(normalized) if part.strip()]
    refusing = sum(_AMBIGUOUS_REFUSAL_WORD_PATTERN.search(part) is not None for part in parts)
    return _REFUSAL_PHRASE_PATTERN.search(parts[0] if parts else "") is not None or 2 * refusing > len(parts)


def _find_answer_array(text: str) -> list[Json] | None:
    """The text as a JSON array, else the first array in it with a string, else None (``[1]`` is a footnote)."""
    value = _parse_json(text)
    if isinstance(value, list):
        return value
    return next((array for array in _find_json_arrays(text) if any(isinstance(item, str) for item in array)), None)


def _find_json_arrays(text: str) -> Iterator[list[Json]]:
    start = text.find("[")
    for _ in range(_MOST_BRACKETS):
        if start < 0:
            return
        array, end = _decode_array_at(text, start)
        if array is not None:
            yield array
        start = text.find("[", end)


def _decode_array_at(text: str, start: int) -> tuple[list[Json] | None, int]:
    try:
        end = EXACT_DECODER.raw_decode(text, start)[1]
        return cast("list[Json]", loads(text[start:end])), end
    except (ValueError, RecursionError):
        return None, start + 1


def _parse_json(text: str) -> Json:
    try:
        return loads(text)
    except ValueError:
        return None


_FORMAT_NAMES = ("list", "single", "json")
_TURN_ROLES = ("user", "assistant")


def parse_solver_message(body: JsonObject) -> ClientMessage:
    """Parse the body of a request to the solver endpoint; raises ``InvalidField``.

    The message's session id derives from its content.
    """
    task_id = required_id_at(body, "task_id")
    task = _read_required_text(body, "task")
    context = text_at(body, "context")
    solver = SolverRequest(history=_read_history(body), expected_format=_parse_answer_format(body))
    policy = normalize_field_spelling(body, "body").get("policy_doc")
    _require_valid_policy_document(policy, "policy_doc")
    return ClientMessage(
        dialect=A2aVersion.LEGACY,
        task_id=task_id,
        session_id=f"solver-{digest(body)[:32]}",
        message_id=None,
        text=f"{task}\n\n{context}" if context else task,
        data=(),
        policy_doc=convert_policy_document(policy, "policy_doc"),
        tools_endpoint=None,
        metadata={},
        solver=solver,
    )


def build_solver_view(message: ClientMessage, record: TaskRecord) -> dict[str, JsonValue]:
    """The response for an ended task, as JSON; without answers unless the task was completed."""
    answer = record.answer if record.state is TaskState.COMPLETED else None
    answer_format = message.solver.expected_format if message.solver else "list"
    answers = extract_answers(answer or "", answer_format, keeps_order=asks_for_certain_order(message.text))
    return {"task_id": message.task_id, "answers": list(answers), "metadata": _build_solver_metadata(record)}


def choose_http_status(record: TaskRecord) -> int:
    """The HTTP status for a task: 200 if completed or rejected, 202 while it waits for a person, 504 while it runs.

    502 if a model or tool server failed; 500 for other failures, and for a partial answer when a budget was spent.
    """
    if not record.state.is_terminal:
        return 202 if record.state is TaskState.INPUT_REQUIRED else 504
    if record.metadata.get("partial"):
        return 500
    if record.state in (TaskState.COMPLETED, TaskState.REJECTED):
        return 200
    return 502 if record.metadata.get("failed_part") else 500


def _build_solver_metadata(record: TaskRecord) -> dict[str, JsonValue]:
    """The response's metadata: whether the answer complies with the policy, and the summary of the history."""
    objects = (as_object(record.metadata.get(name)) for name in ("text_policy", "memory"))
    text_policy, memory = (cast("dict[str, JsonValue]", value) for value in objects)
    violations = list(cast("list[JsonValue]", text_policy.get("violations", [])))
    reason = record.reason if record.state is TaskState.REJECTED else None
    if reason and not any(str(violation) in reason for violation in violations):
        violations.append(reason)
    unenforced = record.metadata.get("policy_unenforced")
    return {
        **({"policy_unenforced": unenforced} if unenforced else {}),
        "policy_compliant": text_policy.get("compliant", True) is True and not violations,
        "policy_violations": violations,
        "applied_rules": text_policy.get("applied_rules", []),
        "memory_compressed": memory.get("compressed", False),
        "memory_summary": memory.get("summary"),
    }


def _read_required_text(body: JsonObject, key: str) -> str:
    text = text_at(body, key, key)
    if text is None or not text.strip():
        raise InvalidField(key, "is required and must not be empty")
    return text


def _parse_answer_format(body: JsonObject) -> SolverAnswerFormat:
    value = text_at(body, "expected_format")
    if value is None:
        return "list"
    if value not in _FORMAT_NAMES:
        raise InvalidField("expected_format", f"must be one of {', '.join(_FORMAT_NAMES)}")
    return cast(SolverAnswerFormat, value)


def _read_history(body: JsonObject) -> tuple[PriorTurn, ...]:
    if body.get("history") is None:
        return ()
    return tuple(_parse_prior_turn(item, f"history.{index}") for index, item in enumerate(list_at(body, "history")))


def _parse_prior_turn(value: Json, path: str) -> PriorTurn:
    item = require_type(value, dict, path)
    role = text_at(item, "role", f"{path}.role")
    content = text_at(item, "content", f"{path}.content")
    if role not in _TURN_ROLES:
        raise InvalidField(f"{path}.role", f"must be one of {', '.join(_TURN_ROLES)}")
    if content is None:
        raise InvalidField(f"{path}.content", "is required")
    return PriorTurn.model_validate({"role": role, "content": content})


SOLVER_PATH = "/api/a2a/purple-agent"
log = structlog.get_logger()


class SolverEndpoint:
    def __init__(self, tasks: TaskService, identity: Identity, max_body_bytes: int) -> None:
        self._tasks = tasks
        self._identity = identity
        self._max_body_bytes = max_body_bytes

    def list_routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route(SOLVER_PATH, self.solve, methods=["POST"], response_class=JSONResponse)
        return router

    async def solve(self, request: Request) -> JSONResponse:
        """Solve one task; returns its answers, checked against the policy in the request.

        400 if the body is not JSON, 422 for an invalid field, 502 if a model or tool server failed, 504 if the task
        takes longer than the gateway waits; the same request again then waits for the same task.
        """
        try:
            message = parse_solver_message(await read_json_object_body(request, self._max_body_bytes))
            return await self._solve(message, self._identity.caller_of(get_identified_caller(request), {}))
        except InvalidField as fault:
            if fault.field == "metadata.session_id":  # it is named after the content: another one is under way
                return build_error_reply(409, "task_id: a task of this id with another content is open; use another id")
            return JSONResponse({"error": str(fault), "field": fault.field}, 422)
        except TaskHasEnded as fault:
            return build_error_reply(409, str(fault))
        except (BadCall, GatewayRefusal, StoreUnavailable):
            raise  # answered here as on every path of our own
        except Exception:  # the outermost edge of a request: the client is owed an answer
            log.exception("request_failed", path=SOLVER_PATH)
            return build_error_reply(500, INTERNAL_ERROR_TEXT)

    async def _solve(self, message: ClientMessage, caller: Caller) -> JSONResponse:
        if caller.principal.verified:  # a session of the caller's own, since two may send the same request
            message = message._replace(session_id=derive_caller_scoped_id(message.session_id or "", caller))
        accepted = await self._tasks.submit_message(message, caller)
        record = await self._tasks.wait_for_answer(accepted)
        await self._tasks.record_answer_received(accepted, record)
        return _build_response(message, record)


def _build_response(message: ClientMessage, record: TaskRecord) -> JSONResponse:
    status = choose_http_status(record)
    if status == 200:
        return JSONResponse(build_solver_view(message, record))
    answer = {"task_id": message.task_id, "state": record.state.value, "error": _describe_missing_answers(record)}
    return JSONResponse(
        {**answer, "metadata": _build_solver_metadata(record)} if record.state.is_terminal else answer, status
    )


def _describe_missing_answers(record: TaskRecord) -> str:
    """Why there are no answers: the task's answer text or its reason; for an answer that is a list, both."""
    answer = build_answer_text(record)
    if answer is None:
        return "the task is being worked on; send the same request again to wait on"
    if not is_json_list(answer.text):
        return answer.text
    return "\n\n".join(filter(None, (record.reason, answer.text if loads(answer.text) else "")))
