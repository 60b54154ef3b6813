"""Stored assessments: who may store and see which."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

from pydantic import ValidationError

from services.gateway.edge.errors import InvalidField, MissingRole, UnknownAssessment
from services.gateway.edge.fields import object_at, refused_field
from services.gateway.features.identity.model import Caller
from shared.contracts.assessment.messages import JsonObject as Wire
from shared.contracts.assessment.results import Assessment, AssessmentCard, Run, card_of
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import Role

MOST_KEPT = 100  # of one tenant; the oldest leave
MOST_CHARACTERS = 350_000  # of one, compressed; with the number of them it bounds what a tenant takes up


class KeptAssessment(NamedTuple):
    card: AssessmentCard
    assessment: Assessment


class KeptAssessments(Protocol):
    """The stored assessments of tenants, limited in number and time.

    All methods may raise ``StoreUnavailable`` and may be repeated.
    """

    async def keep(self, tenant: str, kept: KeptAssessment) -> bool:
        """Store an assessment; False if it is over ``MOST_CHARACTERS``."""

    async def cards(self, tenant: str) -> Sequence[AssessmentCard]:
        """The summaries of the tenant's assessments, newest first."""

    async def find(self, tenant: str, assessment_id: str) -> KeptAssessment | None: ...

    async def drop(self, tenant: str, assessment_id: str) -> None:
        """Delete an assessment, if it exists."""


_URL = "participant_url"
_ID_LETTERS = 24
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)?(?:[^/?#]*@)?([^?#]*)")


class AssessmentService:
    """Stores and shows assessments. Operators see their tenant's, others their own; all, if nobody is verified.

    All methods may raise ``StoreUnavailable``.
    """

    def __init__(self, kept: KeptAssessments) -> None:
        self._kept = kept

    async def keep(self, caller: Caller, body: JsonObject) -> AssessmentCard:
        """Store ``{"assessment": ...}`` as ``purple assess`` writes it; a repeat changes nothing.

        Raises ``MissingRole`` and ``InvalidField``.
        """
        if caller.principal.verified and not {Role.CLIENT, Role.OPERATOR} & {*caller.principal.roles}:
            raise MissingRole("you have neither the role client nor operator, and may not keep assessments")
        assessment = _without_credentials(_parse_assessment(object_at(body, "assessment", "assessment")))
        owner = caller.principal.id
        card = card_of(_id_of(owner, assessment), owner, assessment)
        if not await self._kept.keep(caller.tenant, KeptAssessment(card, assessment)):
            raise InvalidField("assessment", "is too large to be kept, compressed too; keep fewer runs in one")
        return card

    async def cards(self, caller: Caller) -> Sequence[AssessmentCard]:
        """The summaries of the kept assessments that the caller may see, the newest first."""
        return [card for card in await self._kept.cards(caller.tenant) if _may_see(caller, card)]

    async def show(self, assessment_id: str, caller: Caller) -> KeptAssessment:
        """One assessment. Raises ``UnknownAssessment``."""
        found = await self._kept.find(caller.tenant, assessment_id)
        if found is None or not _may_see(caller, found.card):
            raise UnknownAssessment(f"assessment {assessment_id!r}")
        return found

    async def drop(self, assessment_id: str, caller: Caller) -> None:
        """Delete an assessment; whoever may see it may do so. Raises ``UnknownAssessment``."""
        await self.show(assessment_id, caller)
        await self._kept.drop(caller.tenant, assessment_id)


def _may_see(caller: Caller, card: AssessmentCard) -> bool:
    principal = caller.principal
    return not principal.verified or Role.OPERATOR in principal.roles or principal.id == card.owner


def _parse_assessment(given: JsonObject) -> Assessment:
    try:
        return Assessment.model_validate_json(dumps(given))
    except ValidationError as error:
        raise refused_field(error, "assessment") from None


def _id_of(owner: str, assessment: Assessment) -> str:
    return sha256(f"{owner}\n{assessment.model_dump_json()}".encode()).hexdigest()[:_ID_LETTERS]


def _without_credentials(assessment: Assessment) -> Assessment:
    """The assessment without credentials in the agent's address (name, password, token)."""
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
