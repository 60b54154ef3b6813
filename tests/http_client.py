"""The HTTP client of nearly every test, and what it sends by JSON-RPC."""

from functools import partial

import httpx

from shared.infra.tls import load_client_tls_context

# As httpx's own, but for the authorities: they are read once, not by each of some thousand clients.
open_http = partial(httpx.AsyncClient, verify=load_client_tls_context())


def rpc_body(method: str, params: object, call_id: object = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
