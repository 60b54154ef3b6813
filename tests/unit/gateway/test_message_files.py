"""The contents of a task's files, as an answer shows them."""

from typing_extensions import override

from services.gateway.features.files.service import MessageFiles
from shared.contracts.task import FILE_ID_FIELD, HistoryMessage
from shared.domain.outgoing import AllowedAddresses
from shared.ports.archive import Archive, UnreadableArchivedContent
from tests.doubles.redis_tasks import NOON, a_record


class OneUnreadable(Archive):
    """It has two files; the first was stored under a key that nobody has any more."""

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        raise NotImplementedError

    @override
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        if task_id == "f1":
            raise UnreadableArchivedContent("no key of ARCHIVE_KEY opens it")
        return b"two"

    @override
    async def list(self, tenant: str) -> tuple[str, ...]:
        raise NotImplementedError

    @override
    async def delete(self, tenant: str, task_id: str) -> bool:
        raise NotImplementedError


async def test_a_file_that_can_never_be_read_again_hides_neither_its_task_nor_its_other_files() -> None:
    parts = tuple({FILE_ID_FIELD: name, "filename": f"{name}.txt"} for name in ("f1", "f2"))
    message = HistoryMessage(role="user", text="", message_id="m1", at=NOON, parts=parts)
    record = a_record("s1").model_copy(update={"history": (message,)})

    shown = await MessageFiles(OneUnreadable(), AllowedAddresses()).add_contents(record)

    (message,) = shown.history
    assert message.parts == (parts[0], {"raw": "dHdv", "filename": "f2.txt"})
