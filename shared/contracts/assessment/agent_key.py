"""The credential of the agent that is to be measured: it goes to the assessor in a header, never in a message."""

import re

AGENT_KEY_HEADER = "X-Agent-Key"
_CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/-]{8,8192}={0,4}")  # as bearer tokens are written: RFC 6750, 2.1


def agent_key(text: str) -> str:
    """Without the white space around it; raises ``ValueError``, which tells nothing of it."""
    key = text.strip()
    if not _CREDENTIAL.fullmatch(key):
        raise ValueError("the agent's key is no bearer token: 8 or more of A-Z a-z 0-9 - . _ ~ + / and = at its end")
    return key
