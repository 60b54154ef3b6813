"""The policy service over HTTP: a verdict that can be trusted, or none (``PolicyService``)."""

import asyncio

import httpx

from services.executor.ports import PolicyService, PolicyUnavailable
from shared.contracts.policy import EvaluateRequest, Verdict

_SECONDS = 5.0


class HttpPolicy(PolicyService):
    """One shared client. A verdict changes nothing, so a connection that failed is tried once more.

    ``seconds`` bounds the whole exchange, also with a service that answers a byte at a time.
    """

    def __init__(self, url: str, seconds: float = _SECONDS) -> None:
        self._url = url
        self._seconds = seconds
        self._client = httpx.AsyncClient(
            base_url=url, timeout=seconds, transport=httpx.AsyncHTTPTransport(retries=1), follow_redirects=False
        )

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        body = request.to_json()
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._client.post(
                    "/v1/evaluate", content=body, headers={"content-type": "application/json"}
                )
        except (httpx.TimeoutException, TimeoutError) as error:
            raise PolicyUnavailable(f"the policy service did not answer within {self._seconds:g} s") from error
        except httpx.HTTPError as error:
            raise PolicyUnavailable(f"the policy service at {self._url} cannot be reached: {error}") from error
        return self._verdict(response)

    async def close(self) -> None:
        await self._client.aclose()

    def _verdict(self, response: httpx.Response) -> Verdict:
        if response.status_code != httpx.codes.OK:
            raise PolicyUnavailable(f"the policy service answered {response.status_code}: {response.text[:200]}")
        try:
            return Verdict.from_json(response.content)
        except ValueError as error:
            raise PolicyUnavailable("the policy service's answer is no verdict") from error
