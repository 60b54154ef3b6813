"""How a long result is shown: its first rows, its fields and how many rows there are."""

from services.executor.core.figures.calculate.cell import list_names
from services.executor.core.tools.paginate import page_in
from services.executor.core.tools.paginate_shown import beginning
from shared.domain.exact_json import Json, dumps

MOST = 6_000  # characters


def shorten_result(content: Json, most: int = MOST) -> tuple[Json, str]:
    """The content within so many characters, and what a note says of the rest; empty where all of it is shown."""
    if len(dumps(content)) <= most:
        return content, ""
    shown, cut = beginning(content, most)
    page, part = page_in(content), page_in(shown)
    if page is None or part is None or len(page.rows) < 2:
        return shown, f"{cut} look shows the rest"
    fields = list_names(page.rows[:50])
    place = f" in {'.'.join(page.place)}" if page.place else ""
    rows = f"{len(page.rows)} rows{place}, the first {min(len(part.rows), len(page.rows))} are shown"
    inside = "; long texts and lists in them are cut" if "within" in cut else ""
    return shown, f"{rows}{inside}{f'; fields {fields}' if fields else ''}; look shows the rest"
