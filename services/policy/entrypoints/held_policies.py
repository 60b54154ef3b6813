"""A request's policies, prepared once for all requests that bring the same ones."""

import marshal

from services.policy.core.prepared import Prepared, PreparedPolicies
from services.policy.entrypoints.body import read_as
from services.policy.entrypoints.refusal import Refused
from shared.contracts.policy import Policy, PolicyContract
from shared.contracts.policy_document import refused_field
from shared.domain.exact_json import Json, JsonObject, dumps


class _Policies(PolicyContract):
    policies: tuple[Policy, ...] = ()


def prepared_policies(document: JsonObject, held: PreparedPolicies) -> Prepared:
    """Raises ``Refused`` where the document's policies are none, ``TooMuch`` where they are too many."""
    own = {"policies": document["policies"]} if "policies" in document else {}
    return held.get(_key(own), lambda: _read_policies(own))


def _read_policies(own: dict[str, Json]) -> tuple[Policy, ...]:
    """A field that nobody reads is refused: a misspelt one would silently not hold."""
    policies = read_as(_Policies, own).policies
    documents = own.get("policies")
    for place, document in enumerate(documents if isinstance(documents, list) else ()):
        if strange := refused_field(document):
            raise Refused(422, f"policies.{place}: nobody reads the field {strange}", f"policies.{place}")
    return policies


def _key(policies: dict[str, Json]) -> bytes:
    """The same for the same policies only. It never leaves the process: written, not read."""
    try:
        return marshal.dumps(policies, 2)
    except ValueError:  # an exact decimal among a policy's own facts
        return dumps(policies).encode()
