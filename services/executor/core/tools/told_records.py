"""Records that a server tells as sentences: ``This order is on file: orderId is 17; total is 98.50.``"""

import re

from shared.domain.exact_json import Json, loads

_CLAUSE = re.compile(r"(?P<name>[A-Za-z_][\w.-]*(?: [\w.-]+){0,3}?)(?: is |: |=| = )(?P<value>.+)", re.DOTALL)
_PARTS = re.compile(r";\s+|;?\s*\n\s*|;$")
_HEAD = re.compile(r"(?P<head>[^:;\n=]{3,120}):\s+(?=[A-Za-z_])(?P<rest>.+)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_FEWEST = 2
_HEADING = "told"


def read_told_record(content: Json) -> Json:
    """The fields of a text that is nothing but ``name is value`` clauses; any other content as it is.

    Numbers are read as numbers where they are written plainly. What stands before the first clause is kept as ``told``.
    """
    if not isinstance(content, str) or ";" not in content:
        return content
    text = content.strip().removesuffix(".")
    head = _HEAD.fullmatch(text)
    if head and _fields(head["rest"]) is not None:
        return {_HEADING: head["head"], **(_fields(head["rest"]) or {})}
    return _fields(text) or content


def _fields(text: str) -> dict[str, Json] | None:
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in _PARTS.split(text) if part.strip()]
    found: dict[str, Json] = {}
    for clause in clauses:
        if clause is None or clause["name"] in found:
            return None
        value = clause["value"].strip()
        found[clause["name"]] = loads(value) if _NUMBER.fullmatch(value) else value
    return found if len(found) >= _FEWEST else None
