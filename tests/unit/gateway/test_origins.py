"""Which web pages may send requests where nobody is asked for a key."""

import pytest

from services.gateway.edge.request_limits import is_own_host, is_own_page
from tests.each_row import each_row

pytestmark = pytest.mark.promise("identity.own_pages")
PUBLIC = "https://agent.acme.example/"


@each_row(
    ("origin", "host"),
    [
        ("http://127.0.0.1:9010", "127.0.0.1:9010"),
        ("http://localhost:9010", "localhost:9010"),
        ("http://[::1]:9010", "[::1]:9010"),
        ("http://192.168.1.7:9010", "192.168.1.7:9010"),
        ("http://gateway:9010", "gateway:9010"),
        ("http://127.0.0.1", "127.0.0.1"),
        ("https://agent.acme.example", "agent.acme.example"),
        ("https://agent.acme.example", "gateway.inside:9010"),  # a proxy in between asks by another name
        ("https://agent.acme.example:443", "x"),
    ],
)
def test_the_gateways_own_pages_may(origin: str, host: str) -> None:
    assert is_own_page(origin, host, PUBLIC)


@each_row(
    ("origin", "host"),
    [
        ("https://evil.example", "127.0.0.1:9010"),
        ("http://evil.example:9010", "evil.example:9010"),  # a name that its owner leads to this machine
        ("http://127.0.0.1:3000", "127.0.0.1:9010"),
        ("http://127.0.0.1", "127.0.0.1:9010"),
        ("http://localhost:9010", "127.0.0.1:9010"),
        ("http://agent.acme.example", "agent.acme.example"),
        ("null", "127.0.0.1:9010"),
        ("file://", "127.0.0.1:9010"),
        ("", "127.0.0.1:9010"),
        ("http://127.0.0.1:99999", "127.0.0.1:99999"),
        ("http://[::1", "[::1"),
        ("http://127.0.0.1:9010", ""),
        ("http://127.0.0.1:9010", "127.0.0.1:x"),
        ("http://127.0.0.1.evil.example:9010", "127.0.0.1.evil.example:9010"),
    ],
)
def test_pages_of_others_may_not(origin: str, host: str) -> None:
    """Also where the page's site has its own name lead to the gateway, and so asks it as its own."""
    assert not is_own_page(origin, host, PUBLIC)


@each_row(
    "host",
    [
        "127.0.0.1:9010",
        "127.0.0.1",
        "localhost:80",
        "gateway:9010",
        "[::1]:9010",
        "192.168.1.7",
        "agent.acme.example",
        "agent.acme.example:8443",  # the name is what tells whom a browser took us for
        "a.localhost:9010",
        "AGENT.acme.example",
    ],
)
def test_a_host_that_nobody_else_can_lead_here_is_our_own(host: str) -> None:
    assert is_own_host(host, PUBLIC)


@each_row("host", ["evil.example", "evil.example:9010", "", "127.0.0.1.evil.example", "a/b", "x@127.0.0.1", "[::1"])
def test_a_name_that_its_owner_may_lead_anywhere_is_not_our_own(host: str) -> None:
    assert not is_own_host(host, PUBLIC)
