"""What an operator does with files of what is learned: take them out, bring them in."""

from collections.abc import Mapping

from pydantic import JsonValue

from services.gateway.core.errors import InvalidField, NobodyImports
from services.gateway.core.tasks.resolve import check_operator
from services.gateway.ports.identity import Caller
from services.gateway.ports.learning_files import LearningFiles
from shared.contracts.learning_files import FileReport, LearningFile
from shared.domain.exact_json import JsonObject


class FileDesk:
    """Both methods raise ``NotAnOperator``, and may raise ``StoreUnavailable``. It is about the caller's own tenant."""

    def __init__(self, files: LearningFiles) -> None:
        self._files = files

    async def export(self, caller: Caller) -> Mapping[LearningFile, JsonValue]:
        check_operator(caller)
        return await self._files.export(caller.tenant)

    async def bring(self, caller: Caller, body: JsonObject) -> FileReport:
        """``{"file", "content", "dry_run"}``. Raises ``InvalidField``, and ``NobodyImports`` where nobody answers."""
        check_operator(caller)
        file, dry_run = _file(body), body.get("dry_run", False)
        if not isinstance(dry_run, bool):
            raise InvalidField("dry_run", "must be true or false")
        if "content" not in body:
            raise InvalidField("content", "must be the content of the file")
        report = await self._files.bring(caller.tenant, file, body["content"], dry_run=dry_run)
        if report is None:
            raise NobodyImports(file.value)
        return report


def _file(body: JsonObject) -> LearningFile:
    try:
        return LearningFile(str(body.get("file")))
    except ValueError:
        raise InvalidField("file", f"must be one of {', '.join(LearningFile)}") from None
