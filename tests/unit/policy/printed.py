"""A condition's tree as text: ``parse(text_of(tree))`` is the tree again."""

from decimal import Decimal

from services.policy.core.grammar import Constant, FieldReference, Node, OperatorNode

_LOOSER = {"||": ("||",), "&&": ("||", "&&")}  # what stands in brackets beside these signs


def text_of(node: Node) -> str:
    """The condition as text, with the fewest parentheses."""
    match node:
        case Constant(value):
            return _literal(value)
        case FieldReference():
            return node.name
        case OperatorNode("!", (operand,)):
            return "!" + _tight(operand)
        case OperatorNode("[]", choices):
            return f"[{', '.join(map(text_of, choices))}]"
        case OperatorNode("&&" | "||" as sign, terms):
            return f" {sign} ".join(_bracketed(term, _LOOSER[sign]) for term in terms)
        case OperatorNode(sign, (left, right)):
            return f"{_tight(left)} {sign} {_tight(right)}"
        case _:
            raise AssertionError(node)


def _bracketed(node: Node, signs: tuple[str, ...]) -> str:
    return f"({text_of(node)})" if isinstance(node, OperatorNode) and node.sign in signs else text_of(node)


def _tight(node: Node) -> str:
    is_tight = not isinstance(node, OperatorNode) or node.sign in ("!", "[]")
    return text_of(node) if is_tight else f"({text_of(node)})"


def _literal(value: str | bool | Decimal | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case _:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
