"""What a model sees of a long list: its beginning, and in words what was left out; the fact holds all of it."""

from services.executor.core.tools.paginate import ListPage, page_in, put
from shared.domain.exact_json import Json, dumps

# Tried in turn until the whole fits: the longest text, and the most items of a list within.
_STEPS = ((4_000, 100), (1_000, 40), (400, 15), (120, 6), (60, 3), (30, 1))
MOST = 16_000  # characters of one result that a prompt holds


def shorten_content(content: Json, most: int) -> tuple[Json, str]:
    """The content with long texts and lists cut to their beginnings, and a sentence that says so; empty if all fits."""
    if len(dumps(content)) <= most:
        return content, ""
    for text, items in _STEPS:
        cut = _cut(content, text, items)
        if len(dumps(cut)) <= most:
            return cut, _shortening_note(f"texts over {text} characters and lists within it over {items} items")
    whole = dumps(content)
    seen = _beginning(whole, most)
    return seen, f"Only the first {len(seen)} of {len(whole)} characters are shown here."


def beginning(content: Json, most: int = MOST) -> tuple[Json, str]:
    """The content with as many rows of its list as fit, and a sentence on what does not; empty if all does.

    What is no list, or has rows too long for that, is cut within.
    """
    if len(dumps(content)) <= most:
        return content, ""
    page = page_in(content)
    if page is None or len(page.rows) < 2:
        return shorten_content(content, most)
    seen, cut = _first_rows(content, page, most)
    seen, more = shorten_content(seen, most)
    return seen, " ".join(filter(None, (cut, more)))


def _beginning(text: str, most: int) -> str:
    """As much as fits once it is quoted as a JSON string."""
    seen = text[:most]
    while len(dumps(seen)) > most:
        seen = seen[: len(seen) * most // (len(dumps(seen)) + 1)]
    return seen


def _shortening_note(what: str) -> str:
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


def _first_rows(content: Json, page: ListPage, most: int) -> tuple[Json, str]:
    kept, size = 0, len(dumps(put(content, page.place, [])))
    while kept < len(page.rows) and size + len(dumps(page.rows[kept])) < most:
        size += len(dumps(page.rows[kept])) + 1
        kept += 1
    kept = max(kept, 1)
    if kept == len(page.rows):
        return content, ""
    cut = f"Only the first {kept} of {len(page.rows)} rows are shown here; what is computed over them takes all."
    return put(content, page.place, page.rows[:kept]), cut
