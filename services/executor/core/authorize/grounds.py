"""What an approver is shown beside the calls: the rules that ask, the reads and figures, where each argument stands."""

from collections.abc import Iterator, Sequence

from services.executor.core.authorize.asking import unanswered_matter
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.values import Fact, NamedValue, Operand
from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import not_known
from services.executor.core.records.references import references
from services.executor.core.tools.shorten import beginning
from shared.contracts.grounds import ArgumentSource, FigureFound, Grounds, ReadFound, RuleFound
from shared.contracts.plan import Origin, PlannedCall
from shared.contracts.policy import TriggeredRule, Verdict
from shared.domain.exact_json import Json, dumps, plain

_SHOWN, _MENTIONED = 2_000, 300  # characters of a read that something rests on, and of any other
_READS = 40


def grounds(progress: Progress, verdict: Verdict, task: str) -> Grounds:
    """As they stand now: where each argument comes from was found when its call was proposed, by code."""
    dossier = progress.dossier
    calls = dossier.plan.every_call if dossier.plan else ()
    sources = tuple(source for call in calls for source in _sources(call))
    found = compute_figures(progress.template, dossier.facts, task)
    return Grounds(
        rules=tuple(map(_rule, verdict.triggered_rules)),
        policy_hash=verdict.policy_hash,
        policy_versions=progress.policy_versions,
        arguments=sources,
        reads=tuple(_read(fact, sources, dossier.values) for fact in dossier.facts[:_READS]),
        figures=tuple(map(_figure, dossier.values)),
        not_known=(*not_known(progress.template, dossier, found), *filter(None, (unanswered_matter(progress),))),
    )


def _rule(rule: TriggeredRule) -> RuleFound:
    return RuleFound(
        rule_id=rule.rule_id,
        policy_id=rule.policy_id,
        action=rule.action.value,
        level=rule.level,
        approvers=rule.approvers,
        reason=rule.reason,
        call_id=rule.call_id,
        values_json=dumps(plain(rule.values)),
        indeterminate=rule.indeterminate,
    )


def _sources(call: PlannedCall) -> Iterator[ArgumentSource]:
    for argument, value in call.arguments.items():
        inside = (f"{argument}.", f"{argument}[")
        origins = [one for one in call.origins if one.argument == argument or one.argument.startswith(inside)]
        found = {"call_id": call.call_id, "argument": argument, **_source(value, origins)}
        yield ArgumentSource.model_validate(found)


def _source(value: Json, origins: Sequence[Origin]) -> dict[str, str]:
    """Where the value comes from; of one with several places inside, the first that comes from somewhere."""
    if calls := [*references(value)]:
        return {"source": "call", "ref": ", ".join(dict.fromkeys(calls))}
    named = next((one for one in origins if one.source != "none"), None)
    return {"source": named.source, "ref": named.ref.replace(" ", ".", 1)} if named else {"source": "words"}


def _read(fact: Fact, sources: Sequence[ArgumentSource], values: Sequence[NamedValue]) -> ReadFound:
    supports = (*_arguments_on(fact, sources), *_figures_on(fact, values))
    most = _SHOWN if supports else _MENTIONED
    seen, left_out = beginning(fact.result, most)
    shows = dumps(seen)
    return ReadFound(
        ref=fact.ref,
        connection_id=fact.connection_id,
        tool=fact.tool,
        arguments_json=fact.arguments_json,
        shows=shows[:most],
        cut=bool(left_out) or len(shows) > most,
        ok=fact.ok,
        note=" ".join(filter(None, (fact.note, left_out))),
        supports=supports,
    )


def _arguments_on(fact: Fact, sources: Sequence[ArgumentSource]) -> Iterator[str]:
    for one in sources:
        if one.source == "result" and _is_of(one.ref, fact):
            yield f"{one.call_id}.{one.argument}"


def _figures_on(fact: Fact, values: Sequence[NamedValue]) -> Iterator[str]:
    for one in values:
        if any(_rests_on(operand, fact) for operand in one.operands):
            yield f"value {one.name}"


def _is_of(ref: str, fact: Fact) -> bool:
    return ref == fact.ref or ref.startswith((f"{fact.ref}.", f"{fact.ref}["))


def _rests_on(operand: Operand, fact: Fact) -> bool:
    return operand.source == "result" and operand.ref == fact.ref


def _figure(value: NamedValue) -> FigureFound:
    operands = tuple(_operand(operand) for operand in value.operands)
    return FigureFound(name=value.name, value=value.value, operation=value.operation, operands=operands)


def _operand(operand: Operand) -> str:
    if operand.source == "result":
        return f"{operand.ref}.{operand.path}".rstrip(".")
    return f"{operand.source} {operand.ref or operand.literal}".strip()
