"""Run by an environment that has the 0.3 line of the official SDK: is the card at a URL signed by the keys there?

``card_of_0_3.py URL`` prints one line of JSON: what the card says of its signatures, and whether one holds.
"""

# mypy: ignore-errors
# (the types are those of another version of the SDK than the one that this environment has)

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from jwt import PyJWKSet


async def main(url):
    async with httpx.AsyncClient(timeout=20, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        keys = PyJWKSet.from_dict((await http.get(f"{url}/.well-known/jwks.json")).json())
    verify = create_signature_verifier(lambda kid, _: {key.key_id: key for key in keys.keys}[kid], ["ES256"])
    verify(card)
    card.name = "Another agent"
    try:
        verify(card)
        refused = False
    except InvalidSignaturesError:
        refused = True
    return {"name_counts": refused, "signatures": len(card.signatures)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:]))))
