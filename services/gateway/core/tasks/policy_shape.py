"""Whether a policy document has the shape of one; what its rules mean is for the policy service to say."""

from pydantic import ValidationError

from services.gateway.core.errors import InvalidField
from services.gateway.core.fields import kind_of
from shared.contracts.policy import Policy
from shared.contracts.policy_document import sorted_document
from shared.domain.exact_json import Json, loads

_SAYS = {"rules", "tool_rules", "toolRules", "text_rules", "textRules"}


def refuse_unreadable(document: Json, path: str) -> None:
    """Raises ``InvalidField`` for rules, or a text that looks like JSON, that no worker could read. Prose is prose."""
    if isinstance(document, str) and document.lstrip().startswith(("{", "[")):
        document = _parsed(document, path)
    document = {"rules": document} if isinstance(document, list) else document
    if not isinstance(document, dict) or not document:
        return
    if not _SAYS & {*document}:
        raise InvalidField(path, 'has no "rules"')
    try:
        Policy.model_validate({"id": "request", **sorted_document(document)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidField(".".join(map(str, (path, *first["loc"]))), first["msg"]) from error


def _parsed(text: str, path: str) -> Json:
    try:
        value = loads(text)
    except ValueError as error:
        raise InvalidField(path, f"looks like JSON and is none: {error}") from error
    if not isinstance(value, dict | list):
        raise InvalidField(path, f"must hold an object, not {kind_of(value)}")
    return value
