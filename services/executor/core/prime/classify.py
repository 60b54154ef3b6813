"""Which kind of process a task is, and whether it asks for any change, by its words alone."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from services.executor.core.fsm.chosen import Chosen, Processes
from services.executor.core.fsm.templates import GENERAL, TEMPLATES

_ACTIONS = frozenset(
    """
    accept acknowledge activate add adjust allocate amend apply approve archive assign authorize award bill block
    book cancel change charge clear close commit complete confirm convert correct create credit deactivate debit
    decline delete deliver deny deploy disable disburse dismiss dispatch downgrade drop edit email enable enroll
    ensure erase escalate execute extend file finalize fix flag forward freeze fulfil fulfill give grant handle hire
    increase inform initiate insert invoice issue lock log lower make mark merge message migrate modify move notify
    offboard onboard open order pause pay place post process procure prolong provision publish purchase push raise
    reactivate rebook reconcile record reduce refund register reimburse reinstate reject release remind remit remove
    rename renew reopen repay replace reply request reschedule reserve reset resolve restore resume return reverse
    revoke roll run schedule sell send set settle ship sign split start stop submit subscribe suspend swap switch
    sync tag terminate transfer trigger unblock unfreeze unlock unsubscribe update upgrade upload void waive wipe
    wire withdraw write
    """.split()
)
_QUERIES = re.compile(
    r"\b(what|which|who|whose|when|where|how (?:many|much|long|old)|show|list|find|count|look up|retrieve|get|tell"
    r"|is|are|does|do|has|have|report|summari[sz]e|check|give me|name)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\b(?:tell|let) (?!me\b|us\b|if\b|whether\b|how\b|wh)", re.IGNORECASE)  # "tell Bob that"
_TO_ME = re.compile(r"\bgive (?=me\b|us\b)", re.IGNORECASE)  # a question, whatever its verb
_WORD = re.compile(r"[a-z][a-z&-]*|[.,;:!?()\n]", re.IGNORECASE)
# A verb right after one of these is a noun or an adjective: "the refund", "an open order", "which orders". Punctuation
# between the two ends that: "what is pending, approve it".
_NOUN_MARKERS = frozenset(
    """a an the this that these those which what whose any all each every no my our your his her its their of for in on
    by with from is are was were be been how many much last latest total current pending largest highest biggest
    lowest smallest oldest newest first average alphabetical chronological ascending descending purchase""".split()
)


_CLEAR_LEAD = 2  # by so many words one process must be ahead of all others
_LOOKED_AT = 20  # appearances of one word


class _Hit(NamedTuple):
    word: str
    start: int
    end: int


def classify(task: str, processes: Processes = TEMPLATES) -> Chosen:
    """The template with the most of its words in the text (ties to table order), ``general`` without any.

    Words settle it where they point to one process only, or to one by a lead of two words; also where nothing is
    asked but a question, which takes the same short way whatever its process, and where there is no other template.
    A word inside a longer one of another process ("order" in "purchase order") does not count.
    """
    hits = _counted({name: _hits(task, template.keywords) for name, template in processes.items()})
    ranked = sorted(hits, key=lambda name: -len(hits[name]))
    general = processes.get(GENERAL.process_type, GENERAL)
    read_only = is_read_only(task)
    if not ranked:
        nothing_else = not any(template.keywords for template in processes.values())
        return Chosen(general, read_only, "no word of a special process", settled=read_only or nothing_else)
    lead = len(hits[ranked[0]]) - (len(hits[ranked[1]]) if len(ranked) > 1 else -_CLEAR_LEAD)
    why = f"words {', '.join(hits[ranked[0]])}"
    return Chosen(processes[ranked[0]], read_only, why, settled=read_only or lead >= _CLEAR_LEAD)


def is_read_only(task: str) -> bool:
    """Whether a task asks and does not act: a query word is there, and no word is used as an action verb.

    In doubt it acts: that costs a plan without calls, where the other error would leave a write undone.
    """
    return bool(_QUERIES.search(task)) and not _ADDRESSED.search(task) and not _acts(_TO_ME.sub("show ", task))


def _hits(task: str, keywords: Sequence[str]) -> list[_Hit]:
    patterns = ((word, rf"\b{re.escape(word)}s?\b") for word in keywords)
    found = ((word, islice(re.finditer(how, task, re.IGNORECASE), _LOOKED_AT)) for word, how in patterns)
    return [_Hit(word, *match.span()) for word, matches in found for match in matches]


def _counted(hits: Mapping[str, Sequence[_Hit]]) -> dict[str, list[str]]:
    """Each process's words, once each, without those that only stand inside a longer one."""
    spans = [(hit.start, hit.end) for hit in chain.from_iterable(hits.values())]
    alone = {
        name: list(dict.fromkeys(hit.word for hit in found if not any(_is_within(hit, span) for span in spans)))
        for name, found in hits.items()
    }
    return {name: words for name, words in alone.items() if words}


def _is_within(hit: _Hit, span: tuple[int, int]) -> bool:
    return span[0] <= hit.start and hit.end <= span[1] and span[1] - span[0] > hit.end - hit.start


def _acts(task: str) -> bool:
    words = [word.lower() for word in _WORD.findall(task)]
    pairs = zip(["", *words], words, strict=False)
    return any(_is_action(word) and before not in _NOUN_MARKERS for before, word in pairs)


def _is_action(word: str) -> bool:
    """Whether the word can be a verb that acts, also as ``re-open`` or ``re-issue``."""
    return word.replace("-", "") in _ACTIONS or word.removeprefix("re-") in _ACTIONS
