"""What to read next: the records a task names, what they refer to, and lists where only a description is known."""

from collections import Counter
from collections.abc import Container, Sequence

from services.planner.core.arguments import bind_arguments
from services.planner.core.binding import CallPlan
from services.planner.core.each import calls_for_each_value
from services.planner.core.intents import Intent, find_spared
from services.planner.core.pages import is_paging, next_parts
from services.planner.core.phrases import TELLS_PATTERN
from services.planner.core.process import process_of
from services.planner.core.references import abbreviates, find_identifiers, is_reference, references_of, wanted_noun
from services.planner.core.request import Request, ToolSpec
from services.planner.core.selection import named_owners, names_in, unknown_names
from services.planner.core.situation import (
    CERTAIN,
    LIKELY,
    POSSIBLE,
    ArgumentCandidate,
    Situation,
    best,
    places_of,
    records_about,
)
from services.planner.core.toolmatch import tools_for
from services.planner.core.words import concept, is_identifier, nouns, parts, stem, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject, dumps

_AT_ONCE = 8
_IN_ALL = 16
_WITH_PARTS = 18


def next_reads(
    request: Request,
    situation: Situation,
    tools: tuple[ToolSpec, ...],
    writers: Sequence[ToolSpec] = (),
    looked_refs: Container[Json] = (),
) -> list[CallPlan]:
    """The calls worth making now; empty when nothing new can be read. No call is repeated.

    ``looked_refs``: the results whose further rows are being shown, of which nothing has to be read.
    """
    names = {tool.name for tool in tools}
    tried = [call for call in request.calls if call.tool in names]
    made_keys = {call.key for call in tried}
    made_keys |= {f"{fact.tool} {dumps(fact.arguments)}" for fact in situation.facts}
    fresh: dict[str, CallPlan] = {}
    unlooked = [fact for fact in situation.facts if fact.ref not in looked_refs]
    following = [_next_part_call(tool, arguments) for tool, arguments in next_parts(unlooked, tools)]
    following = [part for part in following if part.key not in made_keys]
    identified = _nouns_identified(tools, situation)
    least = _fewest_words_beyond_task(tools, situation)
    relevant = _relevant_words(request, situation, writers)
    named = (owner.noun for owner in named_owners(situation.text, situation))
    relevant = identified.union(relevant, *named) if relevant is not None else None
    for tool in tools:
        spoken_stems = _task_words_naming_tool(tool, least, situation)
        if not _may_help(tool, spoken_stems, relevant):
            continue
        for bound in _worthwhile_calls(tool, situation, identified, spoken_stems):
            if bound.key not in made_keys:
                fresh.setdefault(bound.key, bound)
    if not fresh and not following:
        besides = instructed_reads(process_of(request).instruction, tools, situation)
        fresh = {bound.key: bound for bound in besides if bound.key not in made_keys}
        fresh = fresh or {bound.key: bound for bound in _search_calls(tools, situation, made_keys, writers)}
    others = list(fresh.values())[: max(0, _IN_ALL - len(tried) - len(following))]
    return [*following, *others][: min(_AT_ONCE, max(0, _WITH_PARTS - len(tried)))]


def _next_part_call(tool: ToolSpec, arguments: JsonObject) -> CallPlan:
    """The call that reads another part of a list, with the arguments for its place."""
    chosen = ((name, ArgumentCandidate(value, "result", "", CERTAIN)) for name, value in arguments.items())
    return CallPlan(tool, tuple(chosen))


def _nouns_identified(tools: tuple[ToolSpec, ...], situation: Situation) -> frozenset[str]:
    """The nouns of which the task gives an identifier, and means it."""
    spared_ids = find_spared(situation.text)
    fields = [(tool, name) for tool in tools for name in tool.required if is_reference(tool, name)]
    return frozenset().union(
        *(
            wanted_noun(tool, name)
            for tool, name in fields
            for candidate in find_identifiers(tool, name, situation, situation.text)
            if candidate.source == "task" and candidate.sure == CERTAIN and str(candidate.value) not in spared_ids
        )
    )


def _worthwhile_calls(
    tool: ToolSpec, situation: Situation, identified: frozenset[str], spoken_stems: frozenset[str]
) -> list[CallPlan]:
    if not tool.required and not (spoken_stems and _wants_list(tool, situation, identified)):
        return []
    bound = bind_arguments(tool, situation, Intent("", situation.text), POSSIBLE if spoken_stems else LIKELY)
    plans = [plan for one in bound for plan in calls_for_each_value(one, situation) if not plan.missing]
    if sum(is_reference(tool, name) for name in tool.required) > 1:
        plans = [plan for plan in plans if plan.sureness == max(other.sureness for other in plans)]
    if not tool.required:
        return _choose_lists(plans)
    if spoken_stems:
        return plans
    return [one for one in plans if _looks_up(one) and (not situation.reading.reads_only or _is_asked(one, situation))]


def _is_asked(plan: CallPlan, situation: Situation) -> bool:
    """Whether the task itself gives all arguments, or asks about the fields from which they come."""
    is_asked = all(text_stems(one.ref.replace("_", " ")) & situation.stems for _, one in plan.chosen)
    return is_asked or all(candidate.source == "task" for _, candidate in plan.chosen)


def _looks_up(plan: CallPlan) -> bool:
    """Whether the call looks up the very thing that an argument identifies."""
    own = nouns(plan.tool.name)
    return all(
        candidate.sure >= LIKELY and (not is_reference(plan.tool, name) or wanted_noun(plan.tool, name) & own)
        for name, candidate in plan.chosen
        if name in plan.tool.required
    ) and any(wanted_noun(plan.tool, name) & own for name in plan.tool.required)


def _fewest_words_beyond_task(tools: tuple[ToolSpec, ...], situation: Situation) -> dict[str, int]:
    """For each noun of the task: of the tools with it in their names, the fewest other words that the task does not
    have.
    """
    least: dict[str, int] = {}
    for tool in tools:
        own = nouns(tool.name)
        extra = len(own - situation.stems)
        for word in own & situation.stems:
            least[word] = min(extra, least.get(word, extra))
    return least


def _task_words_naming_tool(tool: ToolSpec, least: dict[str, int], situation: Situation) -> frozenset[str]:
    """The words of the task that name what a tool reads, unless another tool's name says it with less besides."""
    if not least:
        return _task_words_in_description(tool, situation)
    own = nouns(tool.name)
    extra = len(own - situation.stems)
    return frozenset(word for word in own & situation.stems if extra <= least[word])


def _relevant_words(request: Request, situation: Situation, writers: Sequence[ToolSpec]) -> frozenset[str] | None:
    """The stems of the words of the task, of what the process says, and of the tools that may do the task's actions.

    None if the task asks for actions and no tool does any of them: then no read is ruled out.
    """
    tiers = [tier for intent in situation.reading.actions for tier in tools_for(intent, situation, writers)]
    if situation.reading.actions and not tiers:
        return None
    tools = [tool for tier in tiers for tool in tier]
    said = (text_stems(f"{' '.join(parts(tool.name))} {tool.description}") for tool in tools)
    fields = (text_stems(" ".join(parts(name))) for tool in tools for name in tool.properties)
    return situation.stems.union(text_stems(process_of(request).instruction), *said, *fields)


def _may_help(tool: ToolSpec, spoken_stems: frozenset[str], relevant: frozenset[str] | None) -> bool:
    """Whether a tool reads what the task speaks of, or looks up what an action or its condition may rest on."""
    own = nouns(tool.name)
    is_relevant = relevant is None or bool(own & relevant)
    return bool(spoken_stems) or (is_relevant and any(wanted_noun(tool, name) & own for name in tool.required))


def _task_words_in_description(tool: ToolSpec, situation: Situation) -> frozenset[str]:
    """The task's words among the first words of a list tool's description; empty if records that the task speaks of are
    known.
    """
    if tool.required or any(record.noun & situation.stems for record in situation.records):
        return frozenset()
    opening = text_stems(" ".join(tool.description.split()[:3]))
    asked_texts = (*(intent.clause for intent in situation.reading.actions), *situation.reading.questions)
    clauses = frozenset().union(*map(text_stems, asked_texts))
    return frozenset(word for word in opening & clauses if len(word) > 3)


def _choose_lists(plans: list[CallPlan]) -> list[CallPlan]:
    """The list calls to make: those for things that the task names for certain, else the first without guesses."""
    certain = [plan for plan in plans if plan.chosen and plan.sureness == CERTAIN]
    return certain or [_keep_certain(plan) for plan in plans[:1]]


def _keep_certain(plan: CallPlan) -> CallPlan:
    """The plan with only those arguments that the task gives for certain, so that a guess does not narrow a list."""
    return plan._replace(chosen=tuple(pair for pair in plan.chosen if pair[1].sure == CERTAIN))


def _wants_list(tool: ToolSpec, situation: Situation, identified: frozenset[str]) -> bool:
    """Whether the task speaks of such things without an identifier, and it is not known yet which one it means."""
    own = nouns(tool.name)
    if own & identified:
        return False
    named = best([record for record in records_about(situation, own) if not record.in_list], situation)
    return len(named) != 1


def _search_calls(
    tools: tuple[ToolSpec, ...], situation: Situation, made_keys: set[str], writers: Sequence[ToolSpec]
) -> list[CallPlan]:
    """Names of the task that nothing shows yet, or that are shown without an identifier by which to reach them: search
    tools, and lists of what the known records refer to.
    """
    if lists := [plan for plan in _lists_of_unplaced(tools, situation) if plan.key not in made_keys]:
        return lists
    unknown = unknown_names(situation, tools) or _list_unreached(situation, writers)
    if not unknown:
        return []
    searches = [tool for tool in tools if tool.required]
    intents = [Intent("", f'"{name}"') for name in unknown]
    plans = [plan for one in intents for tool in searches for plan in bind_arguments(tool, situation, one, LIKELY)]
    plans = [plan for plan in plans if not plan.missing and not references_of(plan)]
    referred = _nouns_most_referred_to(situation)
    lists = [CallPlan(tool, ()) for tool in tools if not tool.required and nouns(tool.name) in referred]
    fitting = [plan for plan in plans if nouns(plan.tool.name) in referred]
    near = [plan for plan in fitting or lists if plan.key not in made_keys]
    return near or [plan for plan in plans if plan.key not in made_keys]


def _lists_of_unplaced(tools: tuple[ToolSpec, ...], situation: Situation) -> list[CallPlan]:
    """The lists of things that an unknown identifier of the task abbreviates, where no tool looks them up by one."""
    unplaced = [value for value in situation.identifiers if not places_of(value, situation)]
    fields = [(tool, name) for tool in tools for name in tool.required if is_identifier(name)]
    looked_up = frozenset().union(*(wanted_noun(tool, name) for tool, name in fields))
    lists = [tool for tool in tools if not tool.required and nouns(tool.name).isdisjoint(looked_up)]
    return [CallPlan(tool, ()) for tool in lists if any(abbreviates(value, nouns(tool.name)) for value in unplaced)]


def _list_unreached(situation: Situation, writers: Sequence[ToolSpec]) -> list[str]:
    """The proper names of those to whom a notice is to go, where no tool for it can be called with what is known."""
    names: list[str] = []
    for intent in (action for action in situation.reading.actions if action.sends_message):
        tools = [tool for tier in tools_for(intent, situation, writers) for tool in tier]
        plans = [plan for tool in tools for plan in bind_arguments(tool, situation, intent, LIKELY)]
        if plans and all(plan.missing for plan in plans):
            names += names_in(TELLS_PATTERN.split(intent.clause)[0])
    return names


def _nouns_most_referred_to(situation: Situation) -> set[frozenset[str]]:
    """For each kind of record the nouns of the things that most records of it refer to by an identifier."""
    counts: dict[frozenset[str], Counter[frozenset[str]]] = {}
    for record in situation.records:
        others = [name for name in record.fields if is_identifier(name) and concept(name, record.noun) != record.noun]
        counts.setdefault(record.noun, Counter()).update(concept(name, frozenset()) for name in others)
    return {wanted for one in counts.values() for wanted, count in one.items() if count == max(one.values())}


_ALL_WORDS = frozenset({"all", "every", "each"})


def instructed_reads(instruction: str, tools: tuple[ToolSpec, ...], situation: Situation) -> list[CallPlan]:
    """One call for each tool that reads what the instruction names, if it belongs to what the task is about."""
    instructed = [tool for tool in tools if situation.records and _is_instructed(tool, instruction, situation)]
    return [plan for tool in instructed if (plan := _bind_to_subject(tool, situation))]


def _is_instructed(tool: ToolSpec, instruction: str, situation: Situation) -> bool:
    """Whether the instruction and the task together name what the tool reads; a list only if it speaks of several."""
    own, instruction_stems = nouns(tool.name), text_stems(instruction)
    if not own & instruction_stems or not own <= instruction_stems | situation.stems:
        return False
    return bool(tool.required) or _speaks_of_several(own & instruction_stems, instruction)


def _speaks_of_several(own: frozenset[str], instruction: str) -> bool:
    words = text_words(instruction)
    return any(
        stem(word) in own and (word.endswith("s") or _ALL_WORDS.intersection(words[max(0, index - 3) : index]))
        for index, word in enumerate(words)
    )


def _bind_to_subject(tool: ToolSpec, situation: Situation) -> CallPlan | None:
    """The call for the one thing that the task is about; None if a required field stays open, or nothing narrows it."""
    chosen = [(name, reference) for name in tool.properties if (reference := _choose_reference(tool, name, situation))]
    if not chosen or not {*tool.required} <= {name for name, _ in chosen}:
        return None
    return CallPlan(tool, tuple(chosen))


def _choose_reference(tool: ToolSpec, name: str, situation: Situation) -> ArgumentCandidate | None:
    if is_paging(tool, name) or not is_reference(tool, name):
        return None
    sure = [one for one in find_identifiers(tool, name, situation, situation.text) if one.sure >= LIKELY]
    return sure[0] if len({str(one.value) for one in sure}) == 1 else None
