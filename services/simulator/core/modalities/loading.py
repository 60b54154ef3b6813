"""Reading exported states, of our own and of older servers."""

from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from services.simulator.core.modalities.fields import Kept
from services.simulator.core.modality import StateHead
from services.simulator.core.records import JsonObject, StoredRow
from services.simulator.core.refusals import BadInput, InputFault, bad_input
from shared.contracts.base import NullableModel

_Row = TypeVar("_Row", bound=StoredRow)
_Model = TypeVar("_Model", bound=BaseModel)


class Exported(NullableModel):
    """What every exported state has; a subclass adds the rest."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    modality_type: str
    last_updated: Kept
    update_count: int = 0

    @property
    def head(self) -> StateHead:
        return StateHead(last_updated=self.last_updated, update_count=self.update_count)


def read_state(kind: type[_Model], state: JsonObject) -> _Model:
    """Parses an exported state as that kind. Raises ``BadInput``."""
    try:
        return kind.model_validate(state)
    except ValidationError as error:
        raise bad_input(error) from None


def rows_in(value: JsonValue) -> Iterator[JsonObject]:
    """Rows that stand in a list, or in an object by their key."""
    rows = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (row for row in rows if isinstance(row, dict))


def require_same_keys(name: str, rows: dict[str, _Row], id_of: str) -> None:
    """Raises ``BadInput`` where a row is filed under another id than its own."""
    for key, row in rows.items():
        if getattr(row, id_of) != key:
            raise BadInput([InputFault((name, key, id_of), "is not the key that it stands under")])
