"""Joins what trying a tenant's connections needs: its record, its credentials, and the protocols."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from services.executor.adapters.credentials import open_credentials
from services.executor.adapters.stored_tenants import BadTenantFile, FileTenants
from services.executor.adapters.tool_servers import open_servers
from services.executor.entrypoints.connections import ConnectionTrial, WantedConnections, format_report, parse_arguments
from services.executor.ports.tools import Credentials, CredentialUnavailable, ToolServers, ToolSilent, ToolUnreachable
from services.executor.settings import CredentialSettings
from shared.contracts.tenant import Connection, TenantRecord
from shared.contracts.tenant_document import BadRecord, read_owned_record, with_addresses
from shared.domain.exact_json import loads_object
from shared.domain.outgoing import operators_reach, tools_reach
from shared.infra.guard import Guard
from shared.infra.process import configure_logging
from shared.infra.redis import connect
from shared.infra.service_settings import HostList
from shared.infra.starting import CannotStart, read_settings, refuse_start
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.store import StoreUnavailable

GOOD, NOT_GOOD, CANNOT = 0, 1, 2
AT_ONCE = 8


class TryingSettings(CredentialSettings):
    """The executor's variables, as far as they matter here; none has to be given."""

    redis_url: str = ""
    tenant_file: Path | None = None
    green_agent_mcp_url: str = ""
    tools_allowed_hosts: HostList = ()


def try_connections(arguments: Sequence[str]) -> int:
    """Prints what works at each connection; returns 0 if all work, 1 if one does not, 2 if there is no record to
    try.
    """
    wanted = parse_arguments(arguments)
    configure_logging("executor-connections", logging.CRITICAL)  # what went wrong is said in one sentence
    try:
        source, tried = asyncio.run(_try_connections(wanted, read_settings(TryingSettings)))
    except (CannotStart, BadTenantFile) as problem:
        return refuse_start(problem)
    except (StoreUnavailable, BadRecord, OSError, ValueError) as error:
        sys.stderr.write(f"The record of tenant {wanted.tenant} cannot be read: {error}\n")
        return CANNOT
    sys.stdout.write(format_report(wanted, source, tried) + "\n")
    return GOOD if all(one.is_good for one in tried) else NOT_GOOD


async def _try_connections(
    wanted: WantedConnections, settings: TryingSettings
) -> tuple[str, Sequence[ConnectionTrial]]:
    source, record = await _record(wanted, settings)
    chosen = [one for one in record.connections if wanted.only in ("", one.id)]
    if wanted.only and not chosen:
        raise CannotStart(f"Tenant {wanted.tenant} has no connection {wanted.only!r} ({source}).")
    hosts = settings.tools_allowed_hosts
    async with (
        open_credentials(settings.credentials_dir, Guard(operators_reach(hosts))) as credentials,
        open_servers(tools_reach(hosts, loopback=False), credentials) as servers,
    ):
        places = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_try(one, servers, credentials, places)) for one in chosen]
    return source, [task.result() for task in tasks]


async def _try(
    connection: Connection, servers: ToolServers, credentials: Credentials, places: asyncio.Semaphore
) -> ConnectionTrial:
    async with places:
        try:
            await credentials.header_for(connection)
        except CredentialUnavailable as error:
            return ConnectionTrial(connection, str(error), None)
        try:
            tools = await servers.discover(connection)
        except (ToolUnreachable, ToolSilent) as error:
            return ConnectionTrial(connection, None, str(error))
        return ConnectionTrial(connection, None, None, servers.protocol_of(connection), tools)


async def _record(wanted: WantedConnections, settings: TryingSettings) -> tuple[str, TenantRecord]:
    if wanted.tenant_file:
        document = loads_object(wanted.tenant_file.read_text("utf-8"))
        record = read_owned_record(document, wanted.tenant)
        own = with_addresses(record.connections, settings.green_agent_mcp_url)
        return str(wanted.tenant_file), record.model_copy(update={"connections": own})
    stored = await _stored_record(wanted.tenant, settings)
    if stored is not None:
        return stored
    if settings.tenant_file is None:
        raise CannotStart("Neither REDIS_URL leads to a stored record, nor TENANT_FILE to a file, nor --tenant-file.")
    record = FileTenants.read(settings.tenant_file, settings.green_agent_mcp_url).record
    if record.id != wanted.tenant:
        raise CannotStart(f"{settings.tenant_file} is the record of tenant {record.id!r}, and none other is stored.")
    return str(settings.tenant_file), record


async def _stored_record(tenant: str, settings: TryingSettings) -> tuple[str, TenantRecord] | None:
    if not settings.redis_url:
        return None
    redis = connect(settings.redis_url)
    try:
        records = RedisTenantRecords(redis)
        number = await records.latest(tenant)
        found = await records.version(tenant, number) if number else None
    finally:
        await redis.aclose()
    if found is None or found.withdrawn:
        return None
    record = found.record(tenant)
    own = with_addresses(record.connections, _tool_server(tenant, settings))
    return f"version {number} of its record", record.model_copy(update={"connections": own})


def _tool_server(tenant: str, settings: TryingSettings) -> str:
    """The executor's own tool server, if the tenant file is of this tenant; else empty."""
    if settings.tenant_file is None or FileTenants.read(settings.tenant_file).record.id != tenant:
        return ""
    return settings.green_agent_mcp_url
