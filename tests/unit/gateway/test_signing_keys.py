"""An issuer's keys: where they are fetched, how long they count, and for whom a verified token speaks."""

import asyncio
import base64
import json
from collections.abc import Callable, Sequence

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, strategies as st
from typing_extensions import override

from services.gateway.edge.errors import IssuerUnavailable, NotEntitled, RateLimitStatus, Unauthenticated
from services.gateway.features.identity.model import Caller, LimitUse
from services.gateway.features.identity.settings import IdentitySettings, RateAllowance
from services.gateway.features.identity.signing_keys import (
    HttpJwks,
    SigningKeys,
    may_fetch_keys_from,
    select_usable_keys,
)
from services.gateway.features.identity.store import RateMeter
from services.gateway.features.identity.tokens import JwtIdentity, build_caller_from_claims
from shared.contracts.api_key import ApiKey
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Role
from tests.doubles.token_issuer import AUDIENCE, TokenIssuer, made_key, public_jwk, signed
from tests.each_row import each_row


class Published:
    def __init__(self, issuer: TokenIssuer) -> None:
        self._issuer = issuer

    async def __call__(self) -> Sequence[JsonObject]:
        self._issuer.asked += 1
        await asyncio.sleep(0)
        if self._issuer.away:
            raise IssuerUnavailable("it does not answer")
        return self._issuer.published()


class NobodysMeter(RateMeter):
    """Where nothing is limited nothing is counted."""

    def __init__(self) -> None:
        """It has no store."""

    @override
    async def count_request_of_key(
        self, key_id: str, digest: str, errand: LimitUse, default_allowance: RateAllowance
    ) -> tuple[ApiKey | None, RateLimitStatus]:
        raise AssertionError("no key was presented")

    @override
    async def count_request_of_bearer(
        self, caller: Caller, errand: LimitUse, default_allowance: RateAllowance
    ) -> RateLimitStatus:
        raise AssertionError("nothing is limited")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer() -> TokenIssuer:
    made = TokenIssuer("https://issuer.example")
    made.add("one", "ES256")
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(issuer: TokenIssuer, clock: Clock) -> SigningKeys:
    return SigningKeys(Published(issuer), clock)


@pytest.mark.promise("identity.tokens")
async def test_many_that_miss_a_key_ask_once_and_strangers_ids_make_nobody_ask_more_often(
    keys: SigningKeys, issuer: TokenIssuer, clock: Clock
) -> None:
    found = await asyncio.gather(*(keys.find_key("one", "ES256") for _ in range(50)))
    assert all(found)
    assert issuer.asked == 1
    await keys.find_key("one", "ES256")
    for number in range(20):
        assert await keys.find_key(f"stranger-{number}", "ES256") is None
    assert issuer.asked == 1
    clock.now += 10
    issuer.add("two", "ES256")
    assert await keys.find_key("two", "ES256") is not None
    assert issuer.asked == 2


@pytest.mark.promise("identity.issuer_away")
async def test_known_keys_count_until_they_are_stale(keys: SigningKeys, issuer: TokenIssuer, clock: Clock) -> None:
    await keys.find_key("one", "ES256")
    issuer.away = True
    clock.now += 3600 - 1
    assert await keys.find_key("one", "ES256") is not None
    with pytest.raises(IssuerUnavailable):  # it may be a new key: nobody can tell
        await keys.find_key("two", "ES256")
    clock.now += 1
    with pytest.raises(IssuerUnavailable, match="cannot be had"):
        await keys.find_key("one", "ES256")
    issuer.away = False
    clock.now += 10
    assert await keys.find_key("one", "ES256") is not None


@pytest.mark.promise("identity.tokens")
async def test_keys_are_renewed_beside_the_requests(issuer: TokenIssuer, clock: Clock) -> None:
    """So that a rotated key is known before its first token comes, and a withdrawn one counts no more."""
    keys = SigningKeys(Published(issuer), clock, interval=0.001)
    issuer.add("two", "ES256")
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        renewing = group.create_task(keys.keep_renewed())
        while issuer.asked < 1:
            await asyncio.sleep(0)
        del issuer.keys["one"]
        seen = issuer.asked
        while issuer.asked < seen + 2:
            await asyncio.sleep(0)
        renewing.cancel()
    issuer.away = True
    assert await keys.find_key("two", "ES256") is not None
    assert await keys.find_key("one", "ES256") is None


async def test_a_token_may_leave_out_the_id_of_an_issuers_only_key(keys: SigningKeys, issuer: TokenIssuer) -> None:
    assert await keys.find_key(None, "ES256") is not None
    issuer.add("two", "ES256")
    both = SigningKeys(Published(issuer), Clock())
    assert await both.find_key(None, "ES256") is None


def _jwk(**changes: Json) -> JsonObject:
    return {**public_jwk(made_key("ES256", "k"), "ES256", "k"), **changes}


@pytest.mark.promise("identity.algorithms")
@each_row(
    "jwk",
    {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "k"},
    _jwk(use="enc"),
    _jwk(key_ops=["sign"]),
    _jwk(alg="HS256"),
    _jwk(alg="none"),
    _jwk(crv="secp256k1", alg=None),
    _jwk(x="AAAA"),
    _jwk(d="AAAA"),
    {"kty": "RSA", "kid": "k", "n": "AQAB", "e": "AQAB"},
    public_jwk(rsa.generate_private_key(public_exponent=65537, key_size=1024), "RS256", "short"),  # noqa: S505
    {},
)
def test_what_is_no_public_key_for_signatures_is_left_out(jwk: JsonObject) -> None:
    assert select_usable_keys([jwk]) == ()


_PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_VALUES = _PLAIN | st.lists(_PLAIN, max_size=2) | st.dictionaries(st.text(max_size=3), _PLAIN, max_size=2)
_WORDS = st.sampled_from(
    ["RSA", "EC", "OKP", "oct", "P-256", "P-521", "Ed25519", "ES256", "RS256", "AQAB", "sig", "AA"]
)
_NAMES = st.sampled_from(["kty", "crv", "alg", "use", "key_ops", "kid", "n", "e", "x", "y", "d", "x5c"])


@pytest.mark.promise("identity.algorithms")
@given(st.dictionaries(_NAMES, _WORDS | _VALUES, max_size=8), st.sampled_from(["ES256", "RS256", "EdDSA"]))
def test_whatever_an_issuer_publishes_is_a_key_or_left_out(changes: dict[str, Json], algorithm: str) -> None:
    """The renewal goes on beside the requests: nothing that is published may end it."""
    spoilt = {**public_jwk(made_key(algorithm, "k"), algorithm, "k"), **changes}
    for key in select_usable_keys([spoilt, changes]):
        assert set(key.algorithms) <= {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES512", "EdDSA"}


@pytest.mark.promise("identity.tokens")
@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "PS384", "ES256", "ES384", "ES512", "EdDSA"])
async def test_each_algorithm_of_public_keys_is_believed(issuer: TokenIssuer, algorithm: str) -> None:
    issuer.add("other", algorithm)
    identity = _identity(issuer)
    assert (await identity.caller_of_token(issuer.token("other", sub="dana"))).principal.id == "dana"


def _identity(issuer: TokenIssuer) -> JwtIdentity:
    unlimited = IdentitySettings(jwt_issuer=issuer.url, jwt_audience=(AUDIENCE,), rate_requests=0, rate_messages=0)
    return JwtIdentity(SigningKeys(Published(issuer), Clock()), unlimited, NobodysMeter())


async def _refused(issuer: TokenIssuer, token: str) -> None:
    identity = _identity(issuer)
    assert (await identity.caller_of_token(issuer.token("one"))).principal.id == "casey"
    with pytest.raises(Unauthenticated):
        await identity.caller_of_token(token)


def _raw(header: JsonObject, claims: object, signature: bytes = b"") -> str:
    return ".".join(map(_part, [json.dumps(header).encode(), json.dumps(claims).encode(), signature]))


def _part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.mark.promise("identity.algorithms")
@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "HS256", "HS512", "RS256", "ES384", "", "EdDSA"])
async def test_no_algorithm_but_the_keys_own_is_believed(issuer: TokenIssuer, algorithm: str) -> None:
    """Whatever the token's header says of itself, with and without a signature."""
    for signature in (b"", b"x" * 64):
        await _refused(issuer, _raw({"alg": algorithm, "kid": "one", "typ": "JWT"}, issuer.claims(), signature))


@pytest.mark.promise("identity.algorithms")
async def test_neither_a_public_key_as_a_secret_nor_a_key_that_a_token_brings_along_is_believed(
    issuer: TokenIssuer,
) -> None:
    """The classic confusion: HS256 with the published key's text as its secret."""
    issuer.add("rsa", "RS256")
    key = made_key("RS256", "rsa")
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header: JsonObject = {"alg": "HS256", "kid": "rsa"}
    unsigned = _raw(header, issuer.claims()).rsplit(".", 1)[0]
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = base64.urlsafe_b64encode(mac.sign(unsigned.encode(), pem)).rstrip(b"=").decode()
    await _refused(issuer, f"{unsigned}.{signature}")
    own = made_key("ES256", "a stranger's")
    for extra in ({"jwk": public_jwk(own, "ES256", "own")}, {"jku": "https://evil.example/jwks"}, {"x5u": "https://e"}):
        token = jwt.encode(issuer.claims(), own, algorithm="ES256", headers={"kid": "one", **extra})
        await _refused(issuer, token)


@pytest.mark.promise("identity.algorithms")
@each_row(
    "token",
    ["", ".", "..", "a.b.c", "e30.e30.e30", "x" * 20_000, _raw({"alg": "ES256", "kid": "one", "crit": ["exp"]}, {}),
     _part(b"[" * 9000) + ".e30.e30", _part(b'{"a":' * 2000) + ".e30.e30", _part(b"\xff\xfe") + ".e30.e30",
     _part(b'{"alg": ["ES256"], "kid": "one"}') + ".e30.e30", _part(b'{"alg": "ES256", "kid": {}}') + ".e30.e30",
     _part(b"1" * 6000) + ".e30.e30", "\u00e9.\u00e9.\u00e9"],
)  # fmt: skip
async def test_what_is_no_token_is_refused(issuer: TokenIssuer, token: str) -> None:
    await _refused(issuer, token)


@pytest.mark.promise("identity.tokens")
@pytest.mark.parametrize(
    "claims", [{"exp": "soon"}, {"exp": 1e400}, {"nbf": "x"}, {"iat": 10**12}, {"sub": 5}, {"aud": 5}]
)
async def test_claims_of_the_wrong_kind_are_refused(issuer: TokenIssuer, claims: dict[str, object]) -> None:
    await _refused(issuer, signed(issuer.claims(**claims), made_key("ES256", "one"), "ES256", "one"))


ISSUER = "https://issuer.example/realm"
DISCOVERY = f"{ISSUER}/.well-known/openid-configuration"
KEYS = "https://keys.example/jwks"
Answer = Callable[[], httpx.Response]


def _json(value: object) -> Answer:
    return lambda: httpx.Response(200, json=value)


def _raises(error: Exception) -> Answer:
    def answer() -> httpx.Response:
        raise error

    return answer


def _client(answers: dict[str, Answer]) -> httpx.AsyncClient:
    def answered(request: httpx.Request) -> httpx.Response:
        return answers[str(request.url)]()

    return httpx.AsyncClient(transport=httpx.MockTransport(answered))


async def test_keys_are_where_the_issuer_or_the_operator_says() -> None:
    found = {DISCOVERY: _json({"issuer": ISSUER, "jwks_uri": KEYS}), KEYS: _json({"keys": [{"kid": "a"}, "no key"]})}
    for url, answers in (("", found), (KEYS, {KEYS: found[KEYS]})):
        async with _client(answers) as http:
            assert await HttpJwks(http, ISSUER, url).fetch_keys() == [{"kid": "a"}]


@pytest.mark.promise("identity.issuer_away")
@each_row(
    ("answers", "said"),
    ({DISCOVERY: _json({"issuer": "https://evil.example", "jwks_uri": KEYS})}, "evil.example"),
    ({DISCOVERY: _json({"issuer": ISSUER, "jwks_uri": "http://keys.example/jwks"})}, "no https address"),
    ({DISCOVERY: lambda: httpx.Response(302, headers={"Location": KEYS})}, "answered 302"),
    ({DISCOVERY: lambda: httpx.Response(500)}, "answered 500"),
    ({DISCOVERY: lambda: httpx.Response(200, content=b"[" * 100_000)}, "JSON object"),
    ({DISCOVERY: lambda: httpx.Response(200, content=b" " * 600_000)}, "more than"),
    ({DISCOVERY: _json({"issuer": ISSUER, "jwks_uri": KEYS}), KEYS: _json({"keys": {}})}, "no key set"),
    ({DISCOVERY: _raises(httpx.ReadTimeout("slow"))}, "does not answer: ReadTimeout"),
)
async def test_what_is_no_description_or_key_set_is_said(answers: dict[str, Answer], said: str) -> None:
    async with _client(answers) as http:
        with pytest.raises(IssuerUnavailable, match=said):
            await HttpJwks(http, ISSUER).fetch_keys()


GOOD: JsonObject = {"sub": "casey", "tenant": "acme", "roles": ["client"]}


def _with(**changes: Json) -> JsonObject:
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not None}


def test_claims_name_tenant_principal_roles_and_levels_also_by_an_address_or_a_path() -> None:
    caller = build_caller_from_claims(
        _with(roles="approver client openid", levels=["Manager", "cfo"]), IdentitySettings()
    )
    assert (caller.tenant, caller.principal.id, caller.principal.verified) == ("acme", "casey", True)
    assert caller.principal.roles == (Role.APPROVER, Role.CLIENT)
    assert caller.principal.levels == ("manager", "cfo")
    names = IdentitySettings(
        jwt_tenant_claim="https://acme.example/tenant",
        jwt_roles_claim="realm_access.roles",
        jwt_principal_claim="preferred_username",
    )
    claims: JsonObject = {"https://acme.example/tenant": "acme", "realm_access": {"roles": ["operator"]}}
    caller = build_caller_from_claims({**claims, "preferred_username": "olga"}, names)
    assert (caller.tenant, caller.principal.id, caller.principal.roles) == ("acme", "olga", (Role.OPERATOR,))
    assert build_caller_from_claims(_with(tenant="globex"), IdentitySettings(jwt_tenant="acme")).tenant == "acme"


@pytest.mark.promise("identity.claims")
@each_row(
    ("claims", "said"),
    (_with(tenant=None), "tenant: its claim 'tenant' is missing"),
    (_with(tenant=""), "'tenant' must be"),
    (_with(tenant="a\nb"), "'tenant' must be"),
    (_with(sub=None), "principal: its claim 'sub' is missing"),
    (_with(roles=None), "'roles' must name one of client, approver, operator"),
    (_with(roles=["client", 5]), "'roles' must be a list of texts"),
    (_with(levels=["king"]), "'levels' cannot be used: unknown level 'king'"),
    (_with(levels=7), "'levels' must be a list of texts"),
)
def test_a_claim_that_is_missing_or_wrong_is_named(claims: JsonObject, said: str) -> None:
    with pytest.raises(NotEntitled) as refused:
        build_caller_from_claims(claims, IdentitySettings())
    assert said in str(refused.value)


@each_row(
    ("url", "may"),
    ("https://issuer.example/jwks", True),
    ("https://issuer.example", True),
    ("http://localhost:8080/realms/a", True),
    ("http://127.0.0.1:8080", True),
    ("http://[::1]:8080/x", True),
    ("http://issuer.example/jwks", False),
    ("http://localhost.evil.example/", False),
    ("http://127.0.0.1.evil.example/", False),
    ("http://localhost:80@evil.example/", False),
    ("https://user@issuer.example/", False),
    ("file:///etc/passwd", False),
    ("", False),
)
def test_keys_come_over_tls_or_from_this_machine(url: str, may: bool) -> None:
    assert may_fetch_keys_from(url) is may
