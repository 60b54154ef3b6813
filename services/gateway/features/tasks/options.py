"""Parses options of A2A requests: how a message is answered, and which page of a list is wanted."""

from typing import NamedTuple

from services.gateway.edge import fields
from services.gateway.edge.errors import InvalidField, UnsupportedContent
from services.gateway.features.tasks.listing import MOST_LISTED_TASKS, USUAL_LISTED_TASKS, TaskQuery
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import A2aVersion, TaskState

OUTPUT_MODES = ("text/plain", "application/json")
# The modes in which clients may want answers; the early samples say ``text``.
_ACCEPTED_MODES = {*OUTPUT_MODES, "text/*", "application/*", "*/*", "*", "text", "data"}
_STATES_BY_NAME = {f"TASK_STATE_{state.name}": state for state in TaskState}
_NO_SUCH_TASKS = {"TASK_STATE_AUTH_REQUIRED"}  # a state of the protocol that no task of this worker is ever in


class ListOptions(NamedTuple):
    """Which tasks are listed; ``history_length``: how many messages each has, all if None."""

    query: TaskQuery
    history_length: int | None
    includes_artifacts: bool


def read_send_options(params: JsonObject, dialect: A2aVersion) -> tuple[bool, int | None]:
    """Parse the ``configuration`` of a message; raises ``InvalidField``.

    Returns whether the message is answered only after its turn, and how many messages the answer has, None for all.
    Raises ``UnsupportedContent`` if the worker can produce none of the accepted output modes.
    """
    if dialect is A2aVersion.LEGACY:
        return True, read_history_length(params, "params.historyLength", dialect)
    configuration = fields.object_at(params, "configuration", "configuration")
    _check_modes(configuration)
    length = read_history_length(configuration, "configuration.historyLength", dialect)
    if dialect is A2aVersion.A2A_1_0:
        _check_role(params)
        return not fields.flag_at(configuration, "returnImmediately", "configuration.returnImmediately"), length
    return fields.flag_at(configuration, "blocking", "configuration.blocking"), length


def read_history_length(source: JsonObject, path: str, dialect: A2aVersion) -> int | None:
    """Parse ``historyLength``. None means all messages, in the early protocol none; in 0.3, zero means all, too."""
    length = fields.count_at(source, "historyLength", path)
    if length is not None and length >= 2**31 and dialect is not A2aVersion.LEGACY:
        raise InvalidField(path, "is too large")
    return length if dialect is A2aVersion.A2A_1_0 else length or None


def read_list_options(params: JsonObject) -> ListOptions:
    """Parse the parameters of ListTasks; raises ``InvalidField``."""
    query = TaskQuery(
        session_id=fields.id_at(params, "contextId", "contextId"),
        states=_parse_states(fields.text_at(params, "status", "status")),
        since=fields.parse_time(
            fields.text_at(params, "statusTimestampAfter", "statusTimestampAfter"), "statusTimestampAfter"
        ),
        size=_page_size(params),
        page_token=fields.text_at(params, "pageToken", "pageToken") or "",
    )
    length = read_history_length(params, "historyLength", A2aVersion.A2A_1_0)
    return ListOptions(query, length, fields.flag_at(params, "includeArtifacts", "includeArtifacts"))


def _check_role(params: JsonObject) -> None:
    """Raises ``InvalidField`` for a message without a role, which only 1.0 requires."""
    message = params.get("message")
    if isinstance(message, dict) and not message.get("role"):
        raise InvalidField("message.role", "is required: ROLE_USER")


def _check_modes(configuration: JsonObject) -> None:
    key, path = "acceptedOutputModes", "configuration.acceptedOutputModes"
    if not configuration.get(key):
        return
    modes = [_media_type(item, path) for item in fields.list_at(configuration, key, path)]
    if not _ACCEPTED_MODES.intersection(modes):
        raise UnsupportedContent(f"{path}: the worker answers in {' or '.join(OUTPUT_MODES)}, and in none of these")


def _media_type(item: Json, path: str) -> str:
    if not isinstance(item, str):
        raise InvalidField(path, f"must be a list of media types; there is {fields.json_type_name(item)} in it")
    return item.partition(";")[0].strip().lower()


def _page_size(params: JsonObject) -> int:
    size = fields.count_at(params, "pageSize", "pageSize")
    if size is None:
        return USUAL_LISTED_TASKS
    if not 1 <= size <= MOST_LISTED_TASKS:
        raise InvalidField("pageSize", f"must be from 1 to {MOST_LISTED_TASKS}")
    return size


def _parse_states(word: str | None) -> tuple[TaskState, ...]:
    if not word or word == "TASK_STATE_UNSPECIFIED":
        return tuple(TaskState)
    if word in _NO_SUCH_TASKS:
        return ()
    if word not in _STATES_BY_NAME:
        raise InvalidField("status", f"must be one of {', '.join([*_STATES_BY_NAME, *_NO_SUCH_TASKS])}")
    return (_STATES_BY_NAME[word],)
