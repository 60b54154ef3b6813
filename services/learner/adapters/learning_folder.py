"""Keeps what is learned of one tenant as files in the folder RL_CACHE_DIR, each replaced atomically."""

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from shared.contracts.learning_files import LearningFile


class LearningFolder:
    """The folder with one tenant's learning files. Methods block briefly, and raise ``OSError``.

    A file that somebody else has changed is kept as ``NAME.before`` when it is replaced.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[LearningFile, str] = {}
        self._writing = threading.Lock()  # a write that was given up may still run

    def create_if_missing(self) -> None:
        """Creates the folder if it is missing, and checks that files can be written in it. Raises ``OSError``."""
        self._folder.mkdir(parents=True, exist_ok=True)
        probe = self._folder / f".{os.getpid()}.probe"
        probe.write_text("")
        probe.unlink()

    def read_files(self) -> Mapping[LearningFile, JsonValue]:
        """The contents of the existing files. One that is not JSON is returned as text, which no importer accepts."""
        files = ((file, self._folder / file.value) for file in LearningFile)
        return {file: _parse_content(path.read_bytes()) for file, path in files if path.is_file()}

    def write_changed_files(self, files: Mapping[LearningFile, JsonValue]) -> None:
        """Writes the files whose content has changed since they were last written here."""
        with self._writing:
            for file, content in files.items():
                self._write_file(file, json.dumps(content, indent=1, ensure_ascii=False))

    def _write_file(self, file: LearningFile, text: str) -> None:
        path = self._folder / file.value
        if file not in self._written and path.is_file() and not self._is_as_last_written(path):
            path.replace(path.with_name(f"{path.name}.before"))
        if self._written.get(file) != text:
            self._replace_file(path.with_name(f".{path.name}.sha256"), _hash_content(text.encode()))
            self._replace_file(path, text)
            self._written[file] = text

    def _is_as_last_written(self, path: Path) -> bool:
        """Whether the file's content is what a learner wrote last, compared by the stored hash; only then may it be
        replaced without a copy.
        """
        hash_file = path.with_name(f".{path.name}.sha256")
        return hash_file.is_file() and hash_file.read_text() == _hash_content(path.read_bytes())

    def _replace_file(self, path: Path, text: str) -> None:
        """Replace a file atomically: a reader finds the old content or the new, whole."""
        new_file = path.with_name(f".{path.name}.{os.getpid()}")
        with new_file.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new_file.replace(path)


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parse_content(raw: bytes) -> JsonValue:
    try:
        content: JsonValue = json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")[:100]
    return content
