"""Rules for requests to addresses that come from outside; pure, without network access.

Both the URL (``parse_permitted_target``) and, when a connection is made, each address of its host
(``refuse_forbidden_address``) must pass.
"""

import re
from collections.abc import Collection
from enum import StrEnum
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from shared.domain.address_ranges import Address, AddressRange, Network, find_address_range

MAX_URL = 2048
WEB_PORTS = frozenset({80, 443, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Whatever this does not match, two parsers might read in two ways.
_URL_PATTERN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?#].*)?",
    re.IGNORECASE,
)
_DOT_SEGMENTS = frozenset({".", ".."})
_PERCENT_CODE_PATTERN = re.compile(r"%([0-9a-f]{2})", re.IGNORECASE)
_HOST_LABEL_PATTERN = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER_PATTERN = re.compile(r"[0-9]+|0x[0-9a-f]*")


class OutgoingRule(StrEnum):
    """The rule by which a request to an address was refused."""

    SPELLING = "spelling"
    SCHEME = "scheme"
    HOST = "host"
    PORT = "port"
    QUERY = "query"
    ADDRESS = "address"
    NOT_LISTED = "not listed"


class AddressRefused(Exception):
    """The address must not be called. The message continues "the URL ..." and reveals nothing about the network."""

    def __init__(self, rule: OutgoingRule, message: str) -> None:
        super().__init__(message)
        self.rule, self.message = rule, message


class AllowedAddresses(NamedTuple):
    """The addresses that one kind of request may be sent to.

    ``listed``: the operator's list of hosts, hosts with a port, addresses and networks. A listed name may resolve to
    private, shared and loopback ones, too; other special ranges must be listed themselves. ``setting``: the list's name
    for messages. ``permits_public``: all public addresses at web ports; ``permits_loopback``: this machine's own
    addresses; ``permits_any_name``: any host and port as if its name were listed; ``permits_queries``: URLs with a
    query.
    """

    listed: frozenset[str] = frozenset()
    setting: str = ""
    permits_public: bool = False
    permits_loopback: bool = False
    permits_any_name: bool = False
    permits_queries: bool = False
    schemes: frozenset[str] = frozenset(_DEFAULT_PORTS)


class Target(NamedTuple):
    """The host and port of a URL. ``host`` is in lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int


def normalize_host_list(entries: Collection[str]) -> frozenset[str]:
    """Normalises the entries of an operator's list; raises ``ValueError`` for the first invalid one."""
    return frozenset(_normalize_host_entry(entry.strip().lower()) for entry in entries if entry.strip())


def addresses_for_tools(allowed_hosts: Collection[str], *, permits_loopback: bool) -> AllowedAddresses:
    """The addresses that a request may name as its tools endpoint. Gateway and executor both check by them."""
    host_list = normalize_host_list(allowed_hosts)
    return AllowedAddresses(host_list, "TOOLS_ALLOWED_HOSTS", permits_loopback=permits_loopback)


def addresses_for_webhooks(allowed_hosts: Collection[str], *, permits_loopback: bool) -> AllowedAddresses:
    """The addresses of webhooks: all public ones, and those that the operator lists."""
    return _build_public_addresses(allowed_hosts, "WEBHOOK_ALLOWED_HOSTS", permits_loopback)


def addresses_for_files(allowed_hosts: Collection[str], *, permits_loopback: bool) -> AllowedAddresses:
    """The addresses that files of messages may be fetched from: all public ones, and those that the operator lists."""
    return _build_public_addresses(allowed_hosts, "FILES_ALLOWED_HOSTS", permits_loopback)


def _build_public_addresses(allowed_hosts: Collection[str], setting: str, permits_loopback: bool) -> AllowedAddresses:
    host_list = normalize_host_list(allowed_hosts)
    return AllowedAddresses(
        host_list, setting, permits_public=True, permits_loopback=permits_loopback, permits_queries=True
    )


def addresses_for_operators(allowed_hosts: Collection[str]) -> AllowedAddresses:
    """The addresses that a tenant's operators may name in connections: public, private and loopback ones, and those of
    shared networks (100.64.0.0/10); others only if listed.
    """
    host_list = normalize_host_list(allowed_hosts)
    return AllowedAddresses(host_list, "TOOLS_ALLOWED_HOSTS", permits_any_name=True, permits_queries=True)


def parse_permitted_target(url: str, allowed: AllowedAddresses) -> Target:
    """Parses a URL to its host and port. Raises ``AddressRefused`` if its text shows that it must not be called."""
    parts = _match_url_parts(url)
    target = _build_target(parts["scheme"].lower(), parts["host"].lower(), parts["port"])
    if target.scheme not in allowed.schemes:
        raise AddressRefused(OutgoingRule.SCHEME, f"must be an {' or '.join(sorted(allowed.schemes))} URL")
    path_and_query = parts["rest"] or ""
    if "#" in path_and_query or ("?" in path_and_query and not allowed.permits_queries):
        raise AddressRefused(
            OutgoingRule.QUERY, f"must have no {'' if allowed.permits_queries else 'query or '}fragment"
        )
    refuse_forbidden_target(target, allowed)
    return target


def why_url_refused(url: str, allowed: AllowedAddresses) -> str | None:
    """Why a URL must not be called, as the end of a sentence about it; None if its text permits it."""
    try:
        parse_permitted_target(url, allowed)
    except AddressRefused as refused:
        return refused.message
    return None


def refuse_forbidden_target(target: Target, allowed: AllowedAddresses) -> None:
    """Raises ``AddressRefused`` for a host and port that are refused whatever the host's address is."""
    literal = _parse_address_or_none(target.host)
    if literal is not None:
        refuse_forbidden_address(literal, target, allowed)
    elif not _is_permitted_by_name(target, allowed):
        _refuse_forbidden_name(target, allowed)
    if not (target.port in WEB_PORTS or _is_permitted_by_name(target, allowed) or _list_networks(allowed)):
        raise AddressRefused(
            OutgoingRule.PORT,
            f"has port {target.port}, which is none of the web's{_describe_setting_to_change(allowed)}",
        )


def refuse_forbidden_address(address: Address, target: Target, allowed: AllowedAddresses) -> None:
    """Raises ``AddressRefused`` for an address that is not permitted; names its range only if the URL shows it."""
    kind = find_address_range(address)
    if _is_permitted(address, kind, target, allowed):
        return
    if _parse_address_or_none(target.host) is None:
        raise build_unreachable_error(target, allowed)
    if kind is AddressRange.PUBLIC:
        raise _build_not_listed_error(target, allowed)
    raise AddressRefused(OutgoingRule.ADDRESS, f"leads to a {kind.value} address{_describe_setting_to_change(allowed)}")


def build_unreachable_error(target: Target, allowed: AllowedAddresses) -> AddressRefused:
    """The error for a name that does not exist or resolves to a private network; the caller must not learn which."""
    hint = "" if _is_listed(target, allowed) else _describe_setting_to_change(allowed)
    return AddressRefused(
        OutgoingRule.ADDRESS, f"host {target.host!r} has no address that may be called from here{hint}"
    )


def _is_permitted(address: Address, kind: AddressRange, target: Target, allowed: AllowedAddresses) -> bool:
    if any(address in network for network in _list_networks(allowed)):
        return True
    if allowed.permits_any_name and kind in _RANGES_ALLOWED_TO_LISTED_NAMES:
        return True
    if _is_listed(target, allowed):
        return _parse_address_or_none(target.host) is not None or kind in _RANGES_ALLOWED_TO_LISTED_NAMES
    if kind is AddressRange.LOOPBACK:
        return _is_allowed_loopback(target.host, allowed)
    return kind is AddressRange.PUBLIC and allowed.permits_public and target.port in WEB_PORTS


_RANGES_ALLOWED_TO_LISTED_NAMES = (
    AddressRange.PUBLIC,
    AddressRange.PRIVATE,
    AddressRange.SHARED,
    AddressRange.LOOPBACK,
)


def _is_permitted_by_name(target: Target, allowed: AllowedAddresses) -> bool:
    """Whether the host is permitted at this port by its name, whatever its address."""
    return allowed.permits_any_name or _is_listed(target, allowed) or _is_allowed_loopback(target.host, allowed)


def _refuse_forbidden_name(target: Target, allowed: AllowedAddresses) -> None:
    if target.host == "localhost" or target.host.endswith(".localhost"):
        raise AddressRefused(OutgoingRule.ADDRESS, f"leads to a loopback address{_describe_setting_to_change(allowed)}")
    if not (allowed.permits_public or _list_networks(allowed)):
        raise _build_not_listed_error(target, allowed)


def _is_listed(target: Target, allowed: AllowedAddresses) -> bool:
    """Whether the operator's list has this host, at any port or at this one."""
    return bool({target.host, _format_host_and_port(target.host, target.port)} & allowed.listed)


def _list_networks(allowed: AllowedAddresses) -> list[Network]:
    return [ip_network(entry) for entry in allowed.listed if "/" in entry]


def _is_allowed_loopback(host: str, allowed: AllowedAddresses) -> bool:
    if not allowed.permits_loopback:
        return False
    literal = _parse_address_or_none(host)
    return host == "localhost" if literal is None else find_address_range(literal) is AddressRange.LOOPBACK


def _match_url_parts(url: str) -> re.Match[str]:
    if len(url) > MAX_URL:
        raise AddressRefused(OutgoingRule.SPELLING, f"must have at most {MAX_URL} characters")
    if not url.isprintable() or not url.isascii() or " " in url or "\\" in url:
        raise AddressRefused(
            OutgoingRule.SPELLING, "must be a plain URL without spaces, backslashes or control characters"
        )
    match = _URL_PATTERN.fullmatch(url)
    if match is None:
        raise AddressRefused(
            OutgoingRule.SPELLING, "must be a URL of scheme, host and perhaps port and path, without a user"
        )
    if _may_leave_path(match["rest"] or ""):
        raise AddressRefused(
            OutgoingRule.SPELLING, "must have no '.' or '..' as a part of its path, in whatever spelling"
        )
    return match


def is_below_any_server(url: str, servers: Collection[str]) -> bool:
    """Whether the URL has the origin of one of the servers, and a path at or below that server's, without ``..``."""
    path_and_query = url.partition("://")[2].partition("/")[2]
    bases = [server.rstrip("/") for server in servers]
    return not _may_leave_path(path_and_query) and any(url == base or url.startswith(f"{base}/") for base in bases)


def _may_leave_path(path_and_query: str) -> bool:
    """Whether some client, proxy or server may read part of the path as ``.`` or ``..``.

    Some decode ``%2e`` and ``%2f`` once or twice, and some cut off what follows ``;`` in a part.
    """
    path = re.split(r"[?#]", path_and_query, maxsplit=1)[0]
    for _ in range(2):
        path = _PERCENT_CODE_PATTERN.sub(lambda code: chr(int(code[1], 16)), path)
    return any(part.partition(";")[0] in _DOT_SEGMENTS for part in re.split(r"[/\\]", path))


def _build_target(scheme: str, host: str, port: str | None) -> Target:
    number = int(port) if port is not None else _DEFAULT_PORTS.get(scheme, 1)
    if not 0 < number < 65536:
        raise AddressRefused(OutgoingRule.PORT, "must have a port from 1 to 65535")
    return Target(scheme, _require_unambiguous_host(host), number)


def _require_unambiguous_host(host: str) -> str:
    """The host, if it can be read in one way only; raises ``AddressRefused``."""
    bare = host.removeprefix("[").removesuffix("]")
    if bare != host or _NUMBER_PATTERN.fullmatch(bare.rpartition(".")[2]):
        return _normalize_address(bare, is_ipv6=bare != host)
    if len(host) > 253 or not all(_HOST_LABEL_PATTERN.fullmatch(label) for label in host.split(".")):
        problem = "must have a host name of letters, digits and hyphens, without a dot at its end"
        raise AddressRefused(OutgoingRule.HOST, problem)
    return host


def _normalize_address(text: str, *, is_ipv6: bool) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        address = None
    is_as_written = is_ipv6 or str(address) == text
    if address is None or (address.version == 6) is not is_ipv6 or not is_as_written:
        raise AddressRefused(OutgoingRule.HOST, "must spell an address as four decimal numbers, or as IPv6 in brackets")
    return str(address)


def is_address(host: str) -> bool:
    return _parse_address_or_none(host) is not None


def _parse_address_or_none(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _normalize_host_entry(entry: str) -> str:
    if "/" in entry:
        return str(ip_network(entry))
    match = _URL_PATTERN.fullmatch(f"http://{entry}") or _URL_PATTERN.fullmatch(f"http://[{entry}]")
    if match is None or match["rest"]:
        raise ValueError(f"{entry!r} is no host, host with a port, address or network")
    try:
        target = _build_target("http", match["host"], match["port"])
    except AddressRefused as error:
        raise ValueError(f"{entry!r} {error.message}") from error
    return target.host if match["port"] is None else _format_host_and_port(target.host, target.port)


def _format_host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _build_not_listed_error(target: Target, allowed: AllowedAddresses) -> AddressRefused:
    return AddressRefused(
        OutgoingRule.NOT_LISTED, f"host {target.host!r} is not allowed here{_describe_setting_to_change(allowed)}"
    )


def _describe_setting_to_change(allowed: AllowedAddresses) -> str:
    return f"; the operator may add it to {allowed.setting}" if allowed.setting else ""
