"""Renders pages from templates, with security headers; serves static files."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from services.gateway.features.console.sessions import Visitor, derive_form_token
from services.gateway.features.console.views import (
    approvals,
    assessments,
    evidence,
    formatting,
    memory,
    replay,
    tasks,
    timeline,
)
from services.gateway.features.dead_letters import DeadLetter, LetterKind
from shared.contracts.dead_letter import DeadTurn
from shared.domain.estimates import count_recent_matches
from shared.domain.words import Role

ASSETS_FOLDER = Path(__file__).parent / "static"
_CACHE_FOREVER_HEADER = "public, max-age=31536000, immutable"
_STATIC_FILES = StaticFiles(directory=ASSETS_FOLDER)


@cache
def build_asset_urls() -> Mapping[str, str]:
    """The URLs of the static files by name. All contain one hash, of all files, since files import each other."""
    files = sorted(path for path in ASSETS_FOLDER.iterdir() if path.is_file())
    version = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]
    return {path.name: f"/console/static/{version}/{path.name}" for path in files}


async def serve_asset(request: Request) -> Response:
    version, name = request.path_params["version"], request.path_params["name"]
    reply = await _STATIC_FILES.get_response(name, request.scope)
    is_current = build_asset_urls()[name].endswith(f"/{version}/{name}")
    # during an update replicas differ
    reply.headers["Cache-Control"] = _CACHE_FOREVER_HEADER if is_current else "no-cache"
    return reply


class PageLink(NamedTuple):
    """A link to a page, in the frame of all pages or as a tab. ``icon``: its name; tabs have none."""

    href: str
    text: str
    icon: str = ""
    requires_operator: bool = False


LEARNING_TABS = (
    PageLink("/console/learning", "Progress"),
    PageLink("/console/learning/cases", "Cases", requires_operator=True),
    PageLink("/console/learning/facts", "Facts", requires_operator=True),
    PageLink("/console/learning/entities", "Entities", requires_operator=True),
    PageLink("/console/learning/assessments", "Assessments"),
)
OPERATIONS_TABS = (
    PageLink("/console/operations", "Load and cost", requires_operator=True),
    PageLink("/console/operations/dead-letters", "Dead letters", requires_operator=True),
)
WEBHOOKS_TAB = PageLink("/console/webhooks", "Webhooks", requires_operator=True)


def select_visible_links(links: Sequence[PageLink], visitor: Visitor) -> tuple[PageLink, ...]:
    """The links that the visitor may follow; empty if there is only one."""
    visible = tuple(link for link in links if visitor.has_any_role(Role.OPERATOR) or not link.requires_operator)
    return visible if len(visible) > 1 else ()


THEME_COOKIE = "purple_theme"
ZONE_COOKIE = "purple_zone"
THEMES = ("auto", "light", "dark")
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_PAGE_LINKS = (
    PageLink("/console/", "Overview", "home"),
    PageLink("/console/approvals", "Approvals", "inbox"),
    PageLink("/console/tasks", "Tasks", "list"),
    PageLink("/console/learning", "Learning", "trend"),
    PageLink("/console/operations", "Operations", "gauge", requires_operator=True),
)
_LETTER_KIND_BADGES = {
    LetterKind.TURN: formatting.Badge("Task given up", "bad"),
    LetterKind.OUTCOME: formatting.Badge("Not learned from", "warn"),
}
_VIEWS = (approvals, assessments, evidence, formatting, memory, replay, tasks, timeline)


def _parse_dead_turn(letter: DeadLetter) -> DeadTurn | None:
    """Parse the dead turn in a letter; None if the letter holds none, or it cannot be parsed."""
    return DeadTurn.parse_row(letter.content) if letter.kind is LetterKind.TURN else None


_TEMPLATE_GLOBALS: Mapping[str, object] = {  # what templates use beside their own variables, by its name there
    "dead_turn": _parse_dead_turn,
    "letter_kinds": _LETTER_KIND_BADGES,
    "recent": count_recent_matches,
    "views": {module.__name__.rpartition(".")[2]: module for module in _VIEWS},
}


class PageRenderer:
    """Renders pages. ``model_notice``: the text about the model."""

    def __init__(self, model_notice: str, clock: Callable[[], datetime]) -> None:
        self._clock, self._common_values = clock, {"model_notice": model_notice}

    @cached_property
    def _templates(self) -> Environment:
        """The Jinja environment, built when the first page is rendered."""
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["iso"] = methodcaller("isoformat", timespec="seconds")
        environment.filters.update(path=quote_id_for_url, title=formatting.humanize_name)
        environment.globals.update(assets=build_asset_urls(), **_TEMPLATE_GLOBALS)
        for name, template in (("parts", "parts.html"), ("rows_part", "rows.html")):
            environment.globals[name] = environment.get_template(template).module
        return environment

    def render(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **values: object
    ) -> Response:
        """Render a template to a response. ``values``: its variables, in addition to those of every page."""
        frame = _build_frame_values(request, visitor, self._clock())
        html = self._templates.get_template(template).render({**frame, **self._common_values, **values})
        return HTMLResponse(html, status, {**SECURITY_HEADERS, "Vary": "Cookie"})


def redirect_to(place: str) -> Response:
    """A redirect to another page, as the response to a submitted form."""
    return RedirectResponse(place, 303, SECURITY_HEADERS)


def quote_id_for_url(task_id: str) -> str:
    """An id quoted for a URL's path."""
    return quote(task_id, safe="")


def _build_frame_values(request: Request, visitor: Visitor | None, now: datetime) -> Mapping[str, object]:
    theme = request.cookies.get(THEME_COOKIE, "auto")
    return {
        "path": request.url.path,
        "clock": formatting.PageClock(now, formatting.find_zone(unquote(request.cookies.get(ZONE_COOKIE, "UTC")))),
        "theme": theme if theme in THEMES else "auto",
        "links": select_visible_links(_PAGE_LINKS, visitor) if visitor else (),
        "visitor": visitor,
        "who": visitor.caller.principal if visitor else None,
        "roles": [role for role in Role if visitor and visitor.has_any_role(role)],
        "form": derive_form_token(visitor.secret) if visitor else "",
        "badge": 0,
        "version": "",
    }
