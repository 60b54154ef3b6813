"""The HTTP surface: verdicts, allowances, translated prose, and the two questions of an orchestrator."""

from time import perf_counter
from typing import Literal

import structlog
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from services.policy.core.allowances import allowances
from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import decide
from services.policy.core.prepared import PreparedPolicies, TooMuch
from services.policy.core.prose import check
from services.policy.entrypoints.body import (
    RefusalBody,
    RequestRejected,
    answer_refused,
    answer_too_much,
    document_of,
    prepared_policies,
    read_as,
)
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, PolicyContract, Verdict, verdict_word
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.domain import metric_names as names
from shared.domain.exact_json import JsonObject
from shared.ports.meter import Meter, NoMeter

_log = structlog.get_logger("policy")
_NOBODY = NoMeter()


class PolicyHealth(BaseModel):
    status: Literal["ok"] = "ok"


def application(conditions: ConditionCache, max_body_bytes: int, meter: Meter = _NOBODY) -> FastAPI:
    """The service as an ASGI application. It keeps nothing between requests but what it has prepared."""
    app = FastAPI(title="Purple Agent policy service", version="1", docs_url=None, redoc_url=None)
    app.add_exception_handler(RequestRejected, answer_refused)
    app.add_exception_handler(TooMuch, answer_too_much)
    refusals: dict[int | str, dict[str, object]] = {status: {"model": RefusalBody} for status in (400, 413, 422)}
    or_unknown: dict[int | str, dict[str, object]] = {**refusals, 404: {"model": RefusalBody}}
    about_plans, about_tools = request_body(EvaluateRequest), request_body(AllowanceRequest)
    held = PreparedPolicies(conditions)

    @app.post("/v1/evaluate", response_model=Verdict, responses=refusals, openapi_extra=about_plans)
    async def evaluate_rules(request: Request) -> Response:
        """Decide rules over a context, over each planned call, and over the task's text."""
        return _answer(_verdict(await document_of(request, max_body_bytes), None, held, meter))

    @app.post("/v1/allowances", response_model=Allowances, responses=refusals, openapi_extra=about_tools)
    async def allow(request: Request) -> Response:
        """Say what a turn may do with tools that it calls without a plan."""
        return _answer(_allowances(await document_of(request, max_body_bytes), None, held))

    by_hash = "/v1/policies/{policy_hash}"

    @app.post(f"{by_hash}/evaluate", response_model=Verdict, responses=or_unknown, openapi_extra=about_plans)
    async def evaluate_known_rules(policy_hash: str, request: Request) -> Response:
        """The same under policies that were sent before; 404 where they are not known, or not any more."""
        return _answer(_verdict(await document_of(request, max_body_bytes), policy_hash, held, meter))

    @app.post(f"{by_hash}/allowances", response_model=Allowances, responses=or_unknown, openapi_extra=about_tools)
    async def allow_by_known_rules(policy_hash: str, request: Request) -> Response:
        """The same under policies that were sent before; 404 where they are not known, or not any more."""
        return _answer(_allowances(await document_of(request, max_body_bytes), policy_hash, held))

    @app.post(
        "/v1/prose/check", response_model=ProseAnswer, responses=refusals, openapi_extra=request_body(ProseRequest)
    )
    async def check_prose(request: Request) -> Response:
        """Check rules that were translated from prose against that prose, and against the tools that exist."""
        return _answer(check(read_as(ProseRequest, await document_of(request, max_body_bytes)), conditions))

    @app.get("/health")
    async def health() -> PolicyHealth:
        """The process is alive."""
        return PolicyHealth()

    @app.get("/ready")
    async def ready() -> PolicyHealth:
        """The service can give verdicts: it needs nothing but itself."""
        return PolicyHealth()

    with_schemas(app, EvaluateRequest, AllowanceRequest, ProseRequest)
    return app


def _answer(message: PolicyContract) -> Response:
    return Response(message.to_json(), media_type="application/json")


def _allowances(document: JsonObject, policy_hash: str | None, held: PreparedPolicies) -> Allowances:
    prepared = prepared_policies(document, policy_hash, held)
    return allowances(read_as(AllowanceRequest, document, policies=()), prepared)


def _verdict(document: JsonObject, policy_hash: str | None, held: PreparedPolicies, meter: Meter) -> Verdict:
    began = perf_counter()
    prepared = prepared_policies(document, policy_hash, held)
    asked = read_as(EvaluateRequest, document, policies=())
    verdict = decide(asked, prepared)
    meter.observe(names.VERDICT_SECONDS, perf_counter() - began)
    meter.add(names.VERDICTS, verdict=verdict_word(verdict), binding="yes" if verdict.binding else "no")
    _log.info(
        "verdict",
        passed=verdict.passed,
        binding=verdict.binding,
        rules=prepared.rules,
        calls=len(asked.calls),
        triggered=len(verdict.triggered_rules),
        refused=len(verdict.refusals),
        problems=len(verdict.problems),
        plan_hash=verdict.plan_hash,
    )
    return verdict


_SCHEMAS = "#/components/schemas/{model}"


def request_body(model: type[BaseModel]) -> dict[str, object]:
    """The OpenAPI fragment of an operation whose body is that model."""
    content = {"application/json": {"schema": {"$ref": _SCHEMAS.format(model=model.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}


def with_schemas(app: FastAPI, *models: type[BaseModel]) -> None:
    """Add the models and what they refer to to the application's description."""
    for model in models:
        described = model.model_json_schema(by_alias=True, ref_template=_SCHEMAS)
        parts = described.pop("$defs", {}) | {model.__name__: described}
        app.openapi().setdefault("components", {}).setdefault("schemas", {}).update(parts)
