"""The optional part ``brainos``: an external orchestrator, used if ``ORCHESTRATORS`` names it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.executor.adapters.brainos import BrainOS, BrainOSAccount
from services.executor.optional_parts import EquipPorts, ExecutorPartHost


@asynccontextmanager
async def open_brainos_part(host: ExecutorPartHost) -> AsyncIterator[EquipPorts]:
    settings = host.settings
    account = BrainOSAccount(settings.brainos_api_url, settings.brainos_api_key, settings.brainos_org_id)
    brainos = BrainOS(account, settings.brainos_timeout)
    try:
        yield lambda ports: ports._replace(brainos=brainos)
    finally:
        await brainos.close()
