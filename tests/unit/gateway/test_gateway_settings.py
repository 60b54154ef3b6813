"""Starting, refusing to, who is let in, and the brake on guessing."""

import pytest
from pydantic import ValidationError

from services.gateway.__main__ import main
from services.gateway.features.identity.settings import IdentitySettings
from services.gateway.features.identity.throttle import FailureThrottle, determine_client_address, parse_networks
from services.gateway.settings import GatewaySettings
from tests.each_row import each_row
from tests.refusals import refusal_of

REDIS = {"REDIS_URL": "redis://localhost"}
JWT = {**REDIS, "AUTHENTICATION": "jwt", "JWT_ISSUER": "https://issuer.example", "JWT_AUDIENCE": "purple"}


@pytest.mark.promise("gateway.refuses_to_start")
@each_row(
    ("environ", "names"),
    ({}, "REDIS_URL"),
    (REDIS, "AUTHENTICATION"),
    ({**REDIS, "PROFILE": "laptop"}, "PROFILE"),
    ({**REDIS, "PROFILE": "embedded", "BLOCKING_LIMIT": "0"}, "BLOCKING_LIMIT"),
    ({**REDIS, "AUTHENTICATION": "keys,off"}, "AUTHENTICATION"),
    ({**REDIS, "AUTHENTICATION": ","}, "AUTHENTICATION"),
    ({**JWT, "JWT_AUDIENCE": " , "}, "JWT_AUDIENCE"),
    ({**JWT, "JWT_ISSUER": "http://issuer.example"}, "JWT_ISSUER"),
    ({**JWT, "JWT_JWKS_URL": "http://issuer.example/jwks"}, "JWT_JWKS_URL"),
)
def test_it_refuses_in_one_sentence_that_names_the_variable(environ: dict[str, str], names: str) -> None:
    ended = refusal_of(lambda: main([]), environ)
    assert ended.code == 2
    assert ended.said.startswith(names)
    assert ended.said.count("\n") == 1


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
    {"host": "127.0.0.1"},
    {"host": "127.0.0.2"},
    {"host": "localhost"},
    {"host": "::1"},
    {"host": "0.0.0.0", "authentication": "keys"},  # noqa: S104
)
def test_this_machine_alone_and_those_with_keys_are_let_in(given: dict[str, str]) -> None:
    assert GatewaySettings.model_validate({**_EMBEDDED, **given}).host == given["host"]


def test_authentication_is_off_only_by_name() -> None:
    settings = GatewaySettings.model_validate({"redis_url": "redis://localhost", "authentication": "off"})
    assert settings.profile == "production"


@each_row(
    ("written", "auth_methods"),
    [("keys", ("keys",)), ("jwt , keys", ("jwt", "keys")), ("keys,jwt", ("keys", "jwt")), ("off", ()), ("", ())],
)
def test_ways_are_a_list_with_commas(written: str, auth_methods: tuple[str, ...]) -> None:
    believed = {"jwt_issuer": "https://issuer.example", "jwt_audience": "purple, shop"}
    settings = IdentitySettings.model_validate({"authentication": written, **believed})
    assert (settings.auth_methods, settings.jwt_audience) == (auth_methods, ("purple", "shop"))


GUESS, GOOD = 1, 2


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def brake(clock: Clock) -> FailureThrottle:
    return FailureThrottle(clock, most_failures=3)


def _fail(brake: FailureThrottle, address: str, times: int) -> None:
    for _ in range(times):
        brake.count_failure(address, GUESS)


@pytest.mark.promise("identity.brake")
def test_an_address_waits_after_too_many_failures(brake: FailureThrottle, clock: Clock) -> None:
    _fail(brake, "192.0.2.1", 2)
    assert brake.seconds_to_wait("192.0.2.1", GUESS) == 0
    assert brake.count_failure("192.0.2.1", GUESS)
    clock.now += 20
    assert brake.seconds_to_wait("192.0.2.1", GUESS) == 40
    assert brake.seconds_to_wait("192.0.2.2", GUESS) == 0
    clock.now += 40
    assert brake.seconds_to_wait("192.0.2.1", GUESS) == 0
    _fail(brake, "192.0.2.1", 1)
    assert brake.seconds_to_wait("192.0.2.1", GUESS) == 0


@pytest.mark.promise("identity.brake")
def test_a_good_neighbour_is_not_held_off(brake: FailureThrottle) -> None:
    """Until its own credential is refused."""
    brake.count_success(GOOD)
    _fail(brake, "192.0.2.1", 3)
    assert brake.seconds_to_wait("192.0.2.1", GOOD) == 0
    brake.count_failure("192.0.2.1", GOOD)
    assert brake.seconds_to_wait("192.0.2.1", GOOD) > 0


def test_the_brake_forgets_the_longest_unheard_of_and_stays_small(brake: FailureThrottle) -> None:
    _fail(brake, "first", 3)
    for number in range(10_001):
        brake.count_failure(f"address {number}", GUESS)
    assert brake.seconds_to_wait("first", GUESS) == 0
    assert brake.seconds_to_wait("address 10000", GUESS) == 0


@pytest.mark.promise("identity.brake")
def test_nobody_is_held_off_without_an_address_or_without_a_bound_on_failures(
    brake: FailureThrottle, clock: Clock
) -> None:
    """Behind a proxy that no setting names one guesser would shut all others out."""
    _fail(brake, "", 100)
    assert brake.seconds_to_wait("", GUESS) == 0
    brake = FailureThrottle(clock, most_failures=0)
    _fail(brake, "192.0.2.1", 100)
    assert brake.seconds_to_wait("192.0.2.1", GUESS) == 0


TRUSTED = parse_networks(["10.0.0.0/8", "2001:db8::/32", "127.0.0.1"])


@pytest.mark.promise("identity.brake")
@each_row(
    ("peer", "forwarded", "source"),
    ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # a stranger may write what it likes
    ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
    ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),  # so may who comes through a proxy
    ("10.0.0.1", "198.51.100.7, 10.2.3.4", "198.51.100.7"),
    ("10.0.0.1", "198.51.100.7:5555", "198.51.100.7"),
    ("10.0.0.1", "unknown", "10.0.0.1"),
    ("10.0.0.1", "198.51.100.7, junk", "10.0.0.1"),
    ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
    ("2001:db8::1", "[2001:db9:0:1:2:3:4:5]:443", "2001:db9:0:1::/64"),
    ("2001:db9:0:1:ffff::2", "", "2001:db9:0:1::/64"),
    ("", "198.51.100.7", ""),  # a socket file
)
def test_the_source_is_the_nearest_hop_that_is_no_trusted_proxy(peer: str, forwarded: str, source: str) -> None:
    assert determine_client_address(peer, forwarded, TRUSTED) == source


def test_behind_a_proxy_that_nobody_named_no_address_can_be_told_and_what_is_no_network_is_refused() -> None:
    assert (determine_client_address("10.0.0.1", "203.0.113.7", ()), determine_client_address("10.0.0.1", "", ())) == (
        "",
        "10.0.0.1",
    )
    assert determine_client_address("8.8.8.8", "1.2.3.4", ()) == "8.8.8.8"  # who comes from outside chooses no address
    with pytest.raises(ValueError, match="proxy"):
        parse_networks(["proxy.example"])
