"""Which tools endpoint a request may name. It is input from outside: anything odd is refused."""

from collections.abc import Collection
from typing import Protocol

from services.gateway.core.errors import InvalidField
from shared.domain.outgoing import Refused, check_url, tools_reach

FIELD = "metadata.tools_endpoint"


class OwnEndpoints(Protocol):
    async def names(self, tenant: str, url: str) -> bool:
        """Whether the tenant's record has a connection of that URL. May raise ``StoreUnavailable``."""
        ...


class NoEndpoints(OwnEndpoints):
    async def names(self, tenant: str, url: str) -> bool:  # noqa: ARG002  nothing is known
        return False


def permitted_endpoint(url: str, *, loopback: bool, allowed_hosts: Collection[str]) -> str:
    """The URL itself if it may be used as far as its text tells; raises ``InvalidField``.

    ``allowed_hosts`` holds what ``Reach.listed`` does; ``loopback`` opens this machine's own addresses. The executor
    checks the address again when it connects.
    """
    try:
        check_url(url, tools_reach(allowed_hosts, loopback=loopback))
    except Refused as error:
        raise InvalidField(FIELD, error.message) from None
    return url
