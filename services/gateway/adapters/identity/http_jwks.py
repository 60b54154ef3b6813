"""A JSON Web Key Set over HTTP: at a stated address, or where the issuer's discovery document says."""

import httpx
from typing_extensions import override

from services.gateway.adapters.identity.signing_keys import KeySource
from services.gateway.core.errors import IssuerUnavailable
from services.gateway.core.identity.issuer import discovery_of, may_be_asked
from shared.domain.exact_json import JsonObject, loads_object

_MOST_BYTES = 512 * 1024
_SECONDS = httpx.Timeout(5.0, connect=3.0)


class HttpJwks(KeySource):
    """The operator named the address, so it may be anywhere; it is never followed elsewhere."""

    def __init__(self, http: httpx.AsyncClient, issuer: str, url: str = "") -> None:
        self._http, self._issuer, self._url = http, issuer, url

    @override
    async def fetch(self) -> list[JsonObject]:
        published = await self._object(self._url or await self._discovered())
        keys = published.get("keys")
        if not isinstance(keys, list):
            raise IssuerUnavailable("what the issuer publishes is no key set: it has no list of keys")
        return [key for key in keys if isinstance(key, dict)]

    async def _discovered(self) -> str:
        document = await self._object(discovery_of(self._issuer))
        named, url = document.get("issuer"), document.get("jwks_uri")
        if named != self._issuer:
            raise IssuerUnavailable(f"the discovery document is that of issuer {named!r}, not of {self._issuer!r}")
        if not isinstance(url, str) or not may_be_asked(url):
            raise IssuerUnavailable("the discovery document names no https address in jwks_uri")
        return url

    async def _object(self, url: str) -> JsonObject:
        try:
            async with self._http.stream("GET", url, timeout=_SECONDS, follow_redirects=False) as response:
                if response.status_code != 200:
                    raise IssuerUnavailable(f"{url} answered {response.status_code}")
                return loads_object(await _text(response, url))
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise IssuerUnavailable(f"{url} does not answer: {type(error).__name__}") from error
        except (ValueError, RecursionError) as error:
            raise IssuerUnavailable(f"{url} did not answer with a JSON object") from error


async def _text(response: httpx.Response, url: str) -> str:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise IssuerUnavailable(f"{url} answered with more than {_MOST_BYTES} bytes")
    return body.decode()
