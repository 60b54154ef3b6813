"""What `make house` counts: chains and circles of imports, and names that classes share."""

import ast
from pathlib import Path

import grimp
import pytest

from tests.architecture.house import LONGEST_CHAIN, folder_circles, imports_inside, longest_chain, shared_names, size

PRODUCT = ("services", "shared", "cli")
MOST_STATEMENTS = 32
_IMPORTS = {"a.one": {"b.one"}, "b.one": {"b.two"}, "b.two": set(), "b.three": {"a.two"}, "a.two": set[str]()}


def test_the_longest_chain_is_the_modules_on_the_way_down() -> None:
    assert longest_chain(_IMPORTS) == ["a.one", "b.one", "b.two"]


def test_folders_that_import_each_other_are_a_circle_though_no_two_files_do() -> None:
    assert folder_circles(_IMPORTS) == ["a", "b"]
    assert folder_circles({name: others for name, others in _IMPORTS.items() if name != "b.three"}) == []


def test_lines_statements_and_headers_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text('"""What it is."""\n\nimport ast\n\n\nclass One:\n    x = ast.AST\n')
    other = tmp_path / "other.py"
    other.write_text("class One: ...\n\n\nclass Two: ...\n")
    assert size([file]) == (1, 7, 4, 3)
    assert round(shared_names([file, other]), 2) == 0.67


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("services", "shared", cache_dir=None)


@pytest.mark.promise("imports.directions")
@pytest.mark.parametrize(
    "package",
    ["shared", *(f"services.{one}" for one in "assessor executor gateway learner planner policy simulator".split())],
)
def test_no_import_chain_is_too_long_and_no_folders_go_in_a_circle(graph: grimp.ImportGraph, package: str) -> None:
    imports = imports_inside(graph, package)

    assert len(chain := longest_chain(imports)) <= LONGEST_CHAIN, chain
    assert folder_circles(imports) == []


def test_no_function_of_the_product_has_more_statements_than_a_reader_holds() -> None:
    """``shared``, services and command line; the statements of functions inside a function are its own too."""
    root = Path(__file__).resolve().parents[2]
    files = [file for part in PRODUCT for file in sorted((root / part).rglob("*.py"))]
    counted = [(file.name, *one) for file in files for one in _functions(ast.parse(file.read_text()))]
    assert len(counted) > 5_000
    assert [one for one in counted if one[2] > MOST_STATEMENTS] == []


def _functions(tree: ast.AST) -> list[tuple[str, int]]:
    """Each function with its statements; a statement stands in no expression."""
    found: list[tuple[str, int]] = []

    def count(node: ast.AST) -> int:
        below = sum(count(one) for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((node.name, below))
        return below + isinstance(node, ast.stmt)

    count(tree)
    return found
