"""A disk of Redis that is full for a while: no byte of the machine's own disk is used up for it."""

from pathlib import Path

import pytest

from tools.chaos.full_disk import Disk, NoDisk


def test_nothing_fits_on_a_full_disk_and_everything_once_it_is_empty_again(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "small")
    try:
        disk.mount()
    except NoDisk as problem:
        pytest.skip(f"no file system may be mounted here: {problem}")
    try:
        with disk.full(), pytest.raises(OSError, match="No space left"):
            (tmp_path / "small" / "more").write_bytes(bytes(100_000))
        (tmp_path / "small" / "after").write_bytes(bytes(100_000))
    finally:
        disk.unmount()

    assert not (tmp_path / "small" / "after").exists()


def test_where_nobody_can_mount_there_is_no_such_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoDisk):
        Disk(tmp_path / "small").mount()
