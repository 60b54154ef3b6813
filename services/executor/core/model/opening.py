"""How a conversation begins: the task and what is known before it; and how it begins anew with another model."""

from collections.abc import Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

from services.executor.core.dossier.past_calls import tool_of_condition
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import ImageBlock, Message, TextBlock
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import Json, dumps, loads_object

_KEY = "talk:opening"
_FIRST = (
    "task", "files", "now", "history", "primer", "knowledge", "entities", "policy_advice", "constraints", "thresholds",
    "documents", "answer_format", "process_types",
)  # fmt: skip
_MOST_RULES, _MOST_RULE = 60, 300


async def opening_sections(ctx: TurnContext) -> dict[str, Json]:
    """What the first message says; journaled, so that the conversation keeps its beginning to the byte.

    A turn after files came with a later message has these too: what was asked before it is not asked again.
    """

    async def compose() -> str:
        return dumps(_sections(ctx) | _list_designed_kinds(ctx))

    opening = loads_object(await ctx.journal.run_step(_KEY, "note", compose))
    came_later = ctx.record.later_files or ctx.turn.files
    return {**opening, "files": ctx.sections["files"]} if came_later else opening


def _list_designed_kinds(ctx: TurnContext) -> dict[str, Json]:
    """The kinds of task that were designed for the tenant, so that they keep their names."""
    names = () if ctx.process.settled else ctx.experience.designed
    return {"process_types": [*names]} if names else {}


def first_message(sections: dict[str, Json], pictures: Sequence[ImageBlock] = ()) -> Message:
    """The images that came with the task, and then everything that is said."""
    return Message("user", (*pictures, TextBlock(render(sections))))


def first_message_anew(
    sections: dict[str, Json], parts: Json, so_far: Sequence[Json], pictures: Sequence[ImageBlock] = ()
) -> Message:
    """The first message of a new history: the task again, its parts, and what was called so far as data."""
    return first_message({**sections, "parts": parts, "so_far": list(so_far)}, pictures)


def _sections(ctx: TurnContext) -> dict[str, Json]:
    solver = ctx.record.request.solver
    wanted: dict[str, Json] = {**ctx.sections, "now": _now(ctx), "constraints": _constraints(ctx)}
    if solver is not None:
        wanted["answer_format"] = "prose" if solver.expected_format == "single" else "list"
    return {name: wanted[name] for name in _FIRST if wanted.get(name) not in (None, "", [], {})}


def _now(ctx: TurnContext) -> Json:
    local, practice = local_now(ctx), ctx.record.request.practice
    told: dict[str, Json] = {"current_time": local.isoformat(timespec="minutes"), "weekday": local.strftime("%A")}
    if practice and practice.turn:
        told["turn"] = practice.turn
        told["first_turn"] = (practice.began or local).isoformat(timespec="minutes")
    return told


def local_now(ctx: TurnContext) -> datetime:
    """The time that the task is read by, where the user is: the tenant's, fixed when the task was accepted; in a world
    with a time of its own, that world's, in its zone.
    """
    return ctx.clock or ctx.record.accepted_at.astimezone(ZoneInfo(ctx.tenant.time_zone))


def _constraints(ctx: TurnContext) -> str:
    """What was foreseen, and every standing rule that can concern a tool of the task, in words."""
    foreseen = str(ctx.sections.get("constraints") or "")
    process = "\n".join(ctx.process.template.instructions.values()) if ctx.process.settled else ""
    practice = ctx.record.request.practice
    offered = ctx.toolbox.names
    rules = [
        _in_words(rule)
        for policy in ctx.policies
        for rule in policy.rules
        if not rule.report_only and tool_of_condition(rule.condition) in offered
    ]
    rules += filter(None, (_tool_rules_in_words(policy, offered) for policy in ctx.policies))
    standing = "\n".join(f"- {text[:_MOST_RULE]}" for text in rules[:_MOST_RULES])
    said = f"Standing rules; a write that one of them concerns is checked, and may wait for a person:\n{standing}"
    if standing and ctx.policies == ctx.tenant.policies:  # many tasks have them in common
        ctx.journal.share(dumps(said)[1:-1])
    told = (practice.instructions if practice else "", process, foreseen, said if standing else "")
    return "\n".join(filter(None, told))


def _in_words(rule: Rule) -> str:
    who = f" by {rule.level}" if rule.level else ""
    return f"{rule.action.replace('_', ' ')}{who} when {rule.condition}" + (f": {rule.reason}" if rule.reason else "")


def _tool_rules_in_words(policy: Policy, offered: frozenset[str]) -> str:
    told = (
        f"{rule.kind.replace('_', ' ')} {rule.tool}" + (f": {rule.reason}" if rule.reason else "")
        for rule in policy.tool_rules
        if any(fnmatchcase(name, rule.tool.strip()) for name in offered)
    )
    return "; ".join(told)
