"""A client and a tool server of the original agent's kind, unchanged, with the whole stack between them."""

from typing import NamedTuple, cast

import pytest

from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import TaskState
from tests.e2e.whole_stack import WholeStack
from tests.legacy_bridge import LegacyBridge, bridge

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.promise("tools.legacy_client")]
READ, WRITE = "get_account", "update_account_phone"
FIELDS = {READ: ("account_id",), WRITE: ("account_id", "phone")}
CHANGE = "Update the phone of account ACC-77 to +1 555 0100."


class Answered(NamedTuple):
    """What the client got: the whole body, and the one text that it reads."""

    body: JsonObject
    text: str
    record: TaskRecord


class LegacyClient:
    """Sends as the original clients do: no id on top, parts with only a text, a session in the metadata."""

    def __init__(self, stack: WholeStack) -> None:
        self._stack = stack

    async def send(self, text: str, session: str, endpoint: str, policy: Json = "1. Be careful.") -> Answered:
        metadata: JsonObject = {"policy_doc": policy, "tools_endpoint": endpoint, "session_id": session}
        params: JsonObject = {
            "id": session,
            "message": {"role": "user", "parts": [{"text": text}]},
            "metadata": {**metadata, "difficulty": "hard"},
        }
        body: JsonObject = {"jsonrpc": "2.0", "method": "tasks/send", "params": params}
        response = await self._stack.http.post("/", json=body)
        answer = loads_object(response.content)
        result = cast("dict[str, list[dict[str, list[dict[str, str]]]]]", answer["result"])
        return Answered(answer, result["artifacts"][0]["parts"][0]["text"], await self._stack.record(session))


@pytest.fixture
def client(stack: WholeStack) -> LegacyClient:
    return LegacyClient(stack)


def accounts(phones: dict[str, str]) -> LegacyBridge:
    """Reads answer from ``phones``; the write is echoed and changes nothing."""

    def get(given: JsonObject) -> Json:
        key = str(given.get("account_id"))
        if key not in phones:
            return {"found": False, "error": "no such account"}
        return {"id": key, "phone": phones[key], "status": "active"}

    return LegacyBridge({READ: get}, FIELDS)


async def test_the_answer_is_the_first_text_and_the_id_is_null(client: LegacyClient) -> None:
    served = accounts({"ACC-77": "+1 555 0000"})
    async with bridge(served) as connection:
        answer = await client.send("What is the status of account ACC-77?", "legacy-read", connection.url)
    result = cast(JsonObject, answer.body["result"])
    assert "id" in answer.body
    assert (answer.body["id"], result["id"]) == (None, "legacy-read")
    assert "active" in answer.text
    assert served.called(READ) == [{"account_id": "ACC-77"}]
    assert {call.session_id for call in served.calls} == set(served.asked_for) == {"legacy-read"}


async def test_an_echoed_write_is_unverified_and_never_repeated(client: LegacyClient) -> None:
    """``{"status": "ok"}`` to anything, and a read that shows no change: it is made once, and not called done."""
    served = accounts({"ACC-77": "+1 555 0000"})
    async with bridge(served) as connection:
        answer = await client.send(CHANGE, "legacy-echo", connection.url)
    assert served.called(WRITE) == [{"account_id": "ACC-77", "phone": "+1 555 0100"}]
    assert "unverified" in answer.text
    assert "Done and verified" not in answer.text
    assert len(served.called(READ)) >= 2  # the facts, and the proof


async def test_an_endpoint_that_lists_no_tools_is_told_and_a_question_to_it_has_no_answer(client: LegacyClient) -> None:
    served = LegacyBridge({})
    async with bridge(served) as connection:
        answer = await client.send("What is the status of account ACC-77?", "legacy-empty", connection.url)
    assert answer.record.state is TaskState.FAILED
    assert "offers no tools" in answer.text
    assert not served.calls
