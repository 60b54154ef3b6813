"""What an approver is shown beside the calls: the rules that ask, the reads and figures, where each argument stands."""

from collections.abc import Iterator, Sequence

from services.executor.core.authorize.asking import unanswered_matter
from services.executor.core.dossier.dossier import Dossier, Progress
from services.executor.core.dossier.values import Fact, NamedValue, Operand
from services.executor.core.figures.calculate.conditions import NoSuchPath, select
from services.executor.core.figures.numbers import normal, number_bearing_tokens
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
    """As they stand now. A source that the plan names is believed only where the value stands there."""
    dossier = progress.dossier
    calls = dossier.plan.every_call if dossier.plan else ()
    sources = tuple(source for call in calls for source in _sources(call, dossier, task))
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


def _sources(call: PlannedCall, dossier: Dossier, task: str) -> Iterator[ArgumentSource]:
    named = {origin.argument: origin for origin in call.origins}
    for argument, value in call.arguments.items():
        found = _source(value, named.get(argument), dossier, task)
        yield ArgumentSource.model_validate({"call_id": call.call_id, "argument": argument, **found})


def _source(value: Json, named: Origin | None, dossier: Dossier, task: str) -> dict[str, str]:
    """Where the value stands: where the plan says, if it does, or else the first place where it is found."""
    if calls := [*references(value)]:
        return {"source": "call", "ref": ", ".join(dict.fromkeys(calls))}
    if named is not None and _stands(value, named, dossier, task):
        return {"source": named.source, "ref": named.ref}
    for figure in dossier.values:
        if _text(value) == normal(figure.value):
            return {"source": "value", "ref": figure.name}
    for fact in dossier.facts:
        path = next(paths_to(fact.result, _text(value)), None) if fact.ok and _is_plain(value) else None
        if path is not None:
            return {"source": "result", "ref": f"{fact.ref}.{path}".rstrip(".")}
    return {"source": "task" if _in_task(value, task) else "words"}


def _stands(value: Json, origin: Origin, dossier: Dossier, task: str) -> bool:
    match origin.source:
        case "task":
            return _in_task(value, task)
        case "value":
            return any(one.name == origin.ref and normal(one.value) == _text(value) for one in dossier.values)
        case _:
            return any(_shows(fact, origin.ref, value) for fact in dossier.facts if fact.ok)


def _shows(fact: Fact, ref: str, value: Json) -> bool:
    if not _is_of(ref, fact):
        return False
    try:
        found = select(fact.result, ref.removeprefix(fact.ref).removeprefix("."))
    except NoSuchPath:
        return False
    return any(_text(one) == _text(value) for one in found)


def _in_task(value: Json, task: str) -> bool:
    text = value if isinstance(value, str) else dumps(value)
    figures = {normal(token) for token in number_bearing_tokens(task)}
    return bool(text) and (text.casefold() in task.casefold() or _text(value) in figures)


def _is_plain(value: Json) -> bool:
    return not isinstance(value, dict | list | bool) and value not in (None, "")


def _text(value: Json) -> str:
    return normal(value if isinstance(value, str) else dumps(value))


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


def paths_to(value: Json, wanted: str, path: str = "") -> Iterator[str]:
    """The places at which a figure stands by itself."""
    match value:
        case dict():
            for key, inner in value.items():
                if not set(key) & set(".[]"):
                    yield from paths_to(inner, wanted, f"{path}.{key}".removeprefix("."))
        case list():
            for place, inner in enumerate(value):
                yield from paths_to(inner, wanted, f"{path}[{place}]")
        case None | bool():
            return
        case _:
            if normal(value if isinstance(value, str) else dumps(value)) == wanted:
                yield path
