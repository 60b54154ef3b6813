"""What stands around tool servers hands each question on as what it is: a read stays a read, down to an agent."""

import math

import pytest
from a2a.types import Message, Task, TaskState, TaskStatus
from google.protobuf.json_format import ParseDict
from typing_extensions import override

from services.executor.adapters.a2a_client import convert_to_tool_answer
from services.executor.adapters.credentials import DEFAULT_TOKEN_LIFETIME_SECONDS, parse_token_lifetime
from services.executor.ports.tools import ToolAnswer, ToolSilent
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject
from tests.doubles.connected import connected
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.each_row import each_row

_AGENT = Connection(id="shop", url="http://127.0.0.1:1/agent", protocol="a2a")


class _TellsKind(FakeToolServers):
    """Answers with the kind of question that it was asked."""

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return ToolAnswer("call")

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return ToolAnswer("read")

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ToolAnswer | None:
        return ToolAnswer("stopped" if stop_agent else "recalled")


@pytest.mark.promise("tools.agents")
async def test_each_question_reaches_the_agent_as_what_it_is() -> None:
    servers = connected(_TellsKind())

    answers = [
        await servers.call(_AGENT, "ship", {}, 1.0),
        await servers.read(_AGENT, "ship", {}, 1.0),
        await servers.ask_outcome(_AGENT, {}, 1.0),
        await servers.ask_outcome(_AGENT, {}, 1.0, stop_agent=True),
    ]

    assert [answer and answer.content for answer in answers] == ["call", "read", "recalled", "stopped"]
    assert servers.find_protocol(_AGENT) == "a2a"


@pytest.mark.promise("I4.unread_errors")
@each_row(
    ("state", "not_begun"),
    (TaskState.TASK_STATE_FAILED, True),
    (TaskState.TASK_STATE_REJECTED, True),
    (TaskState.TASK_STATE_AUTH_REQUIRED, True),
    (TaskState.TASK_STATE_CANCELED, False),
    (TaskState.TASK_STATE_UNSPECIFIED, False),
)
def test_only_an_agent_that_says_so_has_done_nothing(state: TaskState, not_begun: bool) -> None:
    """A canceled task may have done a part of it, and one without a state may have done anything."""
    answer = convert_to_tool_answer(Task(id="t1", status=TaskStatus(state=state)))
    assert (answer.is_error, answer.not_begun) == (True, not_begun)


@pytest.mark.promise("connections.refreshed_once")
@each_row(
    "life, seconds",
    (3600, 3600.0),
    ("60", 60.0),
    (0, 1.0),
    ("inf", 86_400.0),
    (None, DEFAULT_TOKEN_LIFETIME_SECONDS),
    ("NaN", DEFAULT_TOKEN_LIFETIME_SECONDS),
    ("soon", DEFAULT_TOKEN_LIFETIME_SECONDS),
)
def test_a_token_is_kept_for_a_bounded_time_whatever_is_said_of_its_life(life: object, seconds: float) -> None:
    assert parse_token_lifetime(life) == seconds


@pytest.mark.promise("tools.silent_unless_certain")
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_an_agents_data_that_are_no_json_are_no_usable_answer(number: float) -> None:
    """Its own JSON said ``NaN``, or ``1e400``."""
    message = ParseDict({"parts": [{"data": {"weight": number}}]}, Message())
    with pytest.raises(ToolSilent, match="cannot be used"):
        convert_to_tool_answer(message)
