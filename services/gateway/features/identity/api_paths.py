"""Builds the routes of the gateway's own API: each handler gets the caller and the parsed JSON body."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Generic, NamedTuple, TypeVar

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.errors import NotFound
from services.gateway.edge.fields import object_at, read_json_object_body
from services.gateway.features.identity.middleware import get_identified_caller
from services.gateway.features.identity.model import Caller, Identity, require_operator_role
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


HandleApiCall = Callable[[ApiCall], Awaitable[JsonValue | Response]]
Method = TypeVar("Method", bound=Callable[..., object])
Service = TypeVar("Service", covariant=True)
CALLERS_KEY = "x-callers"  # in the OpenAPI document: who may call a path, in words
OPERATORS_TEXT = "operators of the tenant"


class _ApiPathMark(NamedTuple):
    """The verb and path under which a method of ``ApiEndpoints`` answers."""

    verb: str
    path: str
    requires_operator: bool | None


def api_path(verb: str, path: str, *, requires_operator: bool | None = None) -> Callable[[Method], Method]:
    """Mark a method of ``ApiEndpoints`` as the handler of a path. ``requires_operator``: overrides its class's."""

    def attach_path(method: Method) -> Method:
        method.__dict__["api_path"] = _ApiPathMark(verb, path, requires_operator)
        return method

    return attach_path


class ApiEndpoints(Generic[Service]):
    """Base of the handlers of related paths: of each method that ``api_path`` marks.

    A handler returns the response or its JSON; its name and docstring are the path's in the OpenAPI page.
    ``requires_operator``: callers without that role raise ``NotAnOperator``, operators who name another tenant in the
    path ``NotFound``.
    """

    requires_operator: ClassVar[bool] = False

    def __init__(self, service: Service) -> None:
        self._service = service


_METHODS_OF_READS = ("GET", "HEAD")


def build_api_router(identity: Identity, max_body_bytes: int, endpoints: ApiEndpoints[object]) -> APIRouter:
    """The routes of the marked methods. ``max_body_bytes``: the most bytes of a body."""
    router = APIRouter()

    def make_endpoint(handle: HandleApiCall, requires_operator: bool) -> Callable[[Request], Awaitable[Response]]:
        async def answer_request(request: Request) -> Response:
            body = (
                await read_json_object_body(request, max_body_bytes, may_lack_body=True)
                if request.method not in _METHODS_OF_READS
                else {}
            )
            caller = identity.caller_of(get_identified_caller(request), object_at(body, "metadata"))
            if requires_operator:
                require_operator_role(caller)
                if (tenant := request.path_params.get("tenant", caller.tenant)) != caller.tenant:
                    raise NotFound(f"tenant {tenant!r} that you may see")
            answer = await handle(ApiCall(caller, body, request))
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return answer_request

    for name, method in vars(type(endpoints)).items():
        marked_path: _ApiPathMark | None = getattr(method, "api_path", None)
        if marked_path is not None:
            own_rule = marked_path.requires_operator
            requires_operator = endpoints.requires_operator if own_rule is None else own_rule
            answer_request = make_endpoint(getattr(endpoints, name), requires_operator)
            router.add_api_route(
                marked_path.path,
                answer_request,
                methods=[marked_path.verb],
                response_class=JSONResponse,
                name=name,
                description=method.__doc__ or "",
                openapi_extra={CALLERS_KEY: OPERATORS_TEXT} if requires_operator else None,
            )
            if marked_path.verb == "GET":  # the server leaves out the body of an answer to HEAD
                router.add_api_route(marked_path.path, answer_request, methods=["HEAD"], include_in_schema=False)
    return router
