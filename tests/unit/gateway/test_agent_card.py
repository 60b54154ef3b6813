"""The agent card says what holds for this installation, in the words of each generation."""

import tomllib
from pathlib import Path

import pytest
from a2a.compat.v0_3.types import AgentCard as OldCard
from a2a.types.a2a_pb2 import AgentCard
from google.protobuf.json_format import ParseDict
from pydantic import ValidationError

from services.gateway.a2a.card import agent_card
from services.gateway.a2a.profile import Abilities, Face
from services.gateway.a2a.views import NEW, OLD
from services.gateway.settings import Settings

_ROOT = Path(__file__).parents[3]
_DISCOVERY = "https://id.example.com/.well-known/openid-configuration"
_FACE = Face("https://agent.example.com/", abilities=Abilities(ways=("keys", "jwt"), discovery=_DISCOVERY))


def _face(**settings: object) -> Face:
    said = {"redis_url": "redis://127.0.0.1:1", "authentication": "keys", **settings}
    return _FACE._replace(card=Settings.model_validate(said).card_facts)


@pytest.mark.promise("gateway.card_facts")
def test_provider_and_documentation_are_those_of_the_installation() -> None:
    settings = {"a2a_provider": "Acme Ltd", "a2a_provider_url": "https://acme.example.com"}
    card = agent_card(_face(**settings, a2a_documentation_url="https://acme.example.com/agent"))
    for shown in (NEW.card(card), OLD.card(card)):
        assert shown["provider"] == {"organization": "Acme Ltd", "url": "https://acme.example.com"}
        assert shown["documentationUrl"] == "https://acme.example.com/agent"


def test_what_nobody_said_is_not_on_the_card() -> None:
    card = agent_card(_face())
    for shown in (NEW.card(card), OLD.card(card)):
        assert not {"provider", "documentationUrl", "iconUrl", "signatures"} & shown.keys()


@pytest.mark.promise("gateway.card_facts")
def test_the_version_is_the_release_s() -> None:
    release = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert agent_card(_face()).version == release


@pytest.mark.promise("gateway.card_facts")
def test_skills_are_the_processes_that_are_switched_on() -> None:
    assert len(agent_card(_face()).skills) == 15
    card = agent_card(_face(a2a_processes="payroll, procurement"))
    assert [skill.id for skill in card.skills] == ["procurement", "payroll"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"a2a_processes": "payroll,astrology"}, "no process 'astrology'"),
        ({"a2a_provider": "Acme"}, "A2A_PROVIDER_URL"),
        ({"a2a_provider_url": "https://acme.example.com"}, "A2A_PROVIDER"),
        ({"a2a_documentation_url": "acme"}, "documentation_url"),
        ({"a2a_card": "2.0"}, "a2a_card"),
    ],
)
def test_a_wrong_value_stops_the_start_by_name(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        _face(**settings)


@pytest.mark.promise("gateway.card_facts")
def test_security_schemes_of_1_0_are_wrapped_each_in_its_kind() -> None:
    shown = NEW.card(agent_card(_FACE))
    ParseDict(shown, AgentCard())
    assert shown["securitySchemes"] == {
        "apiKey": {
            "apiKeySecurityScheme": {
                "location": "header",
                "name": "X-API-Key",
                "description": "A key of this gateway.",
            }
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
    shown = OLD.card(agent_card(_FACE))
    OldCard.model_validate(shown)
    assert shown["securitySchemes"] == {
        "apiKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "A key of this gateway.",
        },
        "bearer": {
            "type": "http",
            "scheme": "Bearer",
            "description": "Authorization: Bearer, with a key of this gateway or a JSON Web Token.",
        },
        "openId": {"type": "openIdConnect", "openIdConnectUrl": _DISCOVERY, "description": "Who issues tokens."},
    }
    assert shown["security"] == [{"apiKey": []}, {"bearer": []}, {"openId": []}]


def test_where_tokens_alone_let_in_the_bearer_s_format_is_said() -> None:
    card = agent_card(Face("https://agent.example.com/", abilities=Abilities(ways=("jwt",))))
    assert card.security_schemes["bearer"].http_auth_security_scheme.bearer_format == "JWT"
    assert list(card.security_schemes) == ["bearer"]
