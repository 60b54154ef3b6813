"""Policies in plain words: a model translates each once into rules, which are enforced, or serve as advice."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from pydantic import BaseModel, JsonValue

from services.executor.core.model.model_calls import ModelQuestion, Unanswered, ask_until_accepted
from services.executor.core.session.context import TurnContext
from services.executor.core.states.machine import Failed, FailedComponent
from services.executor.core.states.prompts import TRANSLATION_SCHEMA
from services.executor.ports.services import PolicyUnavailable
from shared.contracts.policy import Policy, Rule, ToolRule
from shared.contracts.prose import KnownTool, ProseAnswer, ProseRequest, TranslatedRule
from shared.contracts.tenant import ProsePolicy
from shared.domain.exact_json import Json, digest
from shared.ports.store import StoreUnavailable

_UNENFORCED_NOTE_KEY = "policy_unenforced"  # the name of the sentence in the task's metadata
_MOST_QUOTED = 3
_LONGEST_QUOTE = 160
_COMMAND_WORD_PATTERN = re.compile(
    r"\b(?:must|mustn't|shall|should|has to|have to|may only|only|may not|not|never|no|none|nobody|neither|cannot|can't"
    r"|don't|doesn't|isn't|aren't|won't|forbid(?:s|den)?|prohibit(?:s|ed)?|ban(?:s|ned)?|disallow(?:s|ed)?|refus\w+"
    r"|reject\w*|den(?:y|ies|ied)|block(?:s|ed)?|requir\w+|needs?|obliged|mandatory|compulsory|always|at (?:most|least)"
    r"|up to|maximum|minimum|limits?|limited|caps?|capped|exceed\w*|unless|except|without|approv\w+|confirm\w*"
    r"|consent\w*|authori[sz]\w+|permi(?:t|ts|tted|ssion)|allow(?:s|ed)?|escalat\w+|sign-?off)\b",
    re.IGNORECASE,
)
_BOUND_WORD_PATTERN = re.compile(  # these, with a figure
    r"\b(?:over|above|below|under|within|before|after|until|once|twice|more than|less than|each|every|from)\b",
    re.IGNORECASE,
)
_PAST_PASSIVE_PATTERN = re.compile(r"\b(?:was|were|has been|have been) (?:last |first )?\w+ed\b", re.IGNORECASE)
_COMMAND_ABOUT_TONE_PATTERN = re.compile(
    r"^(?:please )?(?:always )?(?:be|stay|remain|sound|write|answer|reply|keep (?:it|your|the tone|answers))\b"
    r"[\w ,'-]*\b(?:kind|polite|friendly|brief|short|concise|clear|courteous|formal|helpful|warm|nice|plain)\b"
    r"[\w ,'-]*[.!]?$",
    re.IGNORECASE,
)
_STATEMENT_ABOUT_TONE_PATTERN = (
    re.compile(  # what is said of how words sound: "Text messages to customers are friendly."
        r"^[\w ,'-]*\b(?:is|are|sounds?|stays?|remains?) (?:always )?"
        r"(?:(?:kind|polite|friendly|brief|short|concise|clear|courteous|formal|helpful|warm|nice|plain)"
        r"(?:,? and |, |[.!]?$))+$",
        re.IGNORECASE,
    )
)
_STATEMENT_BEGINNING_PATTERN = re.compile(  # a sentence that tells how things are begins with what it is about
    r"^(?:this|these|that|the|our|we|it|they|a|an|there|here|its|their|in|for|as|welcome|thank|thanks|note)\b",
    re.IGNORECASE,
)


def select_binding_sentences(sentences: Iterable[str]) -> tuple[str, ...]:
    """The sentences that command or forbid something; plain descriptions and remarks on tone are left out."""
    return tuple(sentence for sentence in sentences if _is_binding(sentence.replace("’", "'")))


def _write_unenforced_sentence(text: str, untranslated: Sequence[str], is_enforced: bool) -> str:
    """The sentence of an answer that says what of a request's own policy was not enforced; empty if all of it was."""
    if not text.strip():
        return ""
    if not is_enforced:
        return "The policy that came in plain words with this request was taken as advice; it was not enforced."
    if not untranslated:
        return ""
    quotes = ", ".join(f"“{_shorten(sentence)}”" for sentence in untranslated[:_MOST_QUOTED])
    if len(untranslated) > _MOST_QUOTED:
        quotes += f" and {len(untranslated) - _MOST_QUOTED} more"
    return f"Of the policy that came in plain words with this request, this was not enforced: {quotes}."


def read_unenforced_sentence(ctx: TurnContext) -> str:
    """The stored sentence of ``_write_unenforced_sentence`` for this run; empty if there is none."""
    note: JsonValue = ctx.notes.get(_UNENFORCED_NOTE_KEY)
    return note if isinstance(note, str) else ""


def _is_binding(sentence: str) -> bool:
    text = _PAST_PASSIVE_PATTERN.sub("", sentence.strip())
    is_about_tone = _COMMAND_ABOUT_TONE_PATTERN.match(text) or _STATEMENT_ABOUT_TONE_PATTERN.match(text)
    if is_about_tone and not _COMMAND_WORD_PATTERN.search(text.replace("always", "")):
        return False
    has_bound = _BOUND_WORD_PATTERN.search(text) is not None and any(map(str.isdigit, text))
    return (
        has_bound or _COMMAND_WORD_PATTERN.search(text) is not None or _STATEMENT_BEGINNING_PATTERN.match(text) is None
    )


def _shorten(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST_QUOTE else f"{sentence[: _LONGEST_QUOTE - 1].rstrip()}…"


_TRANSLATION_VERSION = 1  # of the translation: a new one translates every text anew
_REQUEST_POLICY_ID = "request"
_KIND_OF_CONDITION_RULES = "condition"


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
    is_enforced = ctx.tenant.enforce_prose
    rules: list[Policy] = []
    translations: list[JsonValue] = []
    untranslated: Sequence[str] = ()  # sentences of the request's own policy that became no rule
    for source in sources:
        try:
            answer = await _translate_policy(ctx, source)
        except (PolicyUnavailable, StoreUnavailable, Unanswered) as error:
            if is_enforced:
                reason = f"the policy {source.id!r} could not be translated into rules: {error}"
                part: FailedComponent = "model" if isinstance(error, Unanswered) else "policy_service"
                raise Failed(reason, part) from error
            translations.append({"policy": source.id, "enforced": False, "problem": str(error)})
            continue
        if is_enforced:
            # A sentence that commands or forbids has to be in a rule, whatever the translator returned.
            if unsaid := select_binding_sentences(answer.untranslated):
                raise Failed(f"the policy {source.id!r} is to be enforced, and no rule says: {' | '.join(unsaid)}")
            rules.append(answer.policy.model_copy(update={"id": f"prose:{source.id}"}))
        translations.append(_describe_translation(source, answer, is_enforced))
        untranslated = answer.untranslated if source.id == _REQUEST_POLICY_ID else ()
    request_text = sources[-1].text if sources[-1].id == _REQUEST_POLICY_ID else ""
    unenforced = _write_unenforced_sentence(request_text, untranslated, is_enforced)
    return replace(
        ctx,
        policies=(*ctx.policies, *rules),
        sections={**ctx.sections, "policy_advice": "\n\n".join(source.text for source in sources)},
        notes={**ctx.notes, "prose_policy": translations, **({_UNENFORCED_NOTE_KEY: unenforced} if unenforced else {})},
    )


def _list_prose_policies(ctx: TurnContext) -> tuple[ProsePolicy, ...]:
    """The tenant's prose policies, and the request's own if it has one in plain words."""
    advice = ctx.sections.get("policy_advice")
    if not isinstance(advice, str) or not advice.strip():
        return ctx.tenant.prose_policies
    return (*ctx.tenant.prose_policies, ProsePolicy(id=_REQUEST_POLICY_ID, text=advice))


async def _translate_policy(ctx: TurnContext, source: ProsePolicy) -> ProseAnswer:
    """The translation of a policy: from the journal, from an earlier task of the tenant, or made and checked now."""
    # The archive keeps no order of a tool's fields.
    tools = [KnownTool(name=tool.name, fields=tuple(sorted(tool.parameters))) for tool in ctx.toolbox.tools.values()]
    signatures: list[Json] = [[tool.name, *tool.fields] for tool in tools]
    key = digest([_TRANSLATION_VERSION, source.text, signatures, ctx.prompts.translate, ctx.limits.translator])[:32]

    async def find() -> str:
        stored = await ctx.ports.learned.get_policy_translation(ctx.record.tenant, key)
        if stored is not None:
            return stored
        translation = (await _ask_translation(ctx, source, tools, key)).to_json()
        await ctx.ports.learned.store_policy_translation(ctx.record.tenant, key, translation)
        return translation

    return ProseAnswer.from_json(await ctx.journal.run_step(f"prose:{key}", "verdict", find))


async def _ask_translation(ctx: TurnContext, source: ProsePolicy, tools: Sequence[KnownTool], key: str) -> ProseAnswer:
    descriptions: list[Json] = [
        {"name": known_tool.name, "class": tool.tool_class.value, "fields": [*known_tool.fields]}
        for known_tool, tool in zip(tools, ctx.toolbox.tools.values(), strict=True)
    ]
    question = ModelQuestion(
        step=f"prose:{key}:asked",
        system=(ctx.prompts.role, ctx.prompts.translate),
        sections={"source": source.text, "tools": descriptions},
        schema=TRANSLATION_SCHEMA,
        max_tokens=4096,
    )
    proposals, _ = await ask_until_accepted(ctx, question, ProposedRules, lambda proposals: proposals)
    candidates = tuple(_build_translated_rule(number, rule) for number, rule in enumerate(proposals.rules, 1))
    fields = tuple(sorted({field for tool in tools for field in tool.fields}))
    request = ProseRequest(source=source.text, candidates=candidates, tools=tuple(tools), fields=fields)
    return await ctx.ports.policy.check_prose(request)


def _build_translated_rule(number: int, proposed: ProposedRule) -> TranslatedRule:
    """The proposal as a rule, which the policy service checks."""
    rule_id, reason = f"P{number}", proposed.reason or proposed.quote
    if proposed.kind == _KIND_OF_CONDITION_RULES:
        of_tool = f'tool == "{proposed.tool}"'
        condition = f"{of_tool} && ({proposed.condition})" if proposed.tool else proposed.condition
        rule = Rule(
            id=rule_id,
            condition=condition if proposed.condition else of_tool,
            action=proposed.action,
            level=proposed.level or None,
            reason=reason,
            quote=proposed.quote,
        )
        return TranslatedRule(quote=proposed.quote, rule=rule)
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
    return TranslatedRule(quote=proposed.quote, tool_rule=tool_rule)


def _describe_translation(source: ProsePolicy, answer: ProseAnswer, is_enforced: bool) -> JsonValue:
    """The translation for clients: accepted rules, refused rules, and the sentences that became no rule."""
    policy_rules = (*answer.policy.rules, *answer.policy.tool_rules)
    rules = [rule.model_dump(mode="json", exclude_defaults=True) for rule in policy_rules]
    refusals = [{"rule": refusal.rule_id, "cause": refusal.cause} for refusal in answer.refused]
    description = {"policy": source.id, "enforced": is_enforced, "rules": rules, "refused": refusals}
    return cast(JsonValue, {**description, "untranslated": list(answer.untranslated)})
