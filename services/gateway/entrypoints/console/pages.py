"""Pages: templates filled in, with the headers that let nothing foreign in."""

import gzip
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from services.gateway.core.console.forms import form_token
from services.gateway.core.console.tasks import dollars
from services.gateway.core.console.times import Clock, day_word, distance, exact_time, wall_time, zone_named
from services.gateway.core.console.words import counted, list_of, state_badge, title_of
from services.gateway.entrypoints.console.assets import Assets, accepts_gzip
from services.gateway.entrypoints.console.gate import Visitor
from shared.domain.words import Role

THEME = "purple_theme"
ZONE = "purple_zone"
THEMES = ("auto", "light", "dark")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_SMALL = 1000


class Link(NamedTuple):
    href: str
    text: str
    icon: str


_LINKS = (
    Link("/console/", "Overview", "home"),
    Link("/console/approvals", "Approvals", "inbox"),
    Link("/console/tasks", "Tasks", "list"),
    Link("/console/learning", "Learning", "trend"),
)
_OPERATIONS = Link("/console/operations", "Operations", "gauge")
_WORDS = {
    "counted": counted,
    "dollars": dollars,
    "day_word": day_word,
    "distance": distance,
    "exact_time": exact_time,
    "list_of": list_of,
    "state_badge": state_badge,
    "wall_time": wall_time,
}


class Pages:
    def __init__(self, assets: Assets, notice: str, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(iso=iso, path=in_path, title=title_of)
        self._environment.globals.update(assets=assets.urls, notice=notice, **_WORDS)
        for name, template in (("parts", "parts.html"), ("rows_part", "rows.html")):
            self._environment.globals[name] = self._environment.get_template(template).module

    def page(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **values: object
    ) -> Response:
        """``values`` are what the template speaks of, beside what every page has."""
        html = (
            self._environment.get_template(template)
            .render({**_frame(request, visitor, self._clock()), "links": self._links(visitor), **values})
            .encode()
        )
        headers = {**SAFE, "Vary": "Cookie, Accept-Encoding"}
        if len(html) > _SMALL and accepts_gzip(request):
            html, headers["Content-Encoding"] = gzip.compress(html, 5, mtime=0), "gzip"
        return Response(html, status, headers, "text/html; charset=utf-8")

    def _links(self, visitor: Visitor | None) -> tuple[Link, ...]:
        """Where this reader has something to look at."""
        if visitor is None:
            return ()
        return (*_LINKS, _OPERATIONS) if visitor.has(Role.OPERATOR) else _LINKS


def go_to(place: str) -> Response:
    """Answer a form with another page."""
    return RedirectResponse(place, 303, SAFE)


def in_path(task_id: str) -> str:
    """A task's id as a part of an address, whatever its client has chosen."""
    return quote(task_id, safe="")


def iso(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _frame(request: Request, visitor: Visitor | None, now: datetime) -> Mapping[str, object]:
    theme = request.cookies.get(THEME, "auto")
    return {
        "path": request.url.path,
        "clock": Clock(now, zone_named(unquote(request.cookies.get(ZONE, "UTC")))),
        "theme": theme if theme in THEMES else "auto",
        "visitor": visitor,
        "who": visitor.caller.principal if visitor else None,
        "roles": [role for role in Role if visitor and visitor.has(role)],
        "form": form_token(visitor.secret) if visitor else "",
        "badge": 0,
        "version": "",
    }
