"""Guesses at the door are braked by the address from which they come."""

import pytest
from redis.asyncio import Redis

from services.gateway.first_key import first_key
from tests.integration.gateway_stage import stage
from tests.integration.test_gateway_keys import LOCKED


@pytest.mark.promise("identity.brake")
async def test_guesses_from_an_address_are_braked_and_good_keys_from_it_are_not(redis: Redis, redis_url: str) -> None:
    """A proxy that is trusted says the address; what its clients write of themselves does not count."""
    made = await first_key(redis_url, "acme", "olga", again=False)
    settings = {**LOCKED, "failures_a_minute": 3, "trusted_proxies": "127.0.0.0/8"}

    async def tried(key: str, source: str) -> int:
        headers = {"X-API-Key": key, "X-Forwarded-For": f"203.0.113.250, {source}"}
        return (await play.client.get("/tasks/t1", headers=headers)).status_code

    async with stage(redis, redis_url, **settings) as play:
        good = await tried(made.token, "198.51.100.7")
        guesses = [await tried(f"pa_guess_{number}", "198.51.100.7") for number in range(5)]
        neighbour = await tried(made.token, "198.51.100.7")
        elsewhere = await tried("pa_guess_9", "198.51.100.8")
        nothing = [(await play.client.get("/tasks/t1")).status_code for _ in range(5)]
        braked = await play.client.get(
            "/tasks/t1", headers={"X-API-Key": "pa_guess_1", "X-Forwarded-For": "198.51.100.7"}
        )
    async with stage(redis, redis_url, **{**settings, "trusted_proxies": ""}) as play:
        unnamed = [await tried(f"pa_guess_{number}", "198.51.100.7") for number in range(5)]
    assert set(unnamed) == {401}  # all clients of that proxy have its address: one guesser would shut out the others
    assert (good, guesses, neighbour, elsewhere) == (404, [401, 401, 401, 429, 429], 404, 401)
    assert set(nothing) == {401}  # who presents nothing guesses nothing
    assert (braked.status_code, 1 <= int(braked.headers["Retry-After"]) <= 60) == (429, True)
