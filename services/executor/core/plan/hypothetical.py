"""What the rules would say of a call that nobody makes."""

from services.executor.core.authorize.policy_check import format_refusal, reasons, verdict_on
from services.executor.core.dossier.dossier import Progress
from services.executor.core.session.context import TurnContext
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, loads


async def would_policy_say(ctx: TurnContext, progress: Progress, key: str, given: JsonObject) -> Json:
    """A step of the journal. Raises ``ValueError`` for a call that no tool could take."""
    tool = ctx.toolbox.tools.get(str(given.get("tool", "")))
    arguments = given.get("arguments")
    if tool is None or not isinstance(arguments, dict):
        raise ValueError("name one of the tools, and its arguments as an object")
    call = PlannedCall(
        call_id="hypothetical",
        connection_id=tool.connection_id,
        tool=tool.name,
        tool_class=tool.tool_class,
        arguments_json=dumps(arguments),
    )
    plan = WritePlan(task_id=ctx.record.task_id, round=0, calls=(call,))

    async def ask() -> str:
        verdict = await verdict_on(ctx, progress.template, progress.update_dossier(plan=plan).dossier)
        ctx.journal.tell("note", hypothetical=tool.name, passed=verdict.passed)
        return dumps(_in_words(verdict))

    return loads(await ctx.journal.run_step(key, "verdict", ask))


def _in_words(verdict: Verdict) -> Json:
    refused = [format_refusal(refusal) for refusal in verdict.refusals]
    said: list[Json] = [*reasons(verdict), *refused]
    blocked = verdict.blocked or bool(verdict.problems) or bool(refused)
    word = "blocked" if blocked else "waits for a person" if not verdict.passed else "passes"
    return {"it": word, "decided_by": verdict.escalation_level, "because": said}
