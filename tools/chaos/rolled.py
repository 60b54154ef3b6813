"""What must not have happened while everything was restarted with care: pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.chaos.endings import Unforeseen
from tools.chaos.roller import Restart


@dataclass(frozen=True)
class Rolled:
    """``failed``: requests and streams that came to nothing. ``streams``: events as told, and the whole story, by task.

    ``by_themselves``: processes that ended unasked. ``doubts``: writes whose fate nobody could tell.
    """

    failed: Sequence[str]
    streams: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    restarts: Sequence[Restart]
    by_themselves: Sequence[str]
    doubts: frozenset[str]
    unforeseen: Sequence[Unforeseen] = ()

    def gaps(self) -> Iterator[tuple[str, str]]:
        """Tasks whose watchers lack an event, or got one twice, and what is the matter."""
        for task_id, (told, story) in self.streams.items():
            if told != story[: len(told)] or not told:
                yield task_id, f"{len(told)} events were told, and they do not begin the story of {len(story)}"

    def rough_ends(self) -> Iterator[str]:
        for restart in self.restarts:
            if restart.code != 0:
                how = "had to be killed" if restart.code is None else f"ended with exit code {restart.code}"
                yield f"{restart.name} {how} {restart.seconds:.1f} s after it was asked to stop"
        yield from self.by_themselves
