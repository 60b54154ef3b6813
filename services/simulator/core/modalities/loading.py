"""Reading exported states, of our own and of older servers."""

from typing import TypeVar

from pydantic import ConfigDict

from services.simulator.core.modalities.fields import StoredTime
from services.simulator.core.modality import StateHead
from services.simulator.core.records import StoredRow
from services.simulator.core.refusals import BadInput, InputFault
from shared.contracts.base import NullableModel

_Row = TypeVar("_Row", bound=StoredRow)


class Exported(NullableModel):
    """What every exported state has; a subclass adds the rest."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    modality_type: str
    last_updated: StoredTime
    update_count: int = 0

    @property
    def head(self) -> StateHead:
        return StateHead(last_updated=self.last_updated, update_count=self.update_count)


def require_same_keys(name: str, rows: dict[str, _Row], id_of: str) -> None:
    """Raises ``BadInput`` where a row is filed under another id than its own."""
    for key, row in rows.items():
        if getattr(row, id_of) != key:
            raise BadInput([InputFault((name, key, id_of), "is not the key that it stands under")])
