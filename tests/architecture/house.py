"""How large and how tangled the code is, each figure with its target: ``make house``.

``make check`` holds what must hold; test_house.py holds what is reached; the rest is how far it is from its target.
"""

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grimp

from tests.architecture.names import ROOT, offenders

MEASURED = ("services/simulator", "services/assessor", "services/planner", "tools", "examples")
PRODUCT = ("services", "shared", "cli")
LONGEST_CHAIN = 12  # files of one service, each importing the next
SERVICES = ("gateway", "executor", "policy", "learner", "planner", "simulator", "assessor")


class Row(NamedTuple):
    what: str
    found: str
    target: str = ""


class Size(NamedTuple):
    """``header``: lines of module docstrings and imports."""

    files: int
    lines: int
    statements: int
    header: int


def rows() -> list[Row]:
    """The whole table; a few seconds."""
    product, rest, tests = size(_files(PRODUCT, without=MEASURED)), size(_files(MEASURED)), size(_files(("tests",)))
    core = size(_files(("services/executor/core",)))
    graph = grimp.build_graph("services", "shared", "cli")
    found = [
        Row("lines of the product", f"{product.lines:,} in {product.files:,} files", "55,000"),
        Row("  its statements", f"{product.statements:,}"),
        Row("  headers among its lines", f"{100 * product.header / product.lines:.1f} %", "10 %"),
        Row("lines of services/executor/core", f"{core.lines:,} in {core.files:,} files", "15,000"),
        Row("lines of simulator, assessor, planner, tools, examples", f"{rest.lines:,}"),
        Row("lines of the tests", f"{tests.lines:,} in {tests.files:,} files", "60,000"),
        Row("names that break the lint", str(sum(offenders(ROOT).values())), "0"),
        Row("classes that share their name", f"{100 * shared_names(_files((*PRODUCT, *MEASURED))):.1f} %", "2 %"),
    ]
    for package in ("shared", *(f"services.{service}" for service in SERVICES)):
        service = package.rpartition(".")[2]
        inside = {module for module in graph.modules if module == package or module.startswith(f"{package}.")}
        imports = {module: graph.find_modules_directly_imported_by(module) & inside for module in inside}
        circles = folder_circles(imports)
        found += [
            Row(f"{service}: longest chain of imports", str(len(longest_chain(imports))), str(LONGEST_CHAIN)),
            Row(f"{service}: folders in circles", str(len(circles)), "0"),
            *(Row(f"  {circle}", "") for circle in circles),
        ]
    return found


def imports_inside(graph: grimp.ImportGraph, package: str) -> dict[str, set[str]]:
    """Which modules of a package each of them imports."""
    inside = {module for module in graph.modules if module == package or module.startswith(f"{package}.")}
    return {module: graph.find_modules_directly_imported_by(module) & inside for module in inside}


def size(files: Iterable[Path]) -> Size:
    """What these files come to."""
    texts = [path.read_text("utf-8") for path in files]
    trees = [ast.parse(text) for text in texts]
    statements = sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree))
    return Size(len(texts), sum(text.count("\n") for text in texts), statements, sum(map(_header, trees)))


def longest_chain(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """The modules of the longest way down, each importing the next."""

    @cache
    def below(module: str) -> tuple[str, ...]:
        return (module, *max((below(one) for one in sorted(imports[module])), key=len, default=()))

    sys.setrecursionlimit(max(sys.getrecursionlimit(), len(imports) + 1000))
    return [*max((below(module) for module in sorted(imports)), key=len, default=())]


def folder_circles(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Folders that reach each other by way of others, though no two of their files do."""
    between: dict[str, set[str]] = {}
    for module, others in imports.items():
        folders = {_folder(one) for one in others} - {_folder(module)}
        between.setdefault(_folder(module), set()).update(folders)
    reach = _reaching(lambda folder: between.get(folder, set()))
    return sorted(folder for folder in between if any(folder in reach(one) for one in between[folder]))


def shared_names(files: Iterable[Path]) -> float:
    """The share of classes whose name another class has as well."""
    trees = (ast.parse(path.read_text("utf-8")) for path in files)
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sum(times for times in names.values() if times > 1) / max(1, sum(names.values()))


def _reaching(step: Callable[[str], set[str]]) -> Callable[[str], set[str]]:
    @cache
    def reached(start: str) -> frozenset[str]:
        found, open_ends = {start}, [start]
        while open_ends:
            fresh = step(open_ends.pop()) - found
            found |= fresh
            open_ends += fresh
        return frozenset(found)

    return lambda start: set(reached(start))


def _folder(module: str) -> str:
    return module.rpartition(".")[0]


def _files(folders: Iterable[str], without: Iterable[str] = ()) -> list[Path]:
    left_out = [ROOT / folder for folder in without]
    every = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted({path for path in every if not any(path.is_relative_to(folder) for folder in left_out)})


def _header(tree: ast.Module) -> int:
    """The lines up to the end of the imports."""
    last = 0
    for place, node in enumerate(tree.body):
        is_docstring = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_docstring or isinstance(node, ast.Import | ast.ImportFrom)):
            break
        last = node.end_lineno or last
    return last


def main() -> None:
    table = rows()
    wide, middle = (max(len(row[column]) for row in table) for column in (0, 1))
    for row in table:
        target = f"to be at most {row.target}" if row.target else ""
        sys.stdout.write(f"{row.what:{wide}}  {row.found:>{middle}}  {target}".rstrip() + "\n")


if __name__ == "__main__":
    main()
