"""Values of a kept assessment as a page shows them."""

import json

from pydantic import JsonValue

from services.gateway.core.console.assessments import number

_LONGEST = 2000
NOTHING = "nothing"


def shown(value: JsonValue) -> str:
    if isinstance(value, str):
        return cut(value) or NOTHING
    if value is None or value in ([], {}):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return cut(", ".join(str(item) for item in value))
    return cut(json.dumps(value, ensure_ascii=False))


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
