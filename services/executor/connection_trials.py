"""``python -m services.executor connections``: tries each connection of a tenant from here, and reports what works."""

import argparse
import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from services.executor.adapters.credentials import open_credentials
from services.executor.adapters.stored_tenants import BadTenantFile, FileTenants
from services.executor.adapters.tool_servers import ConnectedServers, open_servers
from services.executor.core.session.context import run_in_parallel
from services.executor.ports.tools import Credentials, CredentialUnavailable, Tool, ToolSilent, ToolUnreachable
from services.executor.settings import CredentialSettings
from shared.contracts.tenant import Connection, TenantRecord
from shared.contracts.tenant_document import BadRecord, complete_connections, parse_record_of_tenant
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.outgoing import addresses_for_operators, addresses_for_tools
from shared.domain.words import ToolClass
from shared.infra.guard import AddressGuard
from shared.infra.process import configure_logging
from shared.infra.redis import connect
from shared.infra.service_settings import HostList
from shared.infra.starting import CannotStart, print_start_problem, read_settings
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.store import StoreUnavailable


class ConnectionsOptions(argparse.Namespace):
    """The command's arguments. ``tenant_file``: used in place of the stored record and TENANT_FILE; ``only``: the id of
    a single connection; ``json``: whether the report is in JSON.
    """

    tenant: str
    tenant_file: Path | None
    only: str
    json: bool


class ConnectionTrial(NamedTuple):
    """The result of trying a connection. ``credential`` and ``listing``: what is wrong; None if nothing is."""

    connection: Connection
    credential: str | None
    listing: str | None
    protocol: str = ""
    tools: Sequence[Tool] = ()

    @property
    def is_good(self) -> bool:
        return self.credential is None and self.listing is None


def parse_arguments(arguments: Sequence[str]) -> ConnectionsOptions:
    """The command line's arguments; ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor connections", description=__doc__, allow_abbrev=False)
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--tenant-file", type=Path, help="a record to be tried before it is stored")
    parser.add_argument("--only", default="", help="the id of one connection")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser.parse_args(arguments, ConnectionsOptions())


def format_report(options: ConnectionsOptions, source: str, trials: Sequence[ConnectionTrial]) -> str:
    """The trials as text or JSON. ``source``: where the record was found."""
    if not options.json:
        return "\n".join([f"tenant {options.tenant}, {source}: {len(trials)} connections", *map(_format_trial, trials)])
    return dumps({"tenant": options.tenant, "source": source, "connections": [*map(_trial_as_json, trials)]})


def _trial_as_json(trial: ConnectionTrial) -> Json:
    counts = Counter(tool.tool_class.value for tool in trial.tools)
    classes: JsonObject = {kind.value: counts[kind.value] for kind in ToolClass if counts[kind.value]}
    credential = trial.connection.credential
    return {
        "id": trial.connection.id,
        "url": trial.connection.url,
        "good": trial.is_good,
        "credential": f"{credential.type.value} {credential.reference}" if credential else None,
        "credential_problem": trial.credential,
        "problem": trial.listing,
        "protocol": trial.protocol,
        "tools": len(trial.tools),
        "classes": classes,
    }


def _format_trial(trial: ConnectionTrial) -> str:
    result = trial.credential or trial.listing or f"speaks {trial.protocol}, {len(trial.tools)} tools"
    return f"{'good' if trial.is_good else 'BAD ':<4} {trial.connection.id} {trial.connection.url}: {result}"


EXIT_ALL_GOOD = 0
EXIT_SOME_BAD = 1
EXIT_NO_RECORD = 2
TRIALS_AT_ONCE = 8


class ConnectionTrialSettings(CredentialSettings):
    """The executor's settings that this command uses; none is required."""

    redis_url: str = ""
    tenant_file: Path | None = None
    green_agent_mcp_url: str = ""
    tools_allowed_hosts: HostList = ()


def try_connections(arguments: Sequence[str]) -> int:
    """Prints the result for each connection; returns 0 if all work, 1 if one does not, 2 without a record to try."""
    options = parse_arguments(arguments)
    configure_logging("executor-connections", logging.CRITICAL)  # what went wrong is said in one sentence
    try:
        source, trials = asyncio.run(_try_connections(options, read_settings(ConnectionTrialSettings)))
    except (CannotStart, BadTenantFile) as problem:
        return print_start_problem(problem)
    except (StoreUnavailable, BadRecord, OSError, ValueError) as error:
        sys.stderr.write(f"The record of tenant {options.tenant} cannot be read: {error}\n")
        return EXIT_NO_RECORD
    sys.stdout.write(format_report(options, source, trials) + "\n")
    return EXIT_ALL_GOOD if all(trial.is_good for trial in trials) else EXIT_SOME_BAD


async def _try_connections(
    options: ConnectionsOptions, settings: ConnectionTrialSettings
) -> tuple[str, Sequence[ConnectionTrial]]:
    """Where the record comes from, and each connection's trial; raises ``CannotStart`` if there is nothing to try."""
    source, record = await _read_record(options, settings)
    connections = [connection for connection in record.connections if options.only in ("", connection.id)]
    if options.only and not connections:
        raise CannotStart(f"Tenant {options.tenant} has no connection {options.only!r} ({source}).")
    hosts = settings.tools_allowed_hosts
    async with (
        open_credentials(settings.credentials_dir, AddressGuard(addresses_for_operators(hosts))) as credentials,
        open_servers(addresses_for_tools(hosts, permits_loopback=False), credentials) as servers,
    ):
        slots = asyncio.Semaphore(TRIALS_AT_ONCE)
        trials = (_try_connection(connection, servers, credentials, slots) for connection in connections)
        return source, await run_in_parallel(trials)


async def _try_connection(
    connection: Connection, servers: ConnectedServers, credentials: Credentials, slots: asyncio.Semaphore
) -> ConnectionTrial:
    async with slots:
        try:
            await credentials.resolve_header(connection)
        except CredentialUnavailable as error:
            return ConnectionTrial(connection, str(error), None)
        try:
            tools = await servers.discover(connection)
        except (ToolUnreachable, ToolSilent) as error:
            return ConnectionTrial(connection, None, str(error))
        return ConnectionTrial(connection, None, None, servers.find_protocol(connection), tools)


async def _read_record(options: ConnectionsOptions, settings: ConnectionTrialSettings) -> tuple[str, TenantRecord]:
    """Where the tenant's record comes from, and the record; raises ``CannotStart`` if there is none."""
    if options.tenant_file:
        document = loads_object(options.tenant_file.read_text("utf-8"))
        record = parse_record_of_tenant(document, options.tenant)
        connections = complete_connections(record.connections, settings.green_agent_mcp_url)
        return str(options.tenant_file), record.model_copy(update={"connections": connections})
    stored_record = await _read_stored_record(options.tenant, settings)
    if stored_record is not None:
        return stored_record
    if settings.tenant_file is None:
        raise CannotStart("Neither REDIS_URL leads to a stored record, nor TENANT_FILE to a file, nor --tenant-file.")
    record = FileTenants.read_file(settings.tenant_file, settings.green_agent_mcp_url).record
    if record.id != options.tenant:
        raise CannotStart(f"{settings.tenant_file} is the record of tenant {record.id!r}, and none other is stored.")
    return str(settings.tenant_file), record


async def _read_stored_record(tenant: str, settings: ConnectionTrialSettings) -> tuple[str, TenantRecord] | None:
    if not settings.redis_url:
        return None
    redis = connect(settings.redis_url)
    try:
        records = RedisTenantRecords(redis)
        number = await records.get_latest_number(tenant)
        version = await records.get_version(tenant, number) if number else None
    finally:
        await redis.aclose()
    if version is None or version.withdrawn:
        return None
    record = version.parse_record(tenant)
    connections = complete_connections(record.connections, _get_own_tool_server_url(tenant, settings))
    return f"version {number} of its record", record.model_copy(update={"connections": connections})


def _get_own_tool_server_url(tenant: str, settings: ConnectionTrialSettings) -> str:
    """The executor's own tool server, if TENANT_FILE is of this tenant; else empty."""
    if settings.tenant_file is None or FileTenants.read_file(settings.tenant_file).record.id != tenant:
        return ""
    return settings.green_agent_mcp_url
