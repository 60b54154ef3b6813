"""`purple tenant connections test` and `purple tenant record`, against real servers."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner, Result

from cli.main import app
from examples.company.protocols import ToolProtocol
from shared.contracts.tenant_document import TenantVersion
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.infra.tenant_records import RedisTenantRecords
from tests.demanding import guarded_company
from tests.doubles.redis_tasks import NOON
from tests.integration.gateway_stage import list_at

SECRET = "s3cr3t-of-the-erp"
TOKEN: JsonObject = {"type": "bearer", "from": "file:erp-token"}
PATIENCE = 60.0


async def tried(arguments: list[str], command: str = "connections", **environ: str) -> tuple[int, str, str]:
    """Exit code and output of the executor's own command."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "VIRTUAL_ENV")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.executor", command, *arguments),
        env={**kept, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.promise("connections.tried")
async def test_each_connection_is_tried_and_its_faults_are_said(tmp_path: Path, redis: Redis, redis_url: str) -> None:
    """Of the stored record: one that is good, one without a secret, one that is not there, one that takes another."""
    secrets = tmp_path / "secrets" / "default"
    secrets.mkdir(parents=True)
    (secrets / "erp-token").write_text(SECRET)
    (secrets / "old-token").write_text("the-old-one")
    async with guarded_company(tmp_path, ToolProtocol.MCP, f"Bearer {SECRET}") as erp:
        rows: list[Json] = [
            {"id": "erp", "url": erp.url, "credential": TOKEN},
            {"id": "bare", "url": erp.url, "credential": {**TOKEN, "from": "file:nothing"}},
            {"id": "away", "url": "http://127.0.0.1:1"},
            {"id": "cloud", "url": "http://169.254.169.254/mcp"},
            {"id": "stale", "url": erp.url, "credential": {**TOKEN, "from": "file:old-token"}},
        ]
        await RedisTenantRecords(redis).add_version("default", _first({"id": "default", "connections": rows}))
        place = {"REDIS_URL": redis_url, "CREDENTIALS_DIR": str(tmp_path / "secrets")}
        code, said, _ = await tried(["--json"], **place)
    found = {str(row["id"]): row for row in _rows(loads_object(said))}
    assert code == 1
    assert {name: row["good"] for name, row in found.items()} == {
        "erp": True,
        "bare": False,
        "away": False,
        "cloud": False,
        "stale": False,
    }
    assert (found["erp"]["protocol"], found["erp"]["credential"]) == ("mcp", "bearer file:erp-token")
    assert set(_object(found["erp"]["classes"])) >= {"read", "change", "notify"}
    assert "file:nothing cannot be read" in str(found["bare"]["credential_problem"])
    assert "TOOLS_ALLOWED_HOSTS" in str(found["cloud"]["problem"])
    assert "does not take the credential file:old-token" in str(found["stale"]["problem"])
    assert SECRET not in said


@pytest.mark.long
@pytest.mark.promise("connections.tried")
async def test_one_connection_of_a_file_is_tried_and_one_that_is_not_there_named(tmp_path: Path) -> None:
    """The exit code is 0 if all is well, and 2 if there is nothing to try."""
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "erp-token").write_text(SECRET)
    file = tmp_path / "record.json"
    async with guarded_company(tmp_path, ToolProtocol.REST, f"Bearer {SECRET}") as erp:
        file.write_text(dumps({"id": "default", "connections": [{"id": "erp", "url": erp.url, "credential": TOKEN}]}))
        given = ["--tenant-file", str(file), "--only"]
        good, text, _ = await tried([*given, "erp"], CREDENTIALS_DIR=str(tmp_path))
        none, _, why = await tried([*given, "crm"], CREDENTIALS_DIR=str(tmp_path))
        nowhere, _, neither = await tried([])
        own = ["--endpoint", erp.url, "--tenant-file", str(file)]
        listed, tools, _ = await tried(own, "tools", CREDENTIALS_DIR=str(tmp_path / "default"))
    assert (good, none, nowhere, listed) == (0, 2, 2, 0)
    assert "get_expense:" in tools
    assert "speaks rest" in text
    assert "no connection 'crm'" in why
    assert "nor TENANT_FILE" in neither
    assert SECRET not in text


@pytest.mark.promise("tenant.record_history")
async def test_a_record_is_edited_compared_stored_and_taken_back_on_the_command_line(url: str, tmp_path: Path) -> None:
    """What nobody has stored yet, a file made from an older version, a field that nobody reads: each is told."""
    file = tmp_path / "record.json"
    file.write_text('{"id": "default", "max_running": 3, "dollars_per_day": 12.50, "version": "7"}')
    none = await purple("record", "show", "default", url=url)
    fresh = await purple("record", "diff", "default", str(file), url=url)
    stored = await purple("record", "set", "default", str(file), "--comment", "first", url=url)
    file.write_text((await purple("record", "show", "default", url=url)).stdout)
    same = await purple("record", "diff", "default", str(file), url=url)
    file.write_text(file.read_text().replace("12.50", "20.05"))
    other = await purple("record", "diff", "default", str(file), url=url)
    changed = await purple("record", "set", "default", str(file), url=url)
    stale = await purple("record", "set", "default", str(file), url=url)
    file.write_text('{"id": "default", "max_runnin": 3, "version": "2"}')
    strange = await purple("record", "set", "default", str(file), url=url)
    back = await purple("record", "restore", "default", "1", url=url)
    history = await purple("record", "history", "default", "--json", url=url)
    withdrawn = await purple("record", "withdraw", "default", url=url)
    file.write_text('{"id": "default"}')
    anew = await purple("record", "set", "default", str(file), url=url)
    codes = [one.exit_code for one in (none, fresh, stored, same, other, changed, stale, strange, back, history)]
    assert codes == [1, 1, 0, 0, 1, 0, 1, 1, 0, 0]
    assert ('+  "max_running": 3' in fresh.stdout, "No record is stored" in fresh.output) == (True, True)
    assert "version 4, without a record" in withdrawn.stdout
    assert "version 5" in anew.stdout
    assert '-  "dollars_per_day": 12.50' in other.stdout
    assert '+  "dollars_per_day": 20.05' in other.stdout
    assert "version 2 by now" in stale.output
    assert "max_runnin: nobody reads this field" in strange.output
    versions = _rows(loads_object(history.stdout), "versions")
    assert [(row["version"], row["changed"]) for row in versions] == [
        (3, ["dollars_per_day"]),
        (2, ["dollars_per_day"]),
        (1, None),
    ]


async def purple(*arguments: str, url: str) -> Result:
    """A command in a thread: the gateway that it speaks with lives in the test's own loop."""
    return await asyncio.to_thread(CliRunner().invoke, app, ["tenant", *arguments, "--url", url, "--as", "olga"])


def _first(document: JsonObject) -> TenantVersion:
    return TenantVersion(version=1, at=NOON, by="olga", document_json=dumps(document))


def _rows(found: JsonObject, name: str = "connections") -> list[JsonObject]:
    rows = list_at(found[name])
    return [row for row in rows if isinstance(row, dict)]


def _object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value
