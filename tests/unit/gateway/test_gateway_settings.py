"""Starting, and refusing to."""

import asyncio
import os
import sys

import pytest

from services.gateway.settings import Settings


async def _start(**environ: str) -> tuple[int | None, str]:
    clean = {key: value for key, value in os.environ.items() if key in {"PATH", "HOME", "PYTHONPATH"}}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.gateway", env={**clean, **environ}, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, err = await process.communicate()
    return process.returncode, err.decode()


@pytest.mark.promise("gateway.refuses_to_start")
@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, "REDIS_URL"),
        ({"REDIS_URL": "redis://localhost"}, "AUTHENTICATION"),
        ({"REDIS_URL": "redis://localhost", "AUTHENTICATION": "none"}, "AUTHENTICATION"),
        ({"REDIS_URL": "redis://localhost", "PROFILE": "laptop"}, "PROFILE"),
        ({"REDIS_URL": "redis://localhost", "PROFILE": "embedded", "BLOCKING_LIMIT": "0"}, "BLOCKING_LIMIT"),
        ({"REDIS_URL": "redis://localhost", "PROFILE": "embedded", "MAX_BODY_BYTES": "big"}, "MAX_BODY_BYTES"),
    ],
)
async def test_it_refuses_in_one_sentence_that_names_the_variable(environ: dict[str, str], names: str) -> None:
    code, err = await _start(**environ)
    assert code == 2
    assert err.startswith(names)
    assert err.count("\n") == 1


def test_authentication_is_off_only_by_name() -> None:
    settings = Settings.model_validate({"redis_url": "redis://localhost", "authentication": "off"})
    assert settings.profile == "production"


def test_hosts_are_a_list_with_commas() -> None:
    values = {
        "redis_url": "redis://localhost",
        "profile": "embedded",
        "tools_allowed_hosts": "a.example, b.example:90,",
    }
    assert Settings.model_validate(values).tools_allowed_hosts == ("a.example", "b.example:90")


def test_the_card_names_an_address_that_can_be_called() -> None:
    values = {"redis_url": "redis://localhost", "profile": "embedded", "host": "0.0.0.0", "port": 9011}  # noqa: S104
    assert Settings.model_validate(values).card_url == "http://localhost:9011/"
