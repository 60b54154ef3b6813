"""What is too long for a prompt, cut to fit, and in words what was cut; the fact holds all of it."""

from shared.domain.exact_json import Json, dumps

# Tried in turn until the whole fits: the longest text, and the most items of a list within.
_STEPS = ((4_000, 100), (1_000, 40), (400, 15), (120, 6), (60, 3), (30, 1))


def shortened(content: Json, most: int) -> tuple[Json, str]:
    """The content with long texts and lists cut to their beginnings, and a sentence that says so; empty if all fits."""
    if len(dumps(content)) <= most:
        return content, ""
    for text, items in _STEPS:
        cut = _cut(content, text, items)
        if len(dumps(cut)) <= most:
            return cut, _said(f"texts over {text} characters and lists within it over {items} items")
    whole = dumps(content)
    seen = _beginning(whole, most)
    return seen, f"Only the first {len(seen)} of {len(whole)} characters are shown here."


def _beginning(text: str, most: int) -> str:
    """As much as fits once it is quoted as a JSON string."""
    seen = text[:most]
    while len(dumps(seen)) > most:
        seen = seen[: len(seen) * most // (len(dumps(seen)) + 1)]
    return seen


def _said(what: str) -> str:
    return f"Not all of it is shown here: of {what} only the beginning; what is computed over them takes all."


def _cut(content: Json, text: int, items: int) -> Json:
    match content:
        case str() if len(content) > text:
            return f"{content[:text]}... ({len(content) - text} more characters)"
        case list():
            rest: list[Json] = [f"... ({len(content) - items} more)"] if len(content) > items else []
            return [*(_cut(item, text, items) for item in content[:items]), *rest]
        case dict():
            return {name: _cut(value, text, items) for name, value in content.items()}
        case _:
            return content
