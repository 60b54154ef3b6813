"""Builds ``/openapi.json`` and the page ``/docs``: each path with its parameters, body and responses."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from html import escape
from typing import cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import JsonValue
from starlette.responses import HTMLResponse
from typing_extensions import override

from services.gateway.features.identity.api_paths import CALLERS_KEY
from services.gateway.openapi.paths import OWN_API_SHAPE, SHAPES_BY_PATH, ParameterShape, PathShape, describe_callers
from services.gateway.openapi.schemas import Schema, build_all_schemas, schema_reference
from shared.domain.version import VERSION

_STATUS_TEXTS = {
    200: "As asked.",
    201: "Made.",
    202: "Taken in; it will be heeded.",
    304: "The client has it already.",
    400: "Something in the request is wrong; the message names it.",
    401: "Nobody is let in without a key or token.",
    403: "Whoever came is known, and may not do this.",
    404: "There is none, or none that the caller may see.",
    408: "The body took too long to come.",
    409: "It cannot be done as things stand.",
    412: "It has changed since it was read; the message names the version that holds now.",
    413: "The body is too large.",
    414: "The URL is too long.",
    415: "The body is said to be something else than JSON.",
    422: "A field is wrong; the message names it.",
    428: "It must be said which version is to be replaced.",
    429: "Too much was asked for in a short time; `Retry-After` says when to come again.",
    431: "The headers are too large.",
    500: "The gateway's own failure; it is in its log.",
    502: "A model or a tool server failed.",
    503: "Something that is needed is away for now; `Retry-After` says when to come again.",
    504: "It takes longer than anybody is kept waiting; the same request again waits on.",
}
_STATUSES_OF_ALL = (400, 401, 403, 404, 414, 429, 431, 500, 503)
_STATUSES_WITH_BODY = (408, 413, 415)


class DescribedApp(FastAPI):
    """A FastAPI application with the complete OpenAPI document."""

    @override
    def openapi(self) -> Schema:
        if not self.openapi_schema:
            self.openapi_schema = cast("dict[str, object]", _build_document(self))
        return cast(Schema, self.openapi_schema)


def _build_document(app: FastAPI) -> Schema:
    document = get_openapi(title=app.title, version=VERSION, routes=app.routes)
    paths = {
        path: {
            method: _describe_operation(method, path, _add_path_parameters(path, dict(operation)))
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    return {**document, "paths": paths, "components": {"schemas": build_all_schemas()}}


def _describe_operation(method: str, path: str, operation: Schema) -> Schema:
    shape = SHAPES_BY_PATH.get((method.upper(), path), OWN_API_SHAPE)
    takes_body = method in ("post", "put", "patch") and shape.body != ""
    parameters = [*cast("list[JsonValue]", operation.get("parameters", []))]
    parameters += [_describe_parameter(parameter, "query") for parameter in shape.query]
    parameters += [_describe_parameter(parameter, "header") for parameter in shape.headers]
    description: Schema = {
        **operation,
        "summary": _summary_of(operation.get("description")),
        CALLERS_KEY: operation.get(CALLERS_KEY) or describe_callers(method.upper(), path),
        "responses": _describe_responses(shape, takes_body=takes_body),
    }
    if parameters:
        description["parameters"] = parameters
    if takes_body:
        content: JsonValue = {"application/json": {"schema": schema_reference(shape.body)}}
        description["requestBody"] = {"required": shape.body != "Anything", "content": content}
    return description


def _summary_of(description: JsonValue) -> str:
    """The first sentence of a description, without the full stop."""
    text = " ".join(str(description or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


def _add_path_parameters(path: str, operation: Schema) -> Schema:
    """The operation with its path parameters, which FastAPI does not know if the endpoint reads them itself."""
    if "parameters" in operation:
        return deepcopy(operation)
    names = re.findall(r"{(\w+)}", path)
    parameters: list[JsonValue] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
    ]
    return {**deepcopy(operation), "parameters": parameters}


def _describe_parameter(shape: ParameterShape, place: str) -> JsonValue:
    return {"name": shape.name, "in": place, "required": shape.is_required, "schema": shape.schema}


def _describe_responses(shape: PathShape, *, takes_body: bool) -> Schema:
    """The responses of a path: its answers, and errors, which are of its protocol's or of the common schema."""
    error_statuses = (*_STATUSES_OF_ALL, *shape.refusals, *(_STATUSES_WITH_BODY if takes_body else ()))
    names = tuple(dict.fromkeys((shape.errors, "Refusal")))
    answers: Schema = {str(status): _response_schema(status, {"application/json": names}) for status in error_statuses}
    answers |= {str(status): _response_schema(status, media) for status, media in shape.answers.items()}
    if shape.may_be_unready:
        answers["503"] = _response_schema(503, {"application/json": ("Anything",)})
    return dict(sorted(answers.items()))


def _response_schema(status: int, schemas_by_type: Mapping[str, tuple[str, ...]]) -> Schema:
    content: Schema = {kind: {"schema": _any_of_schemas(names)} for kind, names in schemas_by_type.items()}
    return {"description": _STATUS_TEXTS[status], **({"content": content} if content else {})}


def _any_of_schemas(names: tuple[str, ...]) -> Schema:
    if names == ("text",):
        return {"description": "Server-sent events; the data of each is JSON."}
    return schema_reference(names[0]) if len(names) == 1 else {"anyOf": [schema_reference(name) for name in names]}


_STYLE_SHEET = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "section{border-top:1px solid #8888;padding:.5rem 0}h2{font-size:1rem;margin:.3rem 0}h2 b{margin-right:.6rem}"
    "code{overflow-wrap:anywhere}p,ul{margin:.3rem 0}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE_SHEET.encode()).digest()).decode()
_PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def docs_page(description: Schema) -> HTMLResponse:
    """An HTML page with each path: what it does, its parameters, and who may call it."""
    sections = "".join(_path_sections(cast("Mapping[str, Mapping[str, Schema]]", description["paths"])))
    body = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Purple Agent: HTTP paths</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE_SHEET}</style></head><body>'
        "<h1>HTTP paths of the gateway</h1><p>Every answer and every schema stands in "
        f'<a href="/openapi.json">openapi.json</a>.</p>{sections}</body></html>'
    )
    return HTMLResponse(body, headers=_PAGE_HEADERS)


def _path_sections(paths: Mapping[str, Mapping[str, Schema]]) -> Iterator[str]:
    for path, operations in sorted(paths.items()):
        for method, operation in operations.items():
            summary = str(operation["summary"])
            details = str(operation.get("description") or "").removeprefix(summary).strip(" .\n")
            items = "".join(_parameter_items(cast("list[Schema]", operation.get("parameters", []))))
            yield (
                f"<section><h2><b>{escape(method.upper())}</b><code>{escape(path)}</code></h2>"
                f"<p>{escape(summary)}.</p>{f'<p>{escape(details)}.</p>' if details else ''}"
                f"<p>Who may call it: {escape(str(operation[CALLERS_KEY]))}.</p>"
                f"{f'<ul>{items}</ul>' if items else ''}</section>"
            )


def _parameter_items(parameters: list[Schema]) -> Iterator[str]:
    for parameter in parameters:
        remark = "" if parameter.get("required") else ", may be left out"
        yield f"<li><code>{escape(str(parameter['name']))}</code> ({escape(str(parameter['in']))}{remark})</li>"
