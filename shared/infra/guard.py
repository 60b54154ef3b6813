"""Resolves a host once for each connection, and connects only to addresses that are permitted.

A name that changes in between gains nothing: the checked addresses are those connected to.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import TypeAlias, TypeVar

from shared.domain.outgoing import (
    AllowedAddresses,
    Target,
    build_unreachable_error,
    is_address,
    parse_permitted_target,
    refuse_forbidden_address,
    refuse_forbidden_target,
)

ResolveHost: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
Stream = TypeVar("Stream")
LookUpAddresses: TypeAlias = "Callable[[str, int], Sequence[str]]"
TARGET_CONNECT_SECONDS = 5.0
ASSUMED_SCHEME = "https"  # a connection knows no scheme, and no rule about its target asks for one
MOST_LOOKUPS = 64  # at once: hosts that nobody answers for hold up no other look-ups, and nothing else in a thread


def _resolve_addresses(host: str, port: int) -> Sequence[str]:
    """The host's addresses from the system's resolver, which may take half a minute; raises ``OSError``."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class ThreadedResolver:
    """Resolves host names in its own threads. A look-up that the caller abandoned still runs until the system's
    resolver gives up.
    """

    def __init__(self, look_up: LookUpAddresses = _resolve_addresses) -> None:
        self._look_up, self._threads = look_up, ThreadPoolExecutor(MOST_LOOKUPS, "lookup")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._look_up, host, port)


system_resolver = ThreadedResolver()


class AddressGuard:
    """Connects only to addresses that ``allowed`` permits. ``resolver`` is replaceable for tests."""

    def __init__(self, allowed: AllowedAddresses, resolver: ResolveHost = system_resolver) -> None:
        self._allowed, self._resolver = allowed, resolver

    def refuse_forbidden_url(self, url: str) -> None:
        """Raises ``AddressRefused`` for a URL that must not be requested."""
        parse_permitted_target(url, self._allowed._replace(permits_queries=True))

    async def connect_to(
        self, target: Target, seconds: float | None, connect: Callable[[str, float], Awaitable[Stream]]
    ) -> Stream:
        """Connects to the first of the host's permitted addresses that accepts.

        ``connect`` gets an address and a time limit in seconds. Raises ``AddressRefused``, ``TimeoutError``, or the
        error of the last address.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (TARGET_CONNECT_SECONDS if seconds is None else seconds)
        async with asyncio.timeout_at(deadline):
            *first_addresses, last_address = await self.resolve_permitted_addresses(target)
            for count, address in enumerate(first_addresses):
                try:
                    return await connect(address, (deadline - loop.time()) / (len(first_addresses) - count + 1))
                except Exception:  # noqa: BLE001, S112 - another address of the same host may still answer
                    continue
            return await connect(last_address, deadline - loop.time())

    async def resolve_permitted_addresses(self, target: Target) -> Sequence[str]:
        """The host's addresses, IPv4 first; raises ``AddressRefused`` if there are none, or one is not permitted."""
        refuse_forbidden_target(target, self._allowed)
        addresses = await self._resolve(target)
        if not addresses:
            raise build_unreachable_error(target, self._allowed)
        for address in addresses:
            refuse_forbidden_address(ip_address(address), target, self._allowed)
        return sorted(addresses, key=lambda address: ":" in address)

    async def _resolve(self, target: Target) -> Sequence[str]:
        if is_address(target.host):
            return (target.host,)
        try:
            return await self._resolver(target.host, target.port)
        except (OSError, UnicodeError):  # the latter of names that cannot be asked for
            return ()
