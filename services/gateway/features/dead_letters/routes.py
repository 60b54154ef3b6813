"""``/dlq``: an operator lists dead letters, looks at one, puts it back to work or drops it."""

from collections.abc import Awaitable, Callable
from typing import cast

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NoSuchLetter, NotAnOperator, WouldRepeatWrites
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.dead_letters.model import DeadLetter
from services.gateway.features.dead_letters.service import DeadLetterService
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from shared.domain.exact_json import JsonObject, i_json, loads
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import SessionBelongsToOther, TaskEnded, TenantIsStopped

_MOST = 1000
_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    NoSuchLetter: 404,
    WouldRepeatWrites: 409,
    TaskEnded: 409,
    SessionBelongsToOther: 409,
    TenantIsStopped: 409,
    StoreUnavailable: 503,
}


class DeadLetterEndpoints:
    """Each takes a body, ``{"limit", "metadata"}``; in the embedded profile the principal stands in its metadata."""

    def __init__(self, clerk: DeadLetterService, identity: Identity, max_body: int) -> None:
        self._clerk, self._identity, self._max_body = clerk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/dlq/list", self.list_all, methods=["POST"], response_class=JSONResponse)
        for name, act in (("show", self.show_one), ("requeue", self.requeue), ("drop", self.drop)):
            router.add_api_route(f"/dlq/{{letter_id}}/{name}", act, methods=["POST"], response_class=JSONResponse)
        return router

    async def list_all(self, request: Request) -> Response:
        """The newest dead letters; ``limit`` in the body says how many."""

        async def act() -> JsonValue:
            body, caller = await self._read_request(request)
            return {"letters": [_row(letter) for letter in await self._clerk.list_newest(caller, _limit(body))]}

        return await _answer(act)

    async def show_one(self, letter_id: str, request: Request) -> Response:
        """One letter with its content."""

        async def act() -> JsonValue:
            _, caller = await self._read_request(request)
            letter = await self._clerk.show(caller, letter_id)
            return {**_row(letter), "content": cast(JsonValue, i_json(loads(letter.content or "null")))}

        return await _answer(act)

    async def requeue(self, letter_id: str, request: Request) -> Response:
        """Also names the new task, where a turn's task was begun anew; ``again`` in the body repeats its writes."""

        async def act() -> JsonValue:
            body, caller = await self._read_request(request)
            done = await self._clerk.requeue(caller, letter_id, again=body.get("again") is True)
            if done.task_id is None:
                return {"requeued": letter_id, "outcome_of": done.letter.task_id}
            return {"requeued": letter_id, "task_id": done.task_id, "requeued_from": done.letter.task_id}

        return await _answer(act)

    async def drop(self, letter_id: str, request: Request) -> Response:
        async def act() -> JsonValue:
            _, caller = await self._read_request(request)
            return {"dropped": _row(await self._clerk.drop(caller, letter_id))}

        return await _answer(act)

    async def _read_request(self, request: Request) -> tuple[JsonObject, Caller]:
        """The body, which may be empty, and who sent it."""
        body = await read_object(request, self._max_body, may_be_empty=True)
        return body, self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))


async def _answer(act: Callable[[], Awaitable[JsonValue]]) -> Response:
    try:
        return JSONResponse(await act())
    except kinds(_STATUS) as fault:
        return refusal_reply(fault, _STATUS)


def _row(letter: DeadLetter) -> dict[str, JsonValue]:
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


def _limit(body: JsonObject) -> int:
    given = body.get("limit", 100)
    if not isinstance(given, int) or not 1 <= given <= _MOST:
        raise InvalidField("limit", f"must be a number from 1 to {_MOST}")
    return given
