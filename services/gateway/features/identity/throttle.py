"""Throttles addresses from which too many failed authentications came."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from shared.domain.lru_cache import LruCache

_MOST_ADDRESSES = 10_000  # of addresses, and of credentials; the least recently used are forgotten first


class FailureThrottle:
    """Throttles addresses after failed authentications, in this process alone: it keeps guesses away from the store.

    A credential that was valid lately is never throttled, for the sake of others behind the same address.
    """

    def __init__(self, clock: Callable[[], float], most_failures: int, window: float = 60.0) -> None:
        """``most_failures``: how many within ``window`` seconds throttle an address; 0 turns throttling off."""
        self._clock = clock
        self._most_failures = most_failures
        self._window = window
        self._failures = LruCache[str, tuple[float, int]](_MOST_ADDRESSES)  # address -> since when, how many
        self._recently_valid = LruCache[int, None](_MOST_ADDRESSES)

    def seconds_to_wait(self, address: str, credential_hash: int) -> float:
        """The seconds until the address may try again; 0 if it is not throttled, or unknown."""
        since, failures = self._failures.get(address, (0.0, 0))
        if not self._most_failures or failures < self._most_failures or credential_hash in self._recently_valid:
            return 0.0
        return max(0.0, since + self._window - self._clock())

    def count_failure(self, address: str, credential_hash: int) -> bool:
        """Count a failure; returns whether it is the one that throttles the address."""
        self._recently_valid.pop(credential_hash, None)
        if not address:
            return False
        now = self._clock()
        since, failures = self._failures.pop(address, (now, 0))
        if now - since >= self._window:
            since, failures = now, 0
        self._failures.put(address, (since, failures + 1))
        return failures + 1 == self._most_failures

    def count_success(self, credential_hash: int) -> None:
        self._recently_valid.put(credential_hash, None)


Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
_MOST_CACHED_ADDRESSES = 256  # words of clients, up to a whole head of a request each
_IPV6_NETWORK_BITS = 64  # a client with an IPv6 address usually has a whole network of this prefix length


def parse_networks(words: Sequence[str]) -> tuple[Network, ...]:
    """Parse IP addresses and networks; raises ``ValueError``."""
    return tuple(ip_network(word, strict=False) for word in words)


def determine_client_address(peer: str, forwarded: str, trusted_proxies: Sequence[Network]) -> str:
    """The client's address: the nearest hop that is no trusted proxy. Hops before it may be forged by the client.

    An IPv6 address is replaced by its /64 network. Empty if the address is unknown: for a peer on a Unix socket, and
    for one of a private network that forwards for others and that no setting trusts, since all clients of such a proxy
    would share one address. A peer of the internet is no proxy of ours, whatever it says that it forwards.
    """
    address = _parse_address(peer)
    if not forwarded:
        return _format_address(address)
    if not trusted_proxies:
        return _format_address(address) if address is not None and address.is_global else ""
    for hop in reversed(forwarded.split(",")):
        if address is None or not any(address in network for network in trusted_proxies):
            break
        previous = _parse_address(hop.strip())
        if previous is None:
            break
        address = previous
    return _format_address(address)


@lru_cache(_MOST_CACHED_ADDRESSES)
def _parse_address(text: str) -> Address | None:
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


@lru_cache(_MOST_CACHED_ADDRESSES)
def _format_address(address: Address | None) -> str:
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _IPV6_NETWORK_BITS), strict=False))
    return "" if address is None else str(address)
