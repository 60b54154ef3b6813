"""Small changes to a module's code that some test should notice: each a site, found in the order of the text."""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_Change = Callable[[ast.AST], None]


class Site(NamedTuple):
    """One change. ``node`` counts the nodes of the tree as ``ast.walk`` meets them."""

    line: int
    what: str
    node: int
    change: _Change


def sites(tree: ast.Module) -> Iterator[Site]:
    """Every change that is made to the module, one after the other."""
    left_out = {id(inner) for node in ast.walk(tree) for part in _left_out(node) for inner in ast.walk(part)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in left_out:
            for what, change in _changes(node):
                yield Site(getattr(node, "lineno", 0), what, number, change)


def changed(tree: ast.Module, site: Site) -> ast.Module:
    """A copy of the tree with that one change."""
    mutant = copy.deepcopy(tree)
    for number, node in enumerate(ast.walk(mutant)):
        if number == site.node:
            site.change(node)
            return ast.fix_missing_locations(mutant)
    raise LookupError(f"the tree has no node {site.node}")


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    """What decides nothing when it runs: annotations, decorators and what the type checker alone reads."""
    match node:
        case ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield from node.decorator_list
            if not isinstance(node, ast.ClassDef) and node.returns:
                yield node.returns
        case ast.Assign(targets=[ast.Name(id=name)]) if name[:1].isupper() and "TypeVar" in ast.dump(node.value):
            yield node.value
        case ast.Raise(exc=ast.expr() as said):  # which words an error has is no promise
            yield said
        case _:
            return


def _changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARED:
            other = _COMPARED[type(operator)]
            yield f"{type(operator).__name__} -> {other.__name__}", lambda it: setattr(it, "ops", [other()])
        case ast.BoolOp(op=operator):
            turned = ast.And if isinstance(operator, ast.Or) else ast.Or
            yield f"{type(operator).__name__} -> {turned.__name__}", lambda it: setattr(it, "op", turned())
        case ast.UnaryOp(op=ast.Not()):
            yield "not x -> not not x", _negate_operand
        case ast.BinOp(op=operator) if type(operator) in _CALCULATED:
            instead = _CALCULATED[type(operator)]
            yield f"{type(operator).__name__} -> {instead.__name__}", lambda it: setattr(it, "op", instead())
        case ast.Constant(value=bool() as flag):
            yield f"{flag} -> {not flag}", lambda it: setattr(it, "value", not flag)
        case ast.Constant(value=int() as whole):
            yield f"{whole} -> {whole + 1}", lambda it: setattr(it, "value", whole + 1)
        case ast.If() | ast.IfExp() | ast.While():
            yield "if x -> if not x", _negate_test
        case ast.comprehension(ifs=[_, *_]):
            yield "a comprehension's condition is dropped", lambda it: setattr(it, "ifs", [])
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return x -> return None", lambda it: setattr(it, "value", ast.Constant(None))
        case ast.Continue():
            yield "continue -> break", lambda it: setattr(it, "__class__", ast.Break)
        case _:
            return


def _negate_test(it: ast.AST) -> None:
    assert isinstance(it, ast.If | ast.IfExp | ast.While)
    it.test = ast.UnaryOp(ast.Not(), it.test)


def _negate_operand(it: ast.AST) -> None:
    assert isinstance(it, ast.UnaryOp)
    it.operand = ast.UnaryOp(ast.Not(), it.operand)
