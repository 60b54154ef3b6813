"""The scripted agent that suites are pointed at starts with one command, and the documented clients speak to it."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from shared.domain.exact_json import loads_object
from tests.conformance.speaking import NEW, message
from tests.contracts import sdk_in_javascript, sdk_of_0_3
from tests.http_client import open_http
from tests.integration.gateway_stage import at
from tests.scripted_worker import SCRIPTS

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "a2a.md").read_text()
_CHECK = ("--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom", "--skipLibCheck")
_PATIENCE = 90.0


@asynccontextmanager
async def _started(*options: str) -> AsyncIterator[tuple[str, str]]:
    """The URL that the command prints, and the key, if there is one."""
    command = (sys.executable, "-m", "tests.scripted_agent", "--port", "0", *options)
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    process = await asyncio.create_subprocess_exec(*command, cwd=_ROOT, env=environment, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    try:
        async with asyncio.timeout(_PATIENCE):
            said = (await process.stdout.readline()).decode().split()
        yield said[0], said[-1] if len(said) > 1 else ""
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), _PATIENCE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment() -> AsyncIterator[dict[str, str]]:
    """Of a client, with the address and a key of an agent whose card speaks to each generation."""
    async with _started("--keys", "--card", "merged") as (url, key):
        yield {"PURPLE_URL": url, "PURPLE_KEY": key}


def _example(language: str, place: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)[place])


async def _run(*command: str | Path, environment: Mapping[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        env={**os.environ, "NO_PROXY": "*", **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode().strip()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.promise("gateway.scripted_agent")
async def test_a_message_is_played_again_whatever_its_id(environment: dict[str, str]) -> None:
    """Suites repeat ids of messages."""
    headers = {**NEW, "Authorization": f"Bearer {environment['PURPLE_KEY']}"}
    async with open_http(base_url=environment["PURPLE_URL"], headers=headers, trust_env=False) as http:
        said = message("tck-artifact-text")
        answers = [await http.post("/message:send", json={"message": said}) for _ in range(2)]
    first, again = (loads_object(one.text) for one in answers)
    assert at(first, "task.artifacts.0.parts.0.text") == "a text of the scripted worker"
    assert at(first, "task.id") != at(again, "task.id")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.promise("gateway.scripted_agent")
async def test_the_documented_python_client_is_answered(environment: dict[str, str]) -> None:
    assert await _run(sys.executable, "-c", _example("python"), environment=environment)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.promise("gateway.scripted_agent")
async def test_the_documented_python_client_of_0_3_is_answered(tmp_path: Path, environment: dict[str, str]) -> None:
    if reason := await sdk_of_0_3.make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    script = tmp_path / "example.py"
    script.write_text(_example("python", 1))
    assert await _run(sdk_of_0_3.PYTHON, script, environment={**environment, "PYTHONPATH": ""})


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.promise("gateway.scripted_agent")
async def test_the_documented_typescript_client_compiles_and_is_answered(environment: dict[str, str]) -> None:
    if reason := await sdk_in_javascript.make_folder():
        pytest.skip(f"the JavaScript SDK could not be installed: {reason}")
    folder = sdk_in_javascript.FOLDER
    (folder / "example.mts").write_text(_example("typescript"))
    types = ("--typeRoots", folder / "node_modules" / "@types", "--types", "node")
    await _run(folder / "node_modules" / ".bin" / "tsc", *_CHECK, *types, folder / "example.mts", environment={})
    assert await _run("node", folder / "example.mjs", environment=environment)


def test_the_page_names_every_message_that_is_played() -> None:
    assert set(_names_on_the_page()) == set(SCRIPTS)


def _names_on_the_page() -> Iterator[str]:
    """A row names one by its whole beginning, and more of its kind by their endings."""
    for row in re.findall(r"^\| (`(?:tck|test)-.*?) \|", _PAGE, re.MULTILINE):
        stem = ""
        for name in re.findall(r"`(.*?)`", row):
            yield stem + name if name.startswith("-") else name
            stem = stem if name.startswith("-") else name[: name.rindex("-")]
