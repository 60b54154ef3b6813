"""``/assessments``: stores assessments without credentials for a time, for their owners and operators."""

import binascii
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple, cast

import structlog
from pydantic import JsonValue, ValidationError
from redis.asyncio import Redis
from starlette.responses import JSONResponse, Response

from services.gateway.edge.errors import InvalidField, MissingRole, NotFound
from services.gateway.edge.fields import object_at, to_invalid_field
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.model import Caller
from shared.contracts.assessment.results import Assessment, AssessmentSummary, build_assessment_summary
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import Role
from shared.infra import keys
from shared.infra.lua import ScriptedStore, parse_scores


class KeptAssessment(NamedTuple):
    """A stored assessment with its summary."""

    summary: AssessmentSummary
    assessment: Assessment


_AGENT_URL_KEY = "participant_url"
_ID_LENGTH = 24
_URL_PARTS_PATTERN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)?(?:[^/?#]*@)?([^?#]*)")


def _parse_assessment(caller: Caller, body: JsonObject) -> KeptAssessment:
    """Parse ``{"assessment": ...}`` as ``purple assess`` writes it; raises ``MissingRole`` and ``InvalidField``."""
    if caller.principal.verified and not {Role.CLIENT, Role.OPERATOR} & {*caller.principal.roles}:
        raise MissingRole("you have neither the role client nor operator, and may not keep assessments")
    try:
        assessment = Assessment.model_validate_json(dumps(object_at(body, "assessment")))
    except ValidationError as error:
        raise to_invalid_field(error, "assessment") from None
    assessment = _strip_credentials(assessment)
    owner = caller.principal.id
    name = sha256(f"{owner}\n{assessment.model_dump_json()}".encode()).hexdigest()[:_ID_LENGTH]
    return KeptAssessment(build_assessment_summary(name, owner, assessment), assessment)


def may_see_assessment(caller: Caller, summary: AssessmentSummary) -> bool:
    """Whether the caller may see an assessment: operators see all of their tenant, others those they stored.

    Without authentication everybody sees all.
    """
    principal = caller.principal
    return not principal.verified or Role.OPERATOR in principal.roles or principal.id == summary.owner


def _strip_credentials(assessment: Assessment) -> Assessment:
    """The assessment with user info, query and fragment removed from all URLs of the agent."""
    agent, runs = _strip_url_credentials(assessment.agent), []
    for run in assessment.runs:
        participant = _strip_url_credentials(run.results.participant)
        updates = [
            {**update, _AGENT_URL_KEY: _strip_url_credentials(str(update[_AGENT_URL_KEY]))}
            if _AGENT_URL_KEY in update
            else update
            for update in run.updates
        ]
        results = run.results.model_copy(update={"participant": participant})
        runs.append(run.model_copy(update={"results": results, "updates": tuple(updates)}))
    return assessment.model_copy(update={"agent": agent, "runs": tuple(runs)})


def _strip_url_credentials(url: str) -> str:
    """The scheme, host, port and path of a URL."""
    match = _URL_PARTS_PATTERN.match(url)
    return f"{match[1] or ''}{match[2]}" if match else ""


MOST_KEPT_ASSESSMENTS = 100  # of one tenant; the oldest leave
MOST_CHARACTERS_OF_ASSESSMENT = 350_000  # of one, compressed; with the number of them it bounds what a tenant takes up
log = structlog.get_logger()


class AssessmentRepository(ScriptedStore):
    """The stored assessments of tenants, limited in number and time.

    All methods may raise ``StoreUnavailable`` and may be repeated.
    """

    def __init__(self, redis: Redis, most_kept: int = MOST_KEPT_ASSESSMENTS) -> None:
        super().__init__(redis)
        self._most = most_kept

    async def store_assessment(self, caller: Caller, body: JsonObject) -> AssessmentSummary:
        """Store ``{"assessment": ...}``; a repeat changes nothing. Raises ``MissingRole`` and ``InvalidField``."""
        kept_assessment = _parse_assessment(caller, body)
        await self.write_assessment(caller.tenant, kept_assessment)
        return kept_assessment.summary

    async def write_assessment(self, tenant: str, kept_assessment: KeptAssessment) -> None:
        body = b64encode(zlib.compress(kept_assessment.assessment.model_dump_json().encode(), 6)).decode()
        if len(body) > MOST_CHARACTERS_OF_ASSESSMENT:
            raise InvalidField("assessment", "is too large to be kept, compressed too; keep fewer runs in one")
        summary = kept_assessment.summary
        arguments: list[str | int | float] = [
            summary.assessment_id,
            summary.model_dump_json(),
            body,
            self._most,
            keys.ASSESSMENT_SECONDS,
        ]
        await self._scripts.run("keep_assessment", keys.assessment_keys(tenant), arguments)

    async def list_summaries(self, caller: Caller) -> Sequence[AssessmentSummary]:
        """The summaries of the assessments that the caller may see, the newest first."""
        hashes = keys.assessment_keys(caller.tenant)
        order = await self._scripts.execute("ZREVRANGEBYSCORE", hashes.order, "+inf", "-inf", "WITHSCORES")
        times = {name: _parse_score_time(score) for name, score in parse_scores(order).items()}
        if not times:
            return ()
        rows = cast("Sequence[str | None]", await self._scripts.execute("HMGET", hashes.cards, *times))
        summaries = (_read_summary(row, time) for row, time in zip(rows, times.values(), strict=True) if row)
        return tuple(summary for summary in summaries if summary is not None and may_see_assessment(caller, summary))

    async def get_assessment(self, assessment_id: str, caller: Caller) -> KeptAssessment:
        """One assessment; raises ``NotFound``."""
        kept_assessment = await self._find_assessment(caller.tenant, assessment_id)
        if kept_assessment is None or not may_see_assessment(caller, kept_assessment.summary):
            raise NotFound(f"assessment {assessment_id!r}")
        return kept_assessment

    async def _find_assessment(self, tenant: str, assessment_id: str) -> KeptAssessment | None:
        hashes = keys.assessment_keys(tenant)
        commands = (("ZSCORE", hashes.order), ("HGET", hashes.cards), ("HGET", hashes.bodies))
        score, row, body = await self._scripts.execute_commands(*((*command, assessment_id) for command in commands))
        if score is None or row is None or body is None:
            return None
        summary = _read_summary(row, _parse_score_time(score))
        assessment = _read_assessment(str(body))
        return KeptAssessment(summary, assessment) if summary and assessment else None

    async def delete_assessment(self, assessment_id: str, caller: Caller) -> None:
        """Delete an assessment; whoever may see it may do so. Raises ``NotFound``."""
        await self.get_assessment(assessment_id, caller)
        order, summaries, bodies = keys.assessment_keys(caller.tenant)
        commands = (("HDEL", summaries), ("HDEL", bodies), ("ZREM", order))
        await self._scripts.execute_commands(*((*command, assessment_id) for command in commands))


def _parse_score_time(score: object) -> datetime:
    return datetime.fromtimestamp(float(str(score)) / 1000, UTC)


def _read_summary(row: object, time: datetime) -> AssessmentSummary | None:
    """The summary in a row; None if another version wrote it, since a list without it is better than none."""
    summary = AssessmentSummary.parse_row(row)
    if summary is None:
        log.warning("assessment_unreadable", kept_at=time.isoformat())
        return None
    return summary.model_copy(update={"kept_at": time})


def _read_assessment(body: str) -> Assessment | None:
    try:
        return Assessment.model_validate_json(zlib.decompress(b64decode(body)))
    except (ValidationError, zlib.error, binascii.Error) as error:
        log.warning("assessment_unreadable", error=type(error).__name__)
        return None


PAGE_PATH = "/console/learning/assessments/"


class AssessmentEndpoints(ApiEndpoints[AssessmentRepository]):
    @api_path("POST", "/assessments")
    async def store_assessment(self, call: ApiCall) -> Response:
        """Store the assessment in the body's field ``assessment`` for the console. 201 with its id and the path of its
        page; 400 if it is not valid.
        """
        summary = await self._service.store_assessment(call.caller, call.body)
        return JSONResponse({"assessment_id": summary.assessment_id, "page": PAGE_PATH + summary.assessment_id}, 201)

    @api_path("GET", "/assessments")
    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the stored assessments, the newest first."""
        summaries = await self._service.list_summaries(call.caller)
        return {"assessments": [summary.model_dump(mode="json", exclude={"v"}) for summary in summaries]}

    @api_path("GET", "/assessments/{assessment_id}")
    async def show_one(self, call: ApiCall) -> JsonValue:
        """Show one assessment as it was stored. 404 if there is none of that id that the caller may see."""
        kept_assessment = await self._service.get_assessment(call.path_value("assessment_id"), call.caller)
        return {"assessment": kept_assessment.assessment.model_dump(mode="json")}
