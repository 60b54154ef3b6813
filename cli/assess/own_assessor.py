"""An assessor for one command: the one that is named, else one that is started here and stopped again."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import HOST, ProcessSpec, free_ports, url_of
from shared.contracts.assessment.results import AGENT_KEY_HEADER
from shared.infra.tls import trusted_certificates

API_KEY = "ASSESSOR_API_KEY"
AGENT_KEY = "AGENT_API_KEY"
READY_SECONDS = 45.0


@asynccontextmanager
async def assessor_at(
    url: str, scenarios: Path | None, agent_key: str = ""
) -> AsyncIterator[tuple[str, httpx.AsyncClient]]:
    """Its address and a client that shows it the key in ``ASSESSOR_API_KEY``. Raises ``Complaint``.

    The client hands it the key of the agent that is measured, in a header as well. Without a ``url`` it is a process of
    our own, and the simulators that it starts end with it.
    """
    key = os.environ.get(API_KEY, "")
    headers = {**({"X-API-Key": key} if key and url else {}), **({AGENT_KEY_HEADER: agent_key} if agent_key else {})}
    async with httpx.AsyncClient(trust_env=False, headers=headers, verify=trusted_certificates()) as http:
        if url:
            yield url, http
            return
        async with _start_assessor(scenarios) as own:
            yield own, http


@asynccontextmanager
async def _start_assessor(scenarios: Path | None) -> AsyncIterator[str]:
    with TemporaryDirectory(prefix="assess-") as folder:
        child = Child.start(_spec(free_ports(1)[0], scenarios), Path(folder))
        try:
            await wait_until_ready((child,), READY_SECONDS)
            yield child.spec.url
        finally:
            await child.stop()


def _spec(port: int, scenarios: Path | None) -> ProcessSpec:
    """Nobody but this machine reaches it, so nobody is asked for a key."""
    where: Sequence[str] = ("--host", HOST, "--port", str(port))
    what = ("--scenarios-dir", str(scenarios.resolve())) if scenarios else ()
    inherited = {name: value for name, value in os.environ.items() if name != AGENT_KEY}
    environ = {**inherited, "AUTHENTICATION": "off", "PYTHONUNBUFFERED": "1"}
    arguments = ("services.assessor", *where, *what)
    return ProcessSpec("assessor", arguments, url_of(port), stops=1, environ=environ)
