"""An issuer of tokens: real keys, real signatures, and a server that publishes them."""

import json
import time
from collections.abc import Mapping
from functools import cache

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import AllowedPrivateKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shared.domain.exact_json import JsonObject, loads_object

AUDIENCE = "purple"


class TokenIssuer:
    """``keys`` are published by their id; ``away`` answers 503 instead; ``asked`` counts the fetches."""

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.keys: dict[str, tuple[str, AllowedPrivateKeys]] = {}
        self.away = False
        self.asked = 0
        self.document: JsonObject = {}  # overrides what discovery says

    def app(self) -> Starlette:
        discovery = Route("/.well-known/openid-configuration", self._discovery)
        return Starlette(routes=[Route("/jwks", self._jwks), discovery])

    def add(self, kid: str, algorithm: str) -> None:
        """Publish a key from now on."""
        self.keys[kid] = (algorithm, made_key(algorithm, kid))

    def token(self, kid: str, **claims: object) -> str:
        """Signed by a published key. What is not said is as it should be; a claim that is None is left out."""
        algorithm, key = self.keys[kid]
        return signed(self.claims(**claims), key, algorithm, kid)

    def claims(self, **claims: object) -> dict[str, object]:
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "exp": now + 300, "iat": now, "nbf": now}
        mine = {"sub": "casey", "tenant": "acme", "roles": ["client"]}
        return {name: value for name, value in {**usual, **mine, **claims}.items() if value is not None}

    def published(self) -> list[JsonObject]:
        return [public_jwk(key, algorithm, kid) for kid, (algorithm, key) in self.keys.items()]

    async def _jwks(self, _: Request) -> Response:
        self.asked += 1
        return Response(status_code=503) if self.away else JSONResponse({"keys": self.published()})

    async def _discovery(self, _: Request) -> Response:
        document = {"issuer": self.url, "jwks_uri": f"{self.url}/jwks", **self.document}
        return Response(status_code=503) if self.away else JSONResponse(document)


def signed(claims: Mapping[str, object], key: AllowedPrivateKeys, algorithm: str, kid: str | None) -> str:
    return jwt.encode(dict(claims), key, algorithm=algorithm, headers={"kid": kid} if kid is not None else None)


@cache
def made_key(algorithm: str, name: str) -> AllowedPrivateKeys:
    if algorithm.startswith(("RS", "PS")):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key(
        {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}[algorithm]
    )


def public_jwk(key: AllowedPrivateKeys, algorithm: str, kid: str) -> JsonObject:
    written = {rsa.RSAPrivateKey: RSAAlgorithm.to_jwk, ed25519.Ed25519PrivateKey: OKPAlgorithm.to_jwk}
    write = next((write for kind, write in written.items() if isinstance(key, kind)), ECAlgorithm.to_jwk)
    jwk = loads_object(json.dumps(json.loads(str(write(key.public_key())))))  # type: ignore[operator]  # each its kind
    return {**jwk, "kid": kid, "alg": algorithm, "use": "sig"}
