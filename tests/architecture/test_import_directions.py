"""The import directions of pyproject.toml hold, and each of them would notice an import that breaks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("shared", "services", "cli", "examples", "tools")
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache', '--no-logo'])"


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, "-c", LINT], cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the production packages in which a test may break a rule."""
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.lua"))
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.promise("imports.directions")
def test_the_project_keeps_its_import_directions() -> None:
    done = _lint(PROJECT)
    assert done.returncode == 0, done.stdout


@pytest.mark.promise("imports.directions")
@pytest.mark.parametrize(
    ("module", "imported"),
    [
        pytest.param(
            "shared/domain/odd.py", "shared.contracts.base", marks=pytest.mark.long, id="a word knows a contract"
        ),
        pytest.param("shared/infra/odd.py", "services.policy", id="shared knows a service"),
        pytest.param("services/gateway/odd.py", "services.executor", id="a service knows another"),
        pytest.param(
            "services/executor/adapters/odd.py",
            "services.executor.bootstrap",
            marks=pytest.mark.long,
            id="an adapter knows the root",
        ),
        pytest.param(
            "services/gateway/features/odd/odd.py",
            "services.gateway.edge",
            marks=pytest.mark.long,
            id="a feature in no layer",
        ),
        pytest.param(
            "services/gateway/features/tasks/service.py", "redis", marks=pytest.mark.long, id="a service does I/O"
        ),
        pytest.param(
            "services/gateway/features/memory/service.py",
            "services.gateway.features.learning.store",
            id="a feature knows the store of another",
        ),
        pytest.param(
            "services/gateway/edge/odd.py",
            "services.gateway.features.identity",
            marks=pytest.mark.long,
            id="the edge knows a feature",
        ),
        pytest.param(
            "services/gateway/odd_part.py",
            "services.gateway.parts.console",
            marks=pytest.mark.long,
            id="a part is imported by name",
        ),
        pytest.param(
            "services/gateway/features/odd.py",
            "services.gateway.mcp_server.server",
            marks=pytest.mark.long,
            id="a feature knows an optional part",
        ),
        pytest.param("services/executor/core/odd.py", "redis", id="a core does I/O"),
        pytest.param(
            "services/executor/core/odd.py",
            "services.executor.adapters",
            marks=pytest.mark.long,
            id="a core knows an adapter",
        ),
        pytest.param(
            "services/executor/core/odd.py",
            "services.executor.ports",
            marks=pytest.mark.long,
            id="a core file in no folder",
        ),
        pytest.param(
            "services/executor/core/write/odd.py",
            "services.executor.core.plan",
            marks=pytest.mark.long,
            id="write knows plan",
        ),
        pytest.param(
            "services/executor/core/prime/odd.py",
            "services.executor.core.reflect",
            marks=pytest.mark.long,
            id="PRIME knows REFLECT",
        ),
        pytest.param("cli/odd.py", "services.gateway", id="the command line knows a service"),
        pytest.param(
            "cli/odd.py",
            "tools.chaos",
            marks=pytest.mark.long,
            id="the command line knows a tool otherwise than by finding it",
        ),
        pytest.param("services/policy/odd.py", "tools.bench", marks=pytest.mark.long, id="a service knows a tool"),
        pytest.param("services/policy/odd.py", "tests.doubles", id="a test double in production"),
    ],
)
def test_an_import_against_the_direction_is_noticed(copy: Path, module: str, imported: str) -> None:
    """Each case plants one module with one forbidden import in an otherwise clean copy."""
    (copy / module).parent.mkdir(exist_ok=True)
    (copy / module).parent.joinpath("__init__.py").touch()
    (copy / module).write_text(f"import {imported}\n")
    done = _lint(copy)
    assert done.returncode == 1
    assert "BROKEN" in done.stdout
