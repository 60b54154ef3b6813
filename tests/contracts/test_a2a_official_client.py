"""The official client of today against the gateway."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from redis.asyncio import Redis

from tests.integration.gateway_stage import Stage, stage


@asynccontextmanager
async def _client(play: Stage, *, polling: bool = False) -> AsyncIterator[Client]:
    async with httpx.AsyncClient(timeout=20, trust_env=False) as http:
        card = await A2ACardResolver(http, play.url).get_agent_card()
        yield ClientFactory(ClientConfig(httpx_client=http, polling=polling, streaming=False)).create(card)


def _message(text: str, message_id: str = "m1", **more: str) -> pb.SendMessageRequest:
    message = pb.Message(message_id=message_id, role=pb.Role.ROLE_USER, parts=[pb.Part(text=text)], **more)
    return pb.SendMessageRequest(message=message)


async def _sent(client: Client, request: pb.SendMessageRequest) -> pb.Task:
    replies = [reply async for reply in client.send_message(request)]
    assert [reply.WhichOneof("payload") for reply in replies] == ["task"]
    return replies[0].task


@pytest.mark.promise("gateway.a2a_1_0")
async def test_it_sends_a_message_and_reads_the_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        task = await _sent(client, _message("hello"))
        read = await client.get_task(pb.GetTaskRequest(id=task.id))
    assert task.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert [part.text for part in task.artifacts[0].parts] == ["done: hello"]
    assert read == task


async def test_a_polling_client_is_answered_at_once(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play, polling=True) as client:
        task = await _sent(client, _message("hold it"))
        play.worker.release.set()
    assert task.status.state == pb.TaskState.TASK_STATE_SUBMITTED


@pytest.mark.promise("gateway.resend")
async def test_the_same_message_again_is_the_same_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        first = await _sent(client, _message("hello"))
        again = await _sent(client, _message("hello"))
        other = await _sent(client, _message("hello", "m2"))
    assert again == first
    assert other.id != first.id
    assert play.worker.seen == ["hello", "hello"]


async def test_a_follow_up_needs_no_context_id(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        asked = await _sent(client, _message("ask"))
        approved = await _sent(client, _message("approve", "m2", task_id=asked.id))
    assert asked.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
    assert asked.status.message.parts[0].text == "waits for a manager's approval"
    assert (approved.id, approved.context_id) == (asked.id, asked.context_id)
    assert approved.status.state == pb.TaskState.TASK_STATE_COMPLETED


async def test_a_context_of_the_clients_choice_is_kept(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        one = await _sent(client, _message("one", context_id="c1"))
        two = await _sent(client, _message("two", "m2", context_id="c1"))
    assert (one.context_id, two.context_id) == ("c1", "c1")
    assert one.id != two.id


async def test_a_policy_block_is_rejected(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        task = await _sent(client, _message("block it"))
    assert task.status.state == pb.TaskState.TASK_STATE_REJECTED
    assert task.artifacts[0].parts[0].text == "blocked by policy limit-1"


async def test_errors_arrive_as_the_protocols_own(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        task = await _sent(client, _message("hello"))
        with pytest.raises(TaskNotFoundError, match="nobody"):
            await client.get_task(pb.GetTaskRequest(id="nobody"))
        with pytest.raises(TaskNotCancelableError, match="completed"):
            await client.cancel_task(pb.CancelTaskRequest(id=task.id))
        with pytest.raises(UnsupportedOperationError, match="has ended"):
            await _sent(client, _message("more", "m3", task_id=task.id))


@pytest.mark.promise("gateway.task_list")
async def test_it_lists_tasks_page_by_page(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        sent = [await _sent(client, _message(f"hello {number}", f"m{number}")) for number in range(3)]
        first = await client.list_tasks(pb.ListTasksRequest(page_size=2))
        rest = await client.list_tasks(pb.ListTasksRequest(page_size=2, page_token=first.next_page_token))
    listed = [task.id for task in (*first.tasks, *rest.tasks)]
    assert listed == [task.id for task in reversed(sent)]
    assert (first.total_size, rest.next_page_token, list(first.tasks[0].artifacts)) == (3, "", [])


async def test_it_cancels_a_waiting_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, _client(play) as client:
        asked = await _sent(client, _message("ask"))
        canceled = await client.cancel_task(pb.CancelTaskRequest(id=asked.id))
    assert canceled.status.state == pb.TaskState.TASK_STATE_CANCELED


async def test_figures_in_the_metadata_arrive_exactly(redis: Redis, redis_url: str) -> None:
    """The SDK's types turn every number into a binary float; what reaches the worker has not been through them."""
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",'
        '"parts":[{"text":"x"}]},"metadata":{"policy_doc":{"limit":12345678901234567.89,"count":9007199254740993}}}}'
    )
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    async with stage(redis, redis_url) as play:
        await play.client.post("/", content=body, headers=headers)
    assert play.worker.works[0].record.request.policy_doc == '{"count":9007199254740993,"limit":12345678901234567.89}'


async def test_the_card_is_pure_for_1_0_and_merged_for_older_clients(redis_url: str, redis: Redis) -> None:
    async with stage(redis, redis_url, model_notice="rule-based planner, not an LLM") as play:
        pure = (await play.client.get("/.well-known/agent-card.json", headers={"A2A-Version": "1.0"})).json()
        merged = await play.client.get("/.well-known/agent-card.json")
        oldest = await play.client.get("/.well-known/agent.json")
        cached = await play.client.get("/.well-known/agent.json", headers={"If-None-Match": merged.headers["etag"]})
    assert "url" not in pure
    assert [(item["protocolBinding"], item["protocolVersion"]) for item in pure["supportedInterfaces"]] == [
        ("JSONRPC", "1.0"),
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
    ]
    assert (merged.json()["url"], merged.json()["protocolVersion"]) == (play.url, "0.3")
    assert oldest.json() == merged.json()
    assert cached.status_code == 304
    assert pure["capabilities"]["streaming"] is True
    assert "rule-based planner, not an LLM" in pure["description"]
