"""Lets assessors measure this worker: finds their messages, which start an assessment, take turns, and end it.

Each turn becomes a task in the assessment's session.
"""

import hmac
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from pydantic import AwareDatetime, Field, ValidationError
from redis.asyncio import Redis

from services.gateway.edge.errors import InvalidField, Unsupported
from services.gateway.edge.fields import to_invalid_field
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.model import Caller, require_client_role
from services.gateway.features.tasks.intake import TimeAndFreshId, build_signal
from services.gateway.features.tasks.listing import TaskLists, TaskQuery
from services.gateway.features.tasks.message import ClientMessage, convert_to_json_values
from services.gateway.features.tasks.views import is_assessment_turn
from shared.contracts.assessment import messages
from shared.contracts.base import Contract
from shared.contracts.task import PracticeRun, TaskRecord, TaskRequest, TurnKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.outgoing import AllowedAddresses, why_url_refused
from shared.domain.words import A2aVersion, TaskState
from shared.infra.keys import PARTICIPATION_SECONDS, participant_key, participation_key
from shared.infra.lua import Scripts
from shared.infra.secret_cipher import CannotDecrypt, SecretCipher
from shared.ports.tasks import Tasks

_T = TypeVar("_T", bound=messages.AssessmentMessage)
_WORLD_FIELDS = ("ues_url", "assessment_instructions", "initial_state_summary")
_COMPLETION_REASONS = frozenset({"scenario_complete", "early_completion", "timeout", "error"})
_API_KEY_PHRASE_PATTERN = re.compile(r"api_?key", re.IGNORECASE)
_ASSESSMENT_START_PHRASE_PATTERN = re.compile(r"ues_?url|assessment_?start", re.IGNORECASE)
_FENCED_JSON_PATTERN = re.compile(r"```(?:json)?\s*(?P<inside>\{.*\})\s*```", re.IGNORECASE | re.DOTALL)


class AssessorMessageKind(StrEnum):
    """What an assessor's message begins or ends: an assessment or one of its turns."""

    START = "assessment_start"
    TURN = "turn_start"
    COMPLETE = "assessment_complete"


class AssessorMessage(NamedTuple):
    """An assessor's message. ``is_guessed``: it has no type, and is taken for one only while an assessment runs."""

    kind: AssessorMessageKind
    data: JsonObject
    is_guessed: bool = False


def find_assessor_message(message: ClientMessage) -> AssessorMessage | None:
    """Find the assessor's message in a client's message; None if there is none.

    Raises ``InvalidField`` if the text or metadata seems to contain a start message with a key, which would be stored.
    """
    assessor_message = (
        None
        if message.solver
        else next(filter(None, map(_parse_assessor_message, _list_message_objects(message))), None)
    )
    if assessor_message is None or assessor_message.kind is not AssessorMessageKind.START:
        _check_no_key_in_text(message, "task" if message.solver else "message.parts")
    return assessor_message


def parse_start_message(data: JsonObject) -> messages.AssessmentStart:
    """Parse a start message; raises ``InvalidField``, without the invalid values."""
    start = _validate_message(messages.AssessmentStart, {"initial_state_summary": {}, **data})
    if not (start.api_key.isascii() and start.api_key.isprintable() and 0 < len(start.api_key) <= 4096):
        raise InvalidField(f"{AssessorMessageKind.START}.api_key", "must be 1 to 4096 printable characters of ASCII")
    return start


def parse_turn_message(data: JsonObject) -> messages.TurnStart:
    """Parse a turn message; raises ``InvalidField``."""
    return _validate_message(messages.TurnStart, data)


def _list_message_objects(message: ClientMessage) -> list[JsonObject]:
    """The message's data parts, and its text if that is a JSON object."""
    parts = [_unwrap_data(part) for part in message.data]
    text = message.text.strip()
    if fenced := _FENCED_JSON_PATTERN.fullmatch(text):
        text = fenced["inside"]
    try:
        return [*parts, loads_object(text)] if text.startswith("{") else parts
    except ValueError:
        return parts


def _unwrap_data(part: JsonObject) -> JsonObject:
    inner = part.get("data")
    return inner if len(part) == 1 and isinstance(inner, dict) else part


def _parse_assessor_message(data: JsonObject) -> AssessorMessage | None:
    message_type = data.get("message_type")
    if message_type in tuple(AssessorMessageKind):
        return AssessorMessage(AssessorMessageKind(str(message_type)), data)
    if "api_key" in data and any(name in data for name in _WORLD_FIELDS):
        return AssessorMessage(AssessorMessageKind.START, data)
    if message_type is None and {"turn_number", "current_time"} <= data.keys():
        return AssessorMessage(AssessorMessageKind.TURN, data, is_guessed=True)
    if message_type is None and list(data) == ["reason"] and data["reason"] in _COMPLETION_REASONS:
        return AssessorMessage(AssessorMessageKind.COMPLETE, data, is_guessed=True)
    return None


def _check_no_key_in_text(message: ClientMessage, field: str) -> None:
    for text in (message.whole_text, dumps(message.metadata)):
        if _API_KEY_PHRASE_PATTERN.search(text) and _ASSESSMENT_START_PHRASE_PATTERN.search(text):
            problem = f"there seems to be an {AssessorMessageKind.START} in it, with a key"
            raise InvalidField(field, f"{problem}: send it as one data part, or as JSON alone")


def _validate_message(shape: type[_T], data: JsonObject) -> _T:
    kind: Json = shape.model_fields["message_type"].default
    try:
        return shape.model_validate(convert_to_json_values({"message_type": kind, **data}))
    except ValidationError as error:
        raise to_invalid_field(error, str(kind)) from None


class OpenAssessment(Contract):
    """An assessment that runs in a session of this product, as the assessed agent. ``ues_url``: its simulated world;
    ``sealed_key``: the world's key, encrypted.
    """

    assessment: str  # names this beginning, a repeat too; another one in the same session has another name
    session_id: str
    caller: str  # the id of the principal who began it
    ues_url: str
    sealed_key: str = Field(default="", repr=False)
    since: datetime
    first: AwareDatetime  # when it began, by the time of its world
    turns: int = 0  # the highest turn that was begun


class BegunByAnotherCaller(Exception):
    """Another principal's assessment already runs in the session; nothing was stored."""


class UndecryptableKey(Exception):
    """The key to the assessment's world cannot be decrypted, since ``ASSESSMENT_KEY`` has changed."""


class OpenAssessments:
    """The running assessments in Redis. Every method may raise ``StoreUnavailable``.

    ``keys``: at least one Fernet key, the newest first; they encrypt the keys to worlds, the first names assessments.
    """

    def __init__(self, redis: Redis, keys: Sequence[str], seconds: int = PARTICIPATION_SECONDS) -> None:
        self._scripts = Scripts(redis)
        self._seal = SecretCipher(keys)
        self._seconds = seconds
        self._naming_key = keys[0].encode()

    def derive_assessment_name(self, caller: Caller, message_id: str) -> str:
        """The name of the assessment that a message begins: its world is open to whoever knows it.

        A repeat of the message gives the same name, which nobody without the key can compute.
        """
        parts = "\x00".join((caller.tenant, caller.principal.id, "assessment", message_id))
        return hmac.digest(self._naming_key, parts.encode(), "sha256").hex()

    async def begin_assessment(self, tenant: str, participation: OpenAssessment, api_key: str) -> OpenAssessment:
        """Store an assessment as the caller's latest, and under its session, where it replaces an earlier one.

        ``api_key``: the world's key, which is stored encrypted. Raises ``BegunByAnotherCaller``.
        """
        stored = participation.model_copy(update={"sealed_key": self._seal.encrypt(api_key)})
        if not await self._write_row(tenant, participation, json=stored.model_dump_json()):
            raise BegunByAnotherCaller
        pointer = participant_key(tenant, participation.caller)
        await self._scripts.execute("SET", pointer, participation.session_id, "EX", self._seconds)
        return stored

    async def find_assessment(self, tenant: str, session_id: str) -> OpenAssessment | None:
        """The assessment that runs, or ran last, in the session; None if there is none."""
        name = participation_key(tenant, session_id)
        reply = await self._scripts.execute("HMGET", name, "json", "turns")
        text, turns = cast("list[str | None]", reply)
        if text is None:
            return None
        return OpenAssessment.model_validate_json(text).model_copy(update={"turns": int(turns or 0)})

    async def find_latest_assessment(self, tenant: str, caller: str) -> OpenAssessment | None:
        """The assessment that the caller began last, if it still runs; else None."""
        session_id = cast("str | None", await self._scripts.execute("GET", participant_key(tenant, caller)))
        participation = await self.find_assessment(tenant, session_id) if session_id else None
        return participation if participation and participation.caller == caller else None

    async def begin_turn(self, tenant: str, participation: OpenAssessment, turn_number: int) -> bool:
        """Record that a turn begins, and extend the assessment's time to live; False if it no longer runs."""
        if not await self._write_row(tenant, participation, turn_number=turn_number):
            return False
        await self._scripts.execute("EXPIRE", participant_key(tenant, participation.caller), self._seconds)
        return True

    async def _write_row(
        self, tenant: str, participation: OpenAssessment, json: str = "", turn_number: int = 0
    ) -> bool:
        names = [participation_key(tenant, participation.session_id)]
        arguments = (participation.assessment, participation.caller, json, turn_number, self._seconds)
        return await self._scripts.run("keep_participation", names, arguments) == 1

    async def delete_assessment(self, tenant: str, participation: OpenAssessment) -> None:
        """Delete an assessment and its key, unless another has replaced it."""
        names = [participation_key(tenant, participation.session_id)]
        await self._scripts.run("expire_if_equal", names, [participation.assessment, 0, "assessment"])

    def decrypt_key(self, participation: OpenAssessment) -> str:
        """Decrypt the key to the world, which callers must not store. Raises ``UndecryptableKey``."""
        try:
            return self._seal.decrypt(participation.sealed_key)
        except CannotDecrypt as error:
            raise UndecryptableKey("no key of ASSESSMENT_KEY opens the key to the assessed world") from error


_ASSISTANT_INSTRUCTIONS = Path(__file__).with_name("assistant.md").read_text("utf-8").strip()
_OPEN_STATES = tuple(state for state in TaskState if not state.is_terminal)
_MOST_OPEN_TURNS = 100  # turns of one assessment that are not over; usually there is one
ASSESSMENT_BEGUN_ANSWER = (
    "The assessment has begun; each turn_start is answered with turn_complete or early_completion."
)
_NO_ASSESSMENT_TEXT = (
    "no assessment of yours runs in this context: send assessment_start first, and name the same context, or none at "
    "all, in each message"
)
ASSESSMENT_OVER_ANSWER = "The assessment is over; the key to its world is forgotten."


class UserMessagesUnavailable(Exception):
    """The user's chat messages in the world cannot be read; the message says why."""


ReadUserMessages = Callable[[str, str], Awaitable[str]]  # what the user said in the chat of a world, by its URL and key


async def refuse_assessments(message: ClientMessage, caller: Caller) -> ClientMessage:
    """Returns the message; raises ``Unsupported`` for an assessor's, for gateways without ``ASSESSMENT_KEY``."""
    assessor_message = find_assessor_message(message)
    if assessor_message is None or assessor_message.is_guessed:
        return message
    require_client_role(caller)
    raise Unsupported("this agent takes no assessments: ASSESSMENT_KEY is not set at its gateway")


class AssessmentParticipationService:
    """Handles assessors' messages.

    ``world_addresses``: the addresses that worlds may have. ``build_world_url``: gives the URL of an assessment's world
    for executors, by tenant, session and assessment.
    """

    def __init__(
        self,
        participations: OpenAssessments,
        tasks: Tasks,
        lists: TaskLists,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        world_addresses: AllowedAddresses,
        read_user_messages: ReadUserMessages,
        build_world_url: Callable[[str, str, str], str],
    ) -> None:
        self._participations = participations
        self._tasks = tasks
        self._lists = lists
        self._clock = clock
        self._new_id = new_id
        self._world_addresses = world_addresses
        self._read_user_messages, self._build_world_url = read_user_messages, build_world_url

    async def handle_assessor_message(self, message: ClientMessage, caller: Caller) -> ClientMessage | TaskRecord:
        assessor_message = find_assessor_message(message)
        if assessor_message is None:
            return message
        require_client_role(caller)
        if assessor_message.kind is AssessorMessageKind.START:
            return await self._begin_assessment(assessor_message.data, message, caller)
        participation = await self._find_running_assessment(message, caller)
        if assessor_message.is_guessed and participation is None:
            return message
        if assessor_message.kind is AssessorMessageKind.COMPLETE:
            return await self._complete_assessment(message, caller, participation)
        return await self._build_message_of_turn(assessor_message.data, message, caller, participation)

    async def _begin_assessment(self, data: JsonObject, message: ClientMessage, caller: Caller) -> TaskRecord:
        """Begin an assessment; returns the record that answers the message. No task is queued.

        Without a context id the assessment gets a session of its own, and ends the caller's earlier one. Raises
        ``InvalidField`` if the address of the world is not permitted, or if another principal's assessment runs in the
        context.
        """
        start = parse_start_message(data)
        if problem := why_url_refused(start.ues_url, self._world_addresses):  # executors check it again
            raise InvalidField(f"{AssessorMessageKind.START}.ues_url", problem)
        name = self._participations.derive_assessment_name(caller, message.message_id or self._new_id())
        session = message.session_id or _derive_session_without_context(caller, name)
        if message.session_id:
            previous = await self._participations.find_assessment(caller.tenant, session)
        else:
            previous = await self._participations.find_latest_assessment(caller.tenant, caller.principal.id)
        participation = OpenAssessment(
            assessment=name,
            session_id=session,
            caller=caller.principal.id,
            ues_url=start.ues_url,
            since=self._clock(),
            first=start.current_time,
        )
        try:
            await self._participations.begin_assessment(caller.tenant, participation, start.api_key)
        except BegunByAnotherCaller:
            raise InvalidField("message.contextId", "another principal's assessment runs in this context") from None
        if previous and _is_replaced_by(previous, participation, caller):
            await self._end_assessment(previous, caller)
        return self._build_answer_without_task(message, caller, session, ASSESSMENT_BEGUN_ANSWER)

    async def _build_message_of_turn(
        self, data: JsonObject, message: ClientMessage, caller: Caller, participation: OpenAssessment | None
    ) -> ClientMessage | TaskRecord:
        """Turn a turn message into a task's message, with the user's chat messages as text; a repeat is the same task.

        If these cannot be read, returns a failed task with the reason. Raises ``Unsupported`` if no assessment runs.
        """
        turn = parse_turn_message(data)
        store = self._participations
        if participation is None or not await store.begin_turn(caller.tenant, participation, turn.turn_number):
            raise Unsupported(_NO_ASSESSMENT_TEXT)
        practice = build_practice_run(turn.turn_number, turn.current_time, participation.first)
        try:
            words = await self._read_user_messages(participation.ues_url, store.decrypt_key(participation))
        except (UserMessagesUnavailable, UndecryptableKey) as error:
            return self._build_failed_turn(message, caller, participation.session_id, practice, str(error))
        is_legacy = message.dialect is A2aVersion.LEGACY
        return message._replace(
            task_id=message.task_id if is_legacy else None,
            session_id=participation.session_id,
            text=words or messages.DEFAULT_ASSESSMENT_INSTRUCTIONS,
            data=(),
            tools_endpoint=self._build_world_url(caller.tenant, participation.session_id, participation.assessment),
            practice=practice,
            repeat_key=f"{participation.assessment}:{turn.turn_number}",
        )

    async def _complete_assessment(
        self, message: ClientMessage, caller: Caller, participation: OpenAssessment | None
    ) -> TaskRecord:
        """End an assessment, if it still runs; returns the record that answers the message.

        ``participation``: None if unknown.
        """
        if participation:
            await self._end_assessment(participation, caller)
        session = participation.session_id if participation else message.session_id
        return self._build_answer_without_task(message, caller, session or self._new_id(), ASSESSMENT_OVER_ANSWER)

    async def _end_assessment(self, participation: OpenAssessment, caller: Caller) -> None:
        """Delete the world's key, so that nothing more can be done there, then cancel the open turns."""
        await self._participations.delete_assessment(caller.tenant, participation)
        open_turns = TaskQuery(participation.session_id, _OPEN_STATES, size=_MOST_OPEN_TURNS)
        for record in (await self._lists.read_page(caller.tenant, open_turns, None)).records:
            path_parts = (record.request.tools_endpoint or "").rstrip("/").split("/")
            if is_assessment_turn(record) and participation.assessment in path_parts:
                moment = TimeAndFreshId(self._clock(), self._new_id())
                turn = build_signal(record, caller, TurnKind.CANCEL, moment)
                await self._tasks.signal(record.tenant, record.session_id, turn)

    async def _find_running_assessment(self, message: ClientMessage, caller: Caller) -> OpenAssessment | None:
        """The caller's assessment in the message's context (without a context id, the latest); None without one."""
        if message.session_id is None:
            return await self._participations.find_latest_assessment(caller.tenant, caller.principal.id)
        participation = await self._participations.find_assessment(caller.tenant, message.session_id)
        return participation if participation and participation.caller == caller.principal.id else None

    def _build_answer_without_task(self, message: ClientMessage, caller: Caller, session: str, text: str) -> TaskRecord:
        now = self._clock()
        return TaskRecord(
            tenant=caller.tenant,
            task_id=message.task_id or self._new_id(),
            session_id=session,
            dialect=message.dialect,
            requester=caller.principal,
            request=TaskRequest(text=""),
            state=TaskState.COMPLETED,
            answer=text,
            answers_as="message",
            accepted_at=now,
            updated_at=now,
        )

    def _build_failed_turn(
        self, message: ClientMessage, caller: Caller, session: str, practice: PracticeRun, reason: str
    ) -> TaskRecord:
        """A failed task as the answer to a turn; it is not stored."""
        record = self._build_answer_without_task(message, caller, session, reason)
        update = {"state": TaskState.FAILED, "reason": reason, "answer": None, "answers_as": "task"}
        request = record.request.model_copy(update={"practice": practice})
        return record.model_copy(update={**update, "request": request})


def _derive_session_without_context(caller: Caller, assessment: str) -> str:
    """The id of the session of an assessment that began without a context id."""
    return derive_id(caller.tenant, caller.principal.id, "assessed", assessment)


def _is_replaced_by(previous: OpenAssessment, participation: OpenAssessment, caller: Caller) -> bool:
    """Whether ``previous`` ends as ``participation`` begins: in the same session, or begun without a context id."""
    if previous.assessment == participation.assessment:
        return False
    return previous.session_id in (
        participation.session_id,
        _derive_session_without_context(caller, previous.assessment),
    )


def build_practice_run(number: int, now: datetime, first: datetime) -> PracticeRun:
    """The instructions for a turn in the simulated world. ``now``, ``first``: the world's time now and at its start."""
    return PracticeRun(current_time=now, instructions=_ASSISTANT_INSTRUCTIONS, turn=number, began=first)
