"""Counting deliveries to webhooks (``Post``, ``Lines``)."""

from collections.abc import Mapping, Sequence
from time import perf_counter

from typing_extensions import override

from services.gateway.ports.push import Answered, Claim, Due, Lines, Look, Post, Step, Told, Work
from shared.domain import metric_names as names
from shared.ports.meter import Meter


class CountedPost(Post):
    def __init__(self, post: Post, meter: Meter) -> None:
        self._post, self._meter = post, meter

    @override
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        began, outcome = perf_counter(), "undelivered"
        try:
            answered = await self._post.post(url, headers, body)
            outcome = "delivered" if 200 <= answered.status < 300 else "refused"
        finally:
            self._meter.observe(names.WEBHOOK_SECONDS, perf_counter() - began)
            self._meter.add(names.WEBHOOKS, outcome=outcome)
        return answered


class CountedLines(Lines):
    def __init__(self, lines: Lines, meter: Meter) -> None:
        self._lines, self._meter = lines, meter

    @override
    async def look(self, most: int, each: int) -> Look:
        return await self._lines.look(most, each)

    @override
    async def claim(self, due: Sequence[Due], seconds: float) -> Sequence[Claim]:
        return await self._lines.claim(due, seconds)

    @override
    async def read(self, claim: Claim) -> Work | None:
        return await self._lines.read(claim)

    @override
    async def settle(self, claim: Claim, work: Work, told: Told, step: Step, seconds: float) -> str:
        token = await self._lines.settle(claim, work, told, step, seconds)
        if step is Step.OFF:
            self._meter.add(names.WEBHOOKS_OFF)
        return token
