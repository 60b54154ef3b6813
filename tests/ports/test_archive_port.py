"""What every archive promises: in a folder, in a bucket (a real local HTTP server), encrypted or not."""

import base64
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import boto3
import pytest

from shared.infra.archive_folder import FolderArchive
from shared.infra.archive_open import EncryptedArchive, generate_encryption_key
from shared.infra.archive_s3 import S3Archive
from shared.ports.archive import Archive, ArchiveUnavailable
from tests.integration.bucket_stage import BucketServer, bucket_server

STRANGE = ("../../etc/passwd", "..", "a/b", "~x", "naïve ☃", "." * 3, "é" * 256)


@pytest.fixture(scope="module")
def s3_server() -> Iterator[BucketServer]:
    with bucket_server() as server:
        yield server


@pytest.fixture
def bucket(s3_server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environ.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="tasks")
    return "tasks"


@pytest.fixture(params=["folder", "bucket", "encrypted"])
async def archive(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Archive]:
    match request.param:
        case "folder":
            yield FolderArchive(tmp_path / "archive")
        case "encrypted":
            yield EncryptedArchive(FolderArchive(tmp_path / "archive"), (generate_encryption_key(),))
        case _:
            yield S3Archive(request.getfixturevalue("bucket"), f"some/{tmp_path.name}")


@pytest.mark.promise("archive.adapters")
async def test_what_was_stored_last_is_found_until_it_is_deleted(archive: Archive) -> None:
    """Storing again replaces; deleting what is not there says so."""
    await archive.put("acme", "t1", b"one")
    await archive.put("acme", "t1", b"two")
    assert await archive.get("acme", "t1") == b"two"
    assert await archive.list("acme") == ("t1",)
    assert [await archive.delete("acme", "t1"), await archive.delete("acme", "t1")] == [True, False]
    assert (await archive.get("acme", "t1"), await archive.list("acme")) == (None, ())


@pytest.mark.promise("archive.adapters")
async def test_no_id_reaches_another_tenants_contents(archive: Archive) -> None:
    """Whatever ids clients choose: each is its own place, and nothing lies outside the tenant's (I10)."""
    await archive.put("acme", "t1", b"acme's")
    for name in STRANGE:
        await archive.put(name, name, name.encode())
    assert [await archive.get(name, name) for name in STRANGE] == [name.encode() for name in STRANGE]
    assert await archive.get("acme/../acme", "t1") is None
    assert await archive.list("acme") == ("t1",)
    assert await archive.list("a/b") == ("a/b",)


@pytest.mark.promise("archive.adapters")
async def test_an_id_too_long_for_a_name_is_listed_by_its_hash_and_found_by_it(archive: Archive) -> None:
    await archive.put("acme", "é" * 256, b"long")
    (listed,) = await archive.list("acme")
    assert await archive.get("acme", listed) == b"long"


@pytest.mark.promise("archive.adapters")
async def test_an_archive_that_cannot_be_reached_says_so(bucket: str, tmp_path: Path) -> None:
    """A folder that is a file, a bucket that does not exist."""
    (tmp_path / "file").write_text("")
    for archive in (FolderArchive(tmp_path / "file"), S3Archive("no-such-bucket")):
        with pytest.raises(ArchiveUnavailable):
            await archive.put("acme", "t1", b"x")
    for read in (S3Archive("no-such-bucket").list("acme"), S3Archive("no-such-bucket").get("acme", "t1")):
        with pytest.raises(ArchiveUnavailable):
            await read


@pytest.mark.promise("archive.encrypted")
async def test_nothing_of_a_task_can_be_read_without_the_key(tmp_path: Path) -> None:
    """Neither as it is nor in base64; another key opens nothing (I12)."""
    inner = FolderArchive(tmp_path)
    await EncryptedArchive(inner, (generate_encryption_key(),)).put("acme", "t1", b"salary of Dana")
    stored = await inner.get("acme", "t1") or b""
    assert b"Dana" not in stored
    assert b"Dana" not in base64.urlsafe_b64decode(stored)
    with pytest.raises(ArchiveUnavailable, match="ARCHIVE_KEY"):
        await EncryptedArchive(inner, (generate_encryption_key(),)).get("acme", "t1")


@pytest.mark.promise("archive.encrypted")
async def test_keys_rotate(tmp_path: Path) -> None:
    """With a new key first and the old one behind it, old contents still open, and new ones need the new key."""
    inner, old, new = FolderArchive(tmp_path), generate_encryption_key(), generate_encryption_key()
    await EncryptedArchive(inner, (old,)).put("acme", "t1", b"one")
    both = EncryptedArchive(inner, (new, old))
    await both.put("acme", "t2", b"two")
    assert [await both.get("acme", "t1"), await both.get("acme", "t2")] == [b"one", b"two"]
    assert await EncryptedArchive(inner, (new,)).get("acme", "t2") == b"two"
