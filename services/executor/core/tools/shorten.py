"""Shortens results: the first rows of a list, the beginnings of long texts, and a note on what was left out."""

from services.executor.core.tools.paging import ListPage, read_list_page, with_nested_value
from services.executor.core.tools.record_tree import format_field_names
from shared.domain.exact_json import Json, dumps

# Tried in turn until the whole fits: the longest text, and the most items of a list within.
_TEXT_AND_LIST_LIMITS = ((4_000, 100), (1_000, 40), (400, 15), (120, 6), (60, 3), (30, 1))
MOST_PROMPT_CHARACTERS = 16_000  # characters of one result that a prompt holds
MOST_RESULT_CHARACTERS = 6_000  # in a conversation
_COMPUTATION_NOTE = "what is computed over them takes all."


def shorten_content(content: Json, max_characters: int) -> tuple[Json, str]:
    """The content with long texts and lists cut until it fits, and a sentence on that (empty if nothing was cut)."""
    if len(dumps(content)) <= max_characters:
        return content, ""
    for max_text_characters, items in _TEXT_AND_LIST_LIMITS:
        cut = _cut_nested(content, max_text_characters, items)
        if len(dumps(cut)) <= max_characters:
            cut_content = f"texts over {max_text_characters} characters and lists within it over {items} items"
            return cut, f"Not all of it is shown here: of {cut_content} only the beginning; {_COMPUTATION_NOTE}"
    text = dumps(content)
    beginning = _cut_to_fit(text, max_characters)
    return beginning, f"Only the first {len(beginning)} of {len(text)} characters are shown here."


def shorten_to_first_rows(content: Json, max_characters: int = MOST_PROMPT_CHARACTERS) -> tuple[Json, str]:
    """The content within ``max_characters``, and a sentence on what was left out, empty if nothing was.

    A list keeps as many of its first rows as fit. What is no list, or is too long with one row, is cut within
    (``shorten_content``).
    """
    if len(dumps(content)) <= max_characters:
        return content, ""
    page = read_list_page(content)
    if page is None or len(page.rows) < 2:
        return shorten_content(content, max_characters)
    shortened, row_note = _keep_first_rows(content, page, max_characters)
    shortened, cut_note = shorten_content(shortened, max_characters)
    return shortened, " ".join(filter(None, (row_note, cut_note)))


def _cut_to_fit(text: str, max_characters: int) -> str:
    """The beginning of the text that fits into ``max_characters`` characters as a JSON string."""
    beginning = text[:max_characters]
    while len(dumps(beginning)) > max_characters:
        beginning = beginning[: len(beginning) * max_characters // (len(dumps(beginning)) + 1)]
    return beginning


def _cut_nested(content: Json, max_text_characters: int, max_items: int) -> Json:
    match content:
        case str() if len(content) > max_text_characters:
            return f"{content[:max_text_characters]}... ({len(content) - max_text_characters} more characters)"
        case list():
            rest_note: list[Json] = [f"... ({len(content) - max_items} more)"] if len(content) > max_items else []
            return [*(_cut_nested(item, max_text_characters, max_items) for item in content[:max_items]), *rest_note]
        case dict():
            return {name: _cut_nested(value, max_text_characters, max_items) for name, value in content.items()}
        case _:
            return content


def _keep_first_rows(content: Json, page: ListPage, max_characters: int) -> tuple[Json, str]:
    """The content, which is too long, with as many first rows as fit, but at least one, and a sentence on that."""
    row_count, size = 0, len(dumps(with_nested_value(content, page.place, [])))
    while row_count < len(page.rows) and size + len(dumps(page.rows[row_count])) < max_characters:
        size += len(dumps(page.rows[row_count])) + 1
        row_count += 1
    row_count = max(row_count, 1)
    note = f"Only the first {row_count} of {len(page.rows)} rows are shown here; {_COMPUTATION_NOTE}"
    return with_nested_value(content, page.place, page.rows[:row_count]), note


def shorten_result(content: Json, max_characters: int = MOST_RESULT_CHARACTERS) -> tuple[Json, str]:
    """The content within ``max_characters`` characters, and a note on the rest; the note is empty if all of it fits."""
    shortened, note = shorten_to_first_rows(content, max_characters)
    if not note:
        return content, ""
    page, shown_page = read_list_page(content), read_list_page(shortened)
    if page is None or shown_page is None or len(page.rows) < 2:
        return shortened, f"{note} look shows the rest"
    field_names = format_field_names(page.rows[:50])
    path_text = f" in {'.'.join(page.place)}" if page.place else ""
    row_note = f"{len(page.rows)} rows{path_text}, the first {min(len(shown_page.rows), len(page.rows))} are shown"
    cut_note = "; long texts and lists in them are cut" if "within" in note else ""
    return shortened, f"{row_note}{cut_note}{f'; fields {field_names}' if field_names else ''}; look shows the rest"
