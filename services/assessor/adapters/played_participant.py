"""A participant that does what is written down: the same requests to the world in every run, with the user's key."""

from pathlib import Path

import httpx
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from typing_extensions import override

from services.assessor.ports.participants import Participant, ParticipantFailed
from shared.contracts.assessment.messages import DEFAULT_STEP, AssessmentMessage, AssessmentStart, JsonObject
from shared.infra.tls import load_client_tls_context

FOLDER = "played"
_DONE: JsonObject = {"message_type": "early_completion", "reason": "Everything that is written down is done."}


class _PlayedModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlayedRequest(_PlayedModel):
    """A POST to the world, such as ``/email/send``."""

    path: str = Field(pattern=r"^/[a-z][a-z/-]*$")
    body: dict[str, JsonValue]


class PlayedTurn(_PlayedModel):
    requests: tuple[PlayedRequest, ...] = ()
    time_step: str = DEFAULT_STEP


class PlayedScript(_PlayedModel):
    """The requests of a scripted participant, turn by turn; it has none after the last turn."""

    turns: tuple[PlayedTurn, ...]


class BadScript(Exception):
    """A script that cannot be read; the message says where and why."""


def load_scripts(folder: Path) -> dict[str, PlayedScript]:
    """By name, ``gold`` first: the files of a scenario's folder ``played``. Raises ``BadScript``."""
    paths = sorted((folder / FOLDER).glob("*.json"), key=lambda path: (path.stem != "gold", path.stem))
    return {path.stem: _load_played_script(path) for path in paths}


def _load_played_script(path: Path) -> PlayedScript:
    try:
        return PlayedScript.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise BadScript(f"{FOLDER}/{path.name} cannot be read: {error}") from error


class PlayedParticipant(Participant):
    """A participant that plays a script. ``refused``: requests that the world refused, with its answers."""

    def __init__(self, script: PlayedScript) -> None:
        self._script = script
        self._start: AssessmentStart | None = None
        self.refused: list[str] = []

    @property
    @override
    def url(self) -> str:
        return "played"

    @override
    async def tell(self, message: AssessmentMessage) -> None:
        if isinstance(message, AssessmentStart):
            self._start = message

    @override
    async def ask(self, message: AssessmentMessage, timeout: float) -> JsonObject:
        number = message.to_json().get("turn_number")
        if self._start is None or not isinstance(number, int):
            raise ParticipantFailed("protocol_error", "a turn came before the assessment began")
        if number > len(self._script.turns):
            return _DONE
        turn = self._script.turns[number - 1]
        await self._play(self._start, turn, timeout)
        return {"message_type": "turn_complete", "time_step": turn.time_step}

    async def _play(self, start: AssessmentStart, turn: PlayedTurn, timeout: float) -> None:
        headers, verify = {"X-API-Key": start.api_key}, load_client_tls_context()
        async with httpx.AsyncClient(timeout=timeout, headers=headers, trust_env=False, verify=verify) as http:
            for request in turn.requests:
                try:
                    answer = await http.post(f"{start.ues_url}{request.path}", json=request.body)
                except httpx.HTTPError as error:
                    raise ParticipantFailed("communication_error", f"the world was lost: {error}") from error
                if not answer.is_success or '"status":"failed"' in answer.text:
                    self.refused.append(f"{request.path}: {answer.status_code} {answer.text[:300]}")
