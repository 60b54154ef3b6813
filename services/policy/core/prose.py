"""Checks rules that were translated from prose: each cites words that are there, and speaks of what exists."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.policy.core.conditions import Conditions
from services.policy.core.limits import TooMuch, refuse_too_much_text
from services.policy.core.prose_rules import Vocabulary, refuse_unknown
from services.policy.core.quotes import Quotes
from services.policy.core.values import ConditionError
from shared.contracts.policy import Policy, Rule, ToolRule
from shared.contracts.prose import Candidate, ProseAnswer, ProseRequest, RefusedCandidate
from shared.domain.exact_json import digest

MAX_SOURCE = 100_000  # characters
MAX_PAIRS = 100_000  # candidates times tools
MAX_PLACES = 10_000_000  # candidates times characters of the source
MAX_CANDIDATES = 500


def check(request: ProseRequest, conditions: Conditions) -> ProseAnswer:
    """The accepted rules as a policy, the refused ones with their cause, and what nobody translated.

    Raises ``TooMuch`` for a request over the service's bounds.
    """
    _refuse_too_much(request)
    checking = _Checking(Quotes(request.source), Vocabulary(request.tools, request.fields), conditions)
    accepted: dict[str, Rule | ToolRule] = {}
    refused: list[RefusedCandidate] = []
    for index, candidate in enumerate(request.candidates):
        rule = candidate.rule or candidate.tool_rule
        rule_id = rule.id if rule else ""
        if cause := checking.against(candidate, rule, rule_id in accepted):
            refused.append(RefusedCandidate(index=index, rule_id=rule_id, cause=cause))
        elif rule:
            accepted[rule_id] = rule.model_copy(update={"quote": candidate.quote})
    return _answer(request.source, tuple(accepted.values()), refused, checking.quotes)


class _Checking(NamedTuple):
    quotes: Quotes
    vocabulary: Vocabulary
    conditions: Conditions

    def against(self, candidate: Candidate, rule: Rule | ToolRule | None, is_taken: bool) -> str | None:
        """What speaks against the candidate; if nothing does, its quote is marked in the source."""
        if rule is None or (candidate.rule and candidate.tool_rule):
            return "a candidate holds either a rule or a toolRule"
        if is_taken:
            return f"another rule has the id {rule.id!r}"
        try:
            said = self.quotes.words_of(candidate.quote)
            refuse_unknown(rule, said, self.vocabulary, self.conditions)
        except ConditionError as error:
            return f"{error.cause} (at character {error.position} of the condition)"
        except ValueError as error:
            return str(error)
        self.quotes.mark(said)
        return None


def _answer(
    source: str, accepted: Sequence[Rule | ToolRule], refused: Sequence[RefusedCandidate], quotes: Quotes
) -> ProseAnswer:
    policy = Policy(
        id="prose",
        version=digest(source),
        rules=tuple(rule for rule in accepted if isinstance(rule, Rule)),
        tool_rules=tuple(rule for rule in accepted if isinstance(rule, ToolRule)),
    )
    return ProseAnswer(policy=policy, refused=tuple(refused), untranslated=tuple(quotes.uncovered()))


def _refuse_too_much(request: ProseRequest) -> None:
    size, candidates = len(request.source), len(request.candidates)
    if size > MAX_SOURCE:
        raise TooMuch(f"the source has {size} characters; the limit is {MAX_SOURCE}", "source")
    too_many = candidates * size > MAX_PLACES or candidates * len(request.tools) > MAX_PAIRS
    if too_many or candidates > MAX_CANDIDATES:
        raise TooMuch(f"{candidates} rules are too many for this source and these tools", "candidates")
    refuse_too_much_text([Policy(id="prose", rules=tuple(_rules(request)), tool_rules=tuple(_tool_rules(request)))])


def _rules(request: ProseRequest) -> Iterator[Rule]:
    return (candidate.rule for candidate in request.candidates if candidate.rule)


def _tool_rules(request: ProseRequest) -> Iterator[ToolRule]:
    return (candidate.tool_rule for candidate in request.candidates if candidate.tool_rule)
