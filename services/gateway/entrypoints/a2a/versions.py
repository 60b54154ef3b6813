"""Which protocol a request says that it speaks: the header ``A2A-Version``, or the query parameter of that name."""

import re

from starlette.requests import Request

from services.gateway.core.errors import Refusal

HEADER = "A2A-Version"
MEDIA_TYPE = "application/a2a+json"
_1_0 = re.compile(r"1\.0(\.\d+)?")
_0_3 = re.compile(r"(0\.[1-3](\.\d+)?)?")


class VersionMismatch(Refusal):
    """The request says another protocol than the method or path it uses belongs to."""


def version_of(request: Request) -> str:
    """As it was said; empty if nothing was, which means 0.3 or earlier."""
    return request.headers.get(HEADER) or request.query_params.get(HEADER) or ""


def says_1(request: Request) -> bool:
    """Whether the client is one of a generation that begins with 1, of whatever version."""
    return version_of(request).startswith("1")


def is_1_0(version: str) -> bool:
    """Major and minor part count; a patch version makes no difference."""
    return _1_0.fullmatch(version) is not None


def is_0_3(version: str) -> bool:
    return _0_3.fullmatch(version) is not None


def check_1_0(version: str, what: str) -> None:
    if not is_1_0(version):
        said = f"says {version!r}" if version else "is missing, which means 0.3"
        raise VersionMismatch(f"{what} belongs to protocol 1.0, but the header {HEADER} {said}")


def check_0_3(version: str, what: str) -> None:
    if not is_0_3(version):
        raise VersionMismatch(f"{what} belongs to protocol 0.3, but the header {HEADER} says {version!r}")


def asks_for_1_0(request: Request) -> bool:
    """Of a path that more than one protocol shares: whether this request is one of 1.0."""
    accepted = request.headers.get("accept", "")
    return is_1_0(version_of(request)) or (MEDIA_TYPE in accepted and not version_of(request))


def media_type_for(request: Request) -> str:
    """With which of the two types REST of 1.0 answers: plain JSON for a client that accepts that and not the other."""
    accepted = request.headers.get("accept", "").lower()
    return "application/json" if "application/json" in accepted and MEDIA_TYPE not in accepted else MEDIA_TYPE
