"""Scores how well a task ended, from verified facts and penalties (signals on a baseline of 0.5).

Length and further tool calls earn nothing. A weighted formula can be configured instead (``QUALITY_FORMULA``).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from shared.domain.words import TaskState

WEAK_SCORE = 0.65
_BASE_SCORE = 0.5
_ENOUGH_WORDS = 12  # the least that the weighted formula takes for a whole answer
_MOST_CALLS_SCORED = 18  # tool calls of a task, at which the weighted formula gives nothing for tools


class QualityFormula(StrEnum):
    """The formula by which the quality of a run is computed."""

    SIGNALS = "signals"
    WEIGHTED = "weighted"


class TaskEvidence(NamedTuple):
    """What is known of an ended task. A field is None if there was nothing to judge.

    ``policy_kept``: a plan with calls followed its rules. ``audit_clean``: its figures were correct (outcomes store the
    part of a score by this name). ``needs_met``: reads succeeded and found something. ``outputs_there``: the outputs
    that the process requires. ``is_grounded``: the answer states something that was found, and no figure that was not.
    ``is_provable``: each write of a dry run has a read that would prove it. ``is_idle``: something was to be done and
    nothing was planned. ``repeated_calls``: identical calls beyond the first.
    """

    state: TaskState
    is_exact_match: bool
    policy_kept: bool | None
    writes_planned: int
    writes_verified: int
    writes_doubtful: int
    audit_clean: bool | None
    needs_met: bool
    is_answer_empty: bool
    repeated_calls: int = 0
    outputs_there: bool | None = None
    is_grounded: bool = False
    is_provable: bool = False
    has_empty_data: bool = False
    has_error_phrase: bool = False
    is_idle: bool = False
    tool_calls: int = 0
    answer_words: int = 0
    task_words: int = 0


class QualityScore(NamedTuple):
    """The quality of a run, from 0 to 1, and the named parts whose sum it is before it is limited to that range."""

    value: float
    formula: QualityFormula
    parts: Mapping[str, float]


def compute_quality(evidence: TaskEvidence, formula: QualityFormula = QualityFormula.SIGNALS) -> QualityScore:
    """Computes the quality of a run from the evidence. A completed task with a JSON-list answer scores 1.0 with any
    formula.
    """
    if evidence.is_exact_match and evidence.state is TaskState.COMPLETED:
        return QualityScore(1.0, formula, {"exact_match": 1.0})
    parts = _weigh_signals(evidence) if formula is QualityFormula.SIGNALS else _weigh_answer_tools_and_policy(evidence)
    rounded = {name: round(part, 4) for name, part in parts.items() if part}
    return QualityScore(round(min(1.0, max(0.0, sum(rounded.values()))), 4), formula, rounded)


def _weigh_signals(evidence: TaskEvidence) -> dict[str, float]:
    all_verified = evidence.writes_planned > 0 and evidence.writes_verified == evidence.writes_planned
    return {
        "baseline": _BASE_SCORE,
        "policy_kept": 0.15 * (evidence.policy_kept is True),
        "writes_verified": 0.15 * (all_verified or evidence.is_provable),
        "audit_clean": 0.10 * (evidence.audit_clean is True),
        "needs_met": 0.10 * evidence.needs_met,
        "outputs_there": 0.10 * (evidence.outputs_there is True),
        "grounded": 0.10 * evidence.is_grounded,
        "failed": -0.40 * (evidence.state is TaskState.FAILED),
        "answer_empty": -0.20 * evidence.is_answer_empty,
        "error_phrase": -0.20 * evidence.has_error_phrase,
        "writes_doubtful": -0.25 * (evidence.writes_doubtful > 0),
        "idle": -0.05 * evidence.is_idle,
        "empty_data": -0.10 * evidence.has_empty_data,
        "repeated_calls": -0.05 * min(evidence.repeated_calls, 3),
    }


def _weigh_answer_tools_and_policy(evidence: TaskEvidence) -> dict[str, float]:
    """The parts of ``0.35 answer + 0.35 tools + 0.30 policy``: the answer by its length, the tools by how few calls."""
    expected = max(_ENOUGH_WORDS, evidence.task_words)
    answer = min(1.0, evidence.answer_words / expected)
    tools = max(0.0, 1.0 - evidence.tool_calls / _MOST_CALLS_SCORED)
    policy = {True: 1.0, None: 0.5, False: 0.0}[evidence.policy_kept]
    return {"answer": 0.35 * answer, "tools": 0.35 * tools, "policy": 0.30 * policy}
