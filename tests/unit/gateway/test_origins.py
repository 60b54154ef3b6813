"""What a request may name and where it may come from: web pages, tools endpoints."""

import pytest

from services.gateway.edge.request_limits import is_own_host, is_own_page
from shared.domain.outgoing import tools_reach, why_refused
from tests.each_row import each_row

PUBLIC = "https://agent.acme.example/"


@pytest.mark.promise("identity.own_pages")
@each_row(
    ("origin", "host"),
    ("http://127.0.0.1:9010", "127.0.0.1:9010"),
    ("http://localhost:9010", "localhost:9010"),
    ("http://[::1]:9010", "[::1]:9010"),
    ("http://192.168.1.7:9010", "192.168.1.7:9010"),
    ("http://gateway:9010", "gateway:9010"),
    ("http://127.0.0.1", "127.0.0.1"),
    ("https://agent.acme.example", "agent.acme.example"),
    ("https://agent.acme.example", "gateway.inside:9010"),  # a proxy in between asks by another name
    ("https://agent.acme.example:443", "x"),
)
def test_the_gateways_own_pages_may(origin: str, host: str) -> None:
    assert is_own_page(origin, host, PUBLIC)


@pytest.mark.promise("identity.own_pages")
@each_row(
    ("origin", "host"),
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
)
def test_pages_of_others_may_not(origin: str, host: str) -> None:
    """Also where the page's site has its own name lead to the gateway, and so asks it as its own."""
    assert not is_own_page(origin, host, PUBLIC)


OWN = "127.0.0.1:9010 127.0.0.1 localhost:80 gateway:9010 [::1]:9010 192.168.1.7 agent.acme.example a.localhost:9010 \
AGENT.acme.example agent.acme.example:8443"  # the name is what tells whom a browser took us for


@pytest.mark.promise("identity.own_pages")
@each_row("host", OWN.split())
def test_a_host_that_nobody_else_can_lead_here_is_our_own(host: str) -> None:
    assert is_own_host(host, PUBLIC)


@pytest.mark.promise("identity.own_pages")
@each_row("host", ["evil.example", "evil.example:9010", "", "127.0.0.1.evil.example", "a/b", "x@127.0.0.1", "[::1"])
def test_a_name_that_its_owner_may_lead_anywhere_is_not_our_own(host: str) -> None:
    assert not is_own_host(host, PUBLIC)


GOOD = [
    "http://127.0.0.1:9009/mcp",
    "http://localhost:9009",
    "https://[::1]:8443/",
    "http://tools.acme.example/mcp",
    "https://tools.acme.example:8443/mcp",
    "http://ported.acme.example:9009/",
]
BAD = [  # addresses in odd spellings are tried on every reach: tests/unit/outgoing/ssrf_tricks.py
    "ftp://localhost/",
    "http://localhost/?session=1",
    "http://localhost/#x",
    "http://user@localhost/",
    "http://localhost@evil.example/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/",
    "http://evil.example/",
    "http://localhost.evil.example/",
    "http://ported.acme.example:9010/",
    "http://tools.acme.example.evil.example/",
]
HOSTS = ("tools.acme.example", "ported.acme.example:9009")


@pytest.mark.promise("gateway.tools_endpoint")
@each_row("url", GOOD)
def test_loopback_and_named_hosts_are_permitted(url: str) -> None:
    assert why_refused(url, tools_reach(HOSTS, loopback=True)) is None


@pytest.mark.promise("gateway.tools_endpoint")
@each_row("url", BAD)
def test_everything_else_is_refused_and_loopback_too_outside_the_embedded_profile(url: str) -> None:
    assert why_refused(url, tools_reach(HOSTS, loopback=True))
    assert why_refused("http://127.0.0.1:9009/", tools_reach(HOSTS, loopback=False))
