"""Plays kept in a file, so that a run which was stopped goes on where it was: with the same code, and with no other."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from tools.bench.worth.plays import PlayOrder, WorthPlay

ROOT = Path(__file__).parents[3]
PLAYED = ("services/executor", "services/policy", "shared", "tests/doubles", "tools/bench/worth")
SUFFIXES = (".py", ".md", ".toml", ".json")


class CannotKeepPlays(Exception):
    """The file holds no plays of this code; the message says what to do."""


class KeptPlay(NamedTuple):
    """`play` is None where the task has no place for the attack."""

    order: PlayOrder
    play: WorthPlay | None


KEPT = TypeAdapter(KeptPlay)


class KeptPlays:
    """A file with a line for the code that played, and one for each play; a line that was cut off is played again."""

    def __init__(self, path: Path) -> None:
        """Raises `CannotKeepPlays`."""
        self._path = path
        head = f"code {digest_code()}\n"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else [head]
        if lines[:1] != [head]:
            raise CannotKeepPlays(f"{path} holds no plays of the code as it is now: name another file, or remove it.")
        whole = [line for line in lines if line.endswith("\n")]
        path.write_text("".join(whole), encoding="utf-8")
        self.plays: dict[PlayOrder, WorthPlay | None] = dict(map(KEPT.validate_json, whole[1:]))

    def add(self, kept: KeptPlay) -> None:
        self.plays[kept.order] = kept.play
        with self._path.open("a", encoding="utf-8") as file:
            file.write(KEPT.dump_json(kept).decode() + "\n")


@cache
def digest_code() -> str:
    files = sorted(path for folder in PLAYED for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    told = sha256()
    for path in files:
        told.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return told.hexdigest()
