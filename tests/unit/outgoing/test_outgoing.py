"""Where requests of ours may go: addresses as they are written and found, and the lists that operators write."""

from contextlib import suppress
from ipaddress import ip_address

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from services.executor.settings import ExecutorSettings as ExecutorSettings
from services.gateway.settings import GatewaySettings as GatewaySettings
from shared.domain import outgoing
from shared.domain.address_ranges import AddressRange, find_address_range
from tests.each_row import each_row

OPEN = outgoing.AllowedAddresses(permits_public=True, setting="WEBHOOK_ALLOWED_HOSTS")
LISTED = ("erp.corp.test", "ported.corp.test:9009", "10.2.0.0/16", "192.168.7.7", "[fd00::7]:8443")
LIST = outgoing.AllowedAddresses(listed=outgoing.normalize_host_list(LISTED), setting="TOOLS_ALLOWED_HOSTS")


def refused(url: str, reach: outgoing.AllowedAddresses) -> outgoing.AddressRefused:
    with pytest.raises(outgoing.AddressRefused) as caught:
        outgoing.parse_permitted_target(url, reach)
    return caught.value


def permits(host: str, address: str, reach: outgoing.AllowedAddresses, port: int = 443) -> bool:
    try:
        outgoing.refuse_forbidden_address(ip_address(address), outgoing.Target("https", host, port), reach)
    except outgoing.AddressRefused:
        return False
    return True


@pytest.mark.promise("I10.assessed_world")
@each_row(
    "url, under",
    ("http://tools.test/worlds", True),
    ("http://tools.test/worlds/w1/bridge..old", True),
    ("http://tools.test/worldship", False),
    ("http://tools.test/worlds/../erp", False),
    ("http://tools.test/worlds/%2e%2E/erp", False),
    ("http://tools.test/worlds/x%2f..%2f..%2ferp", False),
    ("http://other.test/worlds", False),
)
def test_a_url_is_under_a_server_only_if_no_request_to_it_leaves_that(url: str, under: bool) -> None:
    assert outgoing.is_below_any_server(url, ("http://tools.test/worlds/",)) is under


@pytest.mark.promise("ssrf.rules")
@each_row(
    ("url", "target"),
    ("https://hooks.test/a/b", outgoing.Target("https", "hooks.test", 443)),
    ("HTTP://Hooks.Test:8080", outgoing.Target("http", "hooks.test", 8080)),
    ("https://xn--bcher-kva.test/", outgoing.Target("https", "xn--bcher-kva.test", 443)),
    ("https://8.8.8.8/", outgoing.Target("https", "8.8.8.8", 443)),
    ("https://[2606:4700:0:0::1111]:8443/x", outgoing.Target("https", "2606:4700::1111", 8443)),
)
def test_a_plain_url_of_a_public_host_is_permitted(url: str, target: outgoing.Target) -> None:
    assert outgoing.parse_permitted_target(url, OPEN) == target


@pytest.mark.promise("ssrf.rules")
@each_row(
    ("url", "rule"),
    ("ftp://hooks.test/", outgoing.OutgoingRule.SCHEME),
    ("https://hooks.test/?a=b", outgoing.OutgoingRule.QUERY),
    ("https://hooks.test:22/", outgoing.OutgoingRule.PORT),
    ("https://u@hooks.test/", outgoing.OutgoingRule.SPELLING),
    ("https://hooks.test./", outgoing.OutgoingRule.HOST),
    ("https://10.0.0.1/", outgoing.OutgoingRule.ADDRESS),
)
def test_a_refusal_says_which_rule_refused(url: str, rule: outgoing.OutgoingRule) -> None:
    assert refused(url, OPEN).rule is rule


@pytest.mark.promise("ssrf.rules")
def test_a_query_is_permitted_where_the_caller_appends_nothing_to_the_path() -> None:
    reach = OPEN._replace(permits_queries=True)

    assert outgoing.parse_permitted_target("https://hooks.test/?token=a", reach).host == "hooks.test"
    assert refused("https://hooks.test/#a", reach).rule is outgoing.OutgoingRule.QUERY


@pytest.mark.promise("ssrf.allowed")
@each_row(
    ("host", "address", "port", "is_permitted"),
    ("erp.corp.test", "10.9.9.9", 443, True),
    ("erp.corp.test", "127.0.0.1", 5000, True),
    ("erp.corp.test", "169.254.169.254", 443, False),  # a name that has gone astray
    ("erp.corp.test", "224.0.0.1", 443, False),
    ("ported.corp.test", "10.9.9.9", 9009, True),
    ("ported.corp.test", "10.9.9.9", 443, False),
    ("other.test", "10.2.3.4", 9000, True),  # a listed network
    ("other.test", "10.3.3.4", 9000, False),
    ("other.test", "8.8.8.8", 443, False),  # the list is all there is
    ("192.168.7.7", "192.168.7.7", 9000, True),
    ("192.168.7.8", "192.168.7.8", 9000, False),
    ("fd00::7", "fd00::7", 8443, True),
    ("fd00::7", "fd00::7", 443, False),
)
def test_the_operators_list_opens_what_it_names_and_nothing_else(
    host: str, address: str, port: int, is_permitted: bool
) -> None:
    assert permits(host, address, LIST, port) is is_permitted


@pytest.mark.promise("ssrf.allowed")
def test_loopback_is_opened_by_its_own_names_alone() -> None:
    reach = outgoing.AllowedAddresses(permits_loopback=True)

    assert permits("localhost", "127.0.0.1", reach, 9009)
    assert permits("::1", "::1", reach, 9009)
    assert not permits("rebound.test", "127.0.0.1", reach, 9009)


@pytest.mark.promise("ssrf.allowed")
@each_row(
    ("host", "address", "is_permitted"),
    ("erp.corp.test", "10.9.9.9", True),
    ("erp.corp.test", "8.8.8.8", True),
    ("10.9.9.9", "10.9.9.9", True),
    ("localhost", "127.0.0.1", True),
    ("169.254.169.254", "169.254.169.254", False),
    ("erp.corp.test", "169.254.169.254", False),
    ("fd00:ec2::254", "fd00:ec2::254", False),
    ("erp.corp.test", "224.0.0.1", False),
    ("erp.corp.test", "64:ff9b:1::1", False),
    ("169.254.7.7", "169.254.7.7", True),  # listed
)
def test_a_tenants_operators_may_point_inside_and_not_at_metadata(host: str, address: str, is_permitted: bool) -> None:
    assert permits(host, address, outgoing.addresses_for_operators(("169.254.7.7",)), 5000) is is_permitted


@pytest.mark.promise("ssrf.silent")
def test_a_refusal_does_not_tell_what_a_name_leads_to() -> None:
    """A private address and a metadata service are refused in the same words."""
    said = set()
    for address in ("10.0.0.1", "169.254.169.254", "127.0.0.1"):
        with pytest.raises(outgoing.AddressRefused) as caught:
            outgoing.refuse_forbidden_address(ip_address(address), outgoing.Target("https", "hooks.test", 443), OPEN)
        said.add(caught.value.message)

    hint = "the operator may add it to WEBHOOK_ALLOWED_HOSTS"
    assert said == {f"host 'hooks.test' has no address that may be called from here; {hint}"}


@pytest.mark.promise("ssrf.allowed")
@each_row("entry", ["http://x.test", "a b", "10.0.0.1/8", "x.test:0", "x.test:99999", "127.1", "x.test/y"])
def test_a_bad_entry_of_a_list_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match=entry.split("/")[0].split(" ")[0]):
        outgoing.normalize_host_list([entry])


@pytest.mark.promise("ssrf.rules")
@given(st.ip_addresses())
def test_only_what_the_registry_calls_global_is_public(address: object) -> None:
    parsed = ip_address(str(address))
    assert find_address_range(parsed) is not AddressRange.PUBLIC or parsed.is_global


@pytest.mark.promise("ssrf.rules")
@given(st.text(max_size=40), st.sampled_from(["", "http://", "https://", "http://127.0.0.1", "http://[::1]"]))
def test_any_text_is_a_target_or_refused(text: str, before: str) -> None:
    with suppress(outgoing.AddressRefused):
        assert outgoing.parse_permitted_target(before + text, OPEN).host


WRITTEN = " erp.Acme.example, tools.acme.example:8443,10.2.0.0/16 ,[fd00::7]:8443, "
READ = frozenset({"erp.acme.example", "tools.acme.example:8443", "10.2.0.0/16", "[fd00::7]:8443"})
ENOUGH = {
    "REDIS_URL": "redis://localhost",
    "POLICY_URL": "http://policy",
    "TENANT_FILE": "/x",
    "ANTHROPIC_API_KEY": "k",
}


def executor_reach(monkeypatch: pytest.MonkeyPatch, **environ: str) -> outgoing.AllowedAddresses:
    for name, value in {**ENOUGH, "ALLOW_NO_ARCHIVE": "true", **environ}.items():
        monkeypatch.setenv(name, value)
    return ExecutorSettings().addresses_for_tools


@pytest.mark.promise("ssrf.allowed")
def test_a_list_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    reach = executor_reach(monkeypatch, TOOLS_ALLOWED_HOSTS=WRITTEN)

    assert (reach.listed, reach.permits_loopback, reach.permits_public) == (READ, False, False)
    assert GatewaySettings(profile="embedded").tools_allowed_hosts == tuple(map(str.strip, WRITTEN.split(",")))[:-1]


@pytest.mark.promise("ssrf.allowed")
def test_the_embedded_profile_opens_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert executor_reach(monkeypatch, PROFILE="embedded").permits_loopback


@pytest.mark.promise("ssrf.allowed")
@pytest.mark.parametrize("entry", ["http://erp.acme.example", "10.0.0.1/8", "*", "erp.acme.example:0"])
def test_a_bad_entry_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    with pytest.raises(ValidationError, match="tools_allowed_hosts"):
        executor_reach(monkeypatch, TOOLS_ALLOWED_HOSTS=f"good.example,{entry}")
    with pytest.raises(ValidationError, match="tools_allowed_hosts"):
        GatewaySettings(profile="embedded")
