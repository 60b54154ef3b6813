"""The package ``ues``: what a Green agent of others imports and starts, over our simulator."""

import asyncio
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import httpx
import pytest
import pytest_asyncio
from ues.client import APIError, AsyncUESClient, ConflictError, NotFoundError, UESClient, ValidationError
from ues.server import ServerManager

from services.assessor.adapters.ues_server import free_port
from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.version import UES_VERSION
from tests.assessor.scenes import BEN, USER, mail, world
from tests.http_client import open_http

ROOT = Path(__file__).parents[2]
KEY = "k" * 64
_USER_PERMISSIONS = ["email:state", "email:send", "chat:state", "chat:send", "calendar:state", "sms:state", "time:read"]
pytestmark = pytest.mark.promise("compat.ues")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def base_url() -> AsyncIterator[str]:
    """Of a server that was started as a Green agent does it."""
    async with _started_by_command() as url:
        yield url


@pytest.mark.asyncio(loop_scope="module")
async def test_a_green_agent_of_others_runs_an_assessment_over_it(base_url: str) -> None:
    """Its sequence, by the calls that it makes: clear, import, start, chat, key, turns, replies, end."""
    proctor = AsyncUESClient(base_url=base_url, timeout=30.0, api_key=KEY)
    scenario = world(mail("ask", BEN, "Friday?", "Does Friday suit you?"))

    stopped = await proctor.simulation.stop()
    await proctor.simulation.clear()
    await proctor.scenario.import_full(scenario=scenario, strict_modalities=False)
    started = await proctor.simulation.start(auto_advance=False)
    await proctor.chat.send(role="user", content="Answer Ben.", conversation_id="user-assistant")
    secret, key_id = await _key(base_url)
    before = (await proctor.time.get_state()).current_time
    parts = (proctor.email, proctor.sms, proctor.calendar, proctor.chat, proctor.time)
    initial = [(await part.get_state()).model_dump(mode="json") for part in parts]

    async with AsyncUESClient(base_url=base_url, api_key=secret) as purple:
        said = (await purple.chat.get_state()).messages[-1]
        await purple.email.send(from_address=USER, to_addresses=[BEN], subject="Re: Friday?", body_text="It does.")
        with pytest.raises(APIError) as refused:
            await purple.time.advance(seconds=60)

    moved = await proctor.time.advance(seconds=1)
    done = await proctor.events.list_events(
        start_time=before, end_time=before + timedelta(seconds=1), status="executed"
    )
    answers = await proctor.email.query(received_after=before, sort_order="asc")
    await proctor.email.receive(from_address=BEN, to_addresses=[USER], subject="Re: Friday?", body_text="Good.")
    await _revoke(base_url, key_id)
    ended = await proctor.simulation.stop()
    await proctor.close()

    assert stopped.simulation_id == started.simulation_id == ended.simulation_id
    assert (said.role, said.content) == ("user", "Answer Ben.")
    assert all(initial)
    assert refused.value.status_code == 403
    assert moved.current_time == before + timedelta(seconds=1)
    assert [event.modality for event in done.events if event.agent_id == key_id] == ["email"]
    assert [one.subject for one in answers.emails] == ["Re: Friday?"]


@pytest.mark.asyncio(loop_scope="module")
async def test_refusals_are_told_by_their_type(base_url: str) -> None:
    async with AsyncUESClient(base_url=base_url, api_key=KEY) as ues:
        await ues.simulation.start()
        with pytest.raises(ConflictError):
            await ues.simulation.start()
        with pytest.raises(NotFoundError):
            await ues.events.get("nothing")
        with pytest.raises(ValidationError):
            await ues.time.advance(seconds=0)


async def test_the_client_without_await_and_the_manager_of_a_server_do_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "compat"), str(ROOT))))

    def talk() -> tuple[str, int, bool]:
        with ServerManager() as server:
            with UESClient(base_url=server.base_url, api_key=server.admin_key) as ues:
                started = ues.simulation.start()  # type: ignore[attr-defined]  # its parts are found by their names
                ues.chat.send("user", "Hello", "user-assistant")  # type: ignore[attr-defined]
                state = ues.chat.get_state()  # type: ignore[attr-defined]
            healthy = server.is_healthy()
        return started.status, state.total_message_count, healthy and not server.is_healthy()

    assert await asyncio.to_thread(talk) == ("running", 1, True)


async def test_its_commands_say_the_version_and_refuse_what_one_process_cannot_do() -> None:
    code, out = await _ran("version")
    refused, _ = await _ran("server", "--workers", "2")

    assert (code, out.strip()) == (0, UES_VERSION)
    assert refused == 2


@pytest.mark.promise("compat.apart")
def test_it_is_a_distribution_of_its_own(tmp_path: Path) -> None:
    """Its wheel has ``ues`` and nothing else, the product's wheel and images do not have it."""
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    subprocess.run(command, cwd=ROOT / "compat", check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {name for name in names if not name.endswith(".dist-info")} == {"ues"}
    assert "compat" not in (ROOT / ".dockerignore").read_text() + (ROOT / "Dockerfile").read_text()
    packaged = (ROOT / "pyproject.toml").read_text().split("[tool.hatch.build.targets.wheel]")[1].splitlines()[1]
    assert packaged == 'packages = ["shared", "services", "cli", "examples"]'


@asynccontextmanager
async def _started_by_command() -> AsyncIterator[str]:
    """As a Green agent does it: ``python -m ues.cli server``, then ``/health`` until it answers."""
    port = free_port("127.0.0.1")
    process = await _process("server", "--host", "127.0.0.1", "--port", str(port))
    base_url = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(60), open_http(trust_env=False) as http:
            while not await _is_healthy(http, base_url):
                assert process.returncode is None
                await asyncio.sleep(0.2)
        yield base_url
    finally:
        process.terminate()
        await process.wait()


async def _is_healthy(http: httpx.AsyncClient, base_url: str) -> bool:
    try:
        return (await http.get(f"{base_url}/health")).is_success
    except httpx.HTTPError:
        return False


async def _process(*arguments: str) -> asyncio.subprocess.Process:
    path = os.pathsep.join((str(ROOT / "compat"), str(ROOT)))
    environ = {**os.environ, "PYTHONPATH": path, "UES_ADMIN_KEY": KEY}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ues.cli", *arguments, env=environ, stdout=asyncio.subprocess.PIPE
    )


async def _ran(*arguments: str) -> tuple[int, str]:
    process = await _process(*arguments)
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def _key(base_url: str) -> tuple[str, str]:
    """By plain HTTP, as Green agents make the key of the agent that they measure."""
    async with open_http(headers={"X-API-Key": KEY}, trust_env=False) as http:
        body = {"name": "Purple Agent", "permissions": _USER_PERMISSIONS}
        made = cast(JsonObject, (await http.post(f"{base_url}/keys", json=body)).json())
    return str(made["secret"]), str(made["key_id"])


async def _revoke(base_url: str, key_id: str) -> None:
    async with open_http(headers={"X-API-Key": KEY}, trust_env=False) as http:
        assert (await http.delete(f"{base_url}/keys/{key_id}")).status_code == 200
