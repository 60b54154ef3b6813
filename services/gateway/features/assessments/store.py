"""Stored assessments in state Redis: three keys of one slot for each tenant, the runs compressed."""

import binascii
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis

from services.gateway.features.assessments.service import MOST_CHARACTERS, MOST_KEPT, KeptAssessment, KeptAssessments
from shared.contracts.assessment.results import Assessment, AssessmentCard
from shared.infra import keys
from shared.infra.lua import ScriptedStore

log = structlog.get_logger()


class RedisAssessments(ScriptedStore, KeptAssessments):
    def __init__(self, redis: Redis, most: int = MOST_KEPT) -> None:
        super().__init__(redis)
        self._most = most

    async def keep(self, tenant: str, kept: KeptAssessment) -> bool:
        body = b64encode(zlib.compress(kept.assessment.model_dump_json().encode(), 6)).decode()
        if len(body) > MOST_CHARACTERS:
            return False
        card = kept.card
        words: list[str | int | float] = [
            card.assessment_id,
            card.model_dump_json(),
            body,
            self._most,
            keys.ASSESSMENT_SECONDS,
        ]
        await self._scripts.run("keep_assessment", keys.assessment_keys(tenant), words)
        return True

    async def cards(self, tenant: str) -> Sequence[AssessmentCard]:
        names = keys.assessment_keys(tenant)
        order = await self._scripts.command("ZREVRANGEBYSCORE", names.order, "+inf", "-inf", "WITHSCORES")
        times = _read_times(cast("Sequence[object]", order))
        if not times:
            return ()
        rows = cast("Sequence[str | None]", await self._scripts.command("HMGET", names.cards, *times))
        found = (_read_card(row, at) for row, at in zip(rows, times.values(), strict=True) if row)
        return tuple(card for card in found if card is not None)

    async def find(self, tenant: str, assessment_id: str) -> KeptAssessment | None:
        names = keys.assessment_keys(tenant)
        asked = (("ZSCORE", names.order), ("HGET", names.cards), ("HGET", names.bodies))
        score, card, body = await self._scripts.commands(*((*each, assessment_id) for each in asked))
        if score is None or card is None or body is None:
            return None
        read, assessment = _read_card(str(card), _read_moment(score)), _read_assessment(str(body))
        return KeptAssessment(read, assessment) if read and assessment else None

    async def drop(self, tenant: str, assessment_id: str) -> None:
        order, cards, bodies = keys.assessment_keys(tenant)
        words = (("HDEL", cards), ("HDEL", bodies), ("ZREM", order))
        await self._scripts.commands(*((*each, assessment_id) for each in words))


def _read_times(pairs: Sequence[object]) -> dict[str, datetime]:
    """When each id was stored; servers give ids and times as pairs or as one flat list."""
    flat = [part for pair in pairs for part in (pair if isinstance(pair, list | tuple) else (pair,))]
    return {str(name): _read_moment(score) for name, score in zip(flat[::2], flat[1::2], strict=True)}


def _read_moment(score: object) -> datetime:
    return datetime.fromtimestamp(float(str(score)) / 1000, UTC)


def _read_card(row: str, at: datetime) -> AssessmentCard | None:
    try:
        return AssessmentCard.model_validate_json(row).model_copy(update={"kept_at": at})
    except ValidationError as error:  # written by another version: a list without it is better than none
        log.warning("assessment_unreadable", errors=error.error_count())
        return None


def _read_assessment(body: str) -> Assessment | None:
    try:
        return Assessment.model_validate_json(zlib.decompress(b64decode(body)))
    except (ValidationError, zlib.error, binascii.Error) as error:
        log.warning("assessment_unreadable", error=type(error).__name__)
        return None
