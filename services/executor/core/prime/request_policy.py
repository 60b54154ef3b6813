"""The policy that a request brings, as a document or in its text: it only tightens what the tenant's say."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.dossier.endings import Failed
from shared.contracts.policy import Policy
from shared.contracts.policy_document import UnknownShape, read_rules, rules_in_text
from shared.domain.exact_json import JsonObject, plain


class RequestPolicy(NamedTuple):
    """``rules`` tighten the tenant's standing policies, ``advice`` only informs; the fields ``unread`` describe."""

    rules: Policy | None = None
    advice: str = ""
    unread: tuple[str, ...] = ()


def read_policy(document: str | Mapping[str, JsonValue] | None) -> RequestPolicy:
    """A JSON object, or a text that holds one, is a set of rules; any other text is prose.

    Rules that cannot be read end the run: a policy that is not understood is not ignored.
    """
    if document is None or not document:
        return RequestPolicy()
    try:
        if isinstance(document, str):
            found = rules_in_text(document)
            if not isinstance(found, dict | list):
                return RequestPolicy(advice=document.strip())
        else:
            found = _exact(document)
        rules, described = read_rules(found, "request")
    except UnknownShape as error:
        raise Failed(f"metadata.policy_doc cannot be read as rules: {error}") from error
    return RequestPolicy(rules=rules, unread=described)


def _exact(document: Mapping[str, JsonValue]) -> JsonObject:
    return {key: plain(value) for key, value in document.items()}
