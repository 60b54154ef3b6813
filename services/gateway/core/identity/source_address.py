"""From which address a request comes, where proxies that are trusted may stand between."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
_HOST_BITS = 64  # whoever has an IPv6 address has a whole network of so many bits


def networks_in(words: Sequence[str]) -> tuple[Network, ...]:
    """Addresses and networks by their words; raises ``ValueError``."""
    return tuple(ip_network(word, strict=False) for word in words)


def source_of(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The nearest hop that is no trusted proxy. What stands before it in ``X-Forwarded-For`` anybody may have written.

    An IPv6 address counts as its network of 64 bits. Empty where it cannot be told: of a peer without an address (a
    socket file), and behind a proxy that no setting names, where all clients have one.
    """
    if forwarded and not trusted:
        return ""
    found = _address(peer)
    for hop in reversed(forwarded.split(",")):
        if found is None or not any(found in network for network in trusted):
            break
        before = _address(hop.strip())
        if before is None:
            break
        found = before
    return _shown(found)


def _address(text: str) -> Address | None:
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _shown(address: Address | None) -> str:
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _HOST_BITS), strict=False))
    return "" if address is None else str(address)
