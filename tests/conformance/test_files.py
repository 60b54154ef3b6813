"""Files in messages: in every dialect and binding, given back as they came, and to nobody who may not have them."""

import base64
from hashlib import sha256
from uuid import uuid4

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.conformance.clients import new_client
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import NEW, Rest, Rpc, Speaker, blocking, old_call, old_message, rest_reply
from tests.integration.gateway_stage import at, list_at, object_at

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.promise("a2a.files")]
_CONTENT = b"%PDF-1.4 an invoice"
_RAW = base64.b64encode(_CONTENT).decode()
_TWICE = base64.b64encode(_RAW.encode()).decode()
_PUBLIC = "https://files.example.com/invoice.pdf?signed=1"


def message(*parts: JsonObject, **more: Json) -> JsonObject:
    said: Json = [{"text": "Look at it"}, *parts]
    return {"message": {"messageId": f"tck-complete-task-{uuid4()}", "role": "ROLE_USER", "parts": said, **more}}


@pytest.mark.parametrize(
    "part",
    [
        {"raw": _RAW, "filename": "invoice.pdf", "mediaType": "application/pdf"},
        {"url": _PUBLIC, "filename": "invoice.pdf"},
        {"raw": _RAW},
    ],
    ids=["bytes", "address", "nameless"],
)
async def test_a_file_comes_back_as_it_was_sent(any_speaker: Speaker, full: Replicas, part: JsonObject) -> None:
    task = at((await any_speaker.call("SendMessage", message(part))).value, "task")
    assert at(task, "history.0.parts.1") == part
    assert isinstance(task, dict)
    again = await any_speaker.call("GetTask", {"id": task["id"]})
    assert at(again.value, "history.0.parts") == [{"text": "Look at it"}, part]


async def test_a_message_may_be_a_file_alone(wire: Speaker) -> None:
    alone = message(messageId=f"tck-complete-task-{uuid4()}")
    at(alone, "message")["parts"] = [{"raw": _RAW, "filename": "invoice.pdf"}]  # type: ignore[index,call-overload]
    reply = await wire.call("SendMessage", alone)
    assert at(reply.value, "task.history.0.parts.0.raw") == _RAW


async def test_lists_say_where_the_bytes_are_and_only_who_sees_the_task_may_have_them(
    wire: Speaker, full: Replicas
) -> None:
    sent = message({"raw": _RAW, "filename": "in voice.pdf"}, contextId=str(uuid4()))
    task = object_at((await wire.call("SendMessage", sent)).value, "task")
    listed = await wire.call("ListTasks", {"contextId": task["contextId"]})
    url = at(listed.value, "tasks.0.history.0.parts.1.url")
    assert isinstance(url, str)
    found = await full.http.get(url)
    assert (found.content, found.headers["content-type"]) == (_CONTENT, "application/octet-stream")
    assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''in%20voice.pdf"
    for person in ("robin", "other"):
        assert (await full.http.get(url, headers=full.headers_of(person))).status_code == 404
    assert (await full.http.get(url.rpartition("/")[0] + "/" + "0" * 64)).status_code == 404


@pytest.mark.parametrize(
    ("part", "reason", "words"),
    [
        ({"raw": "%%%"}, "INVALID_PARAMS", "base64"),
        ({"raw": _RAW, "url": _PUBLIC}, "INVALID_PARAMS", ""),
        ({"url": "http://10.0.0.1/secret"}, "INVALID_PARAMS", "private"),
        ({"url": "http://169.254.169.254/latest"}, "INVALID_PARAMS", "metadata"),
        ({"url": "file:///etc/passwd"}, "INVALID_PARAMS", "URL"),
    ],
)
async def test_a_file_that_cannot_be_taken_is_refused_before_its_task_begins(
    wire: Speaker, part: JsonObject, reason: str, words: str
) -> None:
    reply = await wire.call("SendMessage", message(part))
    assert reply.refused == reason
    assert words in reply.response.text


async def test_files_are_bounded_in_number(wire: Speaker) -> None:
    reply = await wire.call("SendMessage", message(*[dict[str, Json](raw=_RAW) for _ in range(11)]))
    assert (reply.refused, "at most 10" in reply.response.text) == ("INVALID_PARAMS", True)


async def test_an_agent_that_keeps_no_files_says_so(bare: Replicas) -> None:
    async with new_client(bare, "JSONRPC", "1.0") as rpc, new_client(bare, "HTTP+JSON", "1.0") as rest:
        for speaker in (Rpc(bare), Rest(bare), rpc, rest):
            assert (await speaker.call("SendMessage", message({"raw": _RAW}))).refused == "CONTENT_TYPE_NOT_SUPPORTED"


@pytest.mark.promise("gateway.limits")
async def test_a_message_with_files_may_be_larger_than_any_other_request(wire: Speaker) -> None:
    """And no larger than a message may be, which is told in the protocol's form.

    What is too large is so by little, so that no proxy still sends it when it is refused.
    """
    raw = base64.b64encode(b"\0" * 2_000_000).decode()
    task = at((await wire.call("SendMessage", message({"raw": raw}))).value, "task")
    assert at(task, "history.0.parts.1.raw") == raw
    for reply in (
        await wire.call("SendMessage", message({"raw": "A" * 14_000_000})),
        await wire.call("CancelTask", {"id": "t", "metadata": {"text": "A" * 1024 * 1024}}),
    ):
        assert (reply.refused, reply.response.status_code) == ("INVALID_REQUEST", 413)
        assert "over the limit of" in reply.response.text


@pytest.mark.promise("gateway.limits")
async def test_a_large_body_of_small_values_is_refused_before_it_is_read(full: Replicas) -> None:
    """Files make a message large; a message of millions of numbers would hold all others up.

    The proxy still sends when it is refused, and hangs up then: nothing else is to meet that connection.
    """
    body = b'{"message": [' + b"0," * 1_000_001 + b"0]}"
    headers = {**NEW, "Connection": "close"}
    reply = rest_reply(await full.http.post("/message:send", content=body, headers=headers))
    assert (reply.refused, "100000 values" in reply.response.text) == ("INVALID_REQUEST", True)


@pytest.mark.parametrize("held", [{"bytes": _RAW}, {"uri": _PUBLIC}])
async def test_a_file_of_protocol_0_3_comes_back_in_its_words(full: Replicas, held: JsonObject) -> None:
    file: JsonObject = {"name": "invoice.pdf", "mimeType": "application/pdf", **held}
    said = old_message(parts=[{"kind": "text", "text": "Look at it"}, {"kind": "file", "file": file}])
    answer = await old_call(full, "message/send", blocking(said))
    assert at(answer, "result.history.0.parts.1.file") == file


@pytest.mark.parametrize("sent", [_RAW, _TWICE], ids=["by the letter", "by the official library"])
async def test_a_file_of_the_rest_binding_of_0_3_comes_back_as_the_official_library_reads_it(
    full: Replicas, sent: str
) -> None:
    file: JsonObject = {"fileWithBytes": sent, "mimeType": "application/pdf", "name": "invoice.pdf"}
    said: JsonObject = {
        "messageId": f"tck-complete-task-{uuid4()}",
        "role": "ROLE_USER",
        "content": [{"text": "Look at it"}, {"file": file}],
    }
    answer = (await full.http.post("/v1/message:send", json=blocking(said))).json()
    assert at(answer, "task.history.0.content.1.file.fileWithBytes") == _TWICE


async def test_a_file_of_the_early_protocol_is_taken(full: Replicas) -> None:
    part: JsonObject = {"type": "file", "file": {"name": "invoice.pdf", "mimeType": "application/pdf", "bytes": _RAW}}
    said: JsonObject = {"role": "user", "parts": [{"type": "text", "text": "Look at it"}, part]}
    assert "error" not in await old_call(full, "tasks/send", {"id": str(uuid4()), "message": said})


async def test_the_parts_of_a_follow_up_come_back_as_they_were_sent(wire: Speaker, full: Replicas) -> None:
    first = message(messageId=f"tck-input-required-{uuid4()}")
    task = object_at((await wire.call("SendMessage", first)).value, "task")
    data: JsonObject = {"data": {"budget": 12, "snake_case": [1]}, "mediaType": "application/json"}
    file: JsonObject = {"raw": _RAW, "filename": "invoice.pdf"}
    await wire.call("SendMessage", message(data, file, taskId=str(task["id"])))
    again = await wire.call("GetTask", {"id": task["id"]})
    history = list_at(again.value, "history")
    spoken = [one for one in history if at(one, "role") == "ROLE_USER"]
    assert at(spoken[-1], "parts") == [{"text": "Look at it"}, data, file]
    (read,) = full.worker.works[-1].turn.files  # what the worker reads
    assert (read.name, read.file_id) == ("invoice.pdf", sha256(_CONTENT).hexdigest())
