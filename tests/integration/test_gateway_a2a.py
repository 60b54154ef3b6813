"""What A2A clients are told by the gateway of this worker: verdicts, exact figures, cards."""

from redis.asyncio import Redis

from tests.integration.gateway_stage import stage


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
