"""Tools endpoints that a request may and may not name."""

import pytest

from shared.domain.outgoing import tools_reach, why_refused
from tests.each_row import each_row

GOOD = [
    "http://127.0.0.1:9009/mcp",
    "http://localhost:9009",
    "https://[::1]:8443/",
    "http://tools.acme.example/mcp",
    "https://tools.acme.example:8443/mcp",
    "http://ported.acme.example:9009/",
]
BAD = [
    "",
    "tools",
    "//localhost/",
    "ftp://localhost/",
    "file:///etc/passwd",
    "http://",
    "http:///x",
    "http://localhost/?session=1",
    "http://localhost/?",
    "http://localhost/#x",
    "http://localhost/#",
    "http://user@localhost/",
    "http://user:pw@localhost/",
    "http://localhost@evil.example/",
    "http://127.0.0.1:99999/",
    "http://127.1/",
    "http://0x7f.0.0.1/",
    "http://2130706433/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/",
    "http://[fd00::1]/",
    "http://0.0.0.0/",
    "http://evil.example/",
    "http://localhost.evil.example/",
    "http://ported.acme.example:9010/",
    "http://tools.acme.example.evil.example/",
    "http://local host/",
    "http://localhost\\@evil.example/",
    "http://localhost/\n",
    "http://lоcalhost/",  # the second letter is Cyrillic
]
HOSTS = ("tools.acme.example", "ported.acme.example:9009")


@pytest.mark.promise("gateway.tools_endpoint")
@each_row("url", GOOD)
def test_loopback_and_named_hosts_are_permitted(url: str) -> None:
    assert why_refused(url, tools_reach(HOSTS, loopback=True)) is None


@pytest.mark.promise("gateway.tools_endpoint")
@each_row("url", BAD)
def test_everything_else_is_refused(url: str) -> None:
    assert why_refused(url, tools_reach(HOSTS, loopback=True))


def test_loopback_is_closed_outside_the_embedded_profile() -> None:
    assert why_refused("http://127.0.0.1:9009/", tools_reach(HOSTS, loopback=False))
