"""A small file system for Redis' files, so that a disk can be full without filling the machine's own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIZE_MEGABYTES = 64
_BALLAST = "ballast"
_PAGES = bytes(64 * 1024)


class NoDisk(Exception):
    """Nobody may mount file systems here; the message is what mount said."""


class SmallDisk:
    """A file system in memory, mounted over an empty folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def mount(self) -> None:
        """Raises ``NoDisk``."""
        self._folder.mkdir(parents=True, exist_ok=True)
        options = ["-o", f"size={SIZE_MEGABYTES}m,mode=700"]
        words = ["mount", "-t", "tmpfs", *options, "tmpfs", str(self._folder)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  # our own words
        except OSError as error:
            raise NoDisk(str(error)) from error
        if done.returncode:
            raise NoDisk(done.stderr.strip())

    def unmount(self) -> None:
        subprocess.run(["umount", str(self._folder)], capture_output=True, check=False)  # noqa: S603, S607  # ours

    @contextmanager
    def fill(self) -> Iterator[None]:
        """Not a page more fits inside."""
        try:
            with (self._folder / _BALLAST).open("wb", buffering=0) as ballast, suppress(OSError):
                while ballast.write(_PAGES):  # until there is no space left, whoever took it
                    pass
            yield
        finally:
            self.empty()

    def empty(self) -> None:
        (self._folder / _BALLAST).unlink(missing_ok=True)
