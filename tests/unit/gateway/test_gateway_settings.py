"""Starting, refusing to, and who is let in."""

import pytest
from pydantic import ValidationError

from services.gateway.__main__ import main
from services.gateway.features.identity.settings import IdentitySettings
from services.gateway.settings import GatewaySettings
from tests.each_row import each_row
from tests.refusals import refusal_of, refusal_of_process

REDIS = {"REDIS_URL": "redis://localhost"}
JWT = {**REDIS, "AUTHENTICATION": "jwt", "JWT_ISSUER": "https://issuer.example", "JWT_AUDIENCE": "purple"}


@pytest.mark.promise("gateway.refuses_to_start")
@each_row(
    ("environ", "names"),
    [
        ({}, "REDIS_URL"),
        (REDIS, "AUTHENTICATION"),
        ({**REDIS, "AUTHENTICATION": "none"}, "AUTHENTICATION"),
        ({**REDIS, "PROFILE": "laptop"}, "PROFILE"),
        ({**REDIS, "PROFILE": "embedded", "BLOCKING_LIMIT": "0"}, "BLOCKING_LIMIT"),
        ({**REDIS, "PROFILE": "embedded", "MAX_BODY_BYTES": "big"}, "MAX_BODY_BYTES"),
        ({**REDIS, "AUTHENTICATION": "keys,off"}, "AUTHENTICATION"),
        ({**REDIS, "AUTHENTICATION": "keys,keys"}, "AUTHENTICATION"),
        ({**REDIS, "AUTHENTICATION": ","}, "AUTHENTICATION"),
        ({**JWT, "JWT_ISSUER": ""}, "JWT_ISSUER"),
        ({**JWT, "JWT_AUDIENCE": " , "}, "JWT_AUDIENCE"),
        ({**JWT, "JWT_ISSUER": "http://issuer.example"}, "JWT_ISSUER"),
        ({**JWT, "JWT_JWKS_URL": "http://issuer.example/jwks"}, "JWT_JWKS_URL"),
        ({**JWT, "JWT_LEEWAY": "3600"}, "JWT_LEEWAY"),
    ],
)
def test_it_refuses_in_one_sentence_that_names_the_variable(environ: dict[str, str], names: str) -> None:
    ended = refusal_of(lambda: main([]), environ)
    assert ended.code == 2
    assert ended.said.startswith(names)
    assert ended.said.count("\n") == 1


@pytest.mark.promise("gateway.refuses_to_start")
def test_its_process_says_the_same() -> None:
    assert refusal_of_process("services.gateway", {}) == refusal_of(lambda: main([]), {})


_EMBEDDED = {"redis_url": "redis://localhost", "profile": "embedded"}


@pytest.mark.promise("gateway.open_by_name")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "gateway.example"])  # noqa: S104
@pytest.mark.parametrize("authentication", ["", "off"])
def test_where_names_are_believed_others_are_let_in_only_by_name(host: str, authentication: str) -> None:
    """The embedded profile believes whoever a request says it is from: ``off`` alone does not open that to others."""
    given = {**_EMBEDDED, "host": host, "authentication": authentication}
    with pytest.raises(ValidationError) as refused:
        GatewaySettings.model_validate(given)
    assert all(name in str(refused.value) for name in ("AUTHENTICATION", "ALLOW_OPEN"))
    assert GatewaySettings.model_validate({**given, "allow_open": "yes"}).host == host


@pytest.mark.promise("gateway.open_by_name")
@each_row(
    "given",
    [
        {"host": "127.0.0.1"},
        {"host": "127.0.0.2"},
        {"host": "localhost"},
        {"host": "::1"},
        {"host": "0.0.0.0", "authentication": "keys"},  # noqa: S104
    ],
)
def test_this_machine_alone_and_those_with_keys_are_let_in(given: dict[str, str]) -> None:
    assert GatewaySettings.model_validate({**_EMBEDDED, **given}).host == given["host"]


def test_authentication_is_off_only_by_name() -> None:
    settings = GatewaySettings.model_validate({"redis_url": "redis://localhost", "authentication": "off"})
    assert settings.profile == "production"


@each_row(
    ("written", "ways"),
    [("keys", ("keys",)), ("jwt , keys", ("jwt", "keys")), ("keys,jwt", ("keys", "jwt")), ("off", ()), ("", ())],
)
def test_ways_are_a_list_with_commas(written: str, ways: tuple[str, ...]) -> None:
    believed = {"jwt_issuer": "https://issuer.example", "jwt_audience": "purple, shop"}
    settings = IdentitySettings.model_validate({"authentication": written, **believed})
    assert (settings.ways, settings.jwt_audience) == (ways, ("purple", "shop"))
