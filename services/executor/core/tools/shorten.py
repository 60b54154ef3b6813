"""Shortens results: the first rows of a list, the beginnings of long texts, and a note on what was left out."""

from services.executor.core.tools.paging import ListPage, read_list_page, with_nested_value
from services.executor.core.tools.record_tree import list_field_names
from shared.domain.exact_json import Json, dumps

# Tried in turn until the whole fits: the longest text, and the most items of a list within.
_STEPS = ((4_000, 100), (1_000, 40), (400, 15), (120, 6), (60, 3), (30, 1))
MOST = 16_000  # characters of one result that a prompt holds
MOST_OF_A_RESULT = 6_000  # in a conversation
_COMPUTATION_NOTE = "what is computed over them takes all."


def shorten_content(content: Json, max_characters: int) -> tuple[Json, str]:
    """The content with long texts and lists cut, and a sentence on that; the sentence is empty if nothing was cut."""
    if len(dumps(content)) <= max_characters:
        return content, ""
    for text, items in _STEPS:
        cut = _cut_nested(content, text, items)
        if len(dumps(cut)) <= max_characters:
            what = f"texts over {text} characters and lists within it over {items} items"
            return cut, f"Not all of it is shown here: of {what} only the beginning; {_COMPUTATION_NOTE}"
    whole = dumps(content)
    seen = _beginning_that_fits(whole, max_characters)
    return seen, f"Only the first {len(seen)} of {len(whole)} characters are shown here."


def shorten_to_first_rows(content: Json, max_characters: int = MOST) -> tuple[Json, str]:
    """The content with as many rows of its list as fit, or cut within, and a sentence on what was left out."""
    if len(dumps(content)) <= max_characters:
        return content, ""
    page = read_list_page(content)
    if page is None or len(page.rows) < 2:
        return shorten_content(content, max_characters)
    seen, cut = _first_rows(content, page, max_characters)
    seen, more = shorten_content(seen, max_characters)
    return seen, " ".join(filter(None, (cut, more)))


def _beginning_that_fits(text: str, max_characters: int) -> str:
    """The beginning of the text that fits into ``max_characters`` characters as a JSON string."""
    seen = text[:max_characters]
    while len(dumps(seen)) > max_characters:
        seen = seen[: len(seen) * max_characters // (len(dumps(seen)) + 1)]
    return seen


def _cut_nested(content: Json, text: int, items: int) -> Json:
    match content:
        case str() if len(content) > text:
            return f"{content[:text]}... ({len(content) - text} more characters)"
        case list():
            rest: list[Json] = [f"... ({len(content) - items} more)"] if len(content) > items else []
            return [*(_cut_nested(item, text, items) for item in content[:items]), *rest]
        case dict():
            return {name: _cut_nested(value, text, items) for name, value in content.items()}
        case _:
            return content


def _first_rows(content: Json, page: ListPage, max_characters: int) -> tuple[Json, str]:
    kept, size = 0, len(dumps(with_nested_value(content, page.place, [])))
    while kept < len(page.rows) and size + len(dumps(page.rows[kept])) < max_characters:
        size += len(dumps(page.rows[kept])) + 1
        kept += 1
    kept = max(kept, 1)
    if kept == len(page.rows):
        return content, ""
    cut = f"Only the first {kept} of {len(page.rows)} rows are shown here; {_COMPUTATION_NOTE}"
    return with_nested_value(content, page.place, page.rows[:kept]), cut


def shorten_result(content: Json, max_characters: int = MOST_OF_A_RESULT) -> tuple[Json, str]:
    """The content within ``max_characters`` characters, and a note on the rest; the note is empty if all of it fits."""
    shown, cut = shorten_to_first_rows(content, max_characters)
    if not cut:
        return content, ""
    page, part = read_list_page(content), read_list_page(shown)
    if page is None or part is None or len(page.rows) < 2:
        return shown, f"{cut} look shows the rest"
    fields = list_field_names(page.rows[:50])
    place = f" in {'.'.join(page.place)}" if page.place else ""
    rows = f"{len(page.rows)} rows{place}, the first {min(len(part.rows), len(page.rows))} are shown"
    inside = "; long texts and lists in them are cut" if "within" in cut else ""
    return shown, f"{rows}{inside}{f'; fields {fields}' if fields else ''}; look shows the rest"
