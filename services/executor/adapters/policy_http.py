"""The policy service over HTTP: a verdict that can be trusted, or none (``PolicyService``)."""

import asyncio
from typing import TypeVar

import httpx

from services.executor.ports.policy import PolicyService, PolicyUnavailable
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, PolicyContract, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.domain import span_names as names
from shared.ports.tracing import NO_TRACER, Span, SpanKind, Tracer

Answer = TypeVar("Answer", bound=PolicyContract)
_SECONDS = 5.0


class HttpPolicy(PolicyService):
    """One shared client. A verdict changes nothing, so a connection that failed is tried once more.

    ``seconds`` bounds the whole exchange, also with a service that answers a byte at a time.
    """

    def __init__(self, url: str, seconds: float = _SECONDS, tracer: Tracer = NO_TRACER) -> None:
        self._url = url
        self._tracer = tracer
        self._seconds = seconds
        self._client = httpx.AsyncClient(
            base_url=url, timeout=seconds, transport=httpx.AsyncHTTPTransport(retries=1), follow_redirects=False
        )

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        return await self._asked("/v1/evaluate", request, Verdict)

    async def allowances(self, request: AllowanceRequest) -> Allowances:
        return await self._asked("/v1/allowances", request, Allowances)

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await self._asked("/v1/prose/check", request, ProseAnswer)

    async def _asked(self, path: str, request: PolicyContract, shape: type[Answer]) -> Answer:
        with self._tracer.span(names.POLICY.format(question=path.rsplit("/v1/")[-1]), SpanKind.CLIENT) as span:
            answer = await self._answered(path, request, shape)
            _note(span, answer)
            return answer

    async def _answered(self, path: str, request: PolicyContract, shape: type[Answer]) -> Answer:
        headers = {"content-type": "application/json"}
        if here := self._tracer.traceparent():
            headers["traceparent"] = here
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._client.post(path, content=request.to_json(), headers=headers)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise PolicyUnavailable(f"the policy service did not answer within {self._seconds:g} s") from error
        except httpx.HTTPError as error:
            raise PolicyUnavailable(f"the policy service at {self._url} cannot be reached: {error}") from error
        return _read(response, shape)

    async def close(self) -> None:
        await self._client.aclose()


def _note(span: Span, answer: PolicyContract) -> None:
    if not span.is_recording or not isinstance(answer, Verdict):
        return
    span.note({names.PASSED: answer.passed, names.BINDING: answer.binding})
    span.note({names.TRIGGERED: len(answer.triggered_rules), names.REFUSED: len(answer.refusals)})


def _read(response: httpx.Response, shape: type[Answer]) -> Answer:
    if response.status_code != httpx.codes.OK:
        raise PolicyUnavailable(f"the policy service answered {response.status_code}: {response.text[:200]}")
    try:
        return shape.from_json(response.content)
    except ValueError as error:
        raise PolicyUnavailable(f"the policy service's answer is no {shape.__name__.lower()}") from error
