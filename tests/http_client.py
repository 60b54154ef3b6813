"""The HTTP client of nearly every test."""

from functools import partial

import httpx

from shared.infra.tls import trusted_certificates

# As httpx's own, but for the authorities: they are read once, not by each of some thousand clients.
open_http = partial(httpx.AsyncClient, verify=trusted_certificates())
