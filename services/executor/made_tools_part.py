"""The optional part ``made_tools``: small programs that a model writes for a tenant, run in a sandbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.executor.adapters.made_tools import MontySandbox, RedisMadeTools, TenantsWithToolMakingSwitch
from services.executor.core.session.context import Ports
from services.executor.optional_parts import EquipPorts, ExecutorPartHost


@asynccontextmanager
async def open_made_tools_part(host: ExecutorPartHost) -> AsyncIterator[EquipPorts]:
    async with MontySandbox() as sandbox:

        def equip(ports: Ports) -> Ports:
            tenants = TenantsWithToolMakingSwitch(ports.tenants, host.state)
            return ports._replace(tenants=tenants, sandbox=sandbox, made_tools=RedisMadeTools(host.state))

        yield equip
