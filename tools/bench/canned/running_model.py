"""The canned model as a process of its own, for as long as something is measured."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cli.stack.plan import find_free_ports
from tools.bench.gateway.servers import await_open, run_module


@asynccontextmanager
async def canned_model() -> AsyncIterator[int]:
    """Its port."""
    port = find_free_ports(1)[0]
    with run_module(["tools.bench.canned.model_server", str(port)], {}) as process:
        await await_open(port, process)
        yield port


def model_environment(port: int, seconds: float = 0.0) -> dict[str, str]:
    """What points a service at it; ``seconds``: until each answer."""
    return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}/{seconds:g}", "ANTHROPIC_API_KEY": "canned"}
