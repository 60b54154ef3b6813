"""``langgraph_agent PORT MODEL_URL TOOLS_URL``, in its own environment: LangGraph's agent, with nothing kept."""

import sys

import uvloop
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from tools.bench.throughput.agent_server import serve_agent


async def main(port: int, model_url: str, tools_url: str) -> None:
    company = MultiServerMCPClient({"company": {"url": tools_url, "transport": "streamable_http"}})
    async with company.session("company") as session:
        model = ChatAnthropic(model="canned", base_url=model_url, api_key="canned", max_tokens=4096, max_retries=0)
        graph = create_agent(model, await load_mcp_tools(session))

        async def carry_out(task: str) -> str:
            state = await graph.ainvoke({"messages": [("user", task)]})
            return str(state["messages"][-1].text)

        await serve_agent(carry_out, port)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
