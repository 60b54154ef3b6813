"""How a simulator starts, stops, and says why it does not start."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest

from services.simulator.__main__ import main
from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from tests.each_row import each_row
from tests.refusals import refusal_of
from tests.serving import listening

pytestmark = pytest.mark.promise("simulator.start")
SECRET = "s" * 32
_PATIENCE = 30


@each_row(
    ("environ", "said"),
    ({"UES_ADMIN_KEY": "short"}, "UES_ADMIN_KEY cannot be used: it needs at least 32 characters."),
    ({"PORT": "many"}, "PORT cannot be used"),
    ({"AUTHENTICATION": "none"}, "AUTHENTICATION cannot be used"),
    ({"AUTHENTICATION": "off", "HOST": "10.1.2.3"}, "AUTHENTICATION cannot be off unless HOST is a loopback"),
    ({"AUTHENTICATION": "off", "HOST": "example.org"}, "AUTHENTICATION cannot be off unless HOST is a loopback"),
    ({"UES_ADMIN_KEY_FILE": "/nowhere/at/all"}, "No such file or directory: '/nowhere/at/all'"),
)
def test_a_setting_that_cannot_be_used_is_named(environ: dict[str, str], said: str) -> None:
    refusal = refusal_of(lambda: main([]), environ)

    assert refusal.code == 2
    assert said in refusal.said
    assert "short" not in refusal.said


@each_row("host", ["127.0.0.1", "localhost"])
def test_authentication_can_be_off_on_loopback(host: str) -> None:
    assert SimulatorSettings.model_validate({"authentication": "off", "host": host}).authentication == "off"


def test_a_key_that_nobody_gave_is_made_and_written_where_only_its_owner_reads_it(tmp_path: Path) -> None:
    """Even over a file that everybody could read."""
    file = tmp_path / "key.json"
    file.write_text("old")
    file.chmod(0o666)

    build(SimulatorSettings.model_validate({"ues_admin_key_file": file}))

    written = json.loads(file.read_text())
    assert written["key_id"].startswith("ues_")
    assert len(written["secret"]) == 64
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_key_that_was_given_is_written_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "key.json"

    build(SimulatorSettings.model_validate({"ues_admin_key_file": file, "ues_admin_key": SECRET}))

    assert not file.exists()
    assert capsys.readouterr().out == ""


def test_a_key_without_a_file_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    build(SimulatorSettings.model_validate({}))

    shown = capsys.readouterr().out
    assert len(shown.strip().rpartition(" ")[2]) == 64


@contextmanager
def _process(port: int, **environ: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "services.simulator", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(
        command,
        env={"PATH": os.environ["PATH"], **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _await_health(url: str) -> None:
    until = monotonic() + _PATIENCE
    while monotonic() < until:
        try:
            if httpx.get(f"{url}/health", timeout=1).status_code == 200:
                return
        except httpx.TransportError:
            sleep(0.05)
    raise AssertionError("the simulator did not come up")


def test_a_process_serves_with_the_key_of_its_environment_until_it_is_told_to_stop() -> None:
    with listening() as (listener, url):
        port = listener.getsockname()[1]
    with _process(port, UES_ADMIN_KEY=SECRET) as process:
        _await_health(url)
        modalities = httpx.get(f"{url}/environment/modalities", headers={"X-API-Key": SECRET}, timeout=_PATIENCE).json()
        refused = httpx.get(f"{url}/environment/modalities", timeout=_PATIENCE)
        process.send_signal(signal.SIGTERM)
        code = process.wait(_PATIENCE)
        said = process.stdout.read() if process.stdout else ""

    assert {"email", "sms", "chat", "time"} <= set(modalities["modalities"])
    assert refused.status_code == 401
    assert (code, SECRET in said) == (0, False)
