"""What is learned of a tenant, changed in one step by a list of commands, unless it is not any more what was read."""

from collections.abc import Iterable, Sequence
from hashlib import sha1
from typing import TypeAlias
from uuid import uuid4

from services.learner.ports.files import Versions
from shared.infra import keys
from shared.infra.lua import Argument, Scripts

LearnedCommand: TypeAlias = tuple[str, str, Sequence[Argument]]  # a word, a key, what follows

_AT_ONCE = 1000  # words of one command: Lua unpacks no more than a few thousand


async def change_learned(scripts: Scripts, tenant: str, commands: Iterable[LearnedCommand], read: Versions) -> bool:
    """False, and nothing is changed, if a part that ``read`` names has another version by now."""
    names, asked = keys.learned_keys(tenant), list(commands)
    first = (names.cases, names.counts, names.memory, names.knowledge)
    places = list(dict.fromkeys((*first, *(name for _, name, _ in asked))))
    words = [word for command, name, rest in asked for word in _spell_command(command, places.index(name) + 1, rest)]
    return await scripts.run("change_learned", places, [*read, f"change-{uuid4().hex}", *words]) == 1


def digest_of_list(rows: Iterable[str]) -> str:
    """As the script computes it: to see a change, not to withstand anybody."""
    return sha1("\n".join(rows).encode(), usedforsecurity=False).hexdigest()


def _spell_command(command: str, place: int, words: Sequence[Argument]) -> list[Argument]:
    """In pieces; a command that needs words and has none is none."""
    if command == "DEL":
        return [command, place, 0]
    pieces = (words[at : at + _AT_ONCE] for at in range(0, len(words), _AT_ONCE))
    return [word for piece in pieces for word in (command, place, len(piece), *piece)]
