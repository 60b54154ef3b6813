"""The agent card says what holds for this installation, in the words of each generation."""

import json
import tomllib
from pathlib import Path

import pytest
from a2a.compat.v0_3.types import AgentCard as OldCard
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from google.protobuf.json_format import ParseDict
from jwt import PyJWKSet, api_jws
from jwt.utils import base64url_decode, base64url_encode
from pydantic import ValidationError

from services.gateway.a2a.card import build_agent_card
from services.gateway.a2a.card_keys import CardKeys
from services.gateway.a2a.views import FORMAT_0_3, FORMAT_1_0
from services.gateway.settings import GatewaySettings
from tests.each_row import each_row

_ROOT = Path(__file__).parents[3]
_DISCOVERY = "https://id.example.com/.well-known/openid-configuration"
_INSTALLATION = {
    "purple_agent_card_url": "https://agent.example.com/",
    "authentication": "keys,jwt",
    "jwt_issuer": "https://id.example.com",
    "jwt_audience": "agent",
}


def _settings(**settings: object) -> GatewaySettings:
    return GatewaySettings.model_validate({"redis_url": "redis://127.0.0.1:1", "authentication": "keys", **settings})


def _face(**settings: object) -> GatewaySettings:
    return _settings(**{**_INSTALLATION, **settings})


_FACE = _face()


@pytest.mark.promise("gateway.card_facts")
def test_provider_and_documentation_are_those_of_the_installation_and_what_nobody_said_is_not_there() -> None:
    settings = {"a2a_provider": "Acme Ltd", "a2a_provider_url": "https://acme.example.com"}
    card = build_agent_card(_face(**settings, a2a_documentation_url="https://acme.example.com/agent"))
    for shown in (FORMAT_1_0.show_card(card, None), FORMAT_0_3.show_card(card, None)):
        assert shown["provider"] == {"organization": "Acme Ltd", "url": "https://acme.example.com"}
        assert shown["documentationUrl"] == "https://acme.example.com/agent"
    card = build_agent_card(_face())
    for shown in (FORMAT_1_0.show_card(card, None), FORMAT_0_3.show_card(card, None)):
        assert not {"provider", "documentationUrl", "iconUrl", "signatures"} & shown.keys()


@pytest.mark.promise("gateway.card_facts")
def test_the_version_is_the_releases_and_skills_are_the_processes_that_are_switched_on() -> None:
    release = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert build_agent_card(_face()).version == release
    assert len(build_agent_card(_face()).skills) == 15
    card = build_agent_card(_face(a2a_processes="payroll, procurement"))
    assert [skill.id for skill in card.skills] == ["procurement", "payroll"]


@each_row(
    ("settings", "says"),
    ({"a2a_processes": "payroll,astrology"}, "no process 'astrology'"),
    ({"a2a_provider_url": "https://acme.example.com"}, "A2A_PROVIDER"),
    ({"a2a_card": "2.0"}, "a2a_card"),
)
def test_a_wrong_value_stops_the_start_by_name(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        _face(**settings)


@pytest.mark.promise("gateway.card_facts")
def test_security_schemes_of_1_0_are_wrapped_each_in_its_kind() -> None:
    shown = FORMAT_1_0.show_card(build_agent_card(_FACE), None)
    ParseDict(shown, AgentCard())
    assert shown["securitySchemes"] == {
        "apiKey": {
            "apiKeySecurityScheme": {"location": "header", "name": "X-API-Key", "description": "A key of this gateway."}
        },
        "bearer": {
            "httpAuthSecurityScheme": {
                "scheme": "Bearer",
                "description": "Authorization: Bearer, with a key of this gateway or a JSON Web Token.",
            }
        },
        "openId": {
            "openIdConnectSecurityScheme": {"openIdConnectUrl": _DISCOVERY, "description": "Who issues tokens."}
        },
    }
    assert shown["securityRequirements"] == [{"schemes": {name: {}}} for name in ("apiKey", "bearer", "openId")]


@pytest.mark.promise("gateway.card_facts")
def test_security_schemes_of_0_3_are_those_of_openapi() -> None:
    shown = FORMAT_0_3.show_card(build_agent_card(_FACE), None)
    OldCard.model_validate(shown)
    assert shown["securitySchemes"] == {
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "A key of this gateway."},
        "bearer": {
            "type": "http",
            "scheme": "Bearer",
            "description": "Authorization: Bearer, with a key of this gateway or a JSON Web Token.",
        },
        "openId": {"type": "openIdConnect", "openIdConnectUrl": _DISCOVERY, "description": "Who issues tokens."},
    }
    assert shown["security"] == [{"apiKey": []}, {"bearer": []}, {"openId": []}]


def test_where_tokens_alone_let_in_the_bearer_s_format_is_said() -> None:
    card = build_agent_card(_face(authentication="jwt", jwt_jwks_url="https://id.example.com/keys"))
    assert card.security_schemes["bearer"].http_auth_security_scheme.bearer_format == "JWT"
    assert list(card.security_schemes) == ["bearer"]


# --- signatures ---------------------------------------------------------------------------------------------------


def _key() -> EllipticCurvePrivateKey:
    return generate_private_key(SECP256R1())


def _pem(*keys: EllipticCurvePrivateKey) -> str:
    written = (key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode() for key in keys)
    return "".join(written)


def _keys_of(face: GatewaySettings) -> CardKeys:
    assert face.card_keys is not None
    return face.card_keys


def _verify(card: AgentCard, keys: CardKeys) -> None:
    """As the official library does it, with the keys that the agent publishes."""
    published = {one.key_id: one for one in PyJWKSet.from_dict(keys.public_key_set).keys}
    create_signature_verifier(lambda kid, _: published[kid or ""], ["ES256"])(card)


@pytest.mark.promise("gateway.card_signed")
@each_row("shape", ["1.0", "merged"])
def test_the_card_is_signed_and_the_official_library_verifies_it_after_its_way_over_the_wire(shape: str) -> None:
    face = _face(a2a_provider="Ünï", a2a_provider_url="https://a.example", a2a_card_keys=_pem(_key()))
    card, keys = build_agent_card(face), _keys_of(face)
    shown = FORMAT_1_0.show_card(card, None) if shape == "1.0" else agent_card_to_dict(card)
    received = ParseDict(json.loads(json.dumps(shown)), AgentCard(), ignore_unknown_fields=True)
    _verify(received, keys)
    header = json.loads(base64url_decode(received.signatures[0].protected))
    assert (header["alg"], header["typ"]) == ("ES256", "JOSE")
    assert header["jku"] == "https://agent.example.com/.well-known/jwks.json"
    received.name = "Another agent"
    with pytest.raises(InvalidSignaturesError):
        _verify(received, keys)


@pytest.mark.promise("gateway.card_signed")
def test_after_a_rotation_the_new_key_signs_and_older_cards_are_still_verified() -> None:
    old, new = _key(), _key()
    before = _face(a2a_card_keys=_pem(old))
    public = old.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    after = _face(a2a_card_keys=_pem(new) + public)
    for face in (before, after):
        _verify(build_agent_card(face), _keys_of(after))
    with pytest.raises(KeyError):
        _verify(build_agent_card(after), _keys_of(before))


@pytest.mark.promise("gateway.card_signed")
def test_the_pure_card_of_0_3_is_signed_as_it_stands() -> None:
    """By its canonical JSON (RFC 8785), for verifiers that read no more than that; not with the signature of 1.0."""
    face = _face(a2a_provider="Ünï", a2a_provider_url="https://a.example", a2a_card_keys=_pem(_key()))
    card, keys = build_agent_card(face), _keys_of(face)
    shown = FORMAT_0_3.show_card(card, keys)
    first, _ = OldCard.model_validate(shown).signatures or []
    unsigned = {name: value for name, value in shown.items() if name != "signatures"}
    signed = json.dumps(unsigned, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    token = f"{first.protected}.{base64url_encode(signed).decode()}.{first.signature}"
    (published,) = PyJWKSet.from_dict(keys.public_key_set).keys
    assert api_jws.decode(token, published, ["ES256"]) == signed


@pytest.mark.promise("gateway.card_signed")
def test_keys_come_from_a_file_or_the_setting_itself_and_bad_ones_stop_the_start(tmp_path: Path) -> None:
    file = tmp_path / "keys.pem"
    file.write_text(_pem(_key()))
    for given in (str(file), _pem(_key())):
        assert _settings(a2a_card_keys=given).card_keys is not None
    public = _key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for given, says in ((str(tmp_path / "no"), "cannot be read"), (public, "private"), ("-----BEGIN X", "P-256")):
        with pytest.raises(ValidationError, match=says):
            _settings(a2a_card_keys=given)
