"""The usual shapes of a list that a server gives in parts, never more rows at once than it likes."""

from shared.domain.exact_json import Json, JsonObject

SHAPES = ("page", "offset", "cursor")
_NUMBER: JsonObject = {"type": "integer"}


def place(shape: str) -> JsonObject:
    """The arguments with which a part is asked for."""
    if shape not in SHAPES:
        return {}
    return {"cursor": {"type": "string"}} if shape == "cursor" else {shape: _NUMBER, "limit": _NUMBER}


def cut(rows: list[Json], given: JsonObject, shape: str, at_most: int, wrapper: str, camel: bool) -> Json:
    """One part: by page and total, by offset and whether there is more, or by an opaque mark of what follows."""
    size = min(_whole(given.get("limit")) or at_most, at_most)
    if shape == "page":
        page = max(_whole(given.get("page")), 1)
        return {wrapper: rows[(page - 1) * size : page * size], "page": page, "limit": size, "total": len(rows)}
    if shape == "offset":
        start = _whole(given.get("offset"))
        more = start + size < len(rows)
        return {
            wrapper: rows[start : start + size],
            "offset": start,
            "limit": size,
            "hasMore" if camel else "has_more": more,
        }
    start = _start(str(given.get("cursor", "at-0")))
    following = f"at-{start + size}" if start + size < len(rows) else None
    return {wrapper: rows[start : start + size], "nextCursor" if camel else "next_cursor": following}


def _start(cursor: str) -> int:
    mark, _, digits = cursor.partition("-")
    if mark != "at" or not digits.isdigit():
        raise ValueError(f"no cursor {cursor}")
    return int(digits)


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0
