"""The part ``made_tools``: small programs that a model writes for a tenant, run in a sandbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.executor.adapters.made_tools import MontySandbox, RedisMade, SwitchedTenants
from services.executor.core.session.context import Ports
from services.executor.optional_parts import EquipPorts, PartSetting


@asynccontextmanager
async def build_made_tools(host: PartSetting) -> AsyncIterator[EquipPorts]:
    async with MontySandbox() as sandbox:

        def equip(ports: Ports) -> Ports:
            tenants = SwitchedTenants(ports.tenants, host.state)
            return ports._replace(tenants=tenants, sandbox=sandbox, made=RedisMade(host.state))

        yield equip
