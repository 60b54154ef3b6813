"""The policy service over HTTP: as a process, and against odd input."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import jsonschema
import pytest
from hypothesis import given, strategies as st

from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.contracts.policy import Verdict
from shared.infra.tls import load_client_tls_context
from tests.each_row import each_row
from tests.unit.policy.generated import plans, requests

REQUEST = {
    "policies": [{"id": "P", "rules": [{"id": "R", "condition": "amount > 5000.5", "action": "require_approval"}]}],
    "context": {"amount": 7200.25},
    "planHash": "h",
}
_POLICY = {
    "id": "P",
    "rules": [{"id": "R", "condition": "amount > 5000", "action": "escalate", "reportOnly": True}],
    "toolRules": [
        {"id": "ONCE", "kind": "at_most", "tool": "pay"},
        {"id": "AFTER", "kind": "only_after", "tool": "ship", "after": ["pay"]},
        {"id": "NO", "kind": "never", "tool": "x"},
    ],
    "textRules": [{"id": "T", "type": "deny", "keywords": ["damn"]}],
}
EVERYTHING: dict[str, object] = {
    "policies": [_POLICY],
    "calls": [
        {"callId": f"c{n}", "tool": tool, "fields": {"amount": 7200}} for n, tool in enumerate(["pay", "ship", "x"])
    ],
    "history": [{"tool": "other", "outcome": "succeeded", "fields": {"a": 1}}],
    "confirmations": [{"tool": "other"}],
    "text": "damn",
}
PROSE = {
    "source": "Never call delete at all. Be nice to everybody.",
    "candidates": [
        {"quote": "Never call delete", "toolRule": {"id": "NO", "kind": "never", "tool": "delete"}},
        {"quote": "Never call refund", "toolRule": {"id": "NO2", "kind": "never", "tool": "refund"}},
    ],
    "tools": [{"name": "delete", "fields": ["id"]}],
}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _service() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    port = _free_port()
    environment = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-m", "services.policy"], env=environment, stderr=subprocess.PIPE)
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=7)) as client:
            assert client.get(f"http://127.0.0.1:{port}/ready", timeout=20).json() == {"status": "ok"}
        yield process, port
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
async def client() -> httpx.AsyncClient:
    """A client of the application in this process; an unexpected error shows as a 500."""
    transport = httpx.ASGITransport(build_application(PolicySettings().max_body_bytes), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://policy")


@pytest.mark.promise("policy.service")
def test_the_service_answers_as_a_process_and_stops_when_told() -> None:
    """What it has begun is finished after SIGTERM, then it ends with 0; its log is JSON without values."""
    body = json.dumps(REQUEST).encode()
    with _service() as (process, port), socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        head = (
            f"POST /v1/evaluate HTTP/1.1\r\nHost: policy\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        )
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        process.send_signal(signal.SIGTERM)
        connection.sendall(body)
        answer = connection.recv(10_000)
        _, log = process.communicate(timeout=20)

    assert answer.startswith(b"HTTP/1.1 200")
    assert process.returncode == 0
    events = [json.loads(line) for line in log.decode().splitlines()]
    assert [event["event"] for event in events if event["event"] == "verdict_reached"] == ["verdict_reached"]
    assert "7200" not in log.decode()


@pytest.mark.promise("policy.exact")
async def test_numbers_stay_exact_over_the_wire(client: httpx.AsyncClient) -> None:
    """A fraction that no binary float holds decides, and comes back as it was written."""
    body = json.dumps(REQUEST).replace("7200.25", "5000.50000000000000000001")
    answer = await client.post("/v1/evaluate", content=body)

    verdict = Verdict.from_json(answer.content)
    assert verdict.requires_approval
    assert b'"amount":5000.50000000000000000001' in answer.content


@pytest.mark.promise("policy.service")
@each_row(
    ("path", "asked", "answered", "request_body"),
    ("/v1/evaluate", "EvaluateRequest", "Verdict", REQUEST),
    ("/v1/evaluate", "EvaluateRequest", "Verdict", EVERYTHING),
    ("/v1/allowances", "AllowanceRequest", "Allowances", {**EVERYTHING, "tools": [{"tool": "pay"}, {"tool": "x"}]}),
    ("/v1/prose/check", "ProseRequest", "ProseAnswer", PROSE),
)
async def test_the_description_is_true(
    client: httpx.AsyncClient, path: str, asked: str, answered: str, request_body: dict[str, object]
) -> None:
    """Requests and answers validate against what /openapi.json says of them."""
    described = (await client.get("/openapi.json")).json()
    schemas = described["components"]["schemas"]
    answer = await client.post(path, json=request_body)
    refusal = await client.post(path, json={"policies": 1, "candidates": 1})

    def validate(document: object, name: str) -> None:
        jsonschema.validate(document, {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}})

    operation = described["paths"][path]["post"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith(f"/{asked}")
    assert set(operation["responses"]) == {"200", "400", "413", "422"}
    assert answer.status_code == 200
    validate(request_body, asked)
    validate(answer.json(), answered)
    validate(refusal.json(), "RefusalBody")


@pytest.mark.promise("policy.bad_input")
@each_row(
    ("body", "status", "field", "sentence"),
    (b"", 400, None, "not a JSON object"),
    (b"{", 400, None, "not a JSON object"),
    (b"[]", 400, None, "got list"),
    (b'{"context":{"a":NaN}}', 400, None, "NaN"),
    (b'{"context":{"a":1e999999999}}', 400, None, "exponent"),
    (b'{"context":{"a":1e99999999999999999999999}}', 400, None, "exponent"),
    (b'{"context":{"a":' + b"9" * 5_000 + b"}}", 400, None, "not a JSON object"),
    (b'{"context":{"a":"\xff"}}', 400, None, "not UTF-8"),
    (b'{"context":{"a":"\\ud800"}}', 400, None, "not UTF-8"),
    ('{"context":{}}'.encode("utf-16"), 400, None, "not UTF-8"),
    (b'{"x":' + b"[" * 100_000, 400, None, "nested too deeply"),
    (b'{"policies":5}', 422, "policies", "policies:"),
    (b'{"policies":[{"rules":[]}]}', 422, "policies.0.id", "required"),
    (b'{"policies":[{"id":"P","rules":[{"id":"R","condition":7}]}]}', 422, "policies.0.rules.0.condition", "string"),
    (b'{"context":{"a":{"b":{"c":{"d":1}}}}}', 422, "context.a", "nothing deeper"),
    (b'{"calls":[{"callId":"c","tool":null}]}', 422, "calls.0.tool", "string"),
    (b'{"calls":[{"call_id":5,"tool":"t"}]}', 422, "calls.0.call_id", "string"),
    (b'{"plan_hash":5}', 422, "plan_hash", "string"),
    (b'{"context":7}', 422, "context", "needed"),
    (b'{"binding":"perhaps"}', 422, "binding", "boolean"),
    (b'{"history":[{"tool":"t","outcome":"fine"}]}', 422, "history.0.outcome", "succeeded"),
    (
        b'{"history":[{"tool":"t","outcome":"failed","fields":{"a":{"b":{"c":{}}}}}]}',
        422,
        "history.0.fields.a",
        "deeper",
    ),
    (b'{"policies":[{"id":"P","toolRules":[{"id":"R","kind":"never"}]}]}', 422, "policies.0.toolRules.0.tool", "req"),
    (
        b'{"policies":[{"id":"P","textRules":[{"id":"R","type":"deny","keywords":"x"}]}]}',
        422,
        "policies.0.textRules.0.keywords",
        "tuple",
    ),
    (
        b'{"policies":[{"id":"P","toolRules":[{"id":"R","kind":"never","tool":"t","limit":1.5}]}]}',
        422,
        "policies.0.toolRules.0.limit",
        "integer",
    ),
)
async def test_bad_input_is_refused_with_its_field(
    client: httpx.AsyncClient, body: bytes, status: int, field: str | None, sentence: str
) -> None:
    """A client's mistake is named, and is never the server's error."""
    answer = await client.post("/v1/evaluate", content=body)

    assert answer.status_code == status
    assert answer.json()["field"] == field
    assert sentence in answer.json()["error"]


@pytest.mark.promise("policy.bad_input")
async def test_a_body_over_the_limit_is_refused(client: httpx.AsyncClient) -> None:
    """1 MiB by default, counted as it arrives."""
    answer = await client.post("/v1/evaluate", content=b" " * (1024 * 1024 + 1))

    assert answer.status_code == 413
    assert "1048576" in answer.json()["error"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    *["policies", "context", "calls", "binding", "planHash", "id", "rules", "condition", "action", "level", "tool"],
    *["toolRules", "textRules", "kind", "type", "keywords", "pattern", "history", "confirmations", "text", "tools"],
    *["source", "candidates", "quote", "toolRule", "rule", "fields", "per", "after", "limit", "outcome"],
]
shaped = st.recursive(
    json_values,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=9,
)
odd_bodies = (
    st.binary(max_size=60)
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(FIELDS), shaped, max_size=4).map(lambda value: json.dumps(value).encode())
    | requests.map(lambda request: request.to_json().encode())
    | plans.map(lambda request: request.to_json().encode())
)


@pytest.fixture(scope="module")
def served() -> Iterator[httpx.Client]:
    """A client of a service in a process of its own."""
    with (
        _service() as (_, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20, verify=load_client_tls_context()) as client,
    ):
        yield client


@pytest.mark.promise("policy.bad_input")
@given(body=odd_bodies, path=st.sampled_from(["/v1/evaluate", "/v1/evaluate", "/v1/allowances", "/v1/prose/check"]))
def test_no_input_is_a_server_error(served: httpx.Client, body: bytes, path: str) -> None:
    """Whatever is sent gets an answer or a refusal that names a cause."""
    answer = served.post(path, content=body)

    assert answer.status_code in (200, 400, 413, 422)
    assert answer.status_code == 200 or answer.json()["error"]


@pytest.mark.promise("policy.unknown_shape")
@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/allowances"])
async def test_a_policy_with_a_field_that_nobody_reads_is_refused(client: httpx.AsyncClient, path: str) -> None:
    rule = {"id": "r1", "condition": "amount > 5", "action": "block"}
    asked = {"tools": ["pay"]} if path == "/v1/allowances" else {}
    for policy, field in (({"id": "p", "ruls": [rule]}, "p.ruls"), ({"rules": [{**rule, "unles": "x"}]}, "r1.unles")):
        answer = await client.post(path, json={**asked, "policies": [{"id": "p", **policy}]})
        assert (answer.status_code, answer.json()["field"]) == (422, "policies.0")
        assert f"nobody reads the field {field}" in answer.json()["error"]


@pytest.mark.promise("policy.unknown_shape")
async def test_an_unknown_field_that_says_nothing_is_passed_over(client: httpx.AsyncClient) -> None:
    """A newer executor sends the fields that it knows with their defaults; only a value could be missed."""
    policy = {
        "id": "p",
        "newer": None,
        "rules": [{"id": "r1", "condition": "a > 5", "action": "block", "later": False}],
    }
    answer = await client.post("/v1/evaluate", json={"policies": [policy], "context": {"a": 9}})
    assert (answer.status_code, answer.json()["blocked"]) == (200, True)
