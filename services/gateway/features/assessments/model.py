"""Where assessments are kept that people want to look at."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shared.contracts.assessment.results import Assessment, AssessmentCard

MOST_KEPT = 100  # of one tenant; the oldest leave
MOST_CHARACTERS = 350_000  # of one, compressed; with the number of them it bounds what a tenant takes up


class KeptAssessment(NamedTuple):
    card: AssessmentCard
    assessment: Assessment


class KeptAssessments(Protocol):
    """A tenant's, bounded in number and time. All may raise ``StoreUnavailable``, and may be repeated."""

    async def keep(self, tenant: str, kept: KeptAssessment) -> bool:
        """Whether it was kept; one over ``MOST_CHARACTERS`` is not."""
        ...

    async def cards(self, tenant: str) -> Sequence[AssessmentCard]:
        """The newest first."""
        ...

    async def find(self, tenant: str, assessment_id: str) -> KeptAssessment | None: ...

    async def drop(self, tenant: str, assessment_id: str) -> None:
        """Harmless for what is not there."""
        ...
