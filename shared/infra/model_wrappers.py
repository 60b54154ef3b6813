"""Wrappers of a model: one loads it with the first request, one counts its calls."""

import asyncio
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Protocol

from shared.domain import metric_names as names
from shared.ports.meter import Meter
from shared.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable, Tier


class ClosableModel(Model, Protocol):
    async def close(self) -> None: ...


class LazyModel(Model):
    """A model that ``load`` creates in a thread, once, at the first request."""

    def __init__(self, load: Callable[[], ClosableModel]) -> None:
        self._load = load
        self._loading = asyncio.Lock()
        self._model: ClosableModel | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        model = self._model or await self._load_once()
        return await model.complete(request)

    async def close(self) -> None:
        """Closes the model, if it was ever loaded."""
        if self._model is not None:
            await self._model.close()

    async def _load_once(self) -> ClosableModel:
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(self._load)
            return self._model


class CountedModel(Model):
    """Counts and times the calls of the model inside it.

    ``tiers``: the model of each tier, perhaps without its date. A reply of any other model counts as the fallback's.
    """

    def __init__(self, model: Model, tiers: Mapping[Tier, str], meter: Meter) -> None:
        self._model = model
        self._tiers = tiers
        self._meter = meter

    async def complete(self, request: ModelRequest) -> ModelReply:
        tier = request.tier
        began = perf_counter()
        outcome = "cut"
        served = self._tiers.get(tier, "")
        try:
            reply = await self._model.complete(request)
            outcome = "answered" if _get_asked_model_name(reply).startswith(served) else "fallback"
            served = _get_asked_model_name(reply)
        except ModelUnavailable:
            outcome = "unavailable"
            raise
        finally:
            self._meter.observe(names.MODEL_SECONDS, perf_counter() - began, tier=tier.value)
            self._meter.add(names.MODEL_CALLS, tier=tier.value, model=served, outcome=outcome)
        self._count_tokens(tier, reply)
        return reply

    def _count_tokens(self, tier: Tier, reply: ModelReply) -> None:
        for kind, tokens in reply.usage._asdict().items():
            self._meter.add(
                names.MODEL_TOKENS, max(0, tokens), tier=tier.value, model=_get_asked_model_name(reply), kind=kind
            )


def _get_asked_model_name(reply: ModelReply) -> str:
    """The name of the requested model, since an endpoint may return another name; else the one in the reply."""
    return reply.asked or reply.model
