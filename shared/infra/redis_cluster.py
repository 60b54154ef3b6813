"""A client of a Redis Cluster. Each script uses one slot, so commands only need to find their node."""

from typing import cast

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterNode, ClusterPipeline
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, RedisClusterException

from shared.infra.compression import DECODING_ERRORS
from shared.infra.redis_address import RedisAddress

_CONNECT_SECONDS = 2.0


class ClusterRedis(RedisCluster):
    """A cluster client with the part of redis-py's interface that the adapters use. It never retries.

    A pipeline is not a transaction. A subscription may be at any node, since a cluster publishes to all of them.
    """

    def __init__(self, address: RedisAddress) -> None:
        login = cast("dict[str, str]", parse_url(address.url))
        self._listener = {name: login[name] for name in ("username", "password") if name in login}
        self._tls = address.url.startswith("rediss:")
        self._listeners: list[Redis] = []
        super().__init__(
            startup_nodes=[ClusterNode(host, port) for host, port in address.nodes],
            cluster_error_retry_attempts=1,
            connection_error_retry_attempts=1,
            decode_responses=True,
            encoding_errors=DECODING_ERRORS,
            socket_connect_timeout=_CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            ssl=self._tls,
            **self._listener,
        )

    async def initialize(self) -> "ClusterRedis":
        """Finds the cluster's nodes; raises ``ConnectionError`` if none answers."""
        try:
            await super().initialize()
        except RedisClusterException as error:  # no RedisError, in redis-py
            raise ConnectionError(str(error)) from error
        return self

    def pipeline(self, transaction: object = None, shard_hint: object = None) -> ClusterPipeline:  # noqa: ARG002
        return super().pipeline()

    def pubsub(self) -> PubSub:
        """A subscription on a new connection to some node."""
        node = self.get_random_node() if self.nodes_manager.nodes_cache else self._first_node()
        listener = Redis(
            host=node.host,
            port=int(node.port),
            ssl=self._tls,
            decode_responses=True,
            encoding_errors=DECODING_ERRORS,
            socket_connect_timeout=_CONNECT_SECONDS,
            **self._listener,  # type: ignore[arg-type]  # a name and a password
        )
        self._listeners = [listener]
        return listener.pubsub()

    async def aclose(self) -> None:
        for listener in self._listeners:
            await listener.aclose()
        await super().aclose()

    def _first_node(self) -> ClusterNode:
        return next(iter(self.nodes_manager.startup_nodes.values()))
