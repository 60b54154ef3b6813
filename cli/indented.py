"""JSON as people edit it: indented, keys sorted, every number as it was written."""

from collections.abc import Iterator

from shared.domain.exact_json import Json, dumps

_STEP = "  "


def indent_json(value: Json, margin: str = "") -> str:
    """``json.dumps`` with an indent, where a fraction may be a ``Decimal``."""
    match value:
        case dict() if value:
            return _block(
                "{",
                (f"{dumps(name)}: {indent_json(value[name], margin + _STEP)}" for name in sorted(value)),
                "}",
                margin,
            )
        case list() if value:
            return _block("[", (indent_json(part, margin + _STEP) for part in value), "]", margin)
        case _:
            return dumps(value)


def _block(opening: str, parts: Iterator[str], closing: str, margin: str) -> str:
    return f"{opening}\n" + ",\n".join(f"{margin}{_STEP}{part}" for part in parts) + f"\n{margin}{closing}"
