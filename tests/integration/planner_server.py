"""The planner on a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.planner.bootstrap import build_planner
from services.planner.settings import PlannerSettings
from shared.infra.anthropic_model import AnthropicModel, ModelLimits
from shared.ports.models import Tier
from tests.serving import serving

MODEL = "offline-planner-1"


@asynccontextmanager
async def planner_server() -> AsyncIterator[str]:
    """A planner's base URL."""
    async with serving(build_planner(PlannerSettings())) as url:
        yield url


@asynccontextmanager
async def model_at(
    url: str, limits: ModelLimits | None = None, fallback: str | None = None
) -> AsyncIterator[AnthropicModel]:
    """The adapter against an endpoint, both tiers being the planner's model."""
    model = AnthropicModel(
        tiers=dict.fromkeys(Tier, MODEL),
        fallbacks=dict.fromkeys(Tier, fallback) if fallback else None,
        api_key="sk-test",
        base_url=url,
        limits=limits or ModelLimits(seconds=60, retries=1),
    )
    try:
        yield model
    finally:
        await model.close()
