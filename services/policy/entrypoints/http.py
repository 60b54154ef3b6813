"""The service's HTTP routes: verdicts, allowances, translated prose, health and readiness."""

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import NamedTuple, TypeVar

import structlog
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from services.policy.core.allowances import decide_allowances
from services.policy.core.evaluate import decide
from services.policy.core.prepared import PreparedPolicies, PreparedPolicyCache, RequestTooLarge
from services.policy.core.prose import check_translated_rules
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Policy, PolicyContract, Verdict, name_strictest_result
from shared.contracts.policy_document import find_first_unknown_field
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.domain import metric_names as names
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.ports.meter import NO_METER, Meter


class RequestRejected(Exception):
    """The service refuses the request. ``status``: the HTTP status; ``field``: the faulty part of the body; the message
    is for people.
    """

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.field = field


class RefusalBody(BaseModel):
    """The body of every error response."""

    error: str
    field: str | None = None


def _build_refusal_response(error: RequestRejected | RequestTooLarge) -> JSONResponse:
    """The HTTP response for ``RequestRejected`` or ``RequestTooLarge``."""
    refusal = RefusalBody(error=str(error), field=error.field)
    return JSONResponse(refusal.model_dump(), error.status if isinstance(error, RequestRejected) else 422)


_NO_VALUE_TEXT = "a text, number, boolean or null is needed, a list of these, or an object that holds nothing deeper"
_Model = TypeVar("_Model", bound=BaseModel)


class _PoliciesBody(PolicyContract):
    """A request's body, of which only the policies are read."""

    policies: tuple[Policy, ...] = ()


async def _read_json_body(request: Request, limit: int) -> JsonObject:
    """The request's body as a JSON object; raises ``RequestRejected``. ``limit``: in bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRejected(413, f"the body is larger than {limit} bytes")
    return _parse_json_body(bytes(body))


def _parse_json_body(body: bytes) -> JsonObject:
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


def _validate_document(model: type[_Model], document: JsonObject, **parsed_fields: object) -> _Model:
    """The document as a ``model``, with ``parsed_fields`` in place of its own; raises ``RequestRejected``."""
    try:
        return model.model_validate({**document, **parsed_fields})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = _find_document_path(document, fault["loc"])
    sentence = _NO_VALUE_TEXT if _is_inside_context_value(path) else fault["msg"]
    if fault["type"] == "missing":
        path, sentence = [*path, str(fault["loc"][-1])], "a value is required"
    raise RequestRejected(422, f"{'.'.join(path)}: {sentence}", ".".join(path))


def _get_prepared_policies(
    document: JsonObject, policy_hash: str | None, cache: PreparedPolicyCache
) -> PreparedPolicies:
    """The prepared policies of the given hash, or those in the document if there is no hash.

    Raises ``RequestRejected`` if they are unknown, invalid, or given beside a hash, ``RequestTooLarge`` if too large.
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
    """The policies in a document; raises ``RequestRejected`` (422) if one is invalid.

    Unknown fields are refused, since a misspelt one would silently have no effect.
    """
    documents = document.get("policies", [])
    policies = _validate_document(_PoliciesBody, {"policies": documents}).policies
    for index, policy in enumerate(documents if isinstance(documents, list) else ()):
        if strange := find_first_unknown_field(policy):
            raise RequestRejected(422, f"policies.{index}: nobody reads the field {strange}", f"policies.{index}")
    return policies


def _is_inside_context_value(path: Sequence[str]) -> bool:
    return "context" in path or ("fields" in path and path[0] in ("calls", "history", "confirmations"))


def _find_document_path(document: Json, location: Sequence[str | int]) -> list[str]:
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


class PathOperation(NamedTuple):
    """One POST path of the API with the models of its body and answer. ``decide`` gets the body, and the policy hash in
    the path (None if it has none), and returns the answer.
    """

    path: str
    body: type[PolicyContract]
    answer: type[PolicyContract]
    decide: Callable[[JsonObject, str | None], PolicyContract]
    summary: str

    def make_request_handler(self, limit: int) -> Callable[[Request], Awaitable[Response]]:
        """A request handler that answers with the decision on a body of at most ``limit`` bytes."""

        async def answer_request(request: Request) -> Response:
            request.scope["route"] = self  # by whose path it is counted
            try:
                document = await _read_json_body(request, limit)
                message = self.decide(document, request.path_params.get("policy_hash"))
            except (RequestRejected, RequestTooLarge) as refused:
                return _build_refusal_response(refused)
            return Response(message.to_json(), media_type="application/json")

        return answer_request


def build_application(max_body_bytes: int, meter: Meter = NO_METER) -> Starlette:
    """The service as an ASGI application. It keeps only caches of policies, conditions and patterns."""
    cache = PreparedPolicyCache()

    def answer_evaluate(document: JsonObject, policy_hash: str | None) -> Verdict:
        return _decide_and_count(document, policy_hash, cache, meter)

    def answer_allowances(document: JsonObject, policy_hash: str | None) -> Allowances:
        policies = _get_prepared_policies(document, policy_hash, cache)
        return decide_allowances(_validate_document(AllowanceRequest, document, policies=()), policies)

    def answer_prose(document: JsonObject, _: str | None) -> ProseAnswer:
        return check_translated_rules(_validate_document(ProseRequest, document))

    verdict = "Decide rules over a context, over each planned call, and over the task's text."
    allowances = "Say what a turn may do with tools that it calls without a plan."
    prose = "Check rules that were translated from prose against that prose, and against the tools that exist."
    by_hash = "/v1/policies/{policy_hash}"
    operations = (
        PathOperation("/v1/evaluate", EvaluateRequest, Verdict, answer_evaluate, verdict),
        PathOperation("/v1/allowances", AllowanceRequest, Allowances, answer_allowances, allowances),
        PathOperation(f"{by_hash}/evaluate", EvaluateRequest, Verdict, answer_evaluate, verdict),
        PathOperation(f"{by_hash}/allowances", AllowanceRequest, Allowances, answer_allowances, allowances),
        PathOperation("/v1/prose/check", ProseRequest, ProseAnswer, answer_prose, prose),
    )

    async def answer_health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def answer_openapi(_: Request) -> Response:
        return JSONResponse(_describe_operations(operations))

    routes = [Route(each.path, each.make_request_handler(max_body_bytes), methods=["POST"]) for each in operations]
    probes = [Route(path, answer_health) for path in ("/health", "/ready")]
    return Starlette(routes=[*routes, Route("/openapi.json", answer_openapi), *probes])


def _decide_and_count(
    document: JsonObject, policy_hash: str | None, cache: PreparedPolicyCache, meter: Meter
) -> Verdict:
    """Decides the request in ``document``, logs the verdict and counts it. Raises ``RequestRejected`` and
    ``RequestTooLarge``.
    """
    began = perf_counter()
    policies = _get_prepared_policies(document, policy_hash, cache)
    evaluation = _validate_document(EvaluateRequest, document, policies=())
    verdict = decide(evaluation, policies)
    meter.observe(names.VERDICT_SECONDS, perf_counter() - began)
    meter.add(names.VERDICTS, verdict=name_strictest_result(verdict), binding="yes" if verdict.binding else "no")
    _log.info(
        "verdict_reached",
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


def _describe_operations(operations: Sequence[PathOperation]) -> dict[str, object]:
    """The OpenAPI document of the service."""
    forms: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(RefusalBody, "serialization"): None}
    for each in operations:
        forms |= {(each.body, "validation"): None, (each.answer, "serialization"): None}
    _, schemas = models_json_schema([*forms], ref_template="#/components/schemas/{model}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Purple Agent policy service", "version": "1"},
        "paths": {each.path: {"post": _describe_operation(each)} for each in operations},
        "components": {"schemas": schemas["$defs"]},
    }


def _describe_operation(operation: PathOperation) -> dict[str, object]:
    by_hash = [{"name": "policy_hash", "in": "path", "required": True, "schema": {"type": "string"}}]
    takes_hash = "{policy_hash}" in operation.path
    refusals = {
        status: _describe_json_content(RefusalBody) for status in ("400", "413", "422", *(["404"] * takes_hash))
    }
    return {
        "summary": operation.summary,
        "parameters": by_hash * takes_hash,
        "requestBody": {**_describe_json_content(operation.body), "required": True},
        "responses": {"200": _describe_json_content(operation.answer), **refusals},
    }


def _describe_json_content(model: type[BaseModel]) -> dict[str, object]:
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"description": model.__doc__, "content": {"application/json": {"schema": schema}}}
