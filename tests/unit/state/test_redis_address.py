"""What Redis URLs say, the sentence for one that cannot be read, and what a bench of the queue misses."""

import pytest
from pydantic import TypeAdapter, ValidationError

from services.executor.settings import RunSettings
from shared.infra.lua import store_unavailable
from shared.infra.redis import QueueRedisUrl, RedisUrl
from shared.infra.redis_address import RedisAddress, hide_password, parse_redis_address
from tests.each_row import each_row
from tools.bench.executor.queue import QueueFigures

SENTINEL = "redis+sentinel://bob:p%40ss@h1:26379,h2/orders/2?sentinel_password=s3&confirm_replicas=1"


def test_a_service_is_read_with_its_sentinels_a_cluster_with_its_nodes_and_a_plain_url_is_left_as_it_is() -> None:
    url = "rediss://:secret@host:6380/1?ssl_cert_reqs=none"
    assert parse_redis_address(url) == RedisAddress("server", url)
    sentinels = (("h1", 26379), ("h2", 26379))
    assert parse_redis_address(SENTINEL) == RedisAddress(
        "sentinel", "redis://bob:p%40ss@/2?", sentinels, "orders", None, "s3", 1
    )
    address = parse_redis_address("rediss+cluster://:secret@h1:7000,h2:7001")
    assert (address.kind, address.url, address.nodes) == ("cluster", "rediss://:secret@?", (("h1", 7000), ("h2", 7001)))


def test_options_are_those_of_a_connection_and_none_is_the_count_of_replicas() -> None:
    assert (
        parse_redis_address("redis://h/0?confirm_replicas=0&max_connections=7").url == "redis://h/0?max_connections=7"
    )
    assert parse_redis_address("unix:///r.sock?confirm_replicas=2") == RedisAddress(
        "server", "unix:///r.sock?", (), "", None, None, 2
    )


@pytest.mark.promise("redis.sentinel")
@each_row(
    "url",
    "http://host",
    "redis+sentinel://h1:26379",
    "redis+sentinel:///orders",
    "redis+sentinel://h1:port/orders",
    "redis+cluster://h1/3",
    "redis+cluster://h1?confirm_replicas=1",
    "redis://host?confirm_replicas=many",
    "redis://host?confirm_replicas=-1",
    "redis://host?confirm_replica=1",
    "redis+sentinel://h1/orders?time_out=1",
    "rediss://host?ssl_cert_reqs=some",
)
def test_a_url_that_cannot_be_read_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValidationError, match="it must be like") as caught:
        TypeAdapter(RedisUrl).validate_python(url.replace("://", "://:s3cret@"))
    assert "s3cret" not in str(caught.value.errors(include_input=False))


def test_the_queue_cannot_be_on_a_cluster() -> None:
    with pytest.raises(ValidationError, match="not a cluster"):
        TypeAdapter(QueueRedisUrl).validate_python("redis+cluster://h1")
    with pytest.raises(ValidationError, match="QUEUE_REDIS_URL is not set, and REDIS_URL names a cluster"):
        RunSettings(redis_url="redis+cluster://h1", queue_redis_url="")


GOOD = QueueFigures(2.0, 9.0, 0.4, 2.5, 9.0, 1000, 2.6, 1700.0, 0.7)


def test_each_missed_target_is_named_and_good_figures_miss_nothing() -> None:
    assert GOOD.missed == GOOD._replace(idle_cpu_percent=None).missed == []  # some systems show no processor time
    missed = GOOD._replace(idle_p50_ms=5.0, busy_p50_ms=7.5, idle_cpu_percent=3.1).missed
    assert ["p50 5.0 ms" in missed[0], "p50 7.5 ms" in missed[1], "CPU 3.1 %" in missed[2]] == [True] * 3
    assert "1000 sessions kept alive: CPU 16.2 %" in GOOD._replace(busy_cpu_percent=16.2).missed[0]


@each_row(
    ("said", "told"),
    ("Error 111 connecting to redis:6379. Refused.", "Error 111 connecting to its address. Refused."),
    ("MOVED 3999 10.0.0.1:6381", "MOVED 3999 its address"),
    ("a-b.example:26379, [::1]:6379 and ('::1', 6379)", "its address, its address and its address"),
    ("busy since 2026-11-27T10:15:00, until 11:45", "busy since 2026-11-27T10:15:00, until 11:45"),
    (200_000 * "a", 200_000 * "a"),
    (f"it is full. script: {40 * 'a'}, on @user_script:31.", "it is full."),
    ("it is full. script: on @user_script:31.", "it is full."),  # as the embedded server has it
)
def test_an_outage_is_told_without_addresses_and_scripts(said: str, told: str) -> None:
    """Times of day are none; a long text is read once through."""
    assert str(store_unavailable(OSError(said))).endswith(f"OSError: {told}")


def test_an_outage_without_words_is_told_by_its_kind() -> None:
    assert str(store_unavailable(TimeoutError())) == "Redis does not answer as it should: TimeoutError"


@each_row(
    ("url", "shown"),
    ("redis://user:s3cret@host:6379/0?password=s3cret", "redis://host:6379/0"),
    ("redis+sentinel://:s3cret@a:1,b:2/service/0?sentinel_password=s3cret", "redis+sentinel://a:1,b:2/service/0"),
    ("unix:///var/redis.sock", "unix:///var/redis.sock"),
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert hide_password(url) == shown
