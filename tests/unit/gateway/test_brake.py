"""The brake on guessing, and from which address a request comes."""

import pytest

from services.gateway.features.identity.throttle import FailureThrottle, Strictness, networks_in, source_of
from tests.each_row import each_row

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
    return FailureThrottle(clock, Strictness(failures=3, window=60))


def _fail(brake: FailureThrottle, address: str, times: int) -> None:
    for _ in range(times):
        brake.count_failure(address, GUESS)


@pytest.mark.promise("identity.brake")
def test_an_address_waits_after_too_many_failures(brake: FailureThrottle, clock: Clock) -> None:
    _fail(brake, "192.0.2.1", 2)
    assert brake.wait("192.0.2.1", GUESS) == 0
    assert brake.count_failure("192.0.2.1", GUESS)
    clock.now += 20
    assert brake.wait("192.0.2.1", GUESS) == 40
    assert brake.wait("192.0.2.2", GUESS) == 0
    clock.now += 40
    assert brake.wait("192.0.2.1", GUESS) == 0
    _fail(brake, "192.0.2.1", 1)
    assert brake.wait("192.0.2.1", GUESS) == 0


@pytest.mark.promise("identity.brake")
def test_a_good_neighbour_is_not_held_off(brake: FailureThrottle) -> None:
    """Until its own credential is refused."""
    brake.count_pass(GOOD)
    _fail(brake, "192.0.2.1", 3)
    assert brake.wait("192.0.2.1", GOOD) == 0
    brake.count_failure("192.0.2.1", GOOD)
    assert brake.wait("192.0.2.1", GOOD) > 0


def test_the_brake_forgets_the_longest_unheard_of_and_stays_small(brake: FailureThrottle) -> None:
    _fail(brake, "first", 3)
    for number in range(10_001):
        brake.count_failure(f"address {number}", GUESS)
    assert brake.wait("first", GUESS) == 0
    assert brake.wait("address 10000", GUESS) == 0


@pytest.mark.promise("identity.brake")
def test_nobody_is_held_off_where_the_address_is_not_known(brake: FailureThrottle) -> None:
    """Behind a proxy that no setting names one guesser would shut all others out."""
    _fail(brake, "", 100)
    assert brake.wait("", GUESS) == 0


def test_no_failures_named_is_no_brake(clock: Clock) -> None:
    brake = FailureThrottle(clock, Strictness(failures=0))
    _fail(brake, "192.0.2.1", 100)
    assert brake.wait("192.0.2.1", GUESS) == 0


TRUSTED = networks_in(["10.0.0.0/8", "2001:db8::/32", "127.0.0.1"])


@pytest.mark.promise("identity.brake")
@each_row(
    ("peer", "forwarded", "source"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # a stranger may write what it likes
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),  # so may who comes through a proxy
        ("10.0.0.1", "198.51.100.7, 10.2.3.4", "198.51.100.7"),
        ("10.0.0.1", "10.9.9.9, 10.2.3.4", "10.9.9.9"),
        ("10.0.0.1", "198.51.100.7:5555", "198.51.100.7"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, junk", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("2001:db8::1", "[2001:db9:0:1:2:3:4:5]:443", "2001:db9:0:1::/64"),
        ("2001:db9:0:1:ffff::2", "", "2001:db9:0:1::/64"),
        ("", "198.51.100.7", ""),  # a socket file
    ],
)
def test_the_source_is_the_nearest_hop_that_is_no_trusted_proxy(peer: str, forwarded: str, source: str) -> None:
    assert source_of(peer, forwarded, TRUSTED) == source


def test_behind_a_proxy_that_nobody_named_an_address_cannot_be_told() -> None:
    assert (source_of("10.0.0.1", "203.0.113.7", ()), source_of("10.0.0.1", "", ())) == ("", "10.0.0.1")


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="proxy"):
        networks_in(["proxy.example"])
