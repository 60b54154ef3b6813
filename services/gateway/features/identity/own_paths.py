"""Routes of the gateway's own API: the request identifies the caller, its JSON body says what is asked.

Each kind of refusal has its status.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge import errors
from services.gateway.edge.body import read_object
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller, Identity
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable

STATUSES: Statuses = {
    errors.InvalidField: 400,
    errors.NotAnOperator: 403,
    errors.NotAnApprover: 403,
    errors.MayNotKeep: 403,
    errors.NoVisibleTask: 404,
    errors.NoVisibleTenant: 404,
    errors.NoSuchLetter: 404,
    errors.NoSuchRequest: 404,
    errors.PushUnsupported: 404,
    errors.UnknownApproval: 404,
    errors.UnknownAssessment: 404,
    errors.UnknownKey: 404,
    errors.UnknownTool: 404,
    errors.DecisionNotCounted: 409,
    errors.NothingToResolve: 409,
    errors.WouldRepeatWrites: 409,
    errors.NobodyImports: 503,
    StoreUnavailable: 503,
}


class OwnCall(NamedTuple):
    """A request to the gateway's own API. ``body``: empty if none is read.

    In the embedded profile the principal is in the body's ``metadata``.
    """

    caller: Caller
    body: JsonObject
    request: Request

    def path_word(self, part: str) -> str:
        """The value of ``{part}`` in the path."""
        return str(self.request.path_params[part])


Act = Callable[[OwnCall], Awaitable[JsonValue | Response]]


class OwnPath(NamedTuple):
    """A route. ``act`` gives the answer or its JSON; its name and docstring describe the route."""

    verb: str
    path: str
    act: Act


class OwnPaths:
    def __init__(self, identity: Identity, max_body: int) -> None:
        self._identity, self._max_body = identity, max_body

    def router(self, *paths: OwnPath, statuses: Statuses = STATUSES, may_be_empty: bool = False) -> APIRouter:
        """A router for these paths. ``may_be_empty``: whether the body may be left out."""
        router = APIRouter()
        for one in paths:
            router.add_api_route(
                one.path,
                self._endpoint(one, statuses, may_be_empty=may_be_empty),
                methods=[one.verb],
                response_class=JSONResponse,
                name=one.act.__name__,
                description=one.act.__doc__ or "",
            )
        return router

    def _endpoint(
        self, path: OwnPath, statuses: Statuses, *, may_be_empty: bool
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                reads = path.verb != "GET"
                body = await read_object(request, self._max_body, may_be_empty=may_be_empty) if reads else {}
                caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
                answer = await path.act(OwnCall(caller, body, request))
            except kinds(statuses) as fault:
                return refusal_reply(fault, statuses)
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return endpoint
