"""Every endpoint against requests that mean no good: a 4xx, or what was asked for, and never a 5xx."""

import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

from services.simulator.entrypoints.app import build_application
from services.simulator.entrypoints.automatic_time import run_automatic_time
from services.simulator.entrypoints.modalities.all import ROUTERS
from tests.http_client import open_http
from tests.serving import serving
from tests.simulator.stage import ADMIN, Stage
from tests.simulator.test_permissions import endpoints

pytestmark = pytest.mark.promise("simulator.refusals")
_BODIES: tuple[object, ...] = (None, [], 7, {}, {"x": 1}, {"data": {}, "events": [], "scenario": {}, "count": "x"})


async def test_no_endpoint_breaks_on_a_body_of_the_wrong_shape(full: Stage) -> None:
    await full.post("/simulation/start", {})
    for endpoint in endpoints(full.routes):
        for body in _BODIES:
            response = await full.call(endpoint.method, endpoint.address, body)
            assert response.status_code < 500, (endpoint, body, response.text)


@pytest.mark.parametrize("path", ["/events", "/access-logs"])
async def test_a_page_beyond_what_a_machine_can_count_is_empty(full: Stage, path: str) -> None:
    assert (await full.call("GET", f"{path}?offset={10**20}")).status_code == 200


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_generated_requests_meet_no_server_error(full: Stage, tmp_path: Path) -> None:
    app = build_application(full.rooms, ROUTERS, run_automatic_time, authentication=True, max_body_bytes=2**20)
    async with serving(app) as url:
        await _described(url)
        ended = await anyio.to_thread.run_sync(_schemathesis, url, tmp_path)

    assert ended.returncode == 0, ended.stdout[-3000:]


async def _described(url: str) -> None:
    """Written when first asked for, which on a busy machine takes longer than a request may."""
    async with open_http(trust_env=False, timeout=60) as client:
        assert (await client.get(f"{url}/openapi.json")).is_success


def _schemathesis(url: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json"]
    options = ["--checks", "not_a_server_error", "--phases", "fuzzing,coverage", "-n", "4", "--request-timeout", "10"]
    header = ["--header", f"X-API-Key: {ADMIN}", "--seed", "11"]
    return subprocess.run(
        [*command, *options, *header], cwd=folder, capture_output=True, text=True, timeout=500, check=False
    )
