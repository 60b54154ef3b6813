"""A separate executor process for tests: real queue and runner, turns of the bench's kind."""

from contextlib import AbstractContextManager

from tests.forked_service import ForkedService, forked_service


def executor_process(redis_url: str, **settings: str) -> AbstractContextManager[ForkedService]:
    told = {"REDIS_URL": redis_url, "PORT": "0", "GRACE_SECONDS": "0", **settings}
    return forked_service("tools.bench.executor.no_work", **told)
