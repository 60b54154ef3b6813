"""Policies in plain words: a model translates each once into rules, which are enforced if its sentences support them,
or used as advice.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from pydantic import BaseModel, JsonValue

from services.executor.core.model.model_calls import ModelQuestion, Unanswered, ask_checked
from services.executor.core.session.context import TurnContext
from services.executor.core.states.machine import Failed, FailedPart
from services.executor.core.states.prompts import TRANSLATION_SCHEMA
from services.executor.ports.policy import PolicyUnavailable
from shared.contracts.policy import Policy, Rule, ToolRule
from shared.contracts.prose import Candidate, KnownTool, ProseAnswer, ProseRequest
from shared.contracts.tenant import ProsePolicy
from shared.domain.exact_json import Json, digest
from shared.ports.store import StoreUnavailable

UNENFORCED = "policy_unenforced"  # where the task's metadata says it
_MOST_QUOTED = 3
_LONGEST_QUOTE = 160
_COMMANDS = re.compile(
    r"\b(?:must|mustn't|shall|should|has to|have to|may only|only|may not|not|never|no|none|nobody|neither|cannot|can't"
    r"|don't|doesn't|isn't|aren't|won't|forbid(?:s|den)?|prohibit(?:s|ed)?|ban(?:s|ned)?|disallow(?:s|ed)?|refus\w+"
    r"|reject\w*|den(?:y|ies|ied)|block(?:s|ed)?|requir\w+|needs?|obliged|mandatory|compulsory|always|at (?:most|least)"
    r"|up to|maximum|minimum|limits?|limited|caps?|capped|exceed\w*|unless|except|without|approv\w+|confirm\w*"
    r"|consent\w*|authori[sz]\w+|permi(?:t|ts|tted|ssion)|allow(?:s|ed)?|escalat\w+|sign-?off)\b",
    re.IGNORECASE,
)
_BOUNDS = re.compile(  # these, with a figure
    r"\b(?:over|above|below|under|within|before|after|until|once|twice|more than|less than|each|every|from)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|has been|have been) (?:last |first )?\w+ed\b", re.IGNORECASE)
_TONE = re.compile(
    r"^(?:please )?(?:always )?(?:be|stay|remain|sound|write|answer|reply|keep (?:it|your|the tone|answers))\b"
    r"[\w ,'-]*\b(?:kind|polite|friendly|brief|short|concise|clear|courteous|formal|helpful|warm|nice|plain)\b"
    r"[\w ,'-]*[.!]?$",
    re.IGNORECASE,
)
_SENTENCE_ABOUT_TONE = re.compile(  # what is said of how words sound: "Text messages to customers are friendly."
    r"^[\w ,'-]*\b(?:is|are|sounds?|stays?|remains?) (?:always )?"
    r"(?:(?:kind|polite|friendly|brief|short|concise|clear|courteous|formal|helpful|warm|nice|plain)"
    r"(?:,? and |, |[.!]?$))+$",
    re.IGNORECASE,
)
_BEGINNING_OF_STATEMENT = re.compile(  # a sentence that tells how things are begins with what it is about
    r"^(?:this|these|that|the|our|we|it|they|a|an|there|here|its|their|in|for|as|welcome|thank|thanks|note)\b",
    re.IGNORECASE,
)


def binding_sentences(sentences: Iterable[str]) -> tuple[str, ...]:
    """The sentences that command or forbid something; plain descriptions and remarks on tone are left out."""
    return tuple(sentence for sentence in sentences if _is_binding(sentence.replace("’", "'")))


def write_unenforced_sentence(text: str, untranslated: Sequence[str], enforced: bool) -> str:
    """The sentence for the answer on which part of a request's own policy was not enforced; empty if all of it was."""
    if not text.strip():
        return ""
    if not enforced:
        return "The policy that came in plain words with this request was taken as advice; it was not enforced."
    if not untranslated:
        return ""
    quoted = ", ".join(f"“{_shorten(sentence)}”" for sentence in untranslated[:_MOST_QUOTED])
    more = len(untranslated) - _MOST_QUOTED
    others = f" and {more} more" if more > 0 else ""
    return f"Of the policy that came in plain words with this request, this was not enforced: {quoted}{others}."


def read_unenforced_sentence(ctx: TurnContext) -> str:
    """The stored sentence of ``write_unenforced_sentence`` for this run; empty if there is none."""
    said: JsonValue = ctx.notes.get(UNENFORCED)
    return said if isinstance(said, str) else ""


def _is_binding(sentence: str) -> bool:
    said = _PAST.sub("", sentence.strip())
    if (_TONE.match(said) or _SENTENCE_ABOUT_TONE.match(said)) and not _COMMANDS.search(said.replace("always", "")):
        return False
    bounded = _BOUNDS.search(said) is not None and any(map(str.isdigit, said))
    return bounded or _COMMANDS.search(said) is not None or _BEGINNING_OF_STATEMENT.match(said) is None


def _shorten(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST_QUOTE else f"{sentence[: _LONGEST_QUOTE - 1].rstrip()}…"


_TRANSLATION_VERSION = 1  # of the translation: a new one translates every text anew
_REQUEST = "request"
_VALUES = "condition"


class ProposedRule(BaseModel):
    """One rule as the model proposes it. Fields that do not belong to its kind are empty."""

    quote: str
    kind: str
    tool: str = ""
    limit: int | None = None
    after: tuple[str, ...] = ()
    condition: str = ""
    action: str = ""
    level: str = ""
    reason: str = ""


class ProposedRules(BaseModel):
    rules: tuple[ProposedRule, ...]


async def with_translated_rules(ctx: TurnContext) -> TurnContext:
    """The context with the rules translated from prose policies: always listed, and enforced if the tenant says so.

    Raises ``Failed`` if an enforced policy has no translation, or has a commanding or forbidding sentence that became
    no rule.
    """
    sources = _list_prose_policies(ctx)
    if not sources:
        return ctx
    enforced = ctx.tenant.enforce_prose
    rules: list[Policy] = []
    told: list[JsonValue] = []
    own_left: Sequence[str] = ()  # sentences of the request's own policy that became no rule
    for source in sources:
        try:
            answer = await _translate_policy(ctx, source)
        except (PolicyUnavailable, StoreUnavailable, Unanswered) as error:
            if enforced:
                why = f"the policy {source.id!r} could not be translated into rules: {error}"
                part: FailedPart = "model" if isinstance(error, Unanswered) else "policy_service"
                raise Failed(why, part) from error
            told.append({"policy": source.id, "enforced": False, "problem": str(error)})
            continue
        if enforced:
            # A sentence that commands or forbids has to be in a rule, whatever the translator returned.
            if left := binding_sentences(answer.untranslated):
                raise Failed(f"the policy {source.id!r} is to be enforced, and no rule says: {' | '.join(left)}")
            rules.append(answer.policy.model_copy(update={"id": f"prose:{source.id}"}))
        told.append(_describe_translation(source, answer, enforced))
        own_left = answer.untranslated if source.id == _REQUEST else ()
    own = sources[-1].text if sources[-1].id == _REQUEST else ""
    said = write_unenforced_sentence(own, own_left, enforced)
    return replace(
        ctx,
        policies=(*ctx.policies, *rules),
        sections={**ctx.sections, "policy_advice": "\n\n".join(source.text for source in sources)},
        notes={**ctx.notes, "prose_policy": told, **({UNENFORCED: said} if said else {})},
    )


def _list_prose_policies(ctx: TurnContext) -> tuple[ProsePolicy, ...]:
    """The tenant's prose policies, and the request's own if it has one in plain words."""
    advice = ctx.sections.get("policy_advice")
    own = (ProsePolicy(id=_REQUEST, text=advice),) if isinstance(advice, str) and advice.strip() else ()
    return (*ctx.tenant.prose_policies, *own)


async def _translate_policy(ctx: TurnContext, source: ProsePolicy) -> ProseAnswer:
    """The translation of a policy: from the journal, from an earlier task of the tenant, or made and checked now."""
    # The archive keeps no order of a tool's fields.
    tools = [KnownTool(name=tool.name, fields=tuple(sorted(tool.parameters))) for tool in ctx.toolbox.tools.values()]
    known: list[Json] = [[tool.name, *tool.fields] for tool in tools]
    key = digest([_TRANSLATION_VERSION, source.text, known, ctx.prompts.translate, ctx.limits.translator])[:32]

    async def find() -> str:
        kept = await ctx.ports.learned.get_translation(ctx.record.tenant, key)
        if kept is not None:
            return kept
        fresh = (await _ask_translation(ctx, source, tools, key)).to_json()
        await ctx.ports.learned.store_translation(ctx.record.tenant, key, fresh)
        return fresh

    return ProseAnswer.from_json(await ctx.journal.run_step(f"prose:{key}", "verdict", find))


async def _ask_translation(ctx: TurnContext, source: ProsePolicy, tools: Sequence[KnownTool], key: str) -> ProseAnswer:
    described: list[Json] = [
        {"name": known.name, "class": tool.tool_class.value, "fields": [*known.fields]}
        for known, tool in zip(tools, ctx.toolbox.tools.values(), strict=True)
    ]
    question = ModelQuestion(
        step=f"prose:{key}:asked",
        system=(ctx.prompts.role, ctx.prompts.translate),
        sections={"source": source.text, "tools": described},
        schema=TRANSLATION_SCHEMA,
        max_tokens=4096,
    )
    proposals, _ = await ask_checked(ctx, question, ProposedRules, lambda found: found)
    candidates = tuple(_build_candidate(number, rule) for number, rule in enumerate(proposals.rules, 1))
    fields = tuple(sorted({field for tool in tools for field in tool.fields}))
    return await ctx.ports.policy.check_prose(
        ProseRequest(source=source.text, candidates=candidates, tools=tuple(tools), fields=fields)
    )


def _build_candidate(number: int, proposed: ProposedRule) -> Candidate:
    """The proposal as a rule, which the policy service checks."""
    rule_id, reason = f"P{number}", proposed.reason or proposed.quote
    if proposed.kind == _VALUES:
        condition = (
            f'tool == "{proposed.tool}" && ({proposed.condition})'
            if proposed.tool and proposed.condition
            else proposed.condition
        )
        rule = Rule(
            id=rule_id,
            condition=condition or f'tool == "{proposed.tool}"',
            action=proposed.action,
            level=proposed.level or None,
            reason=reason,
            quote=proposed.quote,
        )
        return Candidate(quote=proposed.quote, rule=rule)
    tool_rule = ToolRule(
        id=rule_id,
        kind=proposed.kind,
        tool=proposed.tool,
        limit=proposed.limit,
        after=proposed.after,
        condition=proposed.condition or None,
        level=proposed.level or None,
        reason=reason,
        quote=proposed.quote,
    )
    return Candidate(quote=proposed.quote, tool_rule=tool_rule)


def _describe_translation(source: ProsePolicy, answer: ProseAnswer, enforced: bool) -> JsonValue:
    """The translation for clients: accepted rules, refused rules, and the sentences that became no rule."""
    rules = [
        rule.model_dump(mode="json", exclude_defaults=True)
        for rule in (*answer.policy.rules, *answer.policy.tool_rules)
    ]
    refused = [{"rule": refused.rule_id, "cause": refused.cause} for refused in answer.refused]
    said = {"policy": source.id, "enforced": enforced, "rules": rules, "refused": refused}
    return cast(JsonValue, {**said, "untranslated": list(answer.untranslated)})
