"""Which kind of process a task is, and whether it asks for any change, by its words alone."""

import re
from typing import NamedTuple

from services.executor.core.fsm.templates import GENERAL, TEMPLATES, Template

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


class Classification(NamedTuple):
    template: Template
    read_only: bool
    why: str


def classify(task: str) -> Classification:
    """The template with the most keyword hits (ties to table order), ``general`` without any."""
    hits = {name: _hits(task, template) for name, template in TEMPLATES.items()}
    best = max(hits, key=lambda name: len(hits[name]))
    template = TEMPLATES[best] if hits[best] else GENERAL
    why = f"words {', '.join(hits[best])}" if hits[best] else "no word of a special process"
    return Classification(template, is_read_only(task), why)


def is_read_only(task: str) -> bool:
    """Whether a task asks and does not act: a query word is there, and no word is used as an action verb.

    In doubt it acts: that costs a plan without calls, where the other error would leave a write undone.
    """
    return bool(_QUERIES.search(task)) and not _ADDRESSED.search(task) and not _acts(_TO_ME.sub("show ", task))


def _hits(task: str, template: Template) -> list[str]:
    return [word for word in template.keywords if re.search(rf"\b{re.escape(word)}s?\b", task, re.IGNORECASE)]


def _acts(task: str) -> bool:
    words = [word.lower() for word in _WORD.findall(task)]
    pairs = zip(["", *words], words, strict=False)
    return any(_is_action(word) and before not in _NOUN_MARKERS for before, word in pairs)


def _is_action(word: str) -> bool:
    """Whether the word can be a verb that acts, also as ``re-open`` or ``re-issue``."""
    return word.replace("-", "") in _ACTIONS or word.removeprefix("re-") in _ACTIONS
