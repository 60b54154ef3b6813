"""The tools of a request by what they are for: those that read, those that write, and the loop's own."""

from typing import NamedTuple

from services.planner.core.request import LOCAL, Request, ToolSpec
from services.planner.core.words import family, parts, stem, stems, text_words

_READS = stems("get list find search fetch return retrieve show look read query".split())
_LOOKS = frozenset("preview estimate export status history".split())


class Toolset(NamedTuple):
    """``guarded``: the loop takes proposals, which name their part of the task; else every call is carried out."""

    readers: tuple[ToolSpec, ...]
    writers: tuple[ToolSpec, ...]
    local: frozenset[str]
    guarded: bool

    def has(self, name: str) -> bool:
        return name in self.local


def toolset_of(request: Request) -> Toolset:
    """A tool writes where its schema says so; where no schema says it of any tool, by the verb of its name."""
    names = {tool.name for tool in request.tools}
    guarded = request.guarded
    local = frozenset(names & LOCAL)
    own = [tool for tool in request.tools if tool.name not in local]
    writers = tuple(tool for tool in own if (tool.is_marked if guarded else not _is_reader(tool)))
    known = {tool.name for tool in writers}
    return Toolset(tuple(tool for tool in own if tool.name not in known), writers, local, guarded)


def _is_reader(tool: ToolSpec) -> bool:
    """By the verb that its name begins with; a name without one by the first word of the description."""
    words = parts(tool.name)
    if words and family(words[0]) not in (None, "read"):
        return False
    if not words or family(words[0]) == "read" or words[-1] in _LOOKS or words[0] in _LOOKS:
        return bool(words)
    if any(family(word) for word in words):
        return False
    return stem(next(iter(text_words(tool.description)), "")) in _READS
