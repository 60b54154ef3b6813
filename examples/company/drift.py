"""Records under the names that their columns have now."""

from collections.abc import Mapping

from examples.company.tables import table_of
from shared.domain.exact_json import Json, JsonObject


def rename_columns(answer: Json, renamed: Mapping[str, str]) -> Json:
    """An answer whose records (known by the shape of their id) carry the new name of each renamed column."""
    if not renamed:
        return answer
    if isinstance(answer, list):
        return [rename_columns(item, renamed) for item in answer]
    if not isinstance(answer, dict):
        return answer
    table = _table_of_record(answer)
    return {renamed.get(f"{table}.{name}", name): rename_columns(value, renamed) for name, value in answer.items()}


def _table_of_record(record: JsonObject) -> str | None:
    key = record.get("id")
    return table_of(key) if isinstance(key, str) else None
