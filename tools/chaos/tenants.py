"""The tenants of a run and the keys of their people: each speaks with a key, and a key opens its own tenant alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import httpx

from cli.child_json import run_for_json
from cli.console import CommandError
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import EscalationLevel, Role

FIRST = "default"  # whose record and tool server are the launcher's own
TENANTS = (FIRST, "north", "south")
_OPERATOR = "otto"
_PEOPLE: Mapping[str, JsonObject] = MappingProxyType(
    {
        "casey": {"principal": "casey", "roles": [Role.CLIENT.value]},
        "dana": {
            "principal": "dana",
            "roles": [Role.APPROVER.value],
            "levels": [level.word for level in EscalationLevel],
        },
    }
)
_SECONDS = 30.0
_TIMEOUT = httpx.Timeout(20.0)


@dataclass(frozen=True)
class TenantTokens:
    """The tokens of a run's people by tenant and name; empty where nobody needs a key."""

    tokens: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)

    def headers(self, tenant: str, person: str) -> dict[str, str]:
        token = self.tokens.get((tenant, person))
        return {"Authorization": f"Bearer {token}"} if token else {}


@dataclass(frozen=True)
class TenantSetup:
    """What is needed to make tenants. ``redis``: the URL of the state. ``record``: what the launcher's tenant says."""

    gateway: str
    redis: str
    environ: Mapping[str, str]
    company: str
    record: Path

    async def open_all(self, tenants: Sequence[str], http: httpx.AsyncClient) -> TenantTokens:
        """Keys for everybody, and a record for each tenant but the first. Raises ``CommandError``."""
        tokens: dict[tuple[str, str], str] = {}
        for tenant in tenants:
            asked = ("services.gateway", "first-key", "--tenant", tenant, "--principal", _OPERATOR)
            environ = {**self.environ, "REDIS_URL": self.redis}
            first = await run_for_json(
                *asked, doing=f"Making the first key of {tenant}", seconds=_SECONDS, environ=environ
            )
            tokens[tenant, _OPERATOR] = str(first["token"])
            headers = {"Authorization": f"Bearer {first['token']}"}
            for person, wish in _PEOPLE.items():
                made = await _ask(http, "POST", f"{self.gateway}/keys/create", {"key": wish}, headers)
                tokens[tenant, person] = str(made["token"])
            if tenant != FIRST:
                url = f"{self.gateway}/tenants/{tenant}/record"
                await _ask(http, "PUT", url, {"record": self._record_of(tenant)}, {**headers, "If-Match": '"0"'})
        return TenantTokens(tokens)

    def _record_of(self, tenant: str) -> JsonObject:
        """The same policies and tools under the tenant's own name."""
        document = loads_object(self.record.read_text("utf-8"))
        listed = document["connections"]
        known = [one for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict)]
        connections: list[Json] = [{**one, "url": self.company} for one in known]
        return {**document, "id": tenant, "connections": connections}


async def _ask(
    http: httpx.AsyncClient, method: str, url: str, body: JsonObject, headers: Mapping[str, str]
) -> JsonObject:
    told = {"Content-Type": "application/json", **headers}
    answer = await http.request(method, url, content=dumps(body), headers=told, timeout=_TIMEOUT)
    if not answer.is_success:
        raise CommandError(f"The gateway refused {method} {url}: {answer.status_code} {answer.text[:500]}")
    return loads_object(answer.text)
