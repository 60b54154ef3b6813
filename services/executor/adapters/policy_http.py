"""The policy service over HTTP. Each answer is checked against the policies asked about (``PolicyService``)."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from time import perf_counter
from typing import NamedTuple, TypeVar

import httpx2

from services.executor.ports.services import PolicyService, PolicyUnavailable
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Policy, PolicyContract, Verdict, name_strictest_result
from shared.contracts.policy_hash import hash_context, hash_policies
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.domain import metric_names, span_names as names
from shared.domain.identity_cache import IdentityCache, InternedTuples
from shared.domain.lru_cache import LruCache
from shared.infra.aiohttp_transport import AiohttpTransport
from shared.infra.retries import RETRY_PAUSES, retry_with_pauses
from shared.ports.meter import Meter
from shared.ports.tracing import NO_TRACER, Span, SpanKind, Tracer

Answer = TypeVar("Answer", bound=PolicyContract)
T = TypeVar("T")
_TIMEOUT_SECONDS = 5.0
_HEADERS = httpx2.Headers({"content-type": "application/json"})
_MOST_HASHES = 64
_PROVISIONAL_VERDICT_SECONDS = 30.0  # what a service of another version would say is heard of then


class HttpPolicy(PolicyService):
    """A client of the policy service with one shared pool of connections.

    Policies are named by their hash, and sent in full only if the service does not know that hash. ``seconds`` bounds
    the whole exchange. A verdict from before there is a plan is reused for half a minute if it depends on the policies
    alone.
    """

    def __init__(
        self,
        url: str,
        seconds: float = _TIMEOUT_SECONDS,
        tracer: Tracer = NO_TRACER,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url
        self._tracer = tracer
        self._seconds = seconds
        self._provisional = LruCache[str, _CachedVerdict](_MOST_HASHES)
        self._read_url = lru_cache(maxsize=_MOST_HASHES)(lambda path: httpx2.URL(f"{url.rstrip('/')}{path}"))
        self._transport = transport or AiohttpTransport()

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        if not _depends_on_policies_alone(request):
            return await self._ask_service("evaluate", request, Verdict)
        policy_key = _hash_policies(_intern_policies(request.policies))
        now = asyncio.get_running_loop().time()
        cached_verdict = self._provisional.look_up(policy_key)
        if cached_verdict is None or cached_verdict.until < now:
            verdict = await self._ask_service("evaluate", request, Verdict)
            cached_verdict = self._provisional.put(
                policy_key, _CachedVerdict(verdict, now + _PROVISIONAL_VERDICT_SECONDS)
            )
        return cached_verdict.verdict.model_copy(update={"context_hash": hash_context(request)})

    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        return await self._ask_service("allowances", request, Allowances)

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await self._ask_service("prose/check", request, ProseAnswer)

    async def _ask_service(self, question: str, request: PolicyContract, shape: type[Answer]) -> Answer:
        with self._tracer.open_span(names.POLICY.format(question=question), SpanKind.CLIENT) as span:
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await self._fetch_answer(question, request, shape)
            except TimeoutError as error:
                raise PolicyUnavailable(f"the policy service did not answer within {self._seconds:g} s") from error
            except httpx2.HTTPError as error:
                raise PolicyUnavailable(f"the policy service at {self._url} cannot be reached: {error}") from error
            _put_verdict_on_span(span, answer)
            return answer

    async def _fetch_answer(self, question: str, request: PolicyContract, shape: type[Answer]) -> Answer:
        if isinstance(request, EvaluateRequest | AllowanceRequest) and request.policies:
            known_hash = _hash_policies(_intern_policies(request.policies))
            named_request = request.model_copy(update={"policies": ()})
            response = await self._post(f"/v1/policies/{known_hash}/{question}", named_request)
            if response.status_code != httpx2.codes.NOT_FOUND:  # neither forgotten, nor a service of the version before
                return _require_hash(known_hash, _parse_answer(response, shape))
        return _parse_answer(await self._post(f"/v1/{question}", request), shape)

    async def _post(self, path: str, request: PolicyContract) -> httpx2.Response:
        http_request = httpx2.Request("POST", self._read_url(path), content=request.to_json(), headers=_HEADERS)
        if traceparent := self._tracer.traceparent():
            http_request.headers["traceparent"] = traceparent
        response = await self._transport.handle_async_request(http_request)
        try:
            await response.aread()
        finally:
            await response.aclose()
        return response

    async def close(self) -> None:
        await self._transport.aclose()


class _CachedVerdict(NamedTuple):
    """A provisional verdict that is reused ``until`` a time on the event loop's clock."""

    verdict: Verdict
    until: float


def _depends_on_policies_alone(request: EvaluateRequest) -> bool:
    """Whether every such request gets the same verdict: it has only a task's text, and no rule judges texts."""
    facts = (request.binding, request.calls, request.context, request.history, request.confirmations, request.plan_hash)
    return not any(facts) and not any(policy.judges_texts for policy in request.policies)


_intern_policies = InternedTuples[Policy](_MOST_HASHES)
_hash_policies = IdentityCache[tuple[Policy, ...], str](hash_policies, _MOST_HASHES)  # a turn asks often


def _require_hash(policy_hash: str, answer: Answer) -> Answer:
    """The answer, if it names the expected policy hash; else raises ``PolicyUnavailable``."""
    if isinstance(answer, Verdict | Allowances) and answer.policy_hash != policy_hash:
        raise PolicyUnavailable("the policy service answered by other policies than those that it was asked about")
    return answer


def _put_verdict_on_span(span: Span, answer: PolicyContract) -> None:
    if not span.is_recording or not isinstance(answer, Verdict):
        return
    span.annotate({names.POLICY_PASSED: answer.passed, names.POLICY_BINDING: answer.binding})
    span.annotate({names.POLICY_TRIGGERED: len(answer.triggered_rules), names.POLICY_REFUSED: len(answer.refusals)})


def _parse_answer(response: httpx2.Response, shape: type[Answer]) -> Answer:
    if response.status_code != httpx2.codes.OK:
        raise PolicyUnavailable(f"the policy service answered {response.status_code}: {response.text[:200]}")
    try:
        return shape.from_json(response.content)
    except ValueError as error:
        raise PolicyUnavailable(f"the policy service's answer is no {shape.__name__.lower()}") from error


class RetryingPolicy(PolicyService):
    """A policy service whose questions are repeated while it is unavailable, and counted. Repeating is safe, since a
    verdict changes nothing.

    A verdict that need not be binding is asked for only once, unless the policies judge texts.
    """

    def __init__(self, service: PolicyService, meter: Meter, pauses: tuple[float, ...] = RETRY_PAUSES) -> None:
        self._service = service
        self._meter = meter
        self._pauses = pauses

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        may_differ_by_request = request.binding or any(policy.judges_texts for policy in request.policies)
        pauses = self._pauses if may_differ_by_request else ()
        return await self._ask_and_count(
            "verdict", lambda: self._service.evaluate(request), pauses, name_strictest_result
        )

    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        return await self._ask_and_count("allowances", lambda: self._service.get_allowances(request), self._pauses)

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await self._ask_and_count("prose", lambda: self._service.check_prose(request), self._pauses)

    async def _ask_and_count(
        self,
        question: str,
        ask: Callable[[], Awaitable[T]],
        pauses: tuple[float, ...],
        describe_answer: Callable[[T], str] = lambda _: "answered",
    ) -> T:
        began, result = perf_counter(), "given_up"
        try:
            answer = await retry_with_pauses(ask, (PolicyUnavailable,), pauses)
            result = describe_answer(answer)
        except PolicyUnavailable:
            result = "unavailable"
            raise
        finally:
            self._meter.observe(metric_names.POLICY_SECONDS, perf_counter() - began, question=question)
            self._meter.add(metric_names.POLICY_ASKED, question=question, answer=result)
        return answer
