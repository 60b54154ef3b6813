"""Each import direction of pyproject.toml, which `make check` asks for, notices an import that breaks it."""

import os
import re
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


PLANTED = {
    "a word knows a contract": ("shared/domain/odd.py", "shared.contracts.base"),
    "shared knows a service": ("shared/infra/odd.py", "services.policy"),
    "a service knows another": ("services/gateway/odd.py", "services.executor"),
    "an adapter knows the root": ("services/executor/adapters/odd.py", "services.executor.bootstrap"),
    "a feature in no layer": ("services/gateway/features/strange.py", "services.gateway.edge"),
    "a service does I/O": ("services/gateway/features/tasks/service.py", "redis"),
    "a feature knows the store of another": (
        "services/gateway/features/streams/service.py",
        "services.gateway.features.identity.store",
    ),
    "the edge knows a feature": ("services/gateway/edge/odd.py", "services.gateway.features.identity"),
    "a part is imported by name": ("services/gateway/odd_part.py", "services.gateway.parts.console"),
    "a feature knows an optional part": ("services/gateway/features/odd.py", "services.gateway.mcp_server"),
    "a core does I/O": ("services/executor/core/odd.py", "redis"),
    "a core knows an adapter": ("services/executor/core/odd.py", "services.executor.adapters"),
    "a core file in no layer": ("services/executor/core/odd.py", "services.executor.ports"),
    "the plan knows who carries it out": ("services/executor/core/plan/odd.py", "services.executor.core.write"),
    "PRIME knows REFLECT": ("services/executor/core/prime/odd.py", "services.executor.core.reflect"),
    "the command line knows a service": ("cli/odd.py", "services.gateway"),
    "the command line knows a tool otherwise than by finding it": ("cli/odd.py", "tools.chaos"),
    "a service knows a tool": ("services/policy/odd.py", "tools.bench"),
    "a test double in production": ("services/policy/odd.py", "tests"),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of an otherwise clean copy of the production packages, in which all of ``PLANTED`` stands."""
    copy = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__", "*.lua"))
    shutil.copy(PROJECT / "pyproject.toml", copy)
    for module, imported in PLANTED.values():
        folder = (copy / module).parent
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        with (copy / module).open("a") as file:
            file.write(f"\nimport {imported}\n")
    done = _lint(copy)
    assert done.returncode == 1
    return " ".join(done.stdout.split())


@pytest.mark.promise("imports.directions")
@pytest.mark.parametrize("case", PLANTED)
def test_an_import_against_the_direction_is_noticed(said: str, case: str) -> None:
    module, imported = PLANTED[case]
    name = module.removesuffix(".py").replace("/", ".")
    listed = rf"- {name} (\(|- )"  # among those that are in no layer
    assert re.search(listed if case.endswith("in no layer") else f"{name} -> {imported}", said)
