"""Optional parts of a service are loaded by their entry points, and only where its settings name them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.executor.settings import ExecutorSettings
from services.gateway.settings import GatewaySettings
from shared.infra.parts import PartGroup
from shared.infra.starting import CannotStart, read_settings
from tests.integration.gateway_stage import at, stage

pytestmark = pytest.mark.promise("parts.optional")
UNNAMED = (
    "jinja2",
    "leather",
    "python_multipart",
    "mcp",
    "services.gateway.features.console",
    "services.gateway.mcp_server",
)
BUILD = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {UNNAMED}):
            raise ModuleNotFoundError(f"{{name}} is not installed", name=name)

sys.meta_path.insert(0, NotInstalled())
from services.gateway.bootstrap import build
from services.gateway.settings import GatewaySettings
from shared.infra.starting import CannotStart

for parts in ("", "console"):
    try:
        build(GatewaySettings(redis_url="redis://localhost", profile="embedded", gateway_parts=parts))
        print("everything is joined")
    except CannotStart as problem:
        print(problem)
"""


def test_a_gateway_starts_without_the_libraries_of_parts_that_are_not_named() -> None:
    bare, console = _lines_of(BUILD)
    assert bare == "everything is joined"
    assert "The part 'console' needs " in console


def _lines_of(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


EXECUTOR_PARTS = (
    "pydantic_monty",
    *(f"services.executor.adapters.{name}" for name in ("brainos", "kept_files", "made_tools")),
)
EQUIP = f"""
import asyncio, sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {EXECUTOR_PARTS}):
            raise ModuleNotFoundError(f"{{name}} is not installed", name=name)

sys.meta_path.insert(0, NotInstalled())
from services.executor.bootstrap import carry_out_turns
from services.executor.settings import ExecutorSettings
from shared.infra.starting import CannotStart
from shared.ports.store import StoreUnavailable

for parts in ("", "files"):
    try:
        settings = ExecutorSettings(
            redis_url="redis://127.0.0.1:1", redis_start_seconds=0, profile="embedded", policy_url="http://127.0.0.1:1",
            anthropic_base_url="http://127.0.0.1:1", tenant_file=sys.argv[1], executor_parts=parts,
        )
        asyncio.run(carry_out_turns(settings))
    except StoreUnavailable:
        print("everything is joined; no Redis")
    except CannotStart as problem:
        print(problem)
"""


def test_an_executor_starts_without_the_libraries_of_parts_that_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "tenant.json").write_text('{"id": "default"}')
    bare, files = _lines_of(EQUIP, str(tmp_path / "tenant.json"))

    assert bare == "everything is joined; no Redis"
    assert files.startswith("The part 'files' needs services.executor.adapters.kept_files")


def test_orchestrators_bring_the_parts_of_their_own() -> None:
    told = {"redis_url": "redis://localhost", "profile": "embedded", "policy_url": "http://x", "tenant_file": "t.json"}
    account = {f"brainos_{name}": "http://b" for name in ("api_url", "api_key", "org_id")}
    settings = ExecutorSettings.model_validate(
        {**told, **account, "anthropic_api_key": "k", "executor_parts": "files", "orchestrators": "brainos,local"}
    )

    assert settings.parts == ("files", "brainos")


async def test_a_gateway_without_parts_serves_tasks_and_no_part(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, gateway_parts="") as play:
        answered = await play.send("t1", "hello")
        statuses = [(await play.client.get(path)).status_code for path in ("/console", "/console/", "/mcp")]
    assert at(answered, "result.artifacts.0.parts.0.text") == "done: hello"
    assert statuses == [404, 404, 404]


def test_a_part_that_no_entry_point_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        CannotStart, match="GATEWAY_PARTS cannot be used: there is no part 'panel'; there are console, mcp"
    ):
        read_settings(
            GatewaySettings, redis_url="redis://localhost", profile="embedded", gateway_parts="console, panel"
        )


def test_another_distribution_brings_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "purple_extra-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: purple-extra\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[purple_agent.gateway]\nextra = purple_extra:build\n")
    (tmp_path / "purple_extra.py").write_text("def build() -> str:\n    return 'built'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    group = PartGroup[Callable[[], str]]("gateway")
    assert group.check(("console", "extra")) == ("console", "extra")
    assert group.load("extra")() == "built"
