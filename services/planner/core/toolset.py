"""The tools of a request by what they are for: those that read, those that write, and the loop's own."""

from typing import NamedTuple

from services.planner.core.request import LOCAL, Request, ToolSpec
from services.planner.core.words import family, parts, stem, stems, text_words

_READ_WORDS = stems("get list find search fetch return retrieve show look read query".split())
_LOOK_WORDS = frozenset("preview estimate export status history".split())


class Toolset(NamedTuple):
    """The tools of a request. ``local``: names of the loop's own tools.

    ``loop_takes_proposals``: the loop takes each write as a proposal, with its part of the task, and releases it later;
    else it makes every call at once.
    """

    readers: tuple[ToolSpec, ...]
    writers: tuple[ToolSpec, ...]
    local: frozenset[str]
    loop_takes_proposals: bool

    @property
    def writer_names(self) -> set[str]:
        return {tool.name for tool in self.writers}

    def has(self, name: str) -> bool:
        return name in self.local


def toolset_of(request: Request) -> Toolset:
    """Sorts the request's tools. A tool writes if its schema says so; if no tool's schema says it, by the verb of its
    name.
    """
    names = {tool.name for tool in request.tools}
    loop_takes_proposals = request.loop_takes_proposals
    local = frozenset(names & LOCAL)
    own = [tool for tool in request.tools if tool.name not in local]
    writers = tuple(tool for tool in own if (tool.is_marked if loop_takes_proposals else not _is_reader(tool)))
    known_names = {tool.name for tool in writers}
    return Toolset(tuple(tool for tool in own if tool.name not in known_names), writers, local, loop_takes_proposals)


def _is_reader(tool: ToolSpec) -> bool:
    """Whether a tool reads, by the verb of its name; by the first word of its description if the name has no verb."""
    words = parts(tool.name)
    if words and family(words[0]) not in (None, "read"):
        return False
    if not words or family(words[0]) == "read" or words[-1] in _LOOK_WORDS or words[0] in _LOOK_WORDS:
        return bool(words)
    if any(family(word) for word in words):
        return False
    return stem(next(iter(text_words(tool.description)), "")) in _READ_WORDS
