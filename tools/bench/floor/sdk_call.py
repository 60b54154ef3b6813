"""What a call of a model by the official SDK costs on this machine, without a worker around it."""

from time import process_time

from anthropic import AsyncAnthropic, DefaultAioHttpClient

_TEXT = (
    "x" * 100_000
)  # as long as a request with a long catalogue; in one piece, which is the least that a call can cost


async def measure_sdk_call(model_port: int, calls: int) -> float:
    """CPU milliseconds of this process a call, over the SDK's aiohttp transport."""
    address = f"http://127.0.0.1:{model_port}/0"
    async with AsyncAnthropic(base_url=address, api_key="none", http_client=DefaultAioHttpClient()) as model:
        await _ask(model)  # opens the connection, builds the SDK's types
        spent = process_time()
        for _ in range(calls):
            await _ask(model)
        return (process_time() - spent) * 1000 / calls


async def _ask(model: AsyncAnthropic) -> None:
    await model.messages.create(
        model="canned", max_tokens=1, system=_TEXT, messages=[{"role": "user", "content": "Answer."}]
    )
