"""Records under the names that their columns have now."""

from collections.abc import Mapping

from examples.company.tables import table_of
from shared.domain.exact_json import Json, JsonObject


def as_shown(answer: Json, renamed: Mapping[str, str]) -> Json:
    """An answer whose records (known by the shape of their id) carry the new name of each renamed column."""
    if not renamed:
        return answer
    if isinstance(answer, list):
        return [as_shown(item, renamed) for item in answer]
    if not isinstance(answer, dict):
        return answer
    table = _table(answer)
    return {renamed.get(f"{table}.{name}", name): as_shown(value, renamed) for name, value in answer.items()}


def _table(record: JsonObject) -> str | None:
    key = record.get("id")
    return table_of(key) if isinstance(key, str) else None
