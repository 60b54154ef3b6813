"""Parses a Redis URL: one server, a service that sentinels watch, or a cluster."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from redis.asyncio.connection import ConnectionPool, parse_url
from redis.exceptions import RedisError

# The scheme of each server by the scheme of the URL.
_SENTINEL_SCHEMES = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}
_CLUSTER_SCHEMES = {"redis+cluster": "redis", "rediss+cluster": "rediss"}
_SENTINEL_PORT, _REDIS_PORT = 26379, 6379
_MOST_REPLICAS = 8
ACCEPTED_FORMS = (
    "it must be like redis://host:6379/0, rediss://host:6379/0, unix:///path, "
    "redis+sentinel://user:password@host:26379,host:26379/service/0 or redis+cluster://host:6379"
)


@dataclass(frozen=True)
class RedisAddress:
    """A parsed Redis URL. ``url``: for redis-py, with the single server, or without a host for sentinels and clusters.

    ``confirm_replicas``: how many replicas must confirm a write's intent before its request is sent.
    """

    kind: Literal["server", "sentinel", "cluster"]
    url: str
    nodes: tuple[tuple[str, int], ...] = ()
    service: str = ""
    sentinel_username: str | None = None
    sentinel_password: str | None = None
    confirm_replicas: int = 0


def hide_password(url: str) -> str:
    """The URL as people and logs may see it: without user, password and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def parse_redis_address(url: str) -> RedisAddress:
    """Parses a Redis URL, whose options must be those of a connection.

    Its ``ValueError`` repeats nothing of the URL, which may contain a password.
    """
    try:
        address = _parse_url_parts(url)
        pool = ConnectionPool(**parse_url(address.url))
        pool.make_connection()  # type: ignore[no-untyped-call]  # redis-py: it refuses an option that it does not know
    except (ValueError, TypeError, RedisError):
        raise ValueError(ACCEPTED_FORMS) from None
    return address


def _parse_url_parts(url: str) -> RedisAddress:
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    replica_count = int(query.pop("confirm_replicas", "0"))
    if not 0 <= replica_count <= _MOST_REPLICAS:
        raise ValueError
    if parts.scheme in _SENTINEL_SCHEMES:
        return _parse_sentinel_address(parts, query, replica_count)
    if parts.scheme in _CLUSTER_SCHEMES:
        return _parse_cluster_address(parts, query, replica_count)
    server_url = f"{url.partition('?')[0]}?{urlencode(query)}" if "confirm_replicas" in parts.query else url
    return RedisAddress("server", server_url, confirm_replicas=replica_count)


def _parse_sentinel_address(parts: SplitResult, query: dict[str, str], replica_count: int) -> RedisAddress:
    credentials, _, hosts = parts.netloc.rpartition("@")
    service, _, database = parts.path.strip("/").partition("/")
    username, password = query.pop("sentinel_username", None), query.pop("sentinel_password", None)
    login = f"{credentials}@" if credentials else ""
    server_url = f"{_SENTINEL_SCHEMES[parts.scheme]}://{login}/{int(database or 0)}?{urlencode(query)}"
    if not service:
        raise ValueError
    nodes = _parse_hosts_with_ports(hosts, _SENTINEL_PORT)
    return RedisAddress("sentinel", server_url, nodes, unquote(service), username, password, replica_count)


def _parse_cluster_address(parts: SplitResult, query: dict[str, str], replica_count: int) -> RedisAddress:
    credentials, _, hosts = parts.netloc.rpartition("@")
    if replica_count or parts.path.strip("/0"):  # a cluster has one database, and WAIT has no way through it
        raise ValueError
    login = f"{credentials}@" if credentials else ""
    server_url = f"{_CLUSTER_SCHEMES[parts.scheme]}://{login}?{urlencode(query)}"
    return RedisAddress("cluster", server_url, _parse_hosts_with_ports(hosts, _REDIS_PORT))


def _parse_hosts_with_ports(hosts: str, port: int) -> tuple[tuple[str, int], ...]:
    return tuple(_parse_host_with_port(host, port) for host in hosts.split(","))


def _parse_host_with_port(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError
    return parts.hostname, parts.port or port
