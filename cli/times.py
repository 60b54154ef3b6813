"""Times as people read them in tables. ``--json`` has them as they are."""

from datetime import datetime

from shared.domain.exact_json import Json


def moment(value: Json) -> str:
    """A time of the API to the minute, by the reader's own clock; nothing for None, other text as it is."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return value
    return f"{at.astimezone():%Y-%m-%d %H:%M}"
