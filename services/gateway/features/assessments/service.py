"""Parses assessments to be stored, strips credentials from them, and says who may store and see which."""

import re
from hashlib import sha256
from typing import NamedTuple

from pydantic import ValidationError

from services.gateway.edge.errors import MissingRole
from services.gateway.edge.fields import object_at, to_invalid_field
from services.gateway.features.identity.model import Caller
from shared.contracts.assessment.messages import JsonObject as Wire
from shared.contracts.assessment.results import Assessment, AssessmentCard, Run, card_of
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import Role


class KeptAssessment(NamedTuple):
    card: AssessmentCard
    assessment: Assessment


_URL = "participant_url"
_ID_LETTERS = 24
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)?(?:[^/?#]*@)?([^?#]*)")


def parse_assessment(caller: Caller, body: JsonObject) -> KeptAssessment:
    """Parse ``{"assessment": ...}`` as ``purple assess`` writes it; raises ``MissingRole`` and ``InvalidField``."""
    if caller.principal.verified and not {Role.CLIENT, Role.OPERATOR} & {*caller.principal.roles}:
        raise MissingRole("you have neither the role client nor operator, and may not keep assessments")
    assessment = _strip_credentials(_validate_assessment(object_at(body, "assessment", "assessment")))
    owner = caller.principal.id
    return KeptAssessment(card_of(_assessment_id(owner, assessment), owner, assessment), assessment)


def may_see(caller: Caller, card: AssessmentCard) -> bool:
    """Whether the caller may see an assessment: operators see all of their tenant, others those they stored.

    Without authentication everybody sees all.
    """
    principal = caller.principal
    return not principal.verified or Role.OPERATOR in principal.roles or principal.id == card.owner


def _validate_assessment(given: JsonObject) -> Assessment:
    try:
        return Assessment.model_validate_json(dumps(given))
    except ValidationError as error:
        raise to_invalid_field(error, "assessment") from None


def _assessment_id(owner: str, assessment: Assessment) -> str:
    return sha256(f"{owner}\n{assessment.model_dump_json()}".encode()).hexdigest()[:_ID_LETTERS]


def _strip_credentials(assessment: Assessment) -> Assessment:
    """The assessment with user info, query and fragment removed from all URLs of the agent."""
    runs = tuple(_strip_run(run) for run in assessment.runs)
    return assessment.model_copy(update={"agent": _strip_url(assessment.agent), "runs": runs})


def _strip_run(run: Run) -> Run:
    results = run.results.model_copy(update={"participant": _strip_url(run.results.participant)})
    return run.model_copy(update={"results": results, "updates": tuple(_strip_update(one) for one in run.updates)})


def _strip_update(update: Wire) -> Wire:
    return {**update, _URL: _strip_url(str(update[_URL]))} if _URL in update else update


def _strip_url(url: str) -> str:
    """The scheme, host, port and path of a URL."""
    found = _ADDRESS.match(url)
    return f"{found[1] or ''}{found[2]}" if found else ""
