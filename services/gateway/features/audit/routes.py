"""``GET /audit``: the audit trail of a tenant's writes, for operators."""

from collections.abc import AsyncIterator, Mapping

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import parse_time
from services.gateway.features.audit.service import MOST, USUAL, AuditPage, AuditQuery
from services.gateway.features.audit.store import AuditExport
from services.gateway.features.identity.middleware import caller_of_request
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
        """List each write with its requester, its approvers, what was sent, the rules that applied, and its proof.

        Parameters: ``since``, ``until`` (ISO 8601), ``task``, ``session``, ``limit`` (tasks a page), ``token``.

        Answers with one page as JSON, or with ``Accept: application/x-ndjson`` or ``format=ndjson`` with this and all
        later pages, one write a line.
        """
        caller = self._identity.caller_of(caller_of_request(request), {})
        query = parse_audit_query(request.query_params)
        if not (request.query_params.get("format") == "ndjson" or _NDJSON in request.headers.get("accept", "")):
            return _answer_page(await self._audit.page(query, caller))
        pages = self._audit.all_pages(query, caller)
        first = await anext(pages)
        return StreamingResponse(_json_lines(first, pages), media_type=_NDJSON)


def parse_audit_query(given: Mapping[str, str]) -> AuditQuery:
    """Parse the query parameters of an export; raises ``InvalidField``."""
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


async def _json_lines(first: AuditPage, pages: AsyncIterator[AuditPage]) -> AsyncIterator[str]:
    """Yields the writes as JSON lines. If a page cannot be read, the last line is ``{"error": ...}``."""
    for row in first.writes:
        yield dumps(row) + "\n"
    try:
        async for page in pages:
            for row in page.writes:
                yield dumps(row) + "\n"
    except (StoreUnavailable, ArchiveUnavailable) as fault:
        yield dumps({"error": str(fault)}) + "\n"
