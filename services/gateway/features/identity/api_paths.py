"""Builds the routes of the gateway's own API: each handler gets the caller and the parsed JSON body."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.fields import object_at
from services.gateway.features.identity.middleware import caller_of_request
from services.gateway.features.identity.model import Caller, Identity, check_operator_of
from shared.domain.exact_json import JsonObject


class ApiCall(NamedTuple):
    """A request to the gateway's own API. ``body``: its JSON object, empty for a GET.

    Without authentication, the caller's principal is what the body's ``metadata`` claims.
    """

    caller: Caller
    body: JsonObject
    request: Request

    def path_value(self, name: str) -> str:
        """The value of the path's parameter ``{name}``."""
        return str(self.request.path_params[name])


Act = Callable[[ApiCall], Awaitable[JsonValue | Response]]
CALLERS = "x-callers"  # in the OpenAPI document: who may call a path, in words
OPERATORS = "operators of the tenant"


class ApiPath(NamedTuple):
    """A route. ``act`` returns the response or its JSON; its name and docstring are the route's in the OpenAPI page."""

    verb: str
    path: str
    act: Act


class PathRules(NamedTuple):
    """Rules for all paths of one router. ``may_be_empty``: whether the body may be left out.

    ``operators``: whether callers must be operators: others raise ``NotAnOperator``, and operators who name another
    tenant in the path ``NotFound``.
    """

    may_be_empty: bool = False
    operators: bool = False

    def check(self, call: ApiCall) -> None:
        if self.operators:
            check_operator_of(str(call.request.path_params.get("tenant", call.caller.tenant)), call.caller)


_USUAL = PathRules()


class ApiRouterFactory:
    def __init__(self, identity: Identity, max_body: int) -> None:
        self._identity, self._max_body = identity, max_body

    def router(self, *paths: ApiPath, rules: PathRules = _USUAL) -> APIRouter:
        router = APIRouter()
        for one in paths:
            router.add_api_route(
                one.path,
                self._make_endpoint(one, rules),
                methods=[one.verb],
                response_class=JSONResponse,
                name=one.act.__name__,
                description=one.act.__doc__ or "",
                openapi_extra={CALLERS: OPERATORS} if rules.operators else None,
            )
        return router

    def _make_endpoint(self, path: ApiPath, rules: PathRules) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            reads = path.verb != "GET"
            body = await read_object(request, self._max_body, may_be_empty=rules.may_be_empty) if reads else {}
            caller = self._identity.caller_of(caller_of_request(request), object_at(body, "metadata", "metadata"))
            call = ApiCall(caller, body, request)
            rules.check(call)
            answer = await path.act(call)
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return endpoint
