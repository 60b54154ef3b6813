"""What a model sees of a long list: its beginning, and in words what was left out; the fact holds all of it."""

from services.executor.core.tools.paginate import Page, page_in, put
from services.executor.core.tools.shortened import shortened
from shared.domain.exact_json import Json, dumps

MOST = 16_000  # characters of one result that a prompt holds


def beginning(content: Json, most: int = MOST) -> tuple[Json, str]:
    """The content with as many rows of its list as fit, and a sentence on what does not; empty if all does.

    What is no list, or has rows too long for that, is cut within.
    """
    if len(dumps(content)) <= most:
        return content, ""
    page = page_in(content)
    if page is None or len(page.rows) < 2:
        return shortened(content, most)
    seen, cut = _first_rows(content, page, most)
    seen, more = shortened(seen, most)
    return seen, " ".join(filter(None, (cut, more)))


def _first_rows(content: Json, page: Page, most: int) -> tuple[Json, str]:
    kept, size = 0, len(dumps(put(content, page.place, [])))
    while kept < len(page.rows) and size + len(dumps(page.rows[kept])) < most:
        size += len(dumps(page.rows[kept])) + 1
        kept += 1
    kept = max(kept, 1)
    if kept == len(page.rows):
        return content, ""
    cut = f"Only the first {kept} of {len(page.rows)} rows are shown here; what is computed over them takes all."
    return put(content, page.place, page.rows[:kept]), cut
