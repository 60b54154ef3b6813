"""Requests to any address that the gateway describes: odd names in paths, odd queries, bodies that are nearly right."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from tests.integration.rough_bodies import rough, spoiled

_NAMES = (
    "t1", "c1", "m1", "acme", "default", "x", "%00", "..", "%2e%2e", "a%2fb", "é", "%ff", "t" * 300, "1-1",
    "turn-1-1-1", "turn-9999-99999999999999999999-0", "*", "{p01}:x", "\u202e",
)  # fmt: skip
_PLACES = (
    "historyLength", "pageSize", "pageToken", "status", "statusTimestampAfter", "contextId", "includeArtifacts",
    "limit", "since", "until", "after", "from", "tenant", "format",
)  # fmt: skip
_VALUES = ("1", "-1", "0", "x", "%00", "9" * 30, "%ff", "", "2026-01-01T00:00:00Z", "é", "TASK_STATE_WORKING", "1e9")
_WORDS = {
    "decision": "approve", "comment": "x", "call": "c1", "resolution": "done", "reason": "r", "on": True, "rules": [],
    "task": "add 1 and 1", "data": {}, "policies": [], "version": 1, "url": "https://8.8.8.8/x",
}  # fmt: skip
_STOPS = "/tenants/{tenant}/stop"  # a tenant that is stopped answers 503, as it should


class Asked(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


def operations(description: Mapping[str, Mapping[str, object]]) -> Sequence[tuple[str, str]]:
    """Method and path of all that ``/openapi.json`` names."""
    return [(method.upper(), path) for path, said in description.items() for method in said if path != _STOPS]


def asked(random: Random, known: Sequence[tuple[str, str]]) -> Asked:
    """One request; the same of the same random numbers."""
    method, path = random.choice(known)
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + random.choice(_NAMES).replace("{", "%7B") + rest.partition("}")[2]
    if random.random() < 0.4:
        path += f"?{random.choice(_PLACES)}={random.choice(_VALUES)}"
    return Asked(method, path, _headers(random), None if method in ("GET", "DELETE") else _body(random))


def _headers(random: Random) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if version := random.choice(["1.0", "0.3", ""]):
        headers["A2A-Version"] = version
    if random.random() < 0.1:
        headers["Last-Event-ID"] = random.choice(["0", "x", "1-1", "9" * 30])
    return headers


def _body(random: Random) -> bytes:
    """Mostly one that holds something for every address."""
    if random.random() < 0.3:
        return rough(random).body
    names = [f"{kind}{random.randrange(20)}" for kind in "tcm"]
    principal = {"id": "anna", "roles": ["client", "operator", "approver"], "levels": ["manager"]}
    whole: object = {
        "message": {"messageId": names[2], "role": "user", "parts": [{"text": "hello"}], "contextId": names[1]},
        "metadata": {"principal": principal},
        "configuration": {"blocking": False, "returnImmediately": True},
        "key": {"principal": "p", "roles": ["client"]},
        "record": {"id": "acme"},
        "task_id": names[0],
        **_WORDS,
    }
    for _ in range(random.randrange(4)):
        whole = spoiled(whole, random)
    return json.dumps(whole).encode("utf-8", "surrogatepass")
