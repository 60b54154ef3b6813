"""``python -m tools.bench.throughput.bare_agent PORT MODEL_URL TOOLS_URL``: an agent, and no more.

The official SDKs of model, tools and protocol, a loop between them, and nothing else: no rules, no proof, no memory.
"""

import sys
from collections.abc import Sequence

import anthropic
import uvloop
from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam, ToolUseBlock
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from tools.bench.throughput.agent_server import serve_agent

_TOKENS = 4096
_RULES = "You carry out business tasks with the tools that you are given. Read before you write."


class BareAgent:
    def __init__(self, model: anthropic.AsyncAnthropic, company: Client, tools: Sequence[ToolParam]) -> None:
        self._model = model
        self._company = company
        self._tools = tools

    async def carry_out(self, task: str) -> str:
        messages: list[MessageParam] = [{"role": "user", "content": task}]
        while True:
            reply = await self._model.messages.create(
                model="canned", max_tokens=_TOKENS, system=_RULES, tools=self._tools, messages=messages
            )
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")
            results = [await self._call(call) for call in calls]
            messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]

    async def _call(self, use: ToolUseBlock) -> ToolResultBlockParam:
        answer = await self._company.call_tool(use.name, dict(use.input))
        text = "".join(block.text for block in answer.content if isinstance(block, TextContent))
        return {"type": "tool_result", "tool_use_id": use.id, "content": text}


async def main(port: int, model_url: str, tools_url: str) -> None:
    async with (
        anthropic.AsyncAnthropic(base_url=model_url, api_key="canned") as model,
        Client(streamable_http_client(tools_url)) as company,
    ):
        listed = (await company.list_tools()).tools
        shown: list[ToolParam] = [
            {"name": tool.name, "description": tool.description or "", "input_schema": tool.input_schema}
            for tool in listed
        ]
        await serve_agent(BareAgent(model, company, shown).carry_out, port)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
