"""Joins the service's parts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.types import ASGIApp

from services.assessor.adapters.recent_tasks import RecentTaskStore
from services.assessor.contexts import GreenAgents
from services.assessor.core.assessment import Models
from services.assessor.entrypoints.app import build_application
from services.assessor.entrypoints.card import agent_card
from services.assessor.entrypoints.executor import GreenAgentExecutor
from services.assessor.settings import AssessorSettings
from shared.ports.tracing import NO_TRACER, Tracer


def build(settings: AssessorSettings, models: Models | None = None, tracer: Tracer = NO_TRACER) -> ASGIApp:
    """The application; its simulators end with it."""
    agents = GreenAgents(settings, models, tracer)

    @asynccontextmanager
    async def background() -> AsyncIterator[None]:
        tending = asyncio.create_task(agents.keep_closing_idle())  # cancelled and awaited below
        try:
            yield
        finally:
            tending.cancel()
            with suppress(asyncio.CancelledError):
                await tending
            await agents.close()

    url = settings.card_url or f"http://{settings.host}:{settings.port}/"
    return build_application(
        agent_card(url, agents.scenario_ids(), agents.has_model),
        GreenAgentExecutor(agents, settings.verbose_updates),
        RecentTaskStore(settings.max_ended_tasks),
        background,
        settings.assessor_api_key.get_secret_value() if settings.requires_key else "",
        settings.max_body_bytes,
    )
