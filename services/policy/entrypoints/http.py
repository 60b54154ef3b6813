"""The service's HTTP routes: verdicts, allowances, translated prose, health and readiness."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal, TypeVar

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.routing import Match
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from services.policy.core.allowances import decide_allowances
from services.policy.core.evaluate import decide
from services.policy.core.prepared import PreparedPolicies, PreparedPolicyCache, RequestTooLarge
from services.policy.core.prose import check_candidates
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Policy, PolicyContract, Verdict, strictest_result
from shared.contracts.policy_document import find_first_unknown_field
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.domain import metric_names as names
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.ports.meter import NO_METER, Meter


class RequestRejected(Exception):
    """The request is refused. ``status``: the HTTP status; the message is for people; ``field``: the faulty part."""

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.field = field


class RefusalBody(BaseModel):
    """The body of every error response."""

    error: str
    field: str | None = None


def build_refusal_response(error: RequestRejected | RequestTooLarge) -> JSONResponse:
    """The HTTP response for ``RequestRejected`` or ``RequestTooLarge``."""
    refusal = RefusalBody(error=str(error), field=error.field)
    return JSONResponse(refusal.model_dump(), error.status if isinstance(error, RequestRejected) else 422)


_NO_VALUE_TEXT = "a text, number, boolean or null is needed, a list of these, or an object that holds nothing deeper"
_Model = TypeVar("_Model", bound=BaseModel)


class _Policies(PolicyContract):
    policies: tuple[Policy, ...] = ()


async def read_document(request: Request, limit: int) -> JsonObject:
    """The request's body as a JSON object; raises ``RequestRejected``. ``limit``: in bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRejected(413, f"the body is larger than {limit} bytes")
    return _parse_body(bytes(body))


def _parse_body(body: bytes) -> JsonObject:
    try:
        document = loads_object(body.decode())
        if b"\\u" in body:
            dumps(document).encode()  # refuses what JSON can spell and text cannot hold: half of a surrogate pair
    except UnicodeError:
        raise RequestRejected(400, "the body is not UTF-8 text") from None
    except RecursionError:
        raise RequestRejected(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise RequestRejected(400, f"the body is not a JSON object: {error}") from None
    return document


def validate_document(model: type[_Model], document: JsonObject, **parsed_fields: object) -> _Model:
    """The document as a ``model``, with ``parsed_fields`` in place of its own; raises ``RequestRejected``."""
    try:
        return model.model_validate({**document, **parsed_fields})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = _find_path(document, fault["loc"])
    sentence = _NO_VALUE_TEXT if _is_context_value(path) else fault["msg"]
    if fault["type"] == "missing":
        path, sentence = [*path, str(fault["loc"][-1])], "a value is required"
    raise RequestRejected(422, f"{'.'.join(path)}: {sentence}", ".".join(path))


def get_prepared_policies(
    document: JsonObject, policy_hash: str | None, cache: PreparedPolicyCache
) -> PreparedPolicies:
    """The prepared policies of the given hash, or those in the document if there is no hash.

    Raises ``RequestRejected`` if they are unknown or invalid, ``RequestTooLarge`` if there are too many.
    """
    if policy_hash is None:
        return cache.get_or_prepare(_read_policies(document))
    if document.get("policies"):
        raise RequestRejected(422, "policies: the path names them already", "policies")
    policies = cache.look_up(policy_hash)
    if policies is None:
        raise RequestRejected(404, "no policies of this hash are known here: send them with the request", "policyHash")
    return policies


def _read_policies(document: JsonObject) -> tuple[Policy, ...]:
    """The policies in a document. Unknown fields are refused, since a misspelt one would silently have no effect."""
    documents = document.get("policies", [])
    policies = validate_document(_Policies, {"policies": documents}).policies
    for index, policy in enumerate(documents if isinstance(documents, list) else ()):
        if strange := find_first_unknown_field(policy):
            raise RequestRejected(422, f"policies.{index}: nobody reads the field {strange}", f"policies.{index}")
    return policies


def _is_context_value(path: Sequence[str]) -> bool:
    return "context" in path or ("fields" in path and path[0] in ("calls", "history", "confirmations"))


def _find_path(document: Json, location: Sequence[str | int]) -> list[str]:
    """The beginning of an error's location that exists in the document, without the names of union members after it."""
    path: list[str] = []
    for step in location:
        if isinstance(document, dict) and step in document:
            document = document[str(step)]
        elif isinstance(document, list) and isinstance(step, int):
            document = document[step]
        else:
            break
        path.append(str(step))
    return path


_log = structlog.get_logger("policy")


class PolicyHealth(BaseModel):
    status: Literal["ok"] = "ok"


class PolicyApp(FastAPI):
    """An application that describes its request bodies itself, when its schema is first asked for.

    FastAPI's own body handling takes as long as a verdict, and is left out.
    """

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for route in self.routes if scope["type"] == "http" and scope["method"] == "POST" else ():
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                return await self._answer_body(Request(scope, receive), send)
        return await super().__call__(scope, receive, send)

    async def _answer_body(self, request: Request, send: Send) -> None:
        try:
            answer: Response = await request["endpoint"](request=request, **request.path_params)
        except (RequestRejected, RequestTooLarge) as refused:
            answer = build_refusal_response(refused)
        await answer(request.scope, request.receive, send)

    @override
    def openapi(self) -> dict[str, Any]:  # as FastAPI types it
        if self.openapi_schema is None:
            schemas = super().openapi().setdefault("components", {}).setdefault("schemas", {})
            for model in (EvaluateRequest, AllowanceRequest, ProseRequest):
                schema = model.model_json_schema(by_alias=True, ref_template=_SCHEMA_REFERENCE_TEMPLATE)
                schemas.update(schema.pop("$defs", {}) | {model.__name__: schema})
        return super().openapi()


def build_application(max_body_bytes: int, meter: Meter = NO_METER) -> FastAPI:
    """The service as an ASGI application. It keeps only caches of policies, conditions and patterns."""
    app = PolicyApp(title="Purple Agent policy service", version="1", docs_url=None, redoc_url=None)
    refusals: dict[int | str, dict[str, object]] = {status: {"model": RefusalBody} for status in (400, 413, 422)}
    refusals_and_unknown: dict[int | str, dict[str, object]] = {**refusals, 404: {"model": RefusalBody}}
    plan_body, tool_body = describe_request_body(EvaluateRequest), describe_request_body(AllowanceRequest)
    cache = PreparedPolicyCache()

    @app.post("/v1/evaluate", response_model=Verdict, responses=refusals, openapi_extra=plan_body)
    async def evaluate_rules(request: Request) -> Response:
        """Decide rules over a context, over each planned call, and over the task's text."""
        return _json_response(_reach_verdict(await read_document(request, max_body_bytes), None, cache, meter))

    @app.post("/v1/allowances", response_model=Allowances, responses=refusals, openapi_extra=tool_body)
    async def judge_allowances(request: Request) -> Response:
        """Say what a turn may do with tools that it calls without a plan."""
        return _json_response(_judge_allowances(await read_document(request, max_body_bytes), None, cache))

    by_hash = "/v1/policies/{policy_hash}"

    @app.post(f"{by_hash}/evaluate", response_model=Verdict, responses=refusals_and_unknown, openapi_extra=plan_body)
    async def evaluate_known_rules(policy_hash: str, request: Request) -> Response:
        """Decide as ``/v1/evaluate`` does, under policies that were sent before; 404 if they are unknown by now."""
        return _json_response(_reach_verdict(await read_document(request, max_body_bytes), policy_hash, cache, meter))

    @app.post(
        f"{by_hash}/allowances", response_model=Allowances, responses=refusals_and_unknown, openapi_extra=tool_body
    )
    async def judge_allowances_by_known_rules(policy_hash: str, request: Request) -> Response:
        """Answer as ``/v1/allowances`` does, under policies that were sent before; 404 if they are unknown by now."""
        return _json_response(_judge_allowances(await read_document(request, max_body_bytes), policy_hash, cache))

    @app.post(
        "/v1/prose/check",
        response_model=ProseAnswer,
        responses=refusals,
        openapi_extra=describe_request_body(ProseRequest),
    )
    async def check_prose(request: Request) -> Response:
        """Check rules that were translated from prose against that prose, and against the tools that exist."""
        document = await read_document(request, max_body_bytes)
        return _json_response(check_candidates(validate_document(ProseRequest, document)))

    @app.get("/health")
    async def health() -> PolicyHealth:
        """The process is alive."""
        return PolicyHealth()

    @app.get("/ready")
    async def ready() -> PolicyHealth:
        """The service can give verdicts: it needs nothing but itself."""
        return PolicyHealth()

    return app


def _json_response(message: PolicyContract) -> Response:
    return Response(message.to_json(), media_type="application/json")


def _judge_allowances(document: JsonObject, policy_hash: str | None, cache: PreparedPolicyCache) -> Allowances:
    policies = get_prepared_policies(document, policy_hash, cache)
    return decide_allowances(validate_document(AllowanceRequest, document, policies=()), policies)


def _reach_verdict(document: JsonObject, policy_hash: str | None, cache: PreparedPolicyCache, meter: Meter) -> Verdict:
    began = perf_counter()
    policies = get_prepared_policies(document, policy_hash, cache)
    evaluation = validate_document(EvaluateRequest, document, policies=())
    verdict = decide(evaluation, policies)
    meter.observe(names.VERDICT_SECONDS, perf_counter() - began)
    meter.add(names.VERDICTS, verdict=strictest_result(verdict), binding="yes" if verdict.binding else "no")
    _log.info(
        "verdict",
        passed=verdict.passed,
        binding=verdict.binding,
        rules=policies.rule_count,
        calls=len(evaluation.calls),
        triggered=len(verdict.triggered_rules),
        refused=len(verdict.refusals),
        problems=len(verdict.problems),
        plan_hash=verdict.plan_hash,
    )
    return verdict


_SCHEMA_REFERENCE_TEMPLATE = "#/components/schemas/{model}"


def describe_request_body(model: type[BaseModel]) -> dict[str, object]:
    """The OpenAPI fragment for an operation whose body is ``model``."""
    content = {"application/json": {"schema": {"$ref": _SCHEMA_REFERENCE_TEMPLATE.format(model=model.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}
