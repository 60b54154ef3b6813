"""``python -m services.gateway first-key``: creates the API key of a tenant's first operator, directly in Redis."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from services.gateway.features.identity import api_keys
from services.gateway.features.identity.store import Keyring
from shared.domain.words import Role
from shared.infra.redis import StateSettings, connect
from shared.infra.starting import CannotStart, print_start_problem, read_settings
from shared.ports.store import StoreUnavailable

FIRST_KEY_COMMAND = "first-key"
_EXIT_REFUSED = 1


def run_first_key_command(arguments: Sequence[str]) -> int:
    """Create a tenant's first key, an operator's, and print it with its token as a line of JSON.

    Returns the exit code: 1 if the tenant has an operator's key already, 2 if Redis does not answer.
    """
    options = _parse_options(arguments)
    try:
        created = asyncio.run(
            create_first_key(read_settings(StateSettings).redis_url, options.tenant, options.principal, options.again)
        )
    except (CannotStart, StoreUnavailable) as problem:
        return print_start_problem(problem)
    except api_keys.OperatorExists as problem:
        sys.stderr.write(f"{problem}\n")
        return _EXIT_REFUSED
    sys.stdout.write(
        json.dumps({**api_keys.build_key_view(created.key, created.key.created_at), "token": created.token}) + "\n"
    )
    return 0


async def create_first_key(redis_url: str, tenant: str, principal_id: str, allows_another: bool) -> api_keys.CreatedKey:
    """Create an operator's key. Unless ``allows_another``, raises ``OperatorExists`` if the tenant has a valid one."""
    state = connect(redis_url)
    try:
        keyring = Keyring(state)
        keys, now = await keyring.list_keys(tenant), datetime.now(UTC)
        operators = (key.principal_id for key in keys if Role.OPERATOR in key.roles and key.is_valid(now))
        operator = next(operators, None)
        if operator and not allows_another:
            sentence = f"{operator!r} operates tenant {tenant!r} and can make keys: purple keys create"
            raise api_keys.OperatorExists(f"{sentence} (or this with --again, if that key is lost)")
        created = api_keys.make_api_key(api_keys.KeyRequest(principal_id, tuple(Role)), tenant, principal_id)
        await keyring.add_key(created.key)
        return created
    finally:
        await state.aclose()


def _parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m services.gateway {FIRST_KEY_COMMAND}", description=__doc__)
    parser.add_argument("--tenant", default="default", help="the tenant that the key operates")
    parser.add_argument("--principal", required=True, help="whose key it is")
    parser.add_argument("--again", action="store_true", help="also where an operator has a good key")
    return parser.parse_args(arguments)
