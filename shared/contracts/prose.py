"""Rules translated from prose, and what the policy service found when it checked them against it."""

from shared.contracts.policy import Policy, PolicyContract, Rule, ToolRule


class KnownTool(PolicyContract):
    """A tool that exists, and the fields its calls have (arguments, and facts linked to them)."""

    name: str
    fields: tuple[str, ...] = ()


class Candidate(PolicyContract):
    """One translated rule, of either kind, and the words of the source that say so."""

    quote: str
    rule: Rule | None = None
    tool_rule: ToolRule | None = None


class ProseRequest(PolicyContract):
    """``fields``: further fields that rules may read, such as named values that are computed for every call."""

    source: str
    candidates: tuple[Candidate, ...] = ()
    tools: tuple[KnownTool, ...] = ()
    fields: tuple[str, ...] = ()


class RefusedCandidate(PolicyContract):
    index: int  # in the request's list
    rule_id: str
    cause: str


class ProseAnswer(PolicyContract):
    """``policy`` holds the accepted rules, each with its quote; its version is the hash of the source's text.

    ``untranslated``: sentences of the source of which accepted rules quote less than half of the words.
    """

    policy: Policy
    refused: tuple[RefusedCandidate, ...] = ()
    untranslated: tuple[str, ...] = ()
