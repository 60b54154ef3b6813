"""Null for what may be left out: public clients and exports write every optional field, absent ones as ``null``."""

from collections.abc import Iterator
from functools import cache

from pydantic import AliasChoices, BaseModel, JsonValue, model_validator
from pydantic.fields import FieldInfo


class NullableModel(BaseModel):
    """An optional field that is ``null`` counts as left out. A required one that is ``null`` is still refused."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, data: JsonValue) -> JsonValue:
        if not isinstance(data, dict) or not any(value is None for value in data.values()):
            return data
        optional = _optional_names(cls)
        return {name: value for name, value in data.items() if value is not None or name not in optional}


@cache
def _optional_names(model: type[BaseModel]) -> frozenset[str]:
    """Under every name by which the field may be written."""
    fields = model.model_fields.items()
    return frozenset(called for name, field in fields if not field.is_required() for called in _names(name, field))


def _names(name: str, field: FieldInfo) -> Iterator[str]:
    yield name
    if isinstance(field.validation_alias, str):
        yield field.validation_alias
    if isinstance(field.validation_alias, AliasChoices):
        yield from (choice for choice in field.validation_alias.choices if isinstance(choice, str))
