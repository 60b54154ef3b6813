"""``GET /audit``: who, what, why and proof of each write, for operators."""

from collections.abc import AsyncIterator, Mapping

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import parse_time
from services.gateway.features.audit.service import MOST, USUAL, AuditPage, AuditQuery
from services.gateway.features.audit.store import AuditExport
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Identity
from shared.domain.exact_json import JsonObject, dumps
from shared.ports.archive import ArchiveUnavailable
from shared.ports.store import StoreUnavailable

_NDJSON = "application/x-ndjson"
_LONGEST = 512


class AuditEndpoints:
    def __init__(self, audit: AuditExport, identity: Identity) -> None:
        self._audit, self._identity = audit, identity

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/audit", self.export, methods=["GET"], response_class=JSONResponse)
        return router

    async def export(self, request: Request) -> Response:
        """List each write with who asked and approved, what was sent, why, and its proof, page by page.

        ``since``, ``until`` (ISO 8601), ``task``, ``session``, ``limit`` (tasks a page), ``token``.

        One page as JSON; with ``Accept: application/x-ndjson`` or ``format=ndjson`` all that follows, a line a write.
        """
        caller = self._identity.caller_of(let_in(request), {})
        query = read_query(request.query_params)
        if not (request.query_params.get("format") == "ndjson" or _NDJSON in request.headers.get("accept", "")):
            return _answer_page(await self._audit.page(query, caller))
        pages = self._audit.all(query, caller)
        first = await anext(pages)
        return StreamingResponse(_write_lines(first, pages), media_type=_NDJSON)


def read_query(given: Mapping[str, str]) -> AuditQuery:
    """Parse the parameters of an export. Raises ``InvalidField``."""
    limit = given.get("limit", str(USUAL))
    if not (limit.isascii() and limit.isdecimal() and len(limit) < 5 and 1 <= int(limit) <= MOST):
        raise InvalidField("limit", f"must be a number from 1 to {MOST}")
    for name in ("task", "session", "token"):
        if len(given.get(name, "")) > _LONGEST:
            raise InvalidField(name, f"must be at most {_LONGEST} characters")
    return AuditQuery(
        since=parse_time(given.get("since"), "since"),
        until=parse_time(given.get("until"), "until"),
        task=given.get("task") or None,
        session=given.get("session") or None,
        size=int(limit),
        token=given.get("token", ""),
    )


def _answer_page(page: AuditPage) -> Response:
    body: JsonObject = {"writes": [*page.writes], "token": page.token, "archive": page.archive}
    return Response(dumps(body), media_type="application/json")


async def _write_lines(first: AuditPage, pages: AsyncIterator[AuditPage]) -> AsyncIterator[str]:
    """The writes as JSON lines. If the export breaks off, the last line is an error; otherwise it is complete."""
    for row in first.writes:
        yield dumps(row) + "\n"
    try:
        async for page in pages:
            for row in page.writes:
                yield dumps(row) + "\n"
    except (StoreUnavailable, ArchiveUnavailable) as fault:
        yield dumps({"error": str(fault)}) + "\n"
