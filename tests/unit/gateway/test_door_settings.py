"""Who is let in, by the settings."""

import pytest

from services.gateway.__main__ import main
from services.gateway.features.identity.settings import IdentitySettings
from tests.refusals import refusal_of

REDIS = {"REDIS_URL": "redis://localhost"}
JWT = {**REDIS, "AUTHENTICATION": "jwt", "JWT_ISSUER": "https://issuer.example", "JWT_AUDIENCE": "purple"}


@pytest.mark.promise("gateway.refuses_to_start")
@pytest.mark.parametrize(
    ("environ", "names"),
    [
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
def test_what_cannot_be_meant_is_refused_by_name(environ: dict[str, str], names: str) -> None:
    ended = refusal_of(lambda: main([]), environ)
    assert ended.code == 2
    assert ended.said.startswith(names)
    assert ended.said.count("\n") == 1


@pytest.mark.parametrize(
    ("written", "ways"),
    [("keys", ("keys",)), ("jwt , keys", ("jwt", "keys")), ("keys,jwt", ("keys", "jwt")), ("off", ()), ("", ())],
)
def test_ways_are_a_list_with_commas(written: str, ways: tuple[str, ...]) -> None:
    believed = {"jwt_issuer": "https://issuer.example", "jwt_audience": "purple, shop"}
    settings = IdentitySettings.model_validate({"authentication": written, **believed})
    assert (settings.ways, settings.jwt_audience) == (ways, ("purple", "shop"))
