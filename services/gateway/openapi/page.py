"""``/docs``: the description of the paths as one page, which needs no script and nothing from elsewhere."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import cast

from starlette.responses import HTMLResponse

from services.gateway.openapi.document import CALLERS
from services.gateway.openapi.schemas import Schema

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "section{border-top:1px solid #8888;padding:.5rem 0}h2{font-size:1rem;margin:.3rem 0}h2 b{margin-right:.6rem}"
    "code{overflow-wrap:anywhere}p,ul{margin:.3rem 0}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def answer_docs(description: Schema) -> HTMLResponse:
    """Each path with what it does, what it takes and who may call it."""
    sections = "".join(_sections(cast("Mapping[str, Mapping[str, Schema]]", description["paths"])))
    body = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Purple Agent: HTTP paths</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        "<h1>HTTP paths of the gateway</h1><p>Every answer and every schema stands in "
        f'<a href="/openapi.json">openapi.json</a>.</p>{sections}</body></html>'
    )
    return HTMLResponse(body, headers=_HEADERS)


def _sections(paths: Mapping[str, Mapping[str, Schema]]) -> Iterator[str]:
    for path, operations in sorted(paths.items()):
        for method, said in operations.items():
            more = str(said.get("description") or "").removeprefix(str(said["summary"])).strip(" .\n")
            taken = "".join(_parameters(cast("list[Schema]", said.get("parameters", []))))
            yield (
                f"<section><h2><b>{escape(method.upper())}</b><code>{escape(path)}</code></h2>"
                f"<p>{escape(str(said['summary']))}.</p>{f'<p>{escape(more)}.</p>' if more else ''}"
                f"<p>Who may call it: {escape(str(said[CALLERS]))}.</p>{f'<ul>{taken}</ul>' if taken else ''}</section>"
            )


def _parameters(parameters: list[Schema]) -> Iterator[str]:
    for one in parameters:
        needed = "" if one.get("required") else ", may be left out"
        yield f"<li><code>{escape(str(one['name']))}</code> ({escape(str(one['in']))}{needed})</li>"
