"""What is known before a task begins: lessons of similar tasks, limits of rules, and the earlier conversation.

Recent turns stay whole, older ones are summarised: those of a solver request for it alone (seed 001), a session's
own at the first message of a turn (seeds 002 and 003).
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import cast

from pydantic import JsonValue, TypeAdapter

from services.executor.core.model.model_calls import HelperUnavailable, ask_if_possible, ask_model, build_helper_request
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.journal import Journal
from services.executor.core.session.values import classify_threshold_kind
from services.executor.core.states.machine import ProcessTemplate
from services.executor.core.tools.toolbox import find_tool_of_condition
from services.executor.ports.services import Experience, LearnedStore
from services.executor.ports.turns import SessionState
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.outcome import Threshold, ThresholdKind
from shared.contracts.policy import Policy, Rule
from shared.contracts.relevance import (
    prune_cases,
    select_entities_to_show,
    select_relevant_cases,
    select_relevant_facts,
)
from shared.contracts.task import Turn, TurnKind
from shared.domain.bandit import Arm, Arms, StrategyChoice, choose_strategy
from shared.domain.cases import CaseOutcome
from shared.domain.conversation import SUMMARY_WORDS, TURNS_KEPT_VERBATIM, SpokenTurn, excerpt_turns, is_too_long
from shared.domain.estimates import PredictionTrust, count_recent_matches, judge_prediction_trust
from shared.domain.exact_json import Json, JsonObject, dumps, dumps_inexact, loads_object
from shared.domain.identity_cache import IdentityCache
from shared.domain.keywords import extract_keywords
from shared.domain.words import Strategy
from shared.ports.models import ModelReply, ModelRequest
from shared.ports.store import StoreUnavailable

_CASES_ADAPTER = TypeAdapter(tuple[CaseEntry, ...])
_FACTS_ADAPTER = TypeAdapter(tuple[KnownFact, ...])
_ENTITIES_ADAPTER = TypeAdapter(tuple[KnownEntity, ...])
_ACCURACY_ADAPTER = TypeAdapter(dict[ThresholdKind, PredictionAccuracy])
# How a past case is to be read: one that failed is never an example.
_USE_BY_OUTCOME = {CaseOutcome.SUCCESS: "follow", CaseOutcome.PARTIAL: "improve on", CaseOutcome.FAILURE: "avoid"}


async def recall(learned: LearnedStore, tenant: str, process_type: str, journal: Journal, task: str) -> Experience:
    """The tenant's experience for the process type, reduced to this task, and journaled. Empty if the store fails."""
    try:
        experience = await learned.recall(tenant, process_type)
    except StoreUnavailable as error:
        journal.add_event("note", problem=f"no primer was available: {error}")
        return Experience()
    selected = select_experience(experience, task, process_type, journal.now)
    arms = ",".join(f'"{name.value}":[{arm.n},{arm.units}]' for name, arm in experience.arms.items())
    recalled_parts = [f'"cases":{_CASES_ADAPTER.dump_json(selected.cases).decode()}']
    experience_parts = [f'"arms":{{{arms}}}']
    if selected.entities:
        recalled_parts.append(f'"entities":{_ENTITIES_ADAPTER.dump_json(selected.entities).decode()}')
    if selected.knowledge:
        experience_parts.append(f'"knowledge":{_FACTS_ADAPTER.dump_json(selected.knowledge).decode()}')
    if selected.accuracy:
        experience_parts.append(f'"accuracy":{_ACCURACY_ADAPTER.dump_json(dict(selected.accuracy)).decode()}')
    journal.record_input("experience", "{" + ",".join(experience_parts) + "}")
    journal.record_input("recalled", "{" + ",".join(recalled_parts) + "}")  # the same whatever the process
    return selected


def parse_noted_experience(text: str, recalled: str | None) -> Experience:
    """The experience that ``recall`` noted in two texts. An older release noted one only: then ``recalled`` is None."""
    fields = loads_object(text) | loads_object(recalled or "{}")
    arms = {Strategy(name): Arm(*cast("list[int]", pair)) for name, pair in cast(JsonObject, fields["arms"]).items()}
    return Experience(
        arms,
        _CASES_ADAPTER.validate_json(dumps(fields["cases"])),
        _FACTS_ADAPTER.validate_json(dumps(fields.get("knowledge", []))),
        _ENTITIES_ADAPTER.validate_json(dumps(fields.get("entities", []))),
        _ACCURACY_ADAPTER.validate_json(dumps(fields.get("accuracy", {}))),
    )


async def with_strategy(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its strategy, chosen by the bandit. Turns of an assessment always use the first strategy."""
    practice = ctx.record.request.practice
    is_turn = practice is not None and practice.turn > 0
    choice = choose_strategy({} if is_turn else ctx.experience.arms, ctx.limits.strategies)
    choice = choice._replace(why="one strategy for every turn of an assessment") if is_turn else choice
    bandit = _describe_arms(choice, ctx.experience.arms)
    ctx.journal.add_event("note", process_type=progress.process_type, read_only=progress.read_only)
    ctx.journal.add_event("note", strategy=choice.strategy.value, chosen_because=choice.why, bandit=bandit)
    update = {"strategy": choice.strategy, "strategy_why": choice.why, "bandit_json": json.dumps(bandit)}
    return progress.model_copy(update=update)


def _describe_arms(choice: StrategyChoice, arms: Arms) -> dict[str, JsonValue]:
    """The arms for the metadata: ``{strategy: {"n": pulls, "q": mean reward, "ucb": UCB1 score or None}}``."""
    rows = ((strategy.value, arms.get(strategy, Arm()), score) for strategy, score in choice.scores.items())
    return {
        name: {"n": arm.n, "q": round(arm.mean_reward, 4), "ucb": None if score is None else round(score, 4)}
        for name, arm, score in rows
    }


async def record_tool_names(learned: LearnedStore, tenant: str, names: frozenset[str], journal: Journal) -> None:
    """Adds these tools to the tenant's statistics. A failure of the store becomes a note and fails no task."""
    try:
        await learned.add_tool_names(tenant, names)
    except StoreUnavailable as error:
        journal.add_event("note", problem=f"the tools found were not counted: {error}")


def _describe_case(case: CaseEntry) -> Json:
    return {
        "use": _USE_BY_OUTCOME[case.outcome],
        "task": case.summary,
        "process": case.domain,
        "strategy": case.strategy.value,
        "quality": f"{case.quality:.2f}",
        "worked": list(case.worked),
        "failed": list(case.failed),
    }


def build_learned_sections(experience: Experience, journal: Journal, cases_shown: Json = None) -> dict[str, Json]:
    """The prompt sections ``primer`` (cases), ``knowledge`` (facts) and ``entities``, each a list that may be empty.

    The cases are noted as an event, unless they are ``cases_shown``.
    """
    cases: list[Json] = [_describe_case(case) for case in experience.cases]
    if cases and cases != cases_shown:
        primer = [{"case": case.case_id, "use": _USE_BY_OUTCOME[case.outcome]} for case in experience.cases]
        journal.add_event("note", primer=cast(JsonValue, primer))
    return {
        "primer": cases,
        "knowledge": [_describe_known_fact(fact) for fact in experience.knowledge],
        "entities": [
            {"kind": entity.kind, "value": entity.value, "seen": entity.seen} for entity in experience.entities
        ],
    }


def select_experience(experience: Experience, task: str, process_type: str, now: datetime) -> Experience:
    """The experience that suits the task: the most relevant cases, and facts and entities that are not out of date."""
    words = extract_keywords(task)
    return experience._replace(
        cases=tuple(select_relevant_cases(prune_cases(experience.cases, now), words)),
        knowledge=tuple(select_relevant_facts(experience.knowledge, task, words, process_type)),
        entities=tuple(select_entities_to_show(experience.entities, task, now)),
    )


def _describe_known_fact(fact: KnownFact) -> Json:
    """A fact with its date, its confidence, and the value that it replaced."""
    return {
        "fact": fact.text,
        "process": fact.domain,
        "as_of": fact.at.date().isoformat(),
        "confidence": f"{fact.confidence:.2f}",
        **({"no_longer_true": fact.replaces} if fact.replaces else {}),
    }


_NO_ACCURACY = PredictionAccuracy()
_MOST_THRESHOLDS = 20
_MOST_CHARACTERS_READ, _MOST_CHARACTERS_SHOWN = 20_000, 200
_QUOTED_TEXT_PATTERN = re.compile(r"\"[^\"]*\"|'[^']*'")
_TOOL_CONDITION_PATTERN = re.compile(r"\s*tool\s*==\s*[\"'](?P<tool>[\w.-]+)[\"']\s*&&\s*")
_NAME_TEMPLATE = r"(?P<{}>[A-Za-z_][\w.]*)"
_NUMBER_TEMPLATE = r"(?P<{}>-?\d{{1,18}}(?:\.\d{{1,9}})?)"
_SIGN_TEMPLATE = r"\s*(?P<{}>>=|<=|>|<)\s*"
_COMPARISON_PATTERN = re.compile(
    r"(?<![\w.+*/-])(?:"
    + _NAME_TEMPLATE.format("field") + _SIGN_TEMPLATE.format("sign")
    + _NUMBER_TEMPLATE.format("number") + r"(?![\w.,%+*/-])"
    + "|" + _NUMBER_TEMPLATE.format("first") + _SIGN_TEMPLATE.format("turned")
    + _NAME_TEMPLATE.format("second") + r"(?![\w.(+*/-]))"
)  # fmt: skip
_REVERSED_SIGNS: Mapping[str, str] = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_FIGURES_PREFIX = "figures."
_SENTENCE_PATTERN = re.compile(r"[^.;!?\n]+(?:[.](?=\d)[^.;!?\n]+)*")
_WORDS_BY_SIGN: Mapping[str, tuple[str, ...]] = {
    ">": ("over", "above", "more than", "greater than", "exceeding", "exceeds", "exceed", "beyond"),
    ">=": ("at least", "no less than", "not less than"),
    "<": ("below", "under", "less than", "fewer than"),
    "<=": ("up to", "at most", "no more than", "not more than", "a maximum of", "a limit of", "capped at"),
}
_SIGNS_BY_WORD = {word: sign for sign, words in _WORDS_BY_SIGN.items() for word in words}
_LIMIT_IN_WORDS_PATTERN = re.compile(
    rf"\b(?P<word>{'|'.join(sorted(_SIGNS_BY_WORD, key=len, reverse=True))})\s+(?:(?:US)?[$€£]|USD |EUR |GBP )?\s?"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<unit>\s?%|\s?(?:percent|k|m|million|thousand)\b)?(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
_FACTORS_BY_UNIT = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}


def describe_thresholds(
    limits: Iterable[Threshold], accuracy: Mapping[ThresholdKind, PredictionAccuracy]
) -> list[Json]:
    """Each limit for the model, as ``{kind, about, limit, source}``.

    If predictions of its kind failed lately, a warning (``drift``) replaces the limit. ``accuracy``: of earlier
    predictions, by kind.
    """
    return [_describe_threshold(limit, accuracy.get(limit.kind, _NO_ACCURACY)) for limit in limits]


def find_thresholds(
    policies: Iterable[Policy], texts: Mapping[str, str], tool_names: Collection[str] | None = None
) -> tuple[Threshold, ...]:
    """Up to twenty limits: those in rules, then those in the ``texts`` (by name).

    With ``tool_names``, of the rules only those whose condition begins with one of these tools; the empty name stands
    for conditions that begin with none.
    """
    limits: dict[Threshold, None] = {}
    for policy in policies:
        for tool, limit in _list_thresholds(policy):
            if tool_names is None or tool in tool_names:
                limits[limit] = None
    for name, text in texts.items():
        limits |= dict.fromkeys(_find_thresholds_in_text(name, text[:_MOST_CHARACTERS_READ]))
    return tuple(limits)[:_MOST_THRESHOLDS]


def with_thresholds(ctx: TurnContext) -> TurnContext:
    """The context with all limits of rules and texts; its prompt has only those that may concern the task's tools."""
    _register_threshold_texts(ctx)
    sections = {**ctx.sections, "thresholds": describe_thresholds_of_tools(ctx)}
    return replace(ctx, thresholds=find_thresholds_of_task(ctx), sections=sections)


def find_thresholds_of_task(ctx: TurnContext, tool_names: Collection[str] | None = None) -> tuple[Threshold, ...]:
    """The limits of the task's rules, its process's among them, and texts; ``tool_names`` as in ``find_thresholds``."""
    advice = ctx.sections.get("policy_advice")
    texts = {"policy": advice if isinstance(advice, str) else "", "task": ctx.task}
    return find_thresholds((*ctx.policies, _build_process_policy(ctx.template)), texts, tool_names)


def describe_thresholds_of_tools(ctx: TurnContext) -> list[Json]:
    """The task's limits that may concern its tools, as the model is shown them."""
    return describe_thresholds(find_thresholds_of_task(ctx, ctx.toolbox.names), ctx.experience.accuracy)


_build_process_policy = IdentityCache[ProcessTemplate, Policy](
    lambda template: Policy(id=f"process:{template.process_type}", rules=template.rules), 256
)


def _register_threshold_texts(ctx: TurnContext) -> None:
    """Registers the texts of the tenant's own limits as shared texts of the journal, since many tasks have the same:
    the limits as a prompt and as a checkpoint contains them, as JSON items.
    """
    policies = ctx.tenant.policies
    in_prompts = describe_thresholds(find_thresholds(policies, {}, ctx.toolbox.names), ctx.experience.accuracy)
    ctx.journal.register_shared_texts(*filter(None, (dumps(in_prompts)[1:-1], _encode_thresholds(policies))))


_encode_thresholds = IdentityCache[tuple[Policy, ...], str](
    lambda policies: dumps_inexact([limit.model_dump() for limit in find_thresholds(policies, {})])[1:-1], 256
)


def _describe_threshold(limit: Threshold, accuracy: PredictionAccuracy) -> JsonObject:
    subject: JsonObject = {"kind": limit.kind.value, "about": limit.name}
    trust = judge_prediction_trust(accuracy.attempts, accuracy.matches, accuracy.window)
    if trust is PredictionTrust.DRIFT:
        matches, attempts = count_recent_matches(accuracy.window)
        warning = (
            f"limits of this kind held in only {matches} of the last {attempts} tasks of this process: none is stated "
            "here; go by what the policy and the tools say now"
        )
        return {**subject, "drift": warning, "source": limit.source}
    description: JsonObject = {**subject, "limit": f"{limit.sign} {limit.value}".strip(), "source": limit.source}
    return {**description, **({"trust": trust.value} if trust is not PredictionTrust.NONE else {})}


def _find_thresholds_in_rule(policy: Policy, rule: Rule) -> Iterator[Threshold]:
    """Yields a limit for each comparison of a field with a number.

    Only the limit of a comparison that is the whole condition (``tool == "pay" && amount > 500``) has the ids of rule
    and policy, and the tool.
    """
    tool_match = _TOOL_CONDITION_PATTERN.match(rule.condition)
    condition = _QUOTED_TEXT_PATTERN.sub('""', rule.condition[tool_match.end() :] if tool_match else rule.condition)
    consequence = " ".join(filter(None, (rule.action, rule.level)))
    for match in _COMPARISON_PATTERN.finditer(condition):
        field, sign, number = _read_comparison(match)
        is_whole_condition = match.group() == condition.strip()
        yield Threshold(
            kind=classify_threshold_kind(field),
            name=field,
            sign=sign,
            value=number,
            source=f"rule {rule.id} of {policy.id}: {rule.condition} -> {consequence}"[:_MOST_CHARACTERS_SHOWN],
            tool=tool_match["tool"] if tool_match and is_whole_condition else "",
            rule_id=rule.id if is_whole_condition else "",
            policy_id=policy.id if is_whole_condition else "",
        )


_list_thresholds = IdentityCache[Policy, tuple[tuple[str, Threshold], ...]](  # each with the only tool of its rule
    lambda policy: tuple(
        (find_tool_of_condition(rule.condition), limit)
        for rule in policy.rules
        if not rule.report_only
        for limit in _find_thresholds_in_rule(policy, rule)
    ),
    1_024,  # a tenant's policies come with each of its tasks
)


def _read_comparison(match: re.Match[str]) -> tuple[str, str, str]:
    """Field, sign and number of a comparison; with the sign mirrored (``<`` for ``>``) if the number comes first."""
    if match["field"] is not None:
        return match["field"].removeprefix(_FIGURES_PREFIX), match["sign"], match["number"]
    return match["second"].removeprefix(_FIGURES_PREFIX), _REVERSED_SIGNS[match["turned"]], match["first"]


def _find_thresholds_in_text(name: str, text: str) -> Iterator[Threshold]:
    """Yields the limits that a text states in words. ``source`` is the sentence, which alone says what is limited."""
    for sentence in _SENTENCE_PATTERN.findall(text):
        for match in _LIMIT_IN_WORDS_PATTERN.finditer(sentence):
            value = Decimal(match["number"].replace(",", ""))
            unit = (match["unit"] or "").strip().lower()
            sentence_shown = " ".join(sentence.split())[:_MOST_CHARACTERS_SHOWN]
            yield Threshold(
                kind=classify_threshold_kind(sentence),
                name="",
                sign=_SIGNS_BY_WORD[" ".join(match["word"].lower().split())],
                value=f"{value * _FACTORS_BY_UNIT.get(unit, 1):f}{'%' if unit in ('%', 'percent') else ''}",
                source=f"{name}: {sentence_shown}",
            )


_MOST_SOLVER_TURNS = 8
_MOST_SESSION_TURNS = 20
_SOLVER_SUMMARY_KEY = "memory:summary"


def _split_conversation(
    turns: Sequence[SpokenTurn], limit: int = _MOST_SOLVER_TURNS
) -> tuple[Sequence[SpokenTurn], Sequence[SpokenTurn]]:
    """Splits the turns of a long conversation into older ones, to summarise, and recent ones, to keep word for word."""
    cut = max(0, len(turns) - TURNS_KEPT_VERBATIM) if is_too_long(turns, limit) else 0
    return turns[:cut], turns[cut:]


async def with_history(ctx: TurnContext) -> TurnContext:
    """The context with the earlier conversation: a solver request's own, even if empty, else the session's."""
    return await (_with_session_history(ctx) if ctx.record.request.solver is None else _with_request_history(ctx))


def compress_session(session: SessionState, journal: Journal, turn: Turn) -> SessionState:
    """The session with its older turns replaced by this turn's summary; unchanged if this turn made none."""
    stored = journal.get(_build_summary_step_key(turn))
    if stored is None:
        return session
    summary = loads_object(stored)
    return session._replace(summary=str(summary["summary"]), turns=session.turns[int(str(summary["older"])) :])


async def _with_session_history(ctx: TurnContext) -> TurnContext:
    session, notes = ctx.session, ctx.notes
    older, _ = _split_conversation([SpokenTurn(*turn) for turn in session.turns], _MOST_SESSION_TURNS)
    if older and ctx.turn.kind is TurnKind.MESSAGE:
        await _summarize_older_turns(ctx, older)
        session = compress_session(session, ctx.journal, ctx.turn)
        notes = {**notes, "memory": {"compressed": True, "summary": session.summary}}
    practice = ctx.record.request.practice
    is_assessed = practice is not None and practice.turn > 0
    history = _describe_session(_without_repeated_paragraphs(session, ctx.task) if is_assessed else session)
    return replace(ctx, session=session, sections={**ctx.sections, "history": history}, notes=notes)


async def _summarize_older_turns(ctx: TurnContext, older: Sequence[SpokenTurn]) -> None:
    """Journals a summary of the earlier summary and the older turns: a model's, or an excerpt if no model answers."""
    step = _build_summary_step_key(ctx.turn)
    earlier_summary = (SpokenTurn("summary", ctx.session.summary),) if ctx.session.summary else ()
    turns = (*earlier_summary, *older)

    async def compress() -> str:
        summary = ""
        try:
            summary = _cut_summary(await ask_if_possible(ctx, f"{step}:asked", _build_summary_request(ctx, turns)))
        except HelperUnavailable as error:
            ctx.journal.add_event("note", problem=f"the older conversation was shortened without a model: {error}")
        author = "model" if summary else "words"
        summary = summary or excerpt_turns(turns)
        ctx.journal.add_event("note", memory="compressed", turns=len(older), summarized_by=author)
        return dumps({"summary": summary, "older": len(older), "by": author})

    await ctx.journal.run_local_step(step, compress)


async def _with_request_history(ctx: TurnContext) -> TurnContext:
    """The context with the conversation that came with the request, in place of the session's."""
    solver = ctx.record.request.solver
    history = solver.history if solver else ()
    older, recent = _split_conversation([SpokenTurn(turn.role, turn.content) for turn in history])
    summary = (
        _cut_summary(await ask_model(ctx, _SOLVER_SUMMARY_KEY, _build_summary_request(ctx, older))) if older else None
    )
    turns = [_describe_turn(turn) for turn in recent]
    if summary is not None:
        turns.insert(0, {"role": "summary", "text": f"[Prior context summary: {summary}]"})
    note: dict[str, JsonValue] = {"compressed": bool(older), "summary": summary}
    return replace(ctx, sections={**ctx.sections, "history": turns}, notes={**ctx.notes, "memory": note})


def _build_summary_request(ctx: TurnContext, turns: Sequence[SpokenTurn]) -> ModelRequest:
    return build_helper_request(ctx, ctx.prompts.summarize, {"history": [_describe_turn(turn) for turn in turns]}, 512)


def _cut_summary(reply: ModelReply) -> str:
    return " ".join(reply.text.split()[:SUMMARY_WORDS])


def _build_summary_step_key(turn: Turn) -> str:
    return f"memory:session:{turn.turn_id}"


def _without_repeated_paragraphs(session: SessionState, task: str) -> SessionState:
    """The session without the task's own words, and with each repeated paragraph only at its last place."""
    later_paragraphs: set[str] = set()
    turns: list[tuple[str, str]] = []
    for role, text in reversed(session.turns):
        if (role, text) == ("user", task):
            continue
        paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph not in later_paragraphs]
        later_paragraphs.update(paragraphs)
        if paragraphs:
            turns.append((role, "\n\n".join(paragraphs)))
    return session._replace(turns=tuple(reversed(turns)))


def _describe_session(session: SessionState) -> list[Json]:
    turns = [_describe_turn(SpokenTurn(*turn)) for turn in session.turns]
    summary = _describe_turn(SpokenTurn("summary", f"[Earlier conversation summary] {session.summary}"))
    return [summary, *turns] if session.summary else turns


def _describe_turn(turn: SpokenTurn) -> Json:
    return {"role": turn.role, "text": turn.text}
