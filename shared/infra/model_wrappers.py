"""Counts and times the calls of a model."""

from collections.abc import Mapping
from time import perf_counter

from shared.domain import metric_names as names
from shared.ports.meter import Meter
from shared.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable, Tier


class CountedModel(Model):
    """Counts and times the calls of the model inside it.

    ``tiers``: the model of each tier, perhaps without its date. A reply of any other model counts as the fallback's.
    """

    def __init__(self, model: Model, tiers: Mapping[Tier, str], meter: Meter) -> None:
        self._model, self._tiers, self._meter = model, tiers, meter

    async def complete(self, request: ModelRequest) -> ModelReply:
        tier, began, outcome = request.tier, perf_counter(), "cut"
        served = self._tiers.get(tier, "")
        try:
            reply = await self._model.complete(request)
            outcome = "answered" if _name_model(reply).startswith(served) else "fallback"
            served = _name_model(reply)
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
            self._meter.add(names.MODEL_TOKENS, max(0, tokens), tier=tier.value, model=_name_model(reply), kind=kind)


def _name_model(reply: ModelReply) -> str:
    """The name of the requested model, since an endpoint may return another name; else the one in the reply."""
    return reply.asked or reply.model
