"""Which test carries which promise, read from the sources: nothing is imported and nothing is run."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Mark(NamedTuple):
    """One test that says it proves one promise. ``module`` is dotted, ``test`` may start with its class's name."""

    promise: str
    module: str
    test: str
    place: str


def marks_under(root: Path) -> tuple[Mark, ...]:
    """Every promise mark of the test modules under a folder, in a fixed order."""
    found: list[Mark] = []
    for path in sorted(root.rglob("test_*.py")):
        module = ".".join((root.name, *path.relative_to(root).with_suffix("").parts))
        found.extend(marks_in(path.read_text(encoding="utf-8"), module, str(path)))
    return tuple(found)


def marks_in(source: str, module: str, file: str) -> Iterator[Mark]:
    """The marks of one module: on its functions, on its classes, and on the module itself (``pytestmark``)."""
    tree = ast.parse(source, filename=file)
    shared = tuple(_ids(_module_marks(tree.body)))
    for prefix, node, inherited in _tests(tree.body, shared):
        for promise in (*inherited, *_ids(node.decorator_list)):
            yield Mark(promise, module, f"{prefix}{node.name}", f"{file}:{node.lineno}")


def _tests(
    body: Iterable[ast.stmt], inherited: tuple[str, ...], prefix: str = ""
) -> Iterator[tuple[str, _Definition, tuple[str, ...]]]:
    for node in body:
        if isinstance(node, _Definition) and node.name.startswith("test"):
            yield prefix, node, inherited
        elif isinstance(node, ast.ClassDef):
            own = (*inherited, *_ids(node.decorator_list), *_ids(_module_marks(node.body)))
            yield from _tests(node.body, own, f"{prefix}{node.name}.")


def _module_marks(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            yield from node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else (node.value,)


def _ids(expressions: Iterable[ast.expr]) -> Iterator[str]:
    for expression in expressions:
        if isinstance(expression, ast.Call) and ast.unparse(expression.func).endswith("mark.promise"):
            yield from (
                arg.value for arg in expression.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            )
