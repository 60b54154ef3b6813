"""What all clients meet before any task: cards, versions, media types, bodies, and how refusals are worded."""

import gzip
import json
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict

from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from shared.domain.exact_json import JsonObject, loads_object
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import NEW, Rest, Rpc, Speaker, message, rest_reply, rpc_reply, sent
from tests.http_client import open_http
from tests.integration.gateway_stage import at, list_at, object_at

pytestmark = pytest.mark.asyncio(loop_scope="module")
_CARD = "/.well-known/agent-card.json"
_REQUIRED = {"name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"}


async def _card(full: Replicas, headers: dict[str, str] | None = None, path: str = _CARD) -> JsonObject:
    return loads_object((await full.http.get(path, headers=headers or {})).text)


@pytest.mark.promise("gateway.card")
async def test_the_pure_card_has_the_fields_of_1_0_and_no_others(full: Replicas) -> None:
    card = await _card(full, NEW)
    ParseDict(json.loads(json.dumps(card)), pb.AgentCard())  # raises for a field that 1.0 does not know
    assert card.keys() >= {*_REQUIRED, "supportedInterfaces"}
    assert "url" not in card


@pytest.mark.promise("gateway.card")
async def test_the_merged_card_has_what_older_clients_need(full: Replicas) -> None:
    card = await _card(full)
    assert card.keys() >= {*_REQUIRED, "supportedInterfaces", "url", "protocolVersion", "preferredTransport"}
    assert (card["protocolVersion"], card["preferredTransport"]) == ("0.3", "JSONRPC")
    assert card == await _card(full, path="/.well-known/agent.json")


async def test_every_interface_is_where_the_public_url_says(full: Replicas) -> None:
    interfaces = list_at(await _card(full, NEW), "supportedInterfaces")
    named = {(at(one, "protocolBinding"), at(one, "protocolVersion")): at(one, "url") for one in interfaces}
    assert set(named) == {(binding, version) for binding in ("JSONRPC", "HTTP+JSON") for version in ("1.0", "0.3")}
    assert {str(url).rstrip("/") for url in named.values()} == {full.url}


async def test_the_card_says_what_is_offered_and_how_one_is_let_in(full: Replicas) -> None:
    card = await _card(full, NEW)
    assert card["capabilities"] == {"streaming": True, "pushNotifications": True, "extendedAgentCard": True}
    schemes, needed = card["securitySchemes"], card["securityRequirements"]
    assert isinstance(schemes, dict)
    assert isinstance(needed, list)
    assert schemes.keys() == {"apiKey", "bearer"}
    assert [set(object_at(one, "schemes")) for one in needed] == [{"apiKey"}, {"bearer"}]


async def test_each_kind_of_process_is_a_skill(full: Replicas) -> None:
    skills = list_at(await _card(full, NEW), "skills")
    assert {at(skill, "id") for skill in skills} == BUILT_IN_TEMPLATES.keys()
    assert all(object_at(skill).keys() >= {"id", "name", "description", "tags"} for skill in skills)


@pytest.mark.promise("gateway.card")
async def test_a_card_that_the_client_has_is_not_sent_again(full: Replicas) -> None:
    """By its tag or by its time; both replicas know both."""
    first = await full.http.get(_CARD)
    since = first.headers["last-modified"]
    assert parsedate_to_datetime(since).tzinfo is not None
    assert "max-age" in first.headers["cache-control"]
    for headers in ({"If-None-Match": first.headers["etag"]}, {"If-None-Match": "*"}):
        for _ in range(2):
            again = await full.http.get(_CARD, headers=headers)
            assert (again.status_code, again.content) == (304, b"")
    long_after = {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    assert (await full.http.get(_CARD, headers=long_after)).status_code == 304
    long_before = {"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}
    assert (await full.http.get(_CARD, headers=long_before)).status_code == 200
    assert (await full.http.get(_CARD, headers={"If-None-Match": '"another"', **long_after})).status_code == 200
    never = {"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 +99999999999999999999"}
    assert (await full.http.get(_CARD, headers=never)).status_code == 200


async def test_pure_and_merged_card_have_different_tags(full: Replicas) -> None:
    tags = {(await full.http.get(_CARD, headers=headers)).headers["etag"] for headers in ({}, NEW)}
    assert len(tags) == 2


@pytest.mark.promise("gateway.version")
@pytest.mark.parametrize(
    ("version", "accepted"),
    [("1.0", True), ("1.0.3", True), ("1.7", False), ("1.1", False), ("2.0", False), ("0.3", False), ("", False)],
)
async def test_major_and_minor_version_must_be_that_of_the_method(full: Replicas, version: str, accepted: bool) -> None:
    headers = {"A2A-Version": version} if version else {}
    for reply in (await Rpc(full).call("ListTasks", {}, headers), await Rest(full).call("ListTasks", {}, headers)):
        assert reply.refused == ("" if accepted else "VERSION_NOT_SUPPORTED")


async def test_the_version_may_come_as_a_query_parameter(full: Replicas) -> None:
    query = {"A2A-Version": "1.0"}
    assert (await full.http.get("/tasks", params=query)).status_code == 200
    body = {"jsonrpc": "2.0", "id": "c1", "method": "ListTasks", "params": {}}
    assert "tasks" in (await full.http.post("/", params=query, json=body)).json()["result"]


@pytest.mark.promise("gateway.version")
async def test_a_method_of_0_3_under_a_newer_version_is_told_so(full: Replicas) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}}
    reply = rpc_reply(await full.http.post("/", json=body, headers=NEW))
    assert reply.refused == "VERSION_NOT_SUPPORTED"
    rest = await full.http.get("/v1/tasks/t", headers=NEW)
    assert (rest.status_code, rest.json()["code"]) == (400, -32009)


@pytest.mark.promise("gateway.media_type")
@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("application/a2a+json", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("application/xml", False),
    ],
)
@pytest.mark.parametrize("path", ["/", "/message:send"])
async def test_a_body_must_be_json_and_say_so(full: Replicas, said: str, accepted: bool, path: str) -> None:
    params = {"message": message("tck-complete-task")}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    body = json.dumps(call if path == "/" else params)
    response = await full.http.post(path, content=body, headers={**NEW, "Content-Type": said})
    reply = rpc_reply(response) if path == "/" else rest_reply(response)
    assert (reply.refused, response.status_code) == (("", 200) if accepted else ("CONTENT_TYPE_NOT_SUPPORTED", 415))


@pytest.mark.promise("gateway.media_type")
@pytest.mark.parametrize("path", ["/", "/message:send"])
async def test_a_compressed_body_is_refused_by_the_name_of_its_header(full: Replicas, path: str) -> None:
    body = gzip.compress(b"{}")
    response = await full.http.post(path, content=body, headers={**NEW, "Content-Encoding": "gzip"})
    reply = rpc_reply(response) if path == "/" else rest_reply(response)
    assert (reply.refused, response.status_code) == ("CONTENT_TYPE_NOT_SUPPORTED", 415)
    assert "Content-Encoding: send the body as it is, not 'gzip'" in response.text


@pytest.mark.promise("gateway.media_type")
@pytest.mark.parametrize("spelled", [str.lower, str.upper, str.swapcase])
async def test_headers_are_read_in_any_case(full: Replicas, spelled: Callable[[str], str]) -> None:
    """Names of headers, and of their values the media types."""
    given = {"Content-Type": spelled("application/json"), "Accept": spelled("application/json"), "A2A-Version": "1.0"}
    headers = {spelled(name): value for name, value in {**given, "A2A-Extensions": "https://example.com/e"}.items()}
    params = {"message": message("tck-complete-task")}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    rpc = await full.http.post("/", content=json.dumps(call), headers=headers)
    rest = await full.http.post("/message:send", content=json.dumps(params), headers=headers)
    read = await full.http.get(f"/tasks/{at(loads_object(rest.text), 'task.id')}", headers=headers)
    assert (rpc_reply(rpc).refused, rest_reply(rest).refused, rest_reply(read).refused) == ("", "", "")
    assert [one.headers["content-type"] for one in (rpc, rest, read)] == ["application/json"] * 3
    assert at(loads_object(read.text), "status.state") == "TASK_STATE_COMPLETED"


async def test_the_scheme_of_a_credential_is_read_in_any_case(full: Replicas) -> None:
    token = full.tokens["casey"]
    for name, value in (
        ("AUTHORIZATION", f"bearer {token}"),
        ("authorization", f"BEARER {token}"),
        ("x-api-key", token),
    ):
        async with open_http(base_url=full.url, trust_env=False) as http:
            assert (await http.get("/tasks", headers={**NEW, name: value})).status_code == 200


async def test_a_subscription_may_be_asked_for_by_get(full: Replicas) -> None:
    task = await sent(Rest(full))
    for verb in ("GET", "POST"):
        refused = rest_reply(await full.http.request(verb, f"/tasks/{task['id']}:subscribe", headers=NEW))
        assert refused.refused == "UNSUPPORTED_OPERATION"


@pytest.mark.parametrize("path", ["/", "/message:send", "/message:stream", "/v1/message:send", "/v1/message:stream"])
@pytest.mark.parametrize("body", [b"\xff\xfe{}", b"{", b"[]", b'"text"', b"", b'{"message": 1e999}', b"nul"])
async def test_a_body_that_is_no_json_object_is_the_clients_fault(full: Replicas, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", **({} if path.startswith("/v1") else NEW)}
    response = await full.http.post(path, content=body, headers=headers)
    assert response.status_code in ((200, 400) if path == "/" else (400,)), response.text


async def test_rest_words_a_refusal_as_a_status_with_its_reason(full: Replicas) -> None:
    response = (await Rest(full).call("GetTask", {"id": "nobody-made-this"})).response
    error = at(loads_object(response.text), "error")
    assert (response.status_code, at(error, "code"), at(error, "status")) == (404, 404, "NOT_FOUND")
    assert at(error, "details.0") == {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "TASK_NOT_FOUND",
        "domain": "a2a-protocol.org",
        "metadata": {},
    }


@pytest.mark.promise("gateway.shared_path")
async def test_a_shared_path_speaks_1_0_to_those_who_say_so_and_our_own_to_others(full: Replicas) -> None:
    task = await sent(Rpc(full))
    path = f"/tasks/{task['id']}"
    own = (await full.http.get(path)).json()
    assert own["task_id"] == task["id"]
    for headers in (NEW, {"Accept": "application/a2a+json", "A2A-Version": "1.0"}):
        assert (await full.http.get(path, headers=headers)).json() == json.loads(json.dumps(task))


async def test_extensions_that_nobody_knows_are_not_activated(wire: Speaker) -> None:
    headers = {**NEW, "A2A-Extensions": "https://example.com/ext/v1, https://example.com/other"}
    response = (await wire.call("ListTasks", {}, headers)).response
    assert response.status_code == 200
    assert "a2a-extensions" not in response.headers


async def test_both_replicas_answer(full: Replicas) -> None:
    served = {(await Rpc(full).call("ListTasks", {})).response.headers["x-served-by"] for _ in range(4)}
    assert served == {"one", "two"}
