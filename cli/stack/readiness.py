"""Waiting until each process says that it is ready, or saying which one does not and why."""

import asyncio
from collections.abc import Callable, Sequence

import httpx

from cli.console import Complaint
from cli.stack.child import Child
from shared.infra.tls import trusted_certificates

Tell = Callable[[Sequence[str]], None]

ASK_EVERY = 0.05
ASK_TIMEOUT = 2.0


def tell_nobody(_: Sequence[str]) -> None:
    """Nobody looks on."""


async def wait_until_ready(children: tuple[Child, ...], seconds: float, tell: Tell = tell_nobody) -> None:
    """Returns when all are ready; raises ``Complaint`` naming the first that died or was not ready in time.

    ``tell`` is called with the names that are still awaited whenever one is ready.
    """
    awaited = {child.spec.name: None for child in children}

    async def wait(child: Child) -> Complaint | None:
        problem = await _wait(client, child, seconds)
        if problem is None:
            awaited.pop(child.spec.name)
            tell(tuple(awaited))
        return problem

    async with httpx.AsyncClient(timeout=ASK_TIMEOUT, trust_env=False, verify=trusted_certificates()) as client:
        for problem in await asyncio.gather(*(wait(child) for child in children)):
            if problem is not None:
                raise problem


async def _wait(client: httpx.AsyncClient, child: Child, seconds: float) -> Complaint | None:
    said = "it never answered"
    try:
        async with asyncio.timeout(seconds):
            while True:
                if child.exit_code is not None:
                    return _complaint_of_end(child)
                ready, said = await _ask(client, child)
                if ready:
                    return None
                await asyncio.sleep(ASK_EVERY)
    except TimeoutError:
        sentence = f"{child.spec.name} was not ready within {seconds:.0f} seconds: {said}."
        return Complaint(sentence, f"{child.log}:\n{child.last_lines()}")


async def _ask(client: httpx.AsyncClient, child: Child) -> tuple[bool, str]:
    try:
        answer = await client.get(f"{child.spec.url}{child.spec.ready_path}")
    except httpx.TransportError as error:
        return False, f"no connection ({type(error).__name__})"
    return answer.is_success, f"it answered {answer.status_code} {answer.text[:200]}"


def _complaint_of_end(child: Child) -> Complaint:
    """What to tell a person about a process that ended by itself."""
    return Complaint(
        f"{child.spec.name} ended with exit code {child.exit_code}.", f"{child.log}:\n{child.last_lines()}"
    )
