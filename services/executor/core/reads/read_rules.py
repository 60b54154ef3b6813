"""Rules about tools that are called without a plan: asked for once a turn, kept at each call."""

from collections.abc import Iterable, Sequence

from services.executor.core.dossier.endings import Failed
from services.executor.core.dossier.past_calls import has_tool_rules, of_session, sayable
from services.executor.core.session.context import TurnContext
from services.executor.ports.policy import PolicyUnavailable
from services.executor.ports.tools import Tool
from shared.contracts.allowance import AllowanceRequest, Allowances, OfferedTool
from shared.contracts.policy import CallContext, EvaluateRequest, PastCall, Verdict
from shared.domain.exact_json import JsonObject
from shared.domain.words import ToolClass

_CALL = "read"
_TOOL_RULES_ALONE = {"rules": (), "text_rules": (), "text_default": "allow"}


class ReadRules:
    """``refusal`` says why a call must not be made; ``make`` one for each state that calls tools."""

    def __init__(self, ctx: TurnContext, allowances: Allowances | None) -> None:
        self._ctx = ctx
        self._tools = {allowance.tool: allowance for allowance in allowances.tools} if allowances else {}

    async def refusal(self, key: str, tool: Tool, arguments: JsonObject, since: Sequence[PastCall]) -> str | None:
        """The rule and its reason, or None. ``since``: this task's calls so far, those under way included."""
        allowance = self._tools.get(tool.name)
        if allowance is None:
            return None
        bar = allowance.bar_to(since)
        if bar is not None:
            return f"{bar.rule_id}: {bar.reason}"
        return await self._verdict(key, tool, arguments, since) if allowance.ask else None

    def barring_rule(self, tool: str) -> str | None:
        """The rule, and its reason, that forbids any call of the tool, whatever was called before; or None."""
        bars = self._tools[tool].bars if tool in self._tools else ()
        return f"{bars[0].rule_id}: {bars[0].reason}" if bars else None

    async def _verdict(self, key: str, tool: Tool, arguments: JsonObject, since: Sequence[PastCall]) -> str | None:
        """A verdict of its own, for a rule that looks at the arguments."""

        async def ask() -> str:
            try:
                return (
                    await self._ctx.ports.policy.evaluate(self._evaluation_request(tool, arguments, since))
                ).to_json()
            except PolicyUnavailable as error:
                why = f"no policy verdict on {tool.name}, so it was not called: {error}"
                raise Failed(why, "policy_service") from error

        verdict = Verdict.from_json(await self._ctx.journal.run_step(f"{key}:rule", "verdict", ask))
        return next((f"{refused.rule_id}: {refused.reason}" for refused in verdict.refusals), None)

    def _evaluation_request(self, tool: Tool, arguments: JsonObject, since: Sequence[PastCall]) -> EvaluateRequest:
        ctx = self._ctx
        call = CallContext(call_id=_CALL, tool=tool.name, fields=sayable(arguments), tool_class=tool.tool_class)
        return EvaluateRequest(
            policies=tuple(policy.model_copy(update=_TOOL_RULES_ALONE) for policy in ctx.policies),
            calls=(call,),
            history=(*of_session(ctx.session.calls, ctx.record.task_id), *since),
            binding=True,
        )


async def read_rules(ctx: TurnContext, step: str, classes: Iterable[ToolClass]) -> ReadRules:
    """The rules for the tools of some classes, asked for once; ends the run if they cannot be had."""
    if not has_tool_rules(ctx.policies):
        return ReadRules(ctx, None)
    wanted = frozenset(classes)

    async def ask() -> str:
        return (await _allowances(ctx, wanted)).to_json()

    found = Allowances.from_json(await ctx.journal.run_step(f"{step}:rules", "verdict", ask))
    if found.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in found.problems)
        raise Failed(f"policy invalid, so no tool was called: {problems}")
    return ReadRules(ctx, found)


async def _allowances(ctx: TurnContext, classes: frozenset[ToolClass]) -> Allowances:
    offered = tuple(
        OfferedTool(tool=tool.name, tool_class=tool.tool_class)
        for tool in ctx.toolbox.tools.values()
        if tool.tool_class in classes
    )
    earlier = of_session(ctx.session.calls, ctx.record.task_id)
    request = AllowanceRequest(policies=ctx.policies, tools=offered, history=earlier)
    try:
        return await ctx.ports.policy.allowances(request)
    except PolicyUnavailable as error:
        raise Failed(f"no rules for tools, so none was called: {error}", "policy_service") from error
