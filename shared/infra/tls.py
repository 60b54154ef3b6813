"""The certificate authorities that this process trusts as a client."""

import ssl
from functools import cache

import httpx


@cache
def load_client_tls_context() -> ssl.SSLContext:
    """The TLS context for clients, which trusts the system's certificate authorities, or those in ``SSL_CERT_FILE`` or
    ``SSL_CERT_DIR``.

    They are read once and shared by all clients, because reading them takes longer than most requests.
    """
    return httpx.create_ssl_context()
