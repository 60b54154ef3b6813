"""The context with the limits that its task is held to, as every prompt has them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from services.executor.core.dossier.values import kind_of
from services.executor.core.session.context import TurnContext
from shared.contracts.accuracy import Accuracy
from shared.contracts.policy import Policy, Rule
from shared.contracts.threshold import Threshold, ThresholdKind
from shared.domain.accuracy import Trust, recent, trust
from shared.domain.exact_json import Json, JsonObject

_UNKNOWN = Accuracy()
_MOST = 20
_TEXT_LOOKED_AT, _SENTENCE_SHOWN = 20_000, 200  # characters
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_OF_TOOL = re.compile(r"\s*tool\s*==\s*[\"'](?P<tool>[\w.-]+)[\"']\s*&&\s*")
_FIELD = r"(?P<{}>[A-Za-z_][\w.]*)"
_NUMBER = r"(?P<{}>-?\d{{1,18}}(?:\.\d{{1,9}})?)"
_SIGN = r"\s*(?P<{}>>=|<=|>|<)\s*"
_LIMIT = re.compile(
    r"(?<![\w.+*/-])(?:"
    + _FIELD.format("field") + _SIGN.format("sign") + _NUMBER.format("number") + r"(?![\w.,%+*/-])"
    + "|" + _NUMBER.format("first") + _SIGN.format("turned") + _FIELD.format("second") + r"(?![\w.(+*/-]))"
)  # fmt: skip
_TURNED: Mapping[str, str] = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_FIGURES = "figures."
_SENTENCE = re.compile(r"[^.;!?\n]+(?:[.](?=\d)[^.;!?\n]+)*")
_WORDS: Mapping[str, tuple[str, ...]] = {
    ">": ("over", "above", "more than", "greater than", "exceeding", "exceeds", "exceed", "beyond"),
    ">=": ("at least", "no less than", "not less than"),
    "<": ("below", "under", "less than", "fewer than"),
    "<=": ("up to", "at most", "no more than", "not more than", "a maximum of", "a limit of", "capped at"),
}
_SIGN_OF = {word: sign for sign, words in _WORDS.items() for word in words}
_SAID = re.compile(
    rf"\b(?P<word>{'|'.join(sorted(_SIGN_OF, key=len, reverse=True))})\s+(?:(?:US)?[$€£]|USD |EUR |GBP )?\s?"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<unit>\s?%|\s?(?:percent|k|m|million|thousand)\b)?(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
_TIMES = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}


def describe_limits(found: Iterable[Threshold], accuracy: Mapping[ThresholdKind, Accuracy]) -> list[Json]:
    """Each limit with its source. Where those of its kind did not hold lately, the value is not said at all."""
    return [_one(limit, accuracy.get(limit.kind, _UNKNOWN)) for limit in found]


def thresholds(policies: Iterable[Policy], texts: Mapping[str, str]) -> tuple[Threshold, ...]:
    """The limits of the rules, then those in the texts (by what they are called), each once."""
    found = [
        *(
            limit
            for policy in policies
            for rule in policy.rules
            if not rule.report_only
            for limit in _thresholds_of_rule(policy, rule)
        ),
        *(limit for name, text in texts.items() for limit in _in_words(name, text[:_TEXT_LOOKED_AT])),
    ]
    return tuple(dict.fromkeys(found))[:_MOST]


def with_thresholds(ctx: TurnContext) -> TurnContext:
    """From the rules of the tenant, the request and the process, and from the words of policy and task."""
    template = ctx.process.template
    own = Policy(id=f"process:{template.process_type}", rules=template.rules)
    advice = ctx.sections.get("policy_advice")
    texts = {"policy": advice if isinstance(advice, str) else "", "task": ctx.task}
    found = thresholds((*ctx.policies, own), texts)
    return replace(
        ctx, thresholds=found, sections={**ctx.sections, "thresholds": describe_limits(found, ctx.experience.accuracy)}
    )


def _one(limit: Threshold, known: Accuracy) -> JsonObject:
    about: JsonObject = {"kind": limit.kind.value, "about": limit.name}
    how = trust(known.attempts, known.matches, known.window)
    if how is Trust.DRIFT:
        return {**about, "drift": _warning(known), "source": limit.source}
    said: JsonObject = {**about, "limit": f"{limit.sign} {limit.value}".strip(), "source": limit.source}
    return {**said, **({"trust": how.value} if how is not Trust.NONE else {})}


def _warning(known: Accuracy) -> str:
    held, of = recent(known.window)
    return (
        f"limits of this kind held in only {held} of the last {of} tasks of this process: none is stated here; "
        "go by what the policy and the tools say now"
    )


def _thresholds_of_rule(policy: Policy, rule: Rule) -> Iterator[Threshold]:
    """The comparisons of a rule with a number. One that is the whole condition decides it, for its tool or for all."""
    of_tool = _OF_TOOL.match(rule.condition)
    condition = _STRING.sub('""', rule.condition[of_tool.end() :] if of_tool else rule.condition)
    then = " ".join(filter(None, (rule.action, rule.level)))
    for match in _LIMIT.finditer(condition):
        field, sign, number = _read(match)
        alone = match.group() == condition.strip()
        yield Threshold(
            kind=kind_of(field),
            name=field,
            sign=sign,
            value=number,
            source=f"rule {rule.id} of {policy.id}: {rule.condition} -> {then}"[:_SENTENCE_SHOWN],
            tool=of_tool["tool"] if of_tool and alone else "",
            rule_id=rule.id if alone else "",
            policy_id=policy.id if alone else "",
        )


def _read(match: re.Match[str]) -> tuple[str, str, str]:
    """Field, sign and number, the field first."""
    if match["field"] is not None:
        return match["field"].removeprefix(_FIGURES), match["sign"], match["number"]
    return match["second"].removeprefix(_FIGURES), _TURNED[match["turned"]], match["first"]


def _in_words(name: str, text: str) -> Iterator[Threshold]:
    """The limits that sentences state, with the sentence: only it says of what they are limits."""
    for sentence in _SENTENCE.findall(text):
        for match in _SAID.finditer(sentence):
            value = Decimal(match["number"].replace(",", ""))
            unit = (match["unit"] or "").strip().lower()
            said = " ".join(sentence.split())[:_SENTENCE_SHOWN]
            yield Threshold(
                kind=kind_of(sentence),
                name="",
                sign=_SIGN_OF[" ".join(match["word"].lower().split())],
                value=f"{value * _TIMES.get(unit, 1):f}{'%' if unit in ('%', 'percent') else ''}",
                source=f"{name}: {said}",
            )
