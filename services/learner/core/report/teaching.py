"""Keeps what a report teaches as facts of a tenant, by the same way as an imported file."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from services.learner.core.files.importer import Importer
from services.learner.core.report.lessons import report_facts
from shared.contracts.learning_files import FileRequest, LearningFile


def report_teacher(
    importer: Importer, tenant: str, clock: Callable[[], datetime]
) -> Callable[[str, bytes], Awaitable[None]]:
    """What takes in one report; repeat it freely. It raises ``StoreUnavailable``."""

    async def teach(name: str, content: bytes) -> None:
        facts = report_facts(name, content, clock())
        if facts:
            await importer.carry_out(FileRequest(tenant=tenant, file=LearningFile.KNOWLEDGE_BASE, content=[*facts]))

    return teach
