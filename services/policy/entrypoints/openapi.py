"""The description of a body that the service reads itself, since the framework's reader makes binary floats."""

from fastapi import FastAPI
from pydantic import BaseModel

_SCHEMAS = "#/components/schemas/{model}"


def request_body(model: type[BaseModel]) -> dict[str, object]:
    """The OpenAPI fragment of an operation whose body is that model."""
    content = {"application/json": {"schema": {"$ref": _SCHEMAS.format(model=model.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}


def with_schemas(app: FastAPI, *models: type[BaseModel]) -> None:
    """Add the models and what they refer to to the application's description."""
    for model in models:
        described = model.model_json_schema(by_alias=True, ref_template=_SCHEMAS)
        parts = described.pop("$defs", {}) | {model.__name__: described}
        app.openapi().setdefault("components", {}).setdefault("schemas", {}).update(parts)
