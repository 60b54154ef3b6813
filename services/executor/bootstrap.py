"""Joins the executor's parts."""

from services.executor.adapters.anthropic_model import AnthropicModel
from services.executor.adapters.file_tenants import FileTenants
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.policy_http import HttpPolicy
from services.executor.adapters.redis_learned import RedisLearned
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.tool_servers import DetectingToolServers
from services.executor.core.context import Limits, Ports
from services.executor.core.prompts.texts import load as load_prompts
from services.executor.core.worker import Worker
from services.executor.hosting import run_sessions
from services.executor.ports import Tier
from services.executor.settings import Settings
from shared.infra.redis import connect


async def carry_out_turns(settings: Settings) -> None:
    """The service: the real worker on its ports, until SIGTERM or SIGINT. Also raises ``BadTenantFile``."""
    tenants = FileTenants.read(settings.tenant_file, settings.green_agent_mcp_url)
    limits = Limits(tool_seconds=settings.tool_timeout, task_seconds=settings.task_timeout)
    policy, model = HttpPolicy(settings.policy_url), _model(settings)
    redis = connect(settings.redis_url)
    try:
        async with McpTools() as mcp, RestBridge() as rest:
            tools = DetectingToolServers(mcp, rest)
            ports = Ports(model, tools, policy, tenants, RedisLearned(redis))
            await run_sessions(settings, Worker(ports, limits, load_prompts()))
    finally:
        await redis.aclose()
        await policy.close()
        await model.close()


def _model(settings: Settings) -> AnthropicModel:
    return AnthropicModel(
        tiers={Tier.HAIKU: settings.haiku_model, Tier.SONNET: settings.sonnet_model},
        fallbacks=dict.fromkeys(Tier, settings.fallback_model),
        api_key=settings.anthropic_api_key,
        base_url=settings.anthropic_base_url or None,
    )
