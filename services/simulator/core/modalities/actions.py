"""Actions of a modality: each operation is a frozen model that knows its fields and what it does."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from typing_extensions import override

from services.simulator.core.modality import ActionOutcome, EventMoment, Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import BadInput, InputFault, parse_model
from shared.contracts.base import NullableModel

Tables = TypeVar("Tables")


class Action(NullableModel, ABC, Generic[Tables]):
    """One operation on the tables of a modality."""

    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_name=True, validate_by_alias=True)

    @abstractmethod
    def act(self, tables: Tables, moment: EventMoment) -> ActionOutcome:
        """Change the tables; raises ``ActionFailed``."""


class ActingModality(Modality, Generic[Tables]):
    """A modality whose actions are told apart by ``operation``."""

    operations: Mapping[str, type[Action[Tables]]]
    tables: Tables

    @override
    def normalise(self, data: JsonObject) -> JsonObject:
        newest = self.upgrade_data(data)
        action = self._parse_action(newest)
        return {"operation": newest["operation"], **fields_without_nulls(action)}

    @override
    def act(self, data: JsonObject, moment: EventMoment) -> ActionOutcome:
        return self._parse_action(data).act(self.tables, moment)

    def upgrade_data(self, data: JsonObject) -> JsonObject:
        """Data of an older shape as the newest one has it."""
        return data

    def _parse_action(self, data: JsonObject) -> Action[Tables]:
        operation = data.get("operation")
        kind = self.operations.get(operation) if isinstance(operation, str) else None
        if kind is None:
            raise BadInput([InputFault(("operation",), f"must be one of {', '.join(self.operations)}", "enum")])
        return parse_model(kind, data)


def fields_without_nulls(model: BaseModel) -> JsonObject:
    """The model's fields as JSON, without those that are null."""
    return model.model_dump(mode="json", exclude_none=True)
