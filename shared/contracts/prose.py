"""Rules translated from prose, and the policy service's check of them against that prose."""

from shared.contracts.policy import Policy, PolicyContract, Rule, ToolRule


class KnownTool(PolicyContract):
    """A tool that exists, and the fields its calls have (arguments, and facts linked to them)."""

    name: str
    fields: tuple[str, ...] = ()


class TranslatedRule(PolicyContract):
    """One translated rule, and its quote from the source."""

    quote: str
    rule: Rule | None = None
    tool_rule: ToolRule | None = None


class ProseRequest(PolicyContract):
    """Asks whether the source supports the candidates. ``fields``: those that every call has, such as figures."""

    source: str
    candidates: tuple[TranslatedRule, ...] = ()
    tools: tuple[KnownTool, ...] = ()
    fields: tuple[str, ...] = ()


class RefusedRule(PolicyContract):
    """A translated rule that the source does not support, and why."""

    index: int  # in the request's list
    rule_id: str
    cause: str


class ProseAnswer(PolicyContract):
    """The translation of prose into rules. ``policy``: the accepted rules with their quotes; its version is the hash of
    the source's text.

    ``untranslated``: sentences of which accepted rules quote less than half of the words.
    """

    policy: Policy
    refused: tuple[RefusedRule, ...] = ()
    untranslated: tuple[str, ...] = ()
