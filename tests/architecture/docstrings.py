"""What a docstring may not leave out: ``python -m tests.architecture.docstrings --check``.

Where a function may return None, its docstring says when. Where it raises an error itself, its docstring names the
error, says ``raises``, or gives the status that the caller of an endpoint gets. An error that the function catches
itself leaves it unnamed.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.architecture.names import PRODUCT, ROOT, Definition

_SAYS_NONE_PATTERN = re.compile(r"\bnone\b", re.IGNORECASE)
_SAYS_RAISES_PATTERN = re.compile(r"\brais(?:e|es|ed|ing)\b|\b[45]\d\d\b", re.IGNORECASE)
_BUGS = frozenset({"AssertionError", "NotImplementedError", "RuntimeError", "TypeError"})  # nobody handles them
_SHOWN_TO_USER = frozenset({"CommandError", "Exit", "BadParameter"})  # a command's docstring is its help
_NOT_CALLED_BY_US = ("validator", "serializer", "override")  # a library's own rule, or another docstring, says it


def find_omissions(root: Path) -> Iterator[str]:
    """Yields ``file:line name: what its docstring leaves out`` of each docstring in the product's files below root."""
    for package in PRODUCT:
        for path in sorted((root / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    place = f"{path.relative_to(root)}:{node.lineno} {node.name}"
                    yield from (f"{place}: {omission}" for omission in _list_omissions(node))


def _list_omissions(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    docstring = ast.get_docstring(function)
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    if docstring is None or any(word in decorator for decorator in decorators for word in _NOT_CALLED_BY_US):
        return
    if _may_return_none(function) and not _SAYS_NONE_PATTERN.search(docstring):
        yield "it does not say when the function returns None"
    errors = set(_list_raised_errors(function))
    if errors and not _SAYS_RAISES_PATTERN.search(docstring) and not any(error in docstring for error in errors):
        yield f"it does not say that the function raises {', '.join(sorted(errors))}"


def _may_return_none(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    annotation = ast.unparse(function.returns).strip("'\"") if function.returns else ""
    return annotation.endswith(" | None")


def _list_raised_errors(node: ast.AST, caught: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yields the names of the error classes that the function raises itself, not in functions or classes within it.

    ``caught``: names of those that a ``try`` around the node catches.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition | ast.Lambda):
            continue
        caught_here = caught
        if isinstance(node, ast.Try) and child in node.body:
            caught_here |= _find_caught_errors(node.handlers)
        if isinstance(child, ast.Raise) and child.exc is not None:
            raised = child.exc.func if isinstance(child.exc, ast.Call) else child.exc
            name = _get_last_name(raised)
            if name[:1].isupper() and name not in _BUGS | _SHOWN_TO_USER | caught_here:
                yield name
        yield from _list_raised_errors(child, caught_here)


def _find_caught_errors(handlers: Iterable[ast.ExceptHandler]) -> frozenset[str]:
    classes = [handler.type for handler in handlers if handler.type is not None]
    return frozenset(_get_last_name(one) for many in classes for one in getattr(many, "elts", [many]))


def _get_last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def main() -> int:
    """Prints each omission; returns 1 if there is one."""
    omissions = list(find_omissions(ROOT))
    sys.stderr.writelines(f"{omission}\n" for omission in omissions)
    return int(bool(omissions))


if __name__ == "__main__":
    sys.exit(main())
