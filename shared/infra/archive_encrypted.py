"""Encryption around any archive: nobody who can read the folder or the bucket can read a task (I12)."""

import asyncio
import zlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from typing_extensions import override

from shared.ports.archive import Archive, ArchiveUnavailable


class EncryptedArchive(Archive):
    """``keys``: Fernet keys, the newest first. New contents take the first; any of them opens older ones."""

    def __init__(self, inner: Archive, keys: tuple[str, ...]) -> None:
        self._inner = inner
        self._box = MultiFernet([Fernet(key) for key in keys])

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        await self._inner.put(tenant, task_id, await asyncio.to_thread(self._encrypt, content))

    @override
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        closed = await self._inner.get(tenant, task_id)
        return None if closed is None else await asyncio.to_thread(self._decrypt, closed)

    @override
    async def list(self, tenant: str) -> tuple[str, ...]:
        return await self._inner.list(tenant)

    @override
    async def delete(self, tenant: str, task_id: str) -> bool:
        return await self._inner.delete(tenant, task_id)

    def _encrypt(self, content: bytes) -> bytes:
        return self._box.encrypt(zlib.compress(content))

    def _decrypt(self, closed: bytes) -> bytes:
        try:
            return zlib.decompress(self._box.decrypt(closed))
        except (InvalidToken, zlib.error) as error:
            raise ArchiveUnavailable("no key of ARCHIVE_KEY opens this archived task, or it was damaged") from error
