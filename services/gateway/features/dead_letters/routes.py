"""``/dlq``: operators list, show, requeue and drop dead letters."""

from typing import cast

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.features.dead_letters.service import DeadLetter
from services.gateway.features.dead_letters.store import DeadLetters
from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from shared.domain.exact_json import JsonObject, loads, to_i_json

_MOST = 1000


class DeadLetterEndpoints:
    def __init__(self, letters: DeadLetters) -> None:
        self._letters = letters

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("POST", "/dlq/list", self.list_all),
            ApiPath("POST", "/dlq/{letter_id}/show", self.show_one),
            ApiPath("POST", "/dlq/{letter_id}/requeue", self.requeue),
            ApiPath("POST", "/dlq/{letter_id}/drop", self.drop),
            rules=PathRules(may_be_empty=True, operators=True),
        )

    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the newest dead letters; ``limit`` in the body says how many."""
        return {
            "letters": [
                _describe_letter(one)
                for one in await self._letters.list_newest(call.caller.tenant, _read_limit(call.body))
            ]
        }

    async def show_one(self, call: ApiCall) -> JsonValue:
        """Show one dead letter with its content."""
        letter = await self._letters.show(call.caller.tenant, call.path_value("letter_id"))
        return {**_describe_letter(letter), "content": cast(JsonValue, to_i_json(loads(letter.content or "null")))}

    async def requeue(self, call: ApiCall) -> JsonValue:
        """Requeue a dead letter: a turn's task starts again as a new task, an outcome goes back to the learner.

        The answer names the new task. If the old one made writes, 409, unless the body has ``"again": true``.
        """
        letter_id = call.path_value("letter_id")
        done = await self._letters.requeue(call.caller.tenant, letter_id, again=call.body.get("again") is True)
        if done.task_id is None:
            return {"requeued": letter_id, "outcome_of": done.letter.task_id}
        return {"requeued": letter_id, "task_id": done.task_id, "requeued_from": done.letter.task_id}

    async def drop(self, call: ApiCall) -> JsonValue:
        """Delete a dead letter."""
        return {"dropped": _describe_letter(await self._letters.drop(call.caller.tenant, call.path_value("letter_id")))}


def _describe_letter(letter: DeadLetter) -> dict[str, JsonValue]:
    return {
        "id": letter.letter_id,
        "kind": letter.kind.value,
        "at": letter.at.isoformat(),
        "task_id": letter.task_id,
        "session_id": letter.session_id,
        "reason": letter.reason,
        "error": letter.error,
        "tries": letter.tries,
    }


def _read_limit(body: JsonObject) -> int:
    given = body.get("limit", 100)
    if not isinstance(given, int) or not 1 <= given <= _MOST:
        raise InvalidField("limit", f"must be a number from 1 to {_MOST}")
    return given
