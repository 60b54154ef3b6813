"""The HTTP surface: verdicts, allowances, translated prose, and the two questions of an orchestrator."""

from time import perf_counter
from typing import Literal

import structlog
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from services.policy.core.allowances import allowances
from services.policy.core.conditions import Conditions
from services.policy.core.evaluate import decide
from services.policy.core.limits import TooMuch
from services.policy.core.prepared import PreparedPolicies
from services.policy.core.prose import check
from services.policy.entrypoints.body import document_of, read_as
from services.policy.entrypoints.held_policies import prepared_policies
from services.policy.entrypoints.openapi import request_body, with_schemas
from services.policy.entrypoints.refusal import Refusal, Refused, answer_refused
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, PolicyContract, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.verdict_word import verdict_word
from shared.domain import metric_names as names
from shared.domain.exact_json import JsonObject
from shared.ports.meter import Meter, NoMeter

_log = structlog.get_logger("policy")
_NOBODY = NoMeter()


class Health(BaseModel):
    status: Literal["ok"] = "ok"


def application(conditions: Conditions, max_body_bytes: int, meter: Meter = _NOBODY) -> FastAPI:
    """The service as an ASGI application. It keeps nothing between requests but what it has parsed."""
    app = FastAPI(title="Purple Agent policy service", version="1", docs_url=None, redoc_url=None)
    app.add_exception_handler(Refused, answer_refused)
    refusals: dict[int | str, dict[str, object]] = {status: {"model": Refusal} for status in (400, 413, 422)}
    held = PreparedPolicies(conditions)

    @app.post(
        "/v1/evaluate", response_model=Verdict, responses={**refusals}, openapi_extra=request_body(EvaluateRequest)
    )
    async def evaluate_rules(request: Request) -> Response:
        """Decide rules over a context, over each planned call, and over the task's text."""
        return _answer(_verdict(await document_of(request, max_body_bytes), held, meter))

    @app.post(
        "/v1/allowances",
        response_model=Allowances,
        responses={**refusals},
        openapi_extra=request_body(AllowanceRequest),
    )
    async def allow(request: Request) -> Response:
        """Say what a turn may do with tools that it calls without a plan."""
        return _answer(_allowances(await document_of(request, max_body_bytes), held))

    @app.post(
        "/v1/prose/check", response_model=ProseAnswer, responses={**refusals}, openapi_extra=request_body(ProseRequest)
    )
    async def check_prose(request: Request) -> Response:
        """Check rules that were translated from prose against that prose, and against the tools that exist."""
        return _answer(_prose(await document_of(request, max_body_bytes), conditions))

    @app.get("/health")
    async def health() -> Health:
        """The process is alive."""
        return Health()

    @app.get("/ready")
    async def ready() -> Health:
        """The service can give verdicts: it needs nothing but itself."""
        return Health()

    with_schemas(app, EvaluateRequest, AllowanceRequest, ProseRequest)
    return app


def _answer(message: PolicyContract) -> Response:
    return Response(message.to_json(), media_type="application/json")


def _verdict(document: JsonObject, held: PreparedPolicies, meter: Meter) -> Verdict:
    began = perf_counter()
    try:
        prepared = prepared_policies(document, held)
        asked = read_as(EvaluateRequest, document, policies=prepared.policies)
        verdict = decide(asked, prepared)
    except TooMuch as error:
        raise Refused(422, str(error), error.field) from None
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


def _allowances(document: JsonObject, held: PreparedPolicies) -> Allowances:
    try:
        prepared = prepared_policies(document, held)
        return allowances(read_as(AllowanceRequest, document, policies=prepared.policies), prepared)
    except TooMuch as error:
        raise Refused(422, str(error), error.field) from None


def _prose(document: JsonObject, conditions: Conditions) -> ProseAnswer:
    try:
        return check(read_as(ProseRequest, document), conditions)
    except TooMuch as error:
        raise Refused(422, str(error), error.field) from None
