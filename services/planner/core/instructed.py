"""Reads that the kind of process asks for besides: what its instruction names, of the things that the task is about."""

from services.planner.core.binding import BoundWay
from services.planner.core.pages import is_paging
from services.planner.core.references import candidates, is_reference
from services.planner.core.request import ToolSpec
from services.planner.core.situation import LIKELY, ArgumentCandidate, Situation
from services.planner.core.words import nouns, stem, text_stems, text_words

_ALL = frozenset({"all", "every", "each"})


def instructed_reads(instruction: str, tools: tuple[ToolSpec, ...], situation: Situation) -> list[BoundWay]:
    """One call for each tool that reads what the instruction names, if it belongs to what the task is about."""
    found = [way for tool in tools if _is_named(tool, instruction, situation) and (way := _way(tool, situation))]
    return found if situation.records else []


def _is_named(tool: ToolSpec, instruction: str, situation: Situation) -> bool:
    """Whether the instruction and the task together name what the tool reads; a list only if it speaks of several."""
    own, said = nouns(tool.name), text_stems(instruction)
    if not own & said or not own <= said | situation.stems:
        return False
    return bool(tool.required) or _speaks_of_several(own & said, instruction)


def _speaks_of_several(own: frozenset[str], instruction: str) -> bool:
    words = text_words(instruction)
    return any(
        stem(word) in own and (word.endswith("s") or _ALL.intersection(words[max(0, place - 3) : place]))
        for place, word in enumerate(words)
    )


def _way(tool: ToolSpec, situation: Situation) -> BoundWay | None:
    """The call for the one thing that the task is about; None if a required field stays open, or nothing narrows it."""
    chosen = [(name, found) for name in tool.properties if (found := _choose_reference(tool, name, situation))]
    if not chosen or not {*tool.required} <= {name for name, _ in chosen}:
        return None
    return BoundWay(tool, tuple(chosen))


def _choose_reference(tool: ToolSpec, name: str, situation: Situation) -> ArgumentCandidate | None:
    if is_paging(tool, name) or not is_reference(tool, name):
        return None
    found = [one for one in candidates(tool, name, situation, situation.text) if one.sure >= LIKELY]
    return found[0] if len({str(one.value) for one in found}) == 1 else None
