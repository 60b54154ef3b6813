"""Opens the archive that ``ARCHIVE_URL`` and ``ARCHIVE_KEY`` name."""

import asyncio
import zlib
from pathlib import Path
from typing import Literal, Self
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from isal import isal_zlib
from pydantic import Field, field_validator, model_validator

from shared.infra.archive_folder import FolderArchive, write_synced
from shared.infra.service_settings import Settings
from shared.ports.archive import Archive, UnreadableArchivedContent

_COMPRESSION_LEVEL = 2  # the format is zlib's; ISA-L writes it in a fifth of the time of level 3, as small
_SMALL_BYTES = 64 * 1024  # bytes that are encrypted sooner than a thread is asked


class EncryptedArchive(Archive):
    """An archive that encrypts contents before they reach the ``inner`` one.

    ``keys``: Fernet keys, the newest first. The first encrypts; all decrypt.
    """

    def __init__(self, inner: Archive, keys: tuple[str, ...]) -> None:
        self._inner = inner
        self._box = MultiFernet([Fernet(key) for key in keys])

    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        is_small = len(content) <= _SMALL_BYTES
        encrypted = self._encrypt(content) if is_small else await asyncio.to_thread(self._encrypt, content)
        await self._inner.put(tenant, task_id, encrypted)

    async def get(self, tenant: str, task_id: str) -> bytes | None:
        encrypted = await self._inner.get(tenant, task_id)
        return None if encrypted is None else await asyncio.to_thread(self._decrypt, encrypted)

    async def list(self, tenant: str) -> tuple[str, ...]:
        return await self._inner.list(tenant)

    async def delete(self, tenant: str, task_id: str) -> bool:
        return await self._inner.delete(tenant, task_id)

    def _encrypt(self, content: bytes) -> bytes:
        return self._box.encrypt(isal_zlib.compress(content, _COMPRESSION_LEVEL))

    def _decrypt(self, encrypted: bytes) -> bytes:
        try:
            return zlib.decompress(self._box.decrypt(encrypted))
        except (InvalidToken, zlib.error) as error:
            raise UnreadableArchivedContent(
                "no key of ARCHIVE_KEY opens this archived task, or it was damaged"
            ) from error


_ADDRESS_FORM = "it is file:///an/absolute/path or s3://bucket/prefix"


class ArchiveSettings(Settings):
    """Where ended tasks, idle sessions and files are archived, and the keys that encrypt them."""

    archive_url: str = Field(
        default="", description="where ended tasks are kept: file:///absolute/folder or s3://bucket/prefix"
    )
    archive_key: str = Field(
        default="",
        repr=False,
        description="Fernet keys, the newest first, commas between: the first closes, any opens",
        json_schema_extra={"needed": "ARCHIVE_URL is set"},
    )

    @field_validator("archive_url")
    @classmethod
    def _check_archive_url(cls, value: str) -> str:
        url = urlsplit(value)
        in_folder = url.scheme == "file" and not url.netloc and len(url.path) > 1
        if value and not in_folder and not (url.scheme == "s3" and url.netloc):
            raise ValueError(_ADDRESS_FORM)
        return value

    @field_validator("archive_key")
    @classmethod
    def _check_keys(cls, value: str) -> str:
        parse_encryption_keys(value)
        return value

    @model_validator(mode="after")
    def _require_keys_for_archive(self) -> Self:
        if self.archive_url and not parse_encryption_keys(self.archive_key):
            raise ValueError("ARCHIVE_KEY is not set: what ARCHIVE_URL names is kept encrypted")
        return self

    def open_task_archive(self) -> Archive | None:
        """The archive of ended tasks; None if ``ARCHIVE_URL`` is not set. Does not connect yet."""
        return self._open_archive(self.archive_url)

    def open_session_archive(self) -> Archive | None:
        """The archive of idle sessions, in a folder ``sessions`` beside the tenants' tasks; None without an archive."""
        return self._open_archive(f"{self.archive_url.rstrip('/')}/sessions")

    def open_file_archive(self) -> Archive | None:
        """The archive of message files, named by the hashes of their contents; None without an archive."""
        return self._open_archive(f"{self.archive_url.rstrip('/')}/files")

    def _open_archive(self, address: str) -> Archive | None:
        return (
            EncryptedArchive(_open_unencrypted_archive(address), parse_encryption_keys(self.archive_key))
            if self.archive_url
            else None
        )


def generate_encryption_key() -> str:
    return Fernet.generate_key().decode()


def parse_encryption_keys(text: str) -> tuple[str, ...]:
    """Parses Fernet keys separated by commas, newest first; its ``ValueError`` does not repeat them."""
    keys = tuple(filter(None, map(str.strip, text.split(","))))
    for key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise ValueError("a key is 32 bytes in URL-safe base64, and commas stand between keys") from None
    return keys


def _open_unencrypted_archive(address: str) -> Archive:
    url = urlsplit(address)
    if url.scheme == "file":
        return FolderArchive(Path(unquote(url.path)))
    from shared.infra.archive_s3 import S3Archive  # boto3 takes long to load, and few need it

    return S3Archive(url.netloc, url.path)


def build_local_archive_url(folder: Path) -> str:
    """The value of ``ARCHIVE_URL`` for a local stack with its data in ``folder``."""
    return (folder.resolve() / "archive").as_uri()


def get_or_create_key_file(folder: Path, use: Literal["archive", "webhook", "assessment"] = "archive") -> str:
    """The key in a file of the local stack's ``folder``, which is created if it does not exist. Concurrent callers get
    the same key.

    ``use``: whether the key encrypts the archive, signs webhooks, or encrypts the access keys of assessed worlds.
    """
    path = folder / f"{use}.key"
    if not path.exists():
        _create_key_file(path)
    return path.read_text().strip()


def _create_key_file(path: Path) -> None:
    """Creates a key file that only its owner can read, atomically; an existing file is not replaced."""
    beside = path.with_name(f"{path.name}.{uuid4().hex}")
    write_synced(beside, generate_encryption_key().encode())
    try:
        path.hardlink_to(beside)
    except FileExistsError:
        return
    finally:
        beside.unlink()
