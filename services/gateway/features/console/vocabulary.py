"""The functions and tables that the console's templates use, under their names in templates."""

from collections.abc import Mapping

from services.gateway.features.console.views import approvals, assessments, memory, replay, tasks, words
from services.gateway.features.console.views.words import Badge
from services.gateway.features.dead_letters import DeadLetter, LetterKind
from shared.contracts.dead_letter import DeadTurn
from shared.domain.estimates import count_recent_matches

LETTER_KINDS = {LetterKind.TURN: Badge("Task given up", "bad"), LetterKind.OUTCOME: Badge("Not learned from", "warn")}


def parse_dead_turn(letter: DeadLetter) -> DeadTurn | None:
    """Parse the dead turn in a letter; None if the letter holds none, or it cannot be parsed."""
    return DeadTurn.read_row(letter.content) if letter.kind is LetterKind.TURN else None


VOCABULARY: Mapping[str, object] = {
    "change_badges": replay.CHANGE_BADGES,
    "counted": words.count_with_noun,
    "criterion_badge": assessments.criterion_badge,
    "day_word": words.format_day,
    "dead_turn": parse_dead_turn,
    "delivery_badge": tasks.delivery_badge,
    "distance": words.relative_time,
    "document_text": tasks.artifact_text,
    "dollars": tasks.as_dollars,
    "exact_time": words.format_exact_time,
    "fact_note": memory.fact_note,
    "figure_origin": approvals.figure_origin,
    "letter_kinds": LETTER_KINDS,
    "level_title": approvals.level_title,
    "number": assessments.format_number,
    "outcomes": memory.OUTCOME_BADGES,
    "passes_text": assessments.pass_chances_text,
    "points_of": assessments.score_row,
    "process_title": tasks.process_title,
    "read_fields": approvals.result_rows,
    "read_question": approvals.describe_read_arguments,
    "recent": count_recent_matches,
    "remark_on": tasks.remark_on_task,
    "run_ends": assessments.RUN_ENDS,
    "show_value": assessments.format_value,
    "state_badge": words.state_badge,
    "statuses": approvals.STATUS_BADGES,
    "strategy_title": words.strategy_title,
    "trust_badge": memory.trust_badge,
    "verdict_badge": assessments.verdict_badge,
    "wall_time": words.format_time,
}
