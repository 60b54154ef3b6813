"""An archive in a folder, one file for each task. File names are safe in a bucket, too, whatever ids clients choose."""

import asyncio
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote
from uuid import uuid4

from shared.ports.archive import HASHED_ID_PATTERN, Archive, ArchiveUnavailable

_LONGEST_NAME = 180  # a folder's names are limited to 255 bytes, a bucket's to 1024
_FILE_SUFFIX = ".task"


def build_tenant_folder_name(tenant: str) -> str:
    return f"tenant={_encode_as_file_name(tenant)}"


def build_archive_file_name(content_id: str) -> str:
    return (content_id if HASHED_ID_PATTERN.fullmatch(content_id) else _encode_as_file_name(content_id)) + _FILE_SUFFIX


def parse_content_id(file_name: str) -> str | None:
    """The id in a file's name; for an id that was too long, ``~`` and its hash; None for a file of another kind."""
    stem = file_name.removesuffix(_FILE_SUFFIX)
    if stem == file_name:
        return None
    return stem if HASHED_ID_PATTERN.fullmatch(stem) else unquote(stem)


def _encode_as_file_name(text: str) -> str:
    quoted = quote(text, safe="").replace("~", "%7E")
    return quoted if len(quoted) <= _LONGEST_NAME else f"~{hashlib.sha256(text.encode()).hexdigest()}"


class FolderArchive(Archive):
    """An archive in a folder. A file is written under another name, synced and renamed: no reader sees half of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, tenant: str, content_id: str, content: bytes) -> None:
        await asyncio.to_thread(self._put, self._build_path(tenant, content_id), content)

    async def get(self, tenant: str, content_id: str) -> bytes | None:
        return await asyncio.to_thread(self._get, self._build_path(tenant, content_id))

    async def list(self, tenant: str) -> tuple[str, ...]:
        return await asyncio.to_thread(self._list, self._folder / build_tenant_folder_name(tenant))

    async def delete(self, tenant: str, content_id: str) -> bool:
        return await asyncio.to_thread(self._delete, self._build_path(tenant, content_id))

    def _build_path(self, tenant: str, content_id: str) -> Path:
        return self._folder / build_tenant_folder_name(tenant) / build_archive_file_name(content_id)

    def _put(self, path: Path, content: bytes) -> None:
        part_path = path.with_name(f"{uuid4().hex}.part")
        try:
            try:
                write_synced(part_path, content)
            except FileNotFoundError:  # the tenant's first
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_synced(part_path, content)
            part_path.replace(path)
            _sync_folder(path.parent)
        except OSError as error:
            with suppress(OSError):
                part_path.unlink()
            raise _translate_error(error) from error

    def _get(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _translate_error(error) from error

    def _list(self, folder: Path) -> tuple[str, ...]:
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _translate_error(error) from error
        return tuple(sorted(content_id for name in names if (content_id := parse_content_id(name)) is not None))

    def _delete(self, path: Path) -> bool:
        try:
            path.unlink()
            _sync_folder(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _translate_error(error) from error
        return True


def write_synced(path: Path, content: bytes) -> None:
    """Writes a new file that only its owner can read, and syncs it to disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Syncs a folder to disk, without which a rename in it may be lost."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _translate_error(error: OSError) -> ArchiveUnavailable:
    return ArchiveUnavailable(f"the archive's folder cannot be used: {type(error).__name__}: {error.strerror}")
