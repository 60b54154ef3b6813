"""The official client of the 0.3 line, in an environment of its own, reads our card."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from redis.asyncio import Redis

from tests.contracts.sdk_of_0_3 import PYTHON, make_environment, run
from tests.integration.gateway_stage import stage


@pytest.mark.promise("gateway.card_signed")
async def test_it_verifies_the_signature_of_the_card(redis: Redis, redis_url: str) -> None:
    """Also where the card has letters that this library's canonical form escapes."""
    if reason := await make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    key = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    wanted = {"a2a_card": "0.3", "a2a_card_keys": key, "a2a_provider": "Ünï", "a2a_provider_url": "https://a.example"}
    async with stage(redis, redis_url, **wanted) as play:
        code, out = await run(PYTHON, Path(__file__).with_name("card_of_0_3.py"), play.url.rstrip("/"))
    assert code == 0, out
    assert json.loads(out) == {"name_counts": True, "signatures": 2}
