"""The stricter mode: a field that no version of the interface has is refused, not passed over."""

import json
from collections.abc import Iterator

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AliasChoices, BaseModel

_MESSAGE = "Extra inputs are not permitted"


async def refuse_unknown_fields(request: Request) -> None:
    """Raises ``RequestValidationError``, which is answered with 422, for each unknown field of a body.

    A body whose shape takes any field (a weather report) is left alone, as is one that is no JSON object at all.
    """
    model = _body_of(request)
    if model is None or model.model_config.get("extra") == "allow":
        return
    try:
        body = json.loads(await request.body() or b"null")
    except ValueError:
        return
    if not isinstance(body, dict):
        return
    unknown = body.keys() - {*_names_of(model)}
    if unknown:
        raise RequestValidationError(
            [
                {"type": "extra_forbidden", "loc": ("body", name), "msg": _MESSAGE, "input": body[name]}
                for name in sorted(unknown)
            ]
        )


def _body_of(request: Request) -> type[BaseModel] | None:
    route = request.scope.get("route")
    field = route.body_field if isinstance(route, APIRoute) else None
    kind = field.field_info.annotation if field is not None else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _names_of(model: type[BaseModel]) -> Iterator[str]:
    """Every name that a field goes by, those of earlier versions among them."""
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.alias, str):
            yield field.alias
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        yield from (choice for choice in choices if isinstance(choice, str))
