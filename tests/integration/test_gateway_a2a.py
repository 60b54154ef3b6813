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
