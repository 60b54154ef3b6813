"""What `purple up` asks for before it starts: who may call from elsewhere, and what unruled writes need."""

import asyncio
import os
import pty
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from cli.stack.plan import find_free_ports
from shared.domain.exact_json import loads_object
from tests.e2e.commands import bare_environment, run_purple
from tests.e2e.waiting import eventually


@pytest.mark.promise("gateway.open_by_name")
@pytest.mark.parametrize("environ", [{}, {"AUTHENTICATION": "off"}])
def test_the_images_command_ends_with_a_sentence_that_names_both_ways_to_open_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (port,) = find_free_ports(1)
    chosen = ("--host", "0.0.0.0", "--port", str(port), "--dir", str(tmp_path))  # noqa: S104
    done = run_purple("up", *chosen, environ=environ)
    assert done.code == 1
    assert "AUTHENTICATION" in done.err
    assert "ALLOW_OPEN=yes" in done.err
    assert os.listdir(tmp_path) == []


@pytest.mark.promise("launcher.unruled_writes")
def test_without_a_terminal_the_launcher_says_what_it_must_be_told_of_anothers_tools(tmp_path: Path) -> None:
    (port,) = find_free_ports(1)
    server = {"GREEN_AGENT_MCP_URL": "http://127.0.0.1:9"}
    done = run_purple("up", "--port", str(port), "--dir", str(tmp_path), environ=server)
    assert done.code == 1
    assert "UNRULED_WRITES must say" in done.err


@pytest.mark.promise("launcher.unruled_writes")
async def test_at_a_terminal_it_asks_once(tmp_path: Path) -> None:
    """The answer stands in the record of the stack's folder."""
    (port,) = find_free_ports(1)
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli.main", "up", "--port", str(port), "--dir", str(tmp_path)),
        env={**bare_environment(), "GREEN_AGENT_MCP_URL": "http://127.0.0.1:9", "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        assert "Unruled writes need" in await asyncio.to_thread(_read_until, ours, "Unruled writes need")
        os.write(ours, b"allow\n")
        record = tmp_path / "tenant.json"
        assert await eventually(record.exists, 20)
        assert loads_object(record.read_text())["unruled_writes"] == "allow"
    finally:
        process.kill()
        await process.wait()
        os.close(ours)


def _read_until(terminal: int, words: str) -> str:
    said = ""
    with suppress(OSError):  # the other side has closed
        while words not in said:
            said += os.read(terminal, 1024).decode(errors="replace")
    return said
