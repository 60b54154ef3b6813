"""``python -m services.gateway first-key``: makes the API key of a tenant's first operator."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from secrets import token_hex, token_urlsafe

from services.gateway.features.identity.api_keys import (
    Fresh,
    HasOperator,
    KeyRequest,
    MadeKey,
    key_view,
    make,
    operator_of,
)
from services.gateway.features.identity.store import Keyring
from shared.domain.words import Role
from shared.infra.redis import StateSettings, connect
from shared.infra.starting import CannotStart, read_settings, refuse_start
from shared.ports.store import StoreUnavailable

FIRST_KEY = "first-key"
_REFUSED = 1


def first_key_command(arguments: Sequence[str]) -> int:
    """Print the key and its token as one line of JSON. Returns 1 if there is an operator, 2 without Redis."""
    options = _parse_options(arguments)
    try:
        made = asyncio.run(
            first_key(read_settings(StateSettings).redis_url, options.tenant, options.principal, options.again)
        )
    except (CannotStart, StoreUnavailable) as problem:
        return refuse_start(problem)
    except HasOperator as problem:
        sys.stderr.write(f"{problem}\n")
        return _REFUSED
    sys.stdout.write(json.dumps({**key_view(made.key, made.key.created_at), "token": made.token}) + "\n")
    return 0


def fresh() -> Fresh:
    """The time, an unused id and a random secret for a new key."""
    return Fresh(datetime.now(UTC), token_hex(6), token_urlsafe(32))


async def first_key(redis_url: str, tenant: str, principal_id: str, again: bool) -> MadeKey:
    """Make an operator's key, without a gateway. Raises ``HasOperator`` if one has a valid key and not ``again``."""
    state = connect(redis_url)
    try:
        keyring, now = Keyring(state), fresh()
        operator = operator_of(await keyring.keys_of(tenant), now.now)
        if operator and not again:
            raise HasOperator(tenant, operator)
        made = make(KeyRequest(principal_id, tuple(Role)), tenant, principal_id, now)
        await keyring.add(made.key)
        return made
    finally:
        await state.aclose()


def _parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m services.gateway {FIRST_KEY}", description=__doc__)
    parser.add_argument("--tenant", default="default", help="the tenant that the key operates")
    parser.add_argument("--principal", required=True, help="whose key it is")
    parser.add_argument("--again", action="store_true", help="also where an operator has a good key")
    return parser.parse_args(arguments)
