"""Files of messages: fetched from the address given, kept in the archive, and parsed in a process of their own."""

import asyncio
import base64
import binascii
import hashlib
import os
import signal
import sys
from typing import NamedTuple

import httpx
from pydantic import TypeAdapter, ValidationError

from services.executor.adapters.file_parser import ParsedFile
from services.executor.ports.services import FileReadResult, TaskFiles
from shared.contracts.task import SentFile
from shared.infra.guard import AddressGuard
from shared.infra.guarded_http import RefusedConnection, make_guarded_client
from shared.ports.archive import Archive, ArchiveUnavailable

_PARSED_FILE_ADAPTER = TypeAdapter(ParsedFile)
_PARSER_COMMAND = (sys.executable, "-m", "services.executor.adapters.file_parser")
_PARSE_SECONDS = 20.0
_PARSERS_AT_ONCE = 2  # parsers
_MOST_REDIRECTS = 3
_CONNECT_SECONDS = 5.0
_PASSED_ENVIRONMENT_VARIABLES = ("PATH", "PYTHONPATH", "LANG", "LC_ALL")  # the parser is given no secret
_CAUSES_BY_SIGNAL: dict[int, str] = {
    signal.SIGXCPU: "it takes too much computing",
    signal.SIGKILL: "it takes too much computing",
    signal.SIGABRT: "it needs more memory than a file may have",
}


class FileBounds(NamedTuple):
    """Bounds on one file. ``size``: in bytes; ``seconds``: how long fetching it may take."""

    size: int = 10_000_000
    seconds: float = 20.0


class FileFailed(Exception):
    """The file cannot be fetched or parsed. The message is appended to "this file could not be read: "."""


class ArchivingTaskFiles(TaskFiles):
    """Fetches, archives and parses files. ``guard``: the permitted addresses. A content is archived by its hash."""

    def __init__(self, archive: Archive, guard: AddressGuard, bounds: FileBounds | None = None) -> None:
        self._archive = archive
        self._guard = guard
        self._bounds = bounds or FileBounds()
        self._parser_slots = asyncio.Semaphore(_PARSERS_AT_ONCE)

    async def fetch_and_parse(self, tenant: str, file: SentFile) -> FileReadResult:
        description = FileReadResult(name=file.shown_name, file_id=file.file_id, size=file.size or 0)
        try:
            content = await self._fetch_or_load(tenant, file)
            description = description.model_copy(update={"size": len(content), "file_id": hash_content(content)})
            async with self._parser_slots:
                parsed_file = await parse_in_subprocess(content)
            return await self._archive_picture(tenant, description, parsed_file)
        except FileFailed as failure:
            return description.model_copy(update={"problem": str(failure)})
        except ArchiveUnavailable:
            return description.model_copy(update={"problem": "the archive of files cannot be reached"})

    async def get_content(self, tenant: str, name: str) -> bytes | None:
        return await self._archive.get(tenant, name)

    async def _fetch_or_load(self, tenant: str, file: SentFile) -> bytes:
        if not file.file_id:
            content = await self._fetch_url(file.url or "")
            await self._archive.put(tenant, hash_content(content), content)
            return content
        archived_content = await self._archive.get(tenant, file.file_id)
        if archived_content is None:
            raise FileFailed("it is no longer in the archive")
        return archived_content

    async def _archive_picture(
        self, tenant: str, description: FileReadResult, parsed_file: ParsedFile
    ) -> FileReadResult:
        picture = base64.b64decode(parsed_file.get("picture", ""))
        if picture:
            await self._archive.put(tenant, hash_content(picture), picture)
        fields = {name: value for name, value in parsed_file.items() if name != "picture"}
        return description.model_copy(update={**fields, "picture_id": hash_content(picture) if picture else ""})

    async def _fetch_url(self, url: str) -> bytes:
        """The content at an address, fetched without credentials; each redirect's address is checked, too.

        Raises ``FileFailed`` if it cannot be fetched, in time and within the size limit.
        """
        timeout = httpx.Timeout(self._bounds.seconds, connect=_CONNECT_SECONDS)
        try:
            async with asyncio.timeout(self._bounds.seconds), make_guarded_client(self._guard, timeout) as client:
                client.max_redirects = _MOST_REDIRECTS
                headers = {"Accept-Encoding": "identity", "User-Agent": "purple-agent"}
                async with client.stream("GET", url, headers=headers, follow_redirects=True) as response:
                    return await self._read_body(response)
        except RefusedConnection as refused:
            raise FileFailed(str(refused)) from refused
        except (TimeoutError, httpx.TimeoutException) as error:
            raise FileFailed(f"it did not come within {self._bounds.seconds:g} seconds") from error
        except httpx.TooManyRedirects as error:
            raise FileFailed("its address leads on too often") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FileFailed(f"its address does not answer ({type(error).__name__})") from error

    async def _read_body(self, response: httpx.Response) -> bytes:
        if response.status_code != 200:
            raise FileFailed(f"its address answers with status {response.status_code}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise FileFailed("it comes compressed")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._bounds.size:
                raise FileFailed(f"it is larger than {self._bounds.size:,} bytes")
        return bytes(body)


def hash_content(content: bytes) -> str:
    """The id of a content in the file archive: its hash."""
    return hashlib.sha256(content).hexdigest()


async def parse_in_subprocess(content: bytes, seconds: float = _PARSE_SECONDS) -> ParsedFile:
    """Parses a file in a process that is killed if it takes too long. Raises ``FileFailed``."""
    environment = {name: os.environ[name] for name in _PASSED_ENVIRONMENT_VARIABLES if name in os.environ}
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *_PARSER_COMMAND, stdin=pipe, stdout=pipe, stderr=null, env=environment, start_new_session=True
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(content)
    except TimeoutError as error:
        raise FileFailed("it takes too long") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise FileFailed(_CAUSES_BY_SIGNAL.get(-process.returncode, "its parser failed"))
    try:
        return _PARSED_FILE_ADAPTER.validate_json(output)
    except (ValidationError, binascii.Error) as error:
        raise FileFailed("its parser failed") from error
