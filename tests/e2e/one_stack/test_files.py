"""A file on its way through a whole stack: sent, kept, read apart by the real executor, and shown again."""

import base64

import pytest

from shared.domain.exact_json import JsonObject
from tests.doubles import sent_files
from tests.e2e.whole_stack import WholeStack
from tests.integration.gateway_stage import at

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.promise("files.read")]
_NEW = {"A2A-Version": "1.0"}


async def _send(stack: WholeStack, *parts: JsonObject) -> JsonObject:
    said = [{"text": "Which employees are there? Their list is attached."}, *parts]
    message = {"messageId": "files", "role": "ROLE_USER", "parts": said}
    answer = (await stack.http.post("/message:send", json={"message": message}, headers=_NEW)).json()
    task = at(answer, "task")
    assert isinstance(task, dict)
    return task


def _raw(name: str, content: bytes) -> JsonObject:
    return {"raw": base64.b64encode(content).decode(), "filename": name}


async def test_files_are_read_hostile_ones_are_named_and_all_come_back(stack: WholeStack) -> None:
    parts: tuple[JsonObject, ...] = (
        _raw("list.pdf", sent_files.pdf_of("EMP-447 Ada")),
        _raw("bomb.docx", sent_files.zip_bomb()),
        _raw("photo.png", sent_files.image_of()),
        {"url": "http://127.0.0.1:9/gone.txt"},
    )
    task = await _send(stack, *parts)
    noted = at(task, "metadata.files")
    assert isinstance(noted, list)
    assert [at(one, "type") for one in noted[:3]] == ["application/pdf", "", "image/png"]
    assert "too large" in str(at(noted[1], "problem"))
    assert at(noted[3], "problem")
    text = str(at(task, "artifacts.0.parts.0.text"))
    assert "bomb.docx: what is packed in it is too large" in text
    assert "photo.png: the model takes no images" in text
    assert at(task, "history.0.parts") == [{"text": "Which employees are there? Their list is attached."}, *parts]
