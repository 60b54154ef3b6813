"""What a model is shown of a run: every action whole within a budget, random names made stable, warnings."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.assessor.core.evaluation import EvalContext
from shared.contracts.assessment.results import ActionLogEntry
from shared.domain.exact_json import Json, JsonObject, walk_json

BUDGET = 60_000  # characters of actions
_FEWEST_CHARACTERS = 200
_RANDOM_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|ues_[0-9a-f]{16}")
_TO_THE_JUDGE = re.compile(
    r"(ignore|disregard|forget)\s+(all|any|the|your|previous|prior|above)\b.{0,40}(instruction|rule|criteri|prompt)"
    r"|(give|award|assign|grant)\b.{0,40}\b(full|maximum|max|perfect|highest|top)\b.{0,20}\b(score|points?|marks?|credit)"
    r"|\b(dear|note to|attention|hey|as)\s+(the\s+|an?\s+)?(judge|evaluator|grader|assessor)\b"
    r"|\bscore\s*[:=]\s*\d"
    r"|</?(system|actions|criterion|outcome)>"
    r"|# State:",
    re.IGNORECASE | re.DOTALL,
)


class JudgedEvidence(NamedTuple):
    """What a judging model is shown. ``shortened``: how many actions were cut to fit; ``suspicious``: the numbers of
    the actions whose text speaks to a judge.
    """

    sections: JsonObject
    shortened: int
    suspicious: tuple[int, ...]


def gather_evidence(context: EvalContext, budget: int = BUDGET) -> JudgedEvidence:
    """The evidence of a run within ``budget`` characters; equal runs give equal evidence, whatever ids the simulator
    made.
    """
    actions = [entry for entry in context.action_log if entry.kind != "read"]
    reads = Counter(entry.action for entry in context.action_log if entry.kind == "read")
    lines, shortened = fit_within([_entry_line(number, entry) for number, entry in enumerate(actions, 1)], budget)
    suspicious = tuple(number for number, entry in enumerate(actions, 1) if addresses_judge(entry))
    text = number_ids("\n".join(lines))
    sections: JsonObject = {
        "user_task": context.user_prompt,
        "actions": text or "The assistant did nothing.",
        "reads": dict(sorted(reads.items())),
        "outcome": count_before_and_after(context),
        "warnings": [f"Action {number} holds text that addresses the judge." for number in suspicious],
    }
    return JudgedEvidence(sections, shortened, suspicious)


def addresses_judge(entry: ActionLogEntry) -> bool:
    texts = (text for _, text in walk_json(cast(Json, entry.parameters)) if isinstance(text, str))
    return any(map(_TO_THE_JUDGE.search, texts))


def number_ids(text: str) -> str:
    """The text with each random id replaced by its number in order of appearance, so that equal runs read the same."""
    names: dict[str, str] = {}
    return _RANDOM_PATTERN.sub(lambda found: names.setdefault(found[0], f"id-{len(names) + 1}"), text)


def fit_within(lines: Sequence[str], budget: int) -> tuple[list[str], int]:
    """The lines within ``budget`` characters, and how many were cut.

    The longest are cut first, all to the same length.
    """
    if sum(map(len, lines)) <= budget:
        return list(lines), 0
    limit = _longest_line(sorted(map(len, lines)), budget)
    cut = [_cut_line(line, limit) for line in lines]
    return cut, sum(len(line) > limit for line in lines)


def count_before_and_after(context: EvalContext) -> JsonObject:
    """The counts of each modality at the beginning and at the end of the run."""
    return {
        "before": count_within_modalities(context.initial_state),
        "after": count_within_modalities(context.final_state),
    }


def count_within_modalities(state: Mapping[str, JsonValue]) -> JsonObject:
    """What can be counted of each modality: its numbers, and how many of each list or table."""
    return {name: _count_in(part) for name, part in sorted(state.items()) if isinstance(part, dict) and name != "time"}


def _count_in(state: dict[str, JsonValue]) -> Json:
    counts: JsonObject = {}
    for name, value in sorted(state.items()):
        if name == "folders" and isinstance(value, dict):
            counts[name] = {
                key: len(member) if isinstance(member, list) else _as_count(member) for key, member in value.items()
            }
        elif isinstance(value, list | dict):
            counts[name] = len(value)
        elif isinstance(value, int) and name != "update_count":
            counts[name] = value
    return counts


def _as_count(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _entry_line(number: int, entry: ActionLogEntry) -> str:
    line_fields: dict[str, JsonValue] = {
        "number": number,
        "turn": entry.turn,
        "at": entry.timestamp.isoformat(),
        "action": entry.action,
        "parameters": entry.parameters,
        "success": entry.success,
    }
    return json.dumps(
        {**line_fields, "error": entry.error_message} if entry.error_message else line_fields, ensure_ascii=False
    )


def _longest_line(lengths: Sequence[int], budget: int) -> int:
    """The longest line that may be, so that all together keep the budget."""
    budget_left = budget
    for position, length in enumerate(lengths):
        share = budget_left // (len(lengths) - position)
        if length > share:
            return max(share, _FEWEST_CHARACTERS)
        budget_left -= length
    return max(lengths, default=_FEWEST_CHARACTERS)


def _cut_line(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    kept_length = max(limit - 60, _FEWEST_CHARACTERS // 2)
    return f"{line[:kept_length]} [... {len(line) - kept_length} characters are not shown]"
