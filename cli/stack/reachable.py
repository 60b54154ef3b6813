"""Looks once whether the servers that the environment names for a stack, its tools and its model, can be reached."""

import asyncio
from collections.abc import Mapping

import httpx

from shared.infra.tls import load_client_tls_context

PATIENCE_SECONDS = 3.0
_WAITING_BY_VARIABLE = {"GREEN_AGENT_MCP_URL": "tools", "ANTHROPIC_BASE_URL": "a model"}


async def find_unreachable_servers(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each server that cannot be reached within ``PATIENCE_SECONDS``; any answer will do."""
    named = [(name, environ[name]) for name in _WAITING_BY_VARIABLE if environ.get(name)]
    causes = await asyncio.gather(*(_find_cause(url) for _, url in named))
    return [
        f"{name} cannot be reached ({cause}): tasks that need {_WAITING_BY_VARIABLE[name]} wait or fail until it can."
        for (name, _), cause in zip(named, causes, strict=True)
        if cause
    ]


async def _find_cause(url: str) -> str:
    """Why no server can be reached at ``url``; empty if one can, also if it takes its time to answer."""
    try:
        async with (
            httpx.AsyncClient(verify=load_client_tls_context(), timeout=PATIENCE_SECONDS) as http,
            http.stream("GET", url),
        ):
            return ""
    except (httpx.ReadTimeout, httpx.RemoteProtocolError):
        return ""
    except (httpx.TransportError, httpx.InvalidURL) as error:
        return type(error).__name__
    except (ImportError, ValueError):  # a proxy of the environment that httpx cannot use: nothing is known
        return ""
