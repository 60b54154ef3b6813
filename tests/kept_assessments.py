"""Assessments as somebody might have had them kept."""

from collections.abc import Sequence

from pydantic import JsonValue

from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import Assessment

EMAIL: JsonObject = {"total_email_count": 12, "unread_count": 5}
UPDATES: list[JsonValue] = [
    {"message_type": "update_assessment_started", "participant_url": "http://127.0.0.1:9010/"},
    {"message_type": "update_scenario_loaded", "scenario_name": "A day", "user_prompt": "File the <b>invoice</b>."},
    {"message_type": "update_turn_started", "turn_number": 1, "current_time": "2026-03-02T08:00:00Z"},
    {"message_type": "update_responses_generated", "responses_count": 1, "characters_involved": ["ben_adler"]},
    {"message_type": "update_simulation_advanced", "events_processed": 3},
    {"message_type": "update_turn_completed", "turn_number": 1, "time_advanced": "PT1H", "notes": "It is filed."},
    {"message_type": "update_turn_started", "turn_number": 2, "current_time": "2026-03-02T09:00:00Z"},
    {"message_type": "update_error_occurred", "error_type": "timeout", "error_message": "no answer within 5 s"},
    {"message_type": "update_turn_completed", "turn_number": 2, "time_advanced": "PT1H"},
]


def an_assessment(name: str = "inbox_triage-1", *, score: float = 40, **more: object) -> Assessment:
    """Two turns each; the second fails. ``more`` replaces fields."""
    fields = {
        "name": name,
        "scenario": "inbox_triage",
        "agent": "http://127.0.0.1:9010/",
        "began": "2026-03-02T09:00:00Z",
        "runs": [a_run(score)],
    }
    return Assessment.model_validate({**fields, **more})


def a_run(score: float = 40, updates: Sequence[JsonValue] | None = None, **results: JsonValue) -> JsonObject:
    """40 points for accuracy, by code; 10 for politeness, which nobody could judge. ``results`` replaces fields."""
    return {
        "results": {
            "assessment_id": "a1",
            "scenario_id": "inbox_triage",
            "participant": "http://127.0.0.1:9010/",
            "status": "completed",
            "duration_seconds": 12.5,
            "turns_taken": 2,
            "actions_taken": 4,
            "scores": {
                "overall": {"score": score, "max_score": 50},
                "dimensions": {
                    "accuracy": {"score": score, "max_score": 40},
                    "politeness": {"score": 0, "max_score": 10},
                },
            },
            "judged": {"score": score, "max_score": 40},
            "unjudged": ["polite"],
            "criteria_results": [
                _criterion("filed", "accuracy", score, 40, "The invoice is in the archive.", {"rows": ["m-paper"]}),
                _criterion("polite", "politeness", 0, 10, "Nobody was there who could judge it.", {"unjudged": True}),
            ],
            "action_log": [
                _action(1, "email.query", kind="read"),
                _action(
                    1, "email.send", {"to_addresses": ["ben@corp.example"], "subject": "Re: Friday?", "body": "Yes."}
                ),
                _action(2, "email.move", {"message_ids": ["gone"]}, success=False, error_message="no such message"),
                _action(2, "simulation.reset", kind="refused", success=False, error_message="was answered 403"),
            ],
            "world": [
                {"turn": 0, "time": "2026-03-02T08:00:00Z", "counts": {"email": EMAIL}},
                {
                    "turn": 1,
                    "time": "2026-03-02T09:00:00Z",
                    "counts": {"email": {"total_email_count": 14, "unread_count": 5}, "sms": {"unread_count": 0}},
                    "changes": [
                        _change("participant", "added", "Re: Friday?"),
                        _change("participant", "changed", "Paper", {"folder": "inbox"}, {"folder": "archive"}),
                        _change("others", "added", "Great, see you then"),
                    ],
                    "left_out": 2,
                },
                {"turn": 2, "time": "2026-03-02T10:00:00Z", "counts": {"email": EMAIL}},
            ],
            "failed_turns": [{"turn_number": 2, "error_type": "timeout", "error": "no answer"}],
            **results,
        },
        "updates": UPDATES if updates is None else [*updates],
    }


def _criterion(key: str, dimension: str, score: float, most: float, why: str, details: JsonObject) -> JsonObject:
    named: JsonObject = {"criterion_id": key, "name": key.title(), "dimension": dimension, "explanation": why}
    return {**named, "score": score, "max_score": most, "details": details}


def _action(turn: int, action: str, said: JsonObject | None = None, **more: JsonValue) -> JsonObject:
    return {"turn": turn, "timestamp": "2026-03-02T08:00:00Z", "action": action, "parameters": said or {}, **more}


def _change(
    by: str, kind: str, title: str, before: JsonObject | None = None, after: JsonObject | None = None
) -> JsonObject:
    named: JsonObject = {"by": by, "kind": kind, "title": title, "modality": "email", "table": "emails", "key": title}
    return {**named, "before": before or {}, "after": after or {}}
