"""Joins the service's parts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from services.simulator.adapters.admin_key import load_or_make_admin_key
from services.simulator.adapters.surroundings import RealSurroundings
from services.simulator.adapters.webhook_sender import open_http_sender
from services.simulator.core.hosted_world import WorldRegistry
from services.simulator.core.modalities.all import MODALITIES
from services.simulator.core.time_preferences import TimePreferences
from services.simulator.entrypoints.app import build_application
from services.simulator.entrypoints.automatic_time import run_automatic_time
from services.simulator.entrypoints.modalities.all import ROUTERS
from services.simulator.entrypoints.notice_delivery import deliver_notices
from services.simulator.settings import SimulatorSettings
from shared.domain.outgoing import addresses_for_webhooks


def build(settings: SimulatorSettings) -> FastAPI:
    """The application with its default world; raises ``OSError`` if the key's file cannot be written."""
    surroundings = RealSurroundings()
    given_key = settings.ues_admin_key.get_secret_value() if settings.ues_admin_key else None
    admin = load_or_make_admin_key(given_key, settings.ues_admin_key_file, surroundings)
    reach = addresses_for_webhooks(settings.webhook_allowed_hosts, permits_loopback=settings.on_loopback)

    @asynccontextmanager
    async def background(registry: WorldRegistry) -> AsyncIterator[None]:
        async with open_http_sender(reach) as sender, deliver_notices(registry, sender), run_automatic_time(registry):
            yield

    return build_application(
        WorldRegistry({**MODALITIES, TimePreferences.name: TimePreferences}, surroundings, admin, settings.max_worlds),
        ROUTERS,
        background,
        authentication=settings.authentication != "off",
        max_body_bytes=settings.max_body_bytes,
        refuses_unknown=settings.unknown_fields == "refuse",
    )
