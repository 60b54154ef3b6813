"""How commands find the stack that runs."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.console import CommandError
from cli.main import app
from cli.replay import build_archive_environ
from cli.stack import registry

pytestmark = pytest.mark.promise("cli.finds_the_stack")


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of whom nothing runs."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _stack(folder: Path, port: int = 9110) -> registry.RunningStack:
    return registry.RunningStack(f"http://127.0.0.1:{port}", folder)


def test_a_stack_is_found_while_it_runs_and_not_after(tmp_path: Path) -> None:
    stack = _stack(tmp_path / "elsewhere" / ".purple")
    with registry.register_stack(stack):
        assert registry.list_running_stacks() == (stack,)
        assert registry.find_gateway_url() == stack.url
        assert registry.find_data_folder() == stack.folder
    assert (registry.list_running_stacks(), registry.find_gateway_url(), registry.find_data_folder()) == (
        (),
        registry.DEFAULT_URL,
        None,
    )


def test_a_file_of_a_killed_launcher_counts_for_nothing(tmp_path: Path) -> None:
    with registry.register_stack(_stack(tmp_path)):
        left = next((tmp_path / "purple-agent").glob("*.json")).read_text()
    (tmp_path / "purple-agent" / "1.json").write_text(left)
    assert registry.list_running_stacks() == ()


def test_of_several_the_one_whose_data_lie_here_is_meant(tmp_path: Path) -> None:
    here, there = _stack(tmp_path / ".purple", 9111), _stack(tmp_path / "there" / ".purple", 9112)
    assert registry.choose_stack((here, there), tmp_path) == here
    assert registry.choose_stack((here, there), tmp_path / "there" / "deep") == there


def test_of_several_here_the_one_at_the_usual_address_is_meant_and_else_one_has_to_say(tmp_path: Path) -> None:
    usual = registry.RunningStack(registry.DEFAULT_URL, tmp_path / ".purple")
    assert registry.choose_stack((usual, _stack(tmp_path / ".purple-2")), tmp_path) == usual
    with pytest.raises(CommandError, match="2 stacks run here: say which one, with --url"):
        registry.choose_stack((_stack(tmp_path / ".a", 1), _stack(tmp_path / ".b", 2)), tmp_path)


def test_a_registry_that_others_can_write_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "purple-agent").mkdir(mode=0o777)
    (tmp_path / "purple-agent").chmod(0o777)
    assert registry.list_running_stacks() == ()


@pytest.mark.usefixtures("runtime")
def test_the_running_stacks_archive_is_read_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARCHIVE_URL", "PURPLE_URL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "elsewhere"
    (folder / "archive").mkdir(parents=True)
    with registry.register_stack(_stack(folder)):
        assert build_archive_environ(None)["ARCHIVE_URL"] == (folder / "archive").as_uri()
    with pytest.raises(CommandError, match="holds no archive"):
        build_archive_environ(None)
    assert os.environ.get("ARCHIVE_URL") is None


@pytest.mark.usefixtures("runtime")
def test_a_restore_is_noted_at_no_redis_that_nobody_named_and_that_of_the_running_stack_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    stack = _stack(tmp_path)._replace(environ={"REDIS_URL": "unix:///its/redis.sock"})
    with registry.register_stack(stack):
        done = CliRunner().invoke(app, ["restored"])
    assert done.exit_code == 2
    assert "REDIS_URL=unix:///its/redis.sock" in done.output


@pytest.mark.usefixtures("runtime")
def test_the_running_stacks_connections_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the environment says whose they are."""
    for name in ("REDIS_URL", "TENANT_FILE", "PURPLE_URL"):
        monkeypatch.delenv(name, raising=False)
    record = tmp_path / "record.json"
    record.write_text('{"id": "default", "connections": [{"id": "erp", "url": "http://127.0.0.1:1"}]}')
    with registry.register_stack(_stack(tmp_path)._replace(environ={"TENANT_FILE": str(record)})):
        done = CliRunner().invoke(app, ["tenant", "connections", "test", "default", "--json"])
    assert done.exit_code == 1
    assert '"id":"erp"' in done.stdout
