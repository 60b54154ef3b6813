"""Whether a policy document has the shape of one; what its rules mean is for the policy service to say."""

from services.gateway.core.errors import InvalidField
from shared.contracts.policy_document import UnknownShape, read_rules, rules_in_text
from shared.domain.exact_json import Json


def refuse_unreadable(document: Json, path: str) -> None:
    """Raises ``InvalidField`` for rules, or a text that holds some, that no worker could read. Prose is prose."""
    try:
        found = rules_in_text(document) if isinstance(document, str) else document
        if found and isinstance(found, dict | list):
            read_rules(found, "request")
    except UnknownShape as error:
        raise InvalidField(".".join(filter(None, (path, error.field))), error.problem) from error
