"""Which kind of process a task is, and whether it asks for any change, by its words alone."""

import re
from typing import NamedTuple

from services.executor.core.fsm.templates import GENERAL, TEMPLATES, Template

_ACTIONS = frozenset(
    """
    accept acknowledge activate add adjust allocate amend apply approve archive assign authorize award block book bill
    cancel change charge clear close commit complete confirm convert correct create credit deactivate debit decline
    delete deliver deny deploy disable dismiss dispatch disburse downgrade edit email enable enroll escalate execute
    extend file finalize fix flag forward freeze fulfil fulfill give grant handle hire increase initiate insert invoice
    issue lock lower mark merge message migrate modify move notify offboard onboard open order pause pay place post
    process procure prolong provision publish purchase push raise reactivate rebook reconcile record reduce refund
    register reimburse reject release remind remove rename renew reopen replace request reschedule reserve reset
    resolve restore resume return reverse revoke roll run schedule sell send set settle ship sign split start stop
    submit subscribe suspend swap switch tag terminate transfer trigger unblock unfreeze unlock unsubscribe update
    upgrade upload void withdraw write
    """.split()
)
_QUERIES = re.compile(
    r"\b(what|which|who|whose|when|where|how (?:many|much|long|old)|show|list|find|count|look up|retrieve|get|tell"
    r"|is|are|does|do|has|have|report|summari[sz]e|check|give me|name)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z][a-z&-]*", re.IGNORECASE)
# A verb right after one of these is a noun or an adjective: "the refund", "an open order", "which orders".
_NOUN_MARKERS = frozenset(
    """a an the this that these those which what whose any all each every no my our your his her its their of for in on
    by with from is are was were be been how many much last latest total current pending""".split()
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
    """Whether a task asks and does not act: a query word is there, and no word is used as an action verb."""
    return bool(_QUERIES.search(task)) and not _acts(task)


def _hits(task: str, template: Template) -> list[str]:
    return [word for word in template.keywords if re.search(rf"\b{re.escape(word)}s?\b", task, re.IGNORECASE)]


def _acts(task: str) -> bool:
    words = [word.lower() for word in _WORD.findall(task)]
    pairs = zip(["", *words], words, strict=False)
    return any(word in _ACTIONS and before not in _NOUN_MARKERS for before, word in pairs)
