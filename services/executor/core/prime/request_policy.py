"""What a request says about policy: rules that are enforced, or prose that the model is told."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from services.executor.core.endings import Failed
from shared.contracts.policy import Policy
from shared.contracts.policy_document import sorted_document, strange_fields
from shared.domain.exact_json import loads, plain

_SAYS = {"rules", "tool_rules", "toolRules", "text_rules", "textRules"}  # one of these, or it is no policy


class RequestPolicy(NamedTuple):
    """``rules`` tighten the tenant's standing policies, ``advice`` only informs; nobody reads the fields ``unread``."""

    rules: Policy | None = None
    advice: str = ""
    unread: tuple[str, ...] = ()


def read_policy(document: str | Mapping[str, JsonValue] | None) -> RequestPolicy:
    """A JSON object, or a text that holds one, is a set of rules; any other text is prose.

    Rules that cannot be read end the run: a policy that is not understood is not ignored.
    """
    if document is None or not document:
        return RequestPolicy()
    if isinstance(document, str):
        text = document.strip()
        if not text.startswith(("{", "[")):
            return RequestPolicy(advice=text)
        document = _parsed(text)
    try:
        written = sorted_document({key: plain(value) for key, value in document.items()})
        rules = Policy.model_validate({"id": "request", **written})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Failed(f"metadata.policy_doc cannot be read as rules: {where}: {first['msg']}") from error
    if not _SAYS & {*document}:
        raise Failed('metadata.policy_doc cannot be read as rules: it has no "rules"')
    return RequestPolicy(rules=rules.model_copy(update={"id": "request"}), unread=strange_fields(written))


def _parsed(text: str) -> dict[str, JsonValue]:
    try:
        value = loads(text)
    except ValueError as error:
        raise Failed(f"metadata.policy_doc looks like JSON and is none: {error}") from error
    if isinstance(value, list):
        return {"rules": value}  # type: ignore[dict-item]  # exact JSON is validated by the caller
    if isinstance(value, dict):
        return value  # type: ignore[return-value]  # the same
    raise Failed("metadata.policy_doc cannot be read as rules: expected an object")
