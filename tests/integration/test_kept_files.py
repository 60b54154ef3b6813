"""Files of messages: each type, each refusal, and what a hostile one costs."""

import gzip
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from services.executor.adapters.kept_files import (
    ArchivingTaskFiles,
    FileBounds,
    FileFailed,
    hash_content,
    parse_in_subprocess,
)
from services.executor.ports.services import FileReadResult
from shared.contracts.task import SentFile
from shared.domain.outgoing import addresses_for_files
from shared.infra.archive_folder import FolderArchive
from shared.infra.guard import AddressGuard
from shared.ports.archive import Archive, ArchiveUnavailable
from tests.doubles import sent_files
from tests.each_row import each_row
from tests.serving import serving

_SIZE = 200_000
_OFFICE = "application/vnd.openxmlformats-officedocument"


@pytest.fixture
def archive(tmp_path: Path) -> FolderArchive:
    return FolderArchive(tmp_path)


def kept(archive: Archive, *, loopback: bool = True, seconds: float = 20) -> ArchivingTaskFiles:
    return ArchivingTaskFiles(
        archive, AddressGuard(addresses_for_files((), permits_loopback=loopback)), FileBounds(_SIZE, seconds)
    )


async def read(archive: Archive, content: bytes, name: str = "a.bin") -> FileReadResult:
    await archive.put("acme", hash_content(content), content)
    return await kept(archive).fetch_and_parse("acme", SentFile(file_id=hash_content(content), name=name))


@pytest.mark.promise("files.read")
@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"Pay INV-7", "text/plain"),
        ("Zahle INV-7 für März".encode("cp1252"), "text/plain"),
        ("Pay INV-7".encode("utf-16"), "text/plain"),
        (sent_files.pdf_of("Pay INV-7"), "application/pdf"),
        (sent_files.document_of("Pay INV-7"), f"{_OFFICE}.wordprocessingml.document"),
        (sent_files.slides_of("Pay INV-7"), f"{_OFFICE}.presentationml.presentation"),
        (sent_files.sheet_of("Pay INV-7"), f"{_OFFICE}.spreadsheetml.sheet"),
    ],
    ids=["text", "cp1252", "utf-16", "pdf", "docx", "pptx", "xlsx"],
)
async def test_a_file_is_read_as_what_it_is_if_misnamed(
    archive: FolderArchive, content: bytes, media_type: str
) -> None:
    found = await read(archive, content, "picture.png")
    assert (found.media_type, found.problem, found.size) == (media_type, "", len(content))
    assert "INV-7" in found.text


@pytest.mark.promise("files.read")
async def test_an_image_is_kept_as_a_model_may_be_shown_it(archive: FolderArchive) -> None:
    found = await read(archive, sent_files.image_of(4000, 1000))
    picture = await kept(archive).get_content("acme", found.picture_id)
    assert picture is not None
    assert picture.startswith(b"\xff\xd8")
    assert found.picture_tokens == -(-1568 * 392 // 750)
    assert await kept(archive).get_content("other", found.picture_id) is None


@pytest.mark.promise("files.hostile")
@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: b"\x00\x01\x02", "application/octet-stream are not read"),
        (lambda: b"  ", "no text in it"),
        (sent_files.zip_bomb, "too large"),
        (partial(sent_files.sheet_of, "x", 1_048_575, 16_383), "memory"),
        (partial(sent_files.image_said_to_be, 30_000, 30_000), "30000 by 30000 pixels"),
        (lambda: b"%PDF-1.4\n1 0 obj" + b"[" * 100_000, "damaged"),
        (lambda: b"\x89PNG\r\n\x1a\n" + b"0" * 100, "damaged"),
    ],
    ids=["binary", "empty", "zip bomb", "endless sheet", "huge image", "deep pdf", "broken image"],
)
async def test_a_hostile_file_costs_a_bounded_amount_and_the_reason_is_told(
    archive: FolderArchive, made: Callable[[], bytes], why: str
) -> None:
    found = await read(archive, made())
    assert why in found.problem
    assert (found.text, found.picture_id) == ("", "")


@pytest.mark.promise("files.hostile")
async def test_a_parser_that_takes_too_long_is_ended() -> None:
    with pytest.raises(FileFailed, match="too long"):
        await parse_in_subprocess(b"text", seconds=0)


@pytest.mark.promise("files.read")
async def test_a_file_that_is_no_longer_kept_is_named(archive: FolderArchive) -> None:
    found = await kept(archive).fetch_and_parse("acme", SentFile(file_id="0" * 64, name="old.txt"))
    assert (found.name, found.problem) == ("old.txt", "it is no longer in the archive")


class AwayArchive(FolderArchive):
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        raise ArchiveUnavailable("away")


@pytest.mark.promise("files.read")
async def test_an_archive_that_is_away_is_no_crash(tmp_path: Path) -> None:
    found = await kept(AwayArchive(tmp_path)).fetch_and_parse("acme", SentFile(file_id="0" * 64))
    assert found.problem == "the archive of files cannot be reached"
    with pytest.raises(ArchiveUnavailable):
        await kept(AwayArchive(tmp_path)).get_content("acme", "0" * 64)


# --- by address ---------------------------------------------------------------------------------------------------


async def _large(_: Request) -> Response:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(_SIZE):
            yield b"0" * 1000

    return StreamingResponse(endless())


async def _never(request: Request) -> Response:
    await request.receive()
    await request.receive()  # until the other side is gone
    return Response()


def _packed(_: Request) -> Response:
    return Response(gzip.compress(b"0"), headers={"Content-Encoding": "gzip"})


_SITE = Starlette(
    routes=[
        Route("/invoice.txt", lambda _: Response("Pay INV-7")),
        Route("/moved", lambda _: RedirectResponse("/invoice.txt")),
        Route("/around", lambda _: RedirectResponse("/around")),
        Route("/inside", lambda _: RedirectResponse("http://10.0.0.1/secret")),
        Route("/large", _large),
        Route("/never", _never),
        Route("/packed", _packed),
    ]
)


@pytest.mark.promise("files.fetched")
@pytest.mark.parametrize("path", ["/invoice.txt?signed=1", "/moved"])
async def test_a_file_is_fetched_from_its_address_and_kept(archive: FolderArchive, path: str) -> None:
    async with serving(_SITE) as url:
        found = await kept(archive).fetch_and_parse("acme", SentFile(url=url.rstrip("/") + path))
    assert (found.text, found.problem) == ("Pay INV-7", "")
    assert await archive.get("acme", found.file_id) == b"Pay INV-7"


@pytest.mark.promise("files.fetched")
@each_row(
    ("path", "why"),
    ("/around", "leads on too often"),
    ("/inside", "leads to a private address"),
    ("/large", "larger than 200,000 bytes"),
    ("/never", "did not come within"),
    ("/packed", "comes compressed"),
    ("/absent", "status 404"),
)
async def test_an_address_that_cannot_be_fetched_is_named_why(archive: FolderArchive, path: str, why: str) -> None:
    async with serving(_SITE) as url:
        found = await kept(archive, seconds=1).fetch_and_parse("acme", SentFile(url=url.rstrip("/") + path))
    assert why in found.problem
    assert await archive.list("acme") == ()


@pytest.mark.promise("files.fetched")
@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "localhost"])
async def test_no_file_is_fetched_from_inside(archive: FolderArchive, host: str) -> None:
    found = await kept(archive, loopback=False).fetch_and_parse("acme", SentFile(url=f"http://{host}/secret"))
    assert "address" in found.problem
