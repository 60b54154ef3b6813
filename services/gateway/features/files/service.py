"""The files in clients' messages: parsed, checked, stored in the archive, and read again for answers."""

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import structlog
from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField, NoVisibleTask, UnsupportedContent
from services.gateway.edge.fields import decode_base64, object_at, text_at
from shared.contracts.task import FILE_ID_FIELD, SentFile, TaskRecord
from shared.domain.exact_json import JsonObject, objects_in
from shared.domain.outgoing import AllowedAddresses, why_url_refused
from shared.ports.archive import Archive, ArchiveUnavailable, UnreadableArchivedContent
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
_FILE_KEYS = ("file", "raw", "url")
_SHORTEST_DOUBLE_BASE64 = 16  # characters; shorter texts happen to be base64
_BYTES_KEYS, _URL_KEYS = ("raw", "bytes", "fileWithBytes"), ("url", "uri", "fileWithUri")


class ClientFile(NamedTuple):
    """A file in a message. ``content``: None if the client gave a URL. ``path``: its place in the request."""

    file: SentFile
    content: bytes | None
    path: str

    @property
    def stored_part(self) -> dict[str, JsonValue]:
        """The message part as the task's record stores it: in the form of protocol 1.0, without the bytes."""
        content = {FILE_ID_FIELD: self.file.file_id} if self.content is not None else {"url": self.file.url}
        details = {"filename": self.file.name, "mediaType": self.file.media_type}
        return {**content, **{name: value for name, value in details.items() if value}}


def is_file_part(part: JsonObject) -> bool:
    return any(part.get(key) is not None for key in _FILE_KEYS)


def parse_file_part(part: JsonObject, path: str) -> ClientFile:
    """Parse a file part of any protocol version; raises ``InvalidField``."""
    is_nested = part.get("file") is not None
    fields = object_at(part, "file", f"{path}.file") if is_nested else part
    file_path = f"{path}.file" if is_nested else path
    content_keys = [key for key in (*_BYTES_KEYS, *_URL_KEYS) if fields.get(key) is not None]
    if len(content_keys) != 1:
        raise InvalidField(file_path, "must have either the bytes of the file or its address")
    key, key_path = content_keys[0], f"{file_path}.{content_keys[0]}"
    text = text_at(fields, key, key_path) or ""
    name = text_at(fields, "filename", file_path) or text_at(fields, "name", file_path)
    media_type = text_at(fields, "mediaType", file_path) or text_at(fields, "mimeType", file_path)
    file = SentFile(name=name or None, media_type=media_type or None)
    if key in _URL_KEYS:
        return ClientFile(file.model_copy(update={"url": text}), None, key_path)
    content = decode_base64(text, key_path)
    if key == "fileWithBytes":
        content = _decode_if_still_base64(content)
    stored = {"file_id": hashlib.sha256(content).hexdigest(), "size": len(content)}
    return ClientFile(file.model_copy(update=stored), content, key_path)


def _decode_if_still_base64(content: bytes) -> bytes:
    """The content, decoded again if it is base64 still, as the official library of 0.3 sends it over REST."""
    if len(content) < _SHORTEST_DOUBLE_BASE64 or len(content) % 4:
        return content
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        return content


_NO_FILES_KEPT_TEXT = "this agent keeps no files (ARCHIVE_URL is not set at its gateway): send text and data"


class MessageFiles:
    """Checks, stores and reads the files of messages. ``archive``: None if files are not accepted.

    ``addresses``: to which files' URLs may lead, which the fetching executor checks again. ``most_files``: of a
    message; ``most_bytes``: of a file.
    """

    def __init__(
        self, archive: Archive | None, addresses: AllowedAddresses, most_files: int = 10, most_bytes: int = 10_000_000
    ) -> None:
        self._archive = archive
        self._addresses = addresses
        self._most_files = most_files
        self._most_bytes = most_bytes

    def check_files(self, files: Sequence[ClientFile]) -> None:
        """Check number, size and URLs of files. Raises ``UnsupportedContent`` and ``InvalidField``."""
        if files and self._archive is None:
            raise UnsupportedContent(f"{files[0].path}: {_NO_FILES_KEPT_TEXT}")
        if len(files) > self._most_files:
            raise InvalidField("message.parts", f"there are {len(files)} files; at most {self._most_files} are taken")
        for file in files:
            if file.content is not None and len(file.content) > self._most_bytes:
                raise InvalidField(file.path, f"the file is larger than {self._most_bytes:,} bytes")
            if file.content is None and (problem := why_url_refused(file.file.url or "", self._addresses)):
                raise InvalidField(file.path, f"the URL {problem}")

    async def store_contents(self, tenant: str, files: Sequence[ClientFile]) -> None:
        """Store the files' contents in the archive; it may be repeated. Raises ``StoreUnavailable``."""
        for file in files:
            if self._archive is not None and file.content is not None:
                try:
                    await self._archive.put(tenant, file.file.file_id, file.content)
                except ArchiveUnavailable as error:
                    raise StoreUnavailable(f"the message's files could not be kept: {error}") from error

    async def add_contents(self, record: TaskRecord) -> TaskRecord:
        """The record with the bytes of its messages' files, as far as they are still stored."""
        if not any(FILE_ID_FIELD in part for message in record.history for part in message.parts):
            return record
        history = []
        for message in record.history:
            parts = [await self._add_part_bytes(record.tenant, part) for part in message.parts]
            history.append(message.model_copy(update={"parts": tuple(parts)}))
        return record.model_copy(update={"history": tuple(history)})

    async def find_file(self, record: TaskRecord, file_id: str) -> tuple[str, bytes]:
        """Name and content of a file of the task. Raises ``NoVisibleTask`` if not stored, and ``StoreUnavailable``."""
        name = _collect_file_names_by_id(record).get(file_id)
        content = await self._read_content(record.tenant, file_id) if name is not None else None
        if name is None or content is None:
            raise NoVisibleTask(f"{record.task_id}/files/{file_id}")
        return name, content

    async def _add_part_bytes(self, tenant: str, part: dict[str, JsonValue]) -> dict[str, JsonValue]:
        file_id = part.get(FILE_ID_FIELD)
        content = await self._read_content(tenant, file_id) if isinstance(file_id, str) else None
        if content is None:
            return part
        other_fields = {name: value for name, value in part.items() if name != FILE_ID_FIELD}
        return {"raw": base64.b64encode(content).decode(), **other_fields}

    async def _read_content(self, tenant: str, file_id: str) -> bytes | None:
        if self._archive is None:
            return None
        try:
            return await self._archive.get(tenant, file_id)
        except UnreadableArchivedContent as error:  # at any later try, too: as if it were stored no longer
            log.warning("file_unreadable", tenant=tenant, file_id=file_id, error=str(error))
            return None
        except ArchiveUnavailable as error:
            raise StoreUnavailable(f"the task's files cannot be read: {error}") from error


def _collect_file_names_by_id(record: TaskRecord) -> dict[str, str]:
    """The names of a task's stored files by id, both sent and fetched ones."""
    names = {file.file_id: file.shown_name for file in record.request.files if file.file_id}
    parts = (part for message in record.history for part in message.parts if FILE_ID_FIELD in part)
    names |= {str(part[FILE_ID_FIELD]): str(part.get("filename") or "file") for part in parts}
    rows = objects_in(record.metadata.get("files"))
    return {**{str(row["file_id"]): str(row.get("name") or "file") for row in rows if row.get("file_id")}, **names}
