"""Classifies an IP address by the kind of network it belongs to, even if it embeds an address of another kind."""

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class AddressRange(StrEnum):
    """A kind of network that an IP address belongs to. Each value is a phrase for messages, such as ``a loopback
    address``.
    """

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    SHARED = "carrier-grade NAT"
    LINK_LOCAL = "link-local"
    MULTICAST = "multicast"
    TUNNEL = "tunnel"
    METADATA = "cloud metadata"
    RESERVED = "reserved"


def find_address_range(address: Address) -> AddressRange:
    """The range of an address. If it embeds an IPv4 address whose range is not public, that range counts."""
    embedded = _extract_embedded_ipv4(address) if isinstance(address, IPv6Address) else None
    embedded_range = find_address_range(embedded) if embedded else AddressRange.PUBLIC
    if embedded_range is not AddressRange.PUBLIC:
        return embedded_range
    return next((kind for network, kind in _RANGES if address in network), _find_registered_range(address))


def is_loopback_host(host: str) -> bool:
    """Whether a server bound to this host is reachable only from this machine. Of names, only ``localhost`` counts."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _find_registered_range(address: Address) -> AddressRange:
    """The range of an address in none of our tables, by the standard library's registry: either public or reserved."""
    if isinstance(address, IPv6Address) and (address in _MAPPED_IPV4 or address in _NAT64):
        return AddressRange.PUBLIC
    is_unassigned = isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST
    is_public = address.is_global and not is_unassigned
    return AddressRange.PUBLIC if is_public else AddressRange.RESERVED


def _extract_embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address in an IPv6 address that networks translate or tunnel to it; None if there is none."""
    if address in _MAPPED_IPV4 or address in _NAT64 or _is_isatap_address(address):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _is_isatap_address(address: IPv6Address) -> bool:
    return (int(address) >> 32) & 0xFDFFFFFF == 0x00005EFE


_MAPPED_IPV4 = IPv6Network("::ffff:0:0/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_NETWORKS_BY_RANGE = {
    AddressRange.LOOPBACK: "127.0.0.0/8 ::1/128",
    AddressRange.PRIVATE: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
    AddressRange.SHARED: "100.64.0.0/10",
    AddressRange.LINK_LOCAL: "169.254.0.0/16 fe80::/10",
    AddressRange.METADATA: "169.254.169.254/32 169.254.170.0/24 fd00:ec2::/32 100.100.100.200/32 168.63.129.16/32",
    AddressRange.MULTICAST: "224.0.0.0/4 ff00::/8",
    AddressRange.TUNNEL: "2002::/16 2001::/32 192.88.99.0/24 64:ff9b:1::/48",
    AddressRange.RESERVED: "0.0.0.0/8 240.0.0.0/4 ::/96 ::ffff:0:0:0/96 3fff::/20",
}
# The narrowest network decides: the clouds have their metadata services in link-local, private and public ranges.
_RANGES = sorted(
    ((ip_network(text), kind) for kind, texts in _NETWORKS_BY_RANGE.items() for text in texts.split()),
    key=lambda pair: pair[0].max_prefixlen - pair[0].prefixlen,
)


_WORDS_FOR_NO_AUTHENTICATION = frozenset({"", "off"})


def why_open_host_refused(host: str, authentication: str, *, allow_open: bool) -> str | None:
    """Why a gateway must not serve on ``host`` without authentication; None if it may.

    ``authentication`` and ``allow_open`` are the values of the settings of these names.
    """
    if allow_open or authentication not in _WORDS_FOR_NO_AUTHENTICATION or is_loopback_host(host):
        return None
    return (
        f"At {host} others can reach the gateway, which asks nobody for a key: set AUTHENTICATION to keys or jwt, or "
        "say ALLOW_OPEN=yes where everybody who reaches it may use it and approve."
    )
