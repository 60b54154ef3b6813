"""A second, slow reading of docs/policy.md, which shares no code with the service but the tree it reads."""

from fractions import Fraction

from services.policy.core.grammar import Constant, FieldReference, Node, OperatorNode

Tagged = tuple[str, object]
MISSING: Tagged = ("missing", None)
_OPPOSITES = {"true": "false", "false": "true", "unknown": "unknown"}


class Invalid(Exception):
    """The policy page calls this an error."""


def answer(node: Node, context: dict[str, object]) -> str:
    """``true``, ``false``, ``unknown`` or ``invalid``."""
    try:
        return _truth(_value(node, context))
    except Invalid:
        return "invalid"


def _value(node: Node, context: dict[str, object]) -> Tagged:
    if isinstance(node, Constant):
        return _tagged(node.value)
    if isinstance(node, FieldReference):
        return _looked_up(node.path, context)
    match node.sign, node.operands:
        case "!", (operand,):
            return ("truth", _OPPOSITES[_truth(_value(operand, context))])
        case "&&", terms:
            return ("truth", _joined(terms, context, "false", "true"))
        case "||", terms:
            return ("truth", _joined(terms, context, "true", "false"))
        case "in", (tested, choices):
            return ("truth", _within(_value(tested, context), choices, context))
        case sign, (left, right):
            return ("truth", _compared(sign, _value(left, context), _value(right, context)))
    raise AssertionError(node)


def _looked_up(path: tuple[str, ...], context: object) -> Tagged:
    for step in path:
        if not isinstance(context, dict) or step not in context:
            return MISSING
        context = context[step]
    return _tagged(context)


def _tagged(value: object) -> Tagged:
    if value is None:
        return ("null", None)
    if value is True or value is False:
        return ("truth", "true" if value else "false")
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, list | dict):
        return ("collection", value)
    return ("number", Fraction(str(value)))


def _truth(value: Tagged) -> str:
    kind, content = value
    if kind == "truth":
        return str(content)
    if kind in ("null", "missing"):
        return "unknown"
    raise Invalid


def _joined(terms: tuple[Node, ...], context: dict[str, object], decisive: str, neutral: str) -> str:
    seen = set()
    for term in terms:
        seen.add(found := _truth(_value(term, context)))
        if found == decisive:
            return decisive
    return "unknown" if "unknown" in seen else neutral


def _compared(operator: str, left: Tagged, right: Tagged) -> str:
    if _is_unknown(left) or _is_unknown(right):
        return "unknown"
    if operator in ("==", "===", "!=", "!=="):
        same = _same(left, right, strict=len(operator) == 3)
        return "true" if same != operator.startswith("!") else "false"
    if "null" in (left[0], right[0]):
        return "unknown"
    return "true" if _in_order(operator, *_orderable(left, right)) else "false"


def _is_unknown(value: Tagged) -> bool:
    return value[0] == "missing" or value == ("truth", "unknown")


def _same(left: Tagged, right: Tagged, strict: bool) -> bool:
    kinds = {left[0], right[0]}
    if "null" in kinds:
        return len(kinds) == 1
    if "collection" in kinds:
        raise Invalid
    if not strict and kinds == {"text", "number"}:
        spelled = [_spelled(value) for value in (left, right)]
        return spelled[0] == spelled[1]
    return left == right


def _orderable(left: Tagged, right: Tagged) -> tuple[Tagged, Tagged]:
    if not {left[0], right[0]} <= {"text", "number"}:
        raise Invalid
    first, second = _spelled(left), _spelled(right)
    if first is None and second is None:
        return left, right
    if first is None or second is None:
        raise Invalid
    currencies = {_currency(value) for value in (left, right)} - {""}
    if len(currencies) > 1:
        raise Invalid
    return ("number", first), ("number", second)


def _in_order(operator: str, left: Tagged, right: Tagged) -> bool:
    step = _step(left[1], right[1])
    return {">": step > 0, ">=": step >= 0, "<": step < 0, "<=": step <= 0}[operator]


def _step(left: object, right: object) -> int:
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    assert isinstance(left, Fraction)
    assert isinstance(right, Fraction)
    return (left > right) - (left < right)


def _currency(value: Tagged) -> str:
    return next((mark for mark in "$€£" if mark in str(value[1])), "") if value[0] == "text" else ""


def _spelled(value: Tagged) -> Fraction | None:
    """The number of a number, or of a text that spells one."""
    kind, content = value
    if kind == "number":
        assert isinstance(content, Fraction)
        return content
    text = str(content).strip()
    sign = -1 if text.startswith("-") else 1
    text = text.removeprefix("-")
    if text[:1] and text[0] in "$€£":
        text = text[1:]
        if sign == 1 and text.startswith("-"):
            sign, text = -1, text[1:]
    return _digits(text, sign)


def _digits(text: str, sign: int) -> Fraction | None:
    whole, point, part = text.partition(".")
    groups = whole.split(",")
    grouped = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    spelled = "".join(groups) + part
    if not grouped or not groups[0] or (point and not part) or not all(sign_ in "0123456789" for sign_ in spelled):
        return None
    return sign * Fraction("".join(groups) + point + part)


def _within(tested: Tagged, choices: Node, context: dict[str, object]) -> str:
    if isinstance(choices, FieldReference):
        found = _looked_up(choices.path, context)
        if _is_unknown(tested) or found[0] in ("missing", "null"):
            return "unknown"
        if found[0] != "collection" or not isinstance(found[1], list):
            raise Invalid
        items = [_tagged(item) for item in found[1]]
    else:
        assert isinstance(choices, OperatorNode)
        items = [_value(choice, context) for choice in choices.operands]
    if _is_unknown(tested):
        return "unknown"
    return "true" if any(_compared("==", tested, item) == "true" for item in items) else "false"
