"""The queries and pages of an audit export, and who may have one."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.gateway.edge.errors import InvalidField, NotAnOperator
from services.gateway.edge.fields import decode_page_token
from services.gateway.features.audit.rows import time_of_write
from services.gateway.features.identity.model import Caller
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role

MOST = 500
USUAL = 100
LIVE, ARCHIVE = "live", "archive"


class AuditQuery(NamedTuple):
    """Which writes to export: from ``since`` until before ``until``, of one task or session. ``size``: tasks a page."""

    since: datetime | None = None
    until: datetime | None = None
    task: str | None = None
    session: str | None = None
    size: int = USUAL
    token: str = ""


class AuditPage(NamedTuple):
    """A page of writes. ``token``: for the next page, empty on the last. A page before the last may have no writes."""

    writes: Sequence[JsonObject]
    token: str
    archive: bool  # whether ended tasks are still found after they have left the store


def check_auditor(caller: Caller) -> None:
    """Raises ``NotAnOperator`` for an authenticated caller without the role operator."""
    if caller.principal.verified and Role.OPERATOR not in caller.principal.roles:
        raise NotAnOperator


def is_in_period(row: JsonObject, query: AuditQuery) -> bool:
    moment = time_of_write(row)
    if moment is None:
        return query.since is None and query.until is None
    return (query.since is None or moment >= query.since) and (query.until is None or moment < query.until)


def parse_page_place(token: str) -> tuple[str, str]:
    """Parse a page's token: whether the page begins in the store or the archive, and its place there.

    Raises ``InvalidField``.
    """
    where, place = decode_page_token(token) if token else (LIVE, "")
    if where not in (LIVE, ARCHIVE):
        raise InvalidField("token", "is none that this server gave")
    return where, place
