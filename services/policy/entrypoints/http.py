"""The HTTP surface: one verdict a request, and the two questions of an orchestrator."""

from typing import Literal

import structlog
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from services.policy.core.conditions import Conditions
from services.policy.core.evaluate import evaluate
from services.policy.core.limits import TooMuch
from services.policy.entrypoints.body import evaluate_request
from services.policy.entrypoints.openapi import request_body, with_schemas
from services.policy.entrypoints.refusal import Refusal, Refused, answer_refused
from shared.contracts.policy import EvaluateRequest, Verdict

_log = structlog.get_logger("policy")
_REFUSALS: dict[int | str, dict[str, object]] = {status: {"model": Refusal} for status in (400, 413, 422)}


class Health(BaseModel):
    status: Literal["ok"] = "ok"


def application(conditions: Conditions, max_body_bytes: int) -> FastAPI:
    """The service as an ASGI application. It keeps nothing between requests but parsed conditions."""
    app = FastAPI(title="Purple Agent policy service", version="1", docs_url=None, redoc_url=None)
    app.add_exception_handler(Refused, answer_refused)
    refusals: dict[int | str, dict[str, object]] = {status: {"model": Refusal} for status in (400, 413, 422)}

    @app.post(
        "/v1/evaluate", response_model=Verdict, responses={**refusals}, openapi_extra=request_body(EvaluateRequest)
    )
    async def evaluate_rules(request: Request) -> Response:
        """Decide rules over a context, and over each planned call."""
        asked = await evaluate_request(request, max_body_bytes)
        return Response(_decided(asked, conditions).to_json(), media_type="application/json")

    @app.get("/health")
    async def health() -> Health:
        """The process is alive."""
        return Health()

    @app.get("/ready")
    async def ready() -> Health:
        """The service can give verdicts: it needs nothing but itself."""
        return Health()

    with_schemas(app, EvaluateRequest)
    return app


def _decided(asked: EvaluateRequest, conditions: Conditions) -> Verdict:
    try:
        verdict = evaluate(asked, conditions)
    except TooMuch as error:
        raise Refused(422, str(error), error.field) from None
    _log.info(
        "verdict",
        passed=verdict.passed,
        binding=verdict.binding,
        rules=sum(len(policy.rules) for policy in asked.policies),
        calls=len(asked.calls),
        triggered=len(verdict.triggered_rules),
        problems=len(verdict.problems),
        plan_hash=verdict.plan_hash,
    )
    return verdict
