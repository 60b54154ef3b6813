"""What the console's templates may call and look up, by its name there."""

from collections.abc import Mapping

from services.gateway.features.console.views import approvals, assessments, health, memory, replay, tasks, words
from shared.domain.estimates import count_recent

VOCABULARY: Mapping[str, object] = {
    "change_badges": replay.CHANGE_BADGES,
    "counted": words.count_of,
    "criterion_badge": assessments.criterion_badge,
    "day_word": words.day_word,
    "dead_turn": health.dead_turn,
    "delivery_badge": tasks.delivery_badge,
    "distance": words.distance,
    "document_text": tasks.document_text,
    "dollars": tasks.dollars,
    "exact_time": words.exact_time,
    "fact_note": memory.fact_note,
    "figure_origin": approvals.figure_origin,
    "letter_kinds": health.LETTER_KINDS,
    "level_title": approvals.level_title,
    "number": assessments.number,
    "outcomes": memory.OUTCOMES,
    "passes_text": assessments.passes_text,
    "points_of": assessments.points_of,
    "process_title": tasks.process_title,
    "read_fields": approvals.read_fields,
    "read_question": approvals.read_question,
    "recent": count_recent,
    "remark_on": tasks.remark_on,
    "run_ends": assessments.RUN_ENDS,
    "show_value": assessments.show_value,
    "state_badge": words.state_badge,
    "statuses": approvals.STATUS,
    "strategy_title": words.strategy_title,
    "trust_badge": memory.trust_badge,
    "verdict_badge": assessments.verdict_badge,
    "wall_time": words.wall_time,
}
