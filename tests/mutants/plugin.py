"""What pytest runs with, by ``-p tests.mutants.plugin``: a mutant in place of a module, or a record of what tests run.

No file is changed: the module's tree is changed while it is imported. ``MUTANT`` is ``path:number of the site``;
``MUTANTS_RECORD`` names the folder to which each process writes the blocks that each of its tests ran.
"""

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from typing_extensions import override

from tests.mutants.sites import changed, sites

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    "services/policy/core",
    "services/executor/core/states",
    "services/executor/core/plan",
    "services/executor/core/authorize",
    "services/executor/core/write",
    "services/executor/core/process/synthesis.py",
    "services/executor/core/turn/worker.py",
    "services/executor/core/session/ledger.py",
)
_PROBE = "__block__"


class _Record:
    """Of each test the blocks that it ran, and how long it took; one that fails without a mutant proves nothing."""

    def __init__(self) -> None:
        self.blocks: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.now: set[str] = set()  # of the test that runs

    def add(self, block: str) -> None:
        self.now.add(block)


_record = _Record()


def target_files() -> list[Path]:
    found = [
        path for target in TARGETS for path in ((ROOT / target).rglob("*.py") if "." not in target else [ROOT / target])
    ]
    return sorted(path for path in found if path.name != "__init__.py")


def block_of(path: str, tree: ast.Module, line: int) -> str:
    """The innermost block that holds the line, as it is recorded; empty for what runs while the module is imported."""
    lines = [
        body[start].lineno
        for body, start, end in _blocks(tree)
        if body[start].lineno <= line <= (body[end - 1].end_lineno or 0)
    ]
    return f"{path}:{max(lines)}" if lines else ""


def _blocks(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], int, int]]:
    """Statements of which each is run if the first is: a list of them, where they begin in it, and where they end."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                for field in ("body", "orelse", "finalbody"):
                    body = getattr(node, field, None)
                    if isinstance(body, list) and body and not isinstance(node, ast.ClassDef):
                        yield from _parts(body)


def _parts(body: list[ast.stmt]) -> Iterator[tuple[list[ast.stmt], int, int]]:
    start = 0
    for end, statement in enumerate(body, 1):
        if end == len(body) or _may_leave(statement):
            yield body, start, end
            start = end


def _may_leave(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break) for node in ast.walk(statement))


class _Loader(SourceFileLoader):
    @override
    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        path = Path(self.path).relative_to(ROOT).as_posix()
        mutant, _, number = os.environ.get("MUTANT", "").rpartition(":")
        if mutant == path:
            tree = changed(tree, next(islice(sites(tree), int(number), None)))
        if "MUTANTS_RECORD" in os.environ:
            _add_probes(tree, path)
        return compile(tree, self.path, "exec", dont_inherit=True)

    @override
    def exec_module(self, module: ModuleType) -> None:
        setattr(module, _PROBE, _record.add)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("services."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if (
            spec
            and spec.origin
            and any((ROOT / one) in (Path(spec.origin), *Path(spec.origin).parents) for one in TARGETS)
        ):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def _add_probes(tree: ast.Module, path: str) -> None:
    done = set[tuple[int, int]]()
    for body, start, _ in sorted(_blocks(tree), key=lambda block: -block[1]):  # the last first: they move what follows
        if (id(body), start) in done:
            continue
        done.add((id(body), start))
        first = body[start]
        is_docstring = start == 0 and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        probe = ast.parse(f"{_PROBE}({path + ':' + str(first.lineno)!r})").body[0]
        for node in ast.walk(probe):
            ast.copy_location(node, first)
        body.insert(start + int(is_docstring), probe)


def pytest_runtest_setup(item: pytest.Item) -> None:
    _record.now = _record.blocks.setdefault(item.nodeid, set())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _record.seconds[report.nodeid] = _record.seconds.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _record.failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    if folder := os.environ.get("MUTANTS_RECORD"):
        rows = {
            name: [_record.seconds.get(name, 0.0), sorted(blocks)]
            for name, blocks in _record.blocks.items()
            if blocks and name not in _record.failed
        }
        (Path(folder) / f"{os.getpid()}.json").write_text(json.dumps(rows))


if {"MUTANT", "MUTANTS_RECORD"} & os.environ.keys():
    if loaded := [name for name in sys.modules if name.startswith("services.") and ".core." in name]:
        raise pytest.UsageError(f"imported before it could be changed: {loaded[0]}")
    sys.meta_path.insert(0, _Finder())  # before any conftest is imported
