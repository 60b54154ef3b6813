"""Known weaknesses of the published simulator and assessor, each with the tests that show it is not so here.

``run.N`` stop a run of the published pair, ``assessor.N`` are gaps of its design, ``simulator.N`` faults of the
simulator. ``test_weaknesses.py`` looks after every name below.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Weakness(NamedTuple):
    """``tests``: file (below ``tests``) and test; empty with ``instead`` where it does not arise or is left so."""

    what: str
    tests: tuple[str, ...] = ()
    instead: str = ""


_TURNS, _A2A, _BEYOND = (f"assessor/test_{name}.py::" for name in ("turns", "a2a_server", "beyond_published"))
_LIFE, _DAYS = (f"assessor/test_{name}.py::" for name in ("lifecycle", "scenario_days"))
_LOG, _JUDGING, _PEOPLE, _SCENARIOS, _REPLIES, _WINDOWS = (
    f"unit/assessor/test_{name}.py::"
    for name in ("action_log", "judging", "characters", "scenarios", "replies", "windows")
)
_MAIL, _SMS, _CHAT, _CALENDAR, _RECURRENCE, _COSTS = (
    f"simulator/modalities/test_{name}.py::" for name in ("email", "sms", "chat", "calendar", "recurrence", "costs")
)
_QUERIES = "simulator/modalities/test_email_queries.py::"
_EVENTS, _KEYS, _SIMULATION, _WORLDS, _BATCHES, _STREAM = (
    f"simulator/test_{name}.py::"
    for name in ("events", "keys", "simulation", "worlds", "event_batches", "event_stream")
)

WEAKNESSES: Mapping[str, Weakness] = {
    "run.1": Weakness("the agent's reply is never unwrapped", (f"{_REPLIES}test_an_answer_is_found_in_every_shape",)),
    "run.2": Weakness(
        "a world that was saved while paused cannot be advanced", (f"{_SIMULATION}test_a_manual_start_ends_a_pause",)
    ),
    "run.3": Weakness(
        "nobody is said to have caused an action",
        (f"{_EVENTS}test_an_action_belongs_to_the_key_that_took_it",
         f"{_EVENTS}test_an_event_belongs_to_the_key_that_made_it"),
    ),
    "run.4": Weakness("what a model judges is always 0", (f"{_JUDGING}test_a_model_judges_what_code_does_not",)),
    "run.5": Weakness(
        "a turn that takes long ends the run",
        (f"{_TURNS}test_silent_turns_are_results_and_enough_of_them_end_the_run",
         f"{_TURNS}test_answers_that_mean_nothing_are_results_too"),
    ),
    "run.6": Weakness(
        "characters answer at once, whatever their delay",
        (f"{_TURNS}test_others_answer_inside_the_turn_that_they_were_asked_in",
         f"{_WINDOWS}test_an_answer_comes_after_the_first_second_and_by_the_end"),
    ),
    "run.7": Weakness(
        "nobody is told of a judged criterion", (f"{_A2A}test_a_request_as_data_or_as_json_text_ends_with_results",)
    ),
    "run.8": Weakness(
        "a request as text is refused", (f"{_A2A}test_a_request_as_data_or_as_json_text_ends_with_results",)
    ),
    "assessor.1": Weakness(
        "a scenario's end, step and conditions are not heeded",
        (f"{_TURNS}test_the_scenarios_end_ends_the_run_whatever_step_is_asked_for",
         f"{_TURNS}test_a_run_is_over_when_the_scenarios_own_conditions_hold",
         f"{_TURNS}test_silent_turns_are_results_and_enough_of_them_end_the_run"),
    ),
    "assessor.2": Weakness(
        "what is done in the last turn is not seen",
        (f"{_TURNS}test_what_was_done_last_counts_although_the_agent_quits_with_it",),
    ),
    "assessor.3": Weakness("failed actions are not logged", (f"{_LOG}test_a_failed_action_is_logged_as_failed",)),
    "assessor.4": Weakness(
        "reads are invisible", (f"{_LOG}test_requests_tell_reads_refusals_and_the_order",)
    ),
    "assessor.5": Weakness(
        "counts of events are always 0", (f"{_BEYOND}test_turns_tell_how_many_events_wait_and_how_many_happened",)
    ),
    "assessor.6": Weakness(
        "an agent elsewhere cannot reach the world",
        (f"{_BEYOND}test_an_agent_elsewhere_is_told_an_address_that_it_can_reach",),
    ),
    "assessor.7": Weakness(
        "ports are not probed, simulators outlive the assessor, agents are never let go",
        (f"{_LIFE}test_an_agent_runs_assessments_from_startup_to_shutdown",
         f"{_BEYOND}test_worlds_make_room_for_others_and_leave_with_the_assessor",
         f"{_BEYOND}test_more_assessments_at_once_than_there_is_room_for_are_refused"),
    ),
    "assessor.8": Weakness(
        "a cancelled run goes on, and completes",
        (f"{_A2A}test_a_cancelled_assessment_ends_as_canceled_and_takes_its_key_back",
         f"{_TURNS}test_a_cancelled_run_ends_after_its_turn_and_says_so"),
    ),
    "assessor.9": Weakness(
        "each message is a conversation of its own",
        (f"{_LIFE}test_an_agent_runs_assessments_from_startup_to_shutdown",),
    ),
    "assessor.10": Weakness(
        "a scenario's id leads out of its folder", (f"{_SCENARIOS}test_an_id_never_leads_out_of_the_folder",)
    ),
    "assessor.11": Weakness(
        "the judge sees the first 200 characters",
        (f"{_JUDGING}test_long_texts_are_shown_whole_within_the_budget",
         f"{_JUDGING}test_over_the_budget_the_longest_are_cut_first_and_it_is_said"),
    ),
    "assessor.12": Weakness(
        "two runs of the same differ, and nobody says what they cost",
        (f"{_TURNS}test_the_same_agent_gets_the_same_results_again",
         f"{_JUDGING}test_of_several_votes_the_middle_one_counts",
         f"{_JUDGING}test_calls_are_entered_into_the_accounts"),
    ),
    "assessor.13": Weakness(
        "what an agent writes instructs its judge",
        (f"{_JUDGING}test_the_judge_is_warned_and_no_text_leaves_its_section",
         f"{_JUDGING}test_text_that_speaks_to_the_judge_is_noticed"),
    ),
    "assessor.14": Weakness(
        "characters know no relationships",
        (f"{_PEOPLE}test_the_part_tells_relationships_and_the_last_messages_whole",),
    ),
    "assessor.15": Weakness(
        "characters are asked one after another", instead="a TaskGroup asks them side by side, four at a time"
    ),
    "assessor.16": Weakness(
        "every invitation is answered",
        (f"{_PEOPLE}test_who_never_answers_is_not_even_asked",
         f"{_TURNS}test_invitations_are_answered_by_script_or_left_open"),
    ),
    "assessor.17": Weakness(
        "evaluators read the machine's clock", instead="the context has the world's: EvalContext.get_time"
    ),
    "assessor.18": Weakness(
        "doing nothing earns a quarter of the points, and there is one scenario",
        (f"{_DAYS}test_a_day_rewards_work_and_neither_idleness_nor_harm",
         f"{_DAYS}test_every_day_keeps_its_bounds_in_every_run"),
    ),
    "simulator.1": Weakness(
        "costs grow with history",
        (f"{_COSTS}test_common_questions_do_not_look_at_every_mail",
         f"{_COSTS}test_a_mailbox_that_has_not_changed_is_shown_cheaply",
         "simulator/test_queue.py::test_an_advance_with_nothing_due_costs_the_same_at_any_size"),
    ),
    "simulator.2": Weakness(
        "a thread and the handlers change the state at once",
        instead="one event loop alone touches a world; automatic time is a task of it",
    ),
    "simulator.3": Weakness(
        "a world is lost with its process", (f"{_WORLDS}test_a_saved_world_goes_on_in_another_one",)
    ),
    "simulator.4": Weakness(
        "keys have neither end nor rate",
        (f"{_KEYS}test_a_key_may_expire", f"{_KEYS}test_a_key_may_be_used_so_often_a_minute"),
    ),
    "simulator.5": Weakness(
        "a key grants what it does not have", (f"{_KEYS}test_a_key_grants_no_more_than_it_has",)
    ),
    "simulator.6": Weakness(
        "Monday and Wednesday four times is four Mondays",
        (f"{_RECURRENCE}test_monday_and_wednesday_four_times_is_four_dates",),
    ),
    "simulator.7": Weakness(
        "dates move with the stretch that is asked for",
        (f"{_RECURRENCE}test_the_stretch_that_is_asked_for_does_not_move_the_dates",),
    ),
    "simulator.8": Weakness(
        "the 31st becomes the 28th, and 29 February breaks it",
        (f"{_RECURRENCE}test_a_month_without_the_day_is_left_out",
         f"{_RECURRENCE}test_29_february_comes_every_four_years"),
    ),
    "simulator.9": Weakness(
        "dates come back without a zone", (f"{_RECURRENCE}test_the_wall_clock_stays_when_clocks_change",)
    ),
    "simulator.10": Weakness("a question re-sorts the chat", (f"{_CHAT}test_a_question_changes_nothing",)),
    "simulator.11": Weakness(
        "texts are read and deleted beside the events",
        (f"{_SMS}test_reading_counts_and_can_be_undone",
         f"{_SMS}test_the_log_names_every_message_that_was_read_or_deleted"),
    ),
    "simulator.12": Weakness(
        "what failed or did nothing is called executed",
        (f"{_MAIL}test_one_unknown_message_fails_the_whole_action",
         f"{_CALENDAR}test_what_is_not_there_cannot_be_changed"),
    ),
    "simulator.13": Weakness(
        "a client's mistake is a 500",
        ("simulator/test_rough_requests.py::test_no_endpoint_breaks_on_a_body_of_the_wrong_shape",
         "simulator/test_rough_requests.py::test_generated_requests_meet_no_server_error"),
    ),
    "simulator.14": Weakness(
        "sent_at is dropped",
        (f"{_MAIL}test_the_time_of_sending_is_kept_but_is_never_in_the_future",
         f"{_SMS}test_the_time_of_sending_is_kept"),
    ),
    "simulator.15": Weakness(
        "an answer stands outside its thread",
        (f"{_MAIL}test_an_answer_joins_the_thread_of_the_mail_it_answers",),
    ),
    "simulator.16": Weakness("anybody sends under any name", (f"{_MAIL}test_nobody_sends_under_another_name",)),
    "simulator.17": Weakness(
        "everybody sees blind copies",
        (f"{_MAIL}test_blind_copies_show_in_what_the_user_sent_and_nowhere_else",),
    ),
    "simulator.18": Weakness("to_address overlooks copies", (f"{_QUERIES}test_each_filter_finds_what_it_says",)),
    "simulator.19": Weakness(
        "drafts, replies, forwards and spam have no routes",
        (f"{_MAIL}test_a_draft_waits_until_it_is_sent", f"{_MAIL}test_replies_know_to_whom_they_go",
         f"{_MAIL}test_what_is_forwarded_carries_text_and_attachments"),
    ),
    "simulator.20": Weakness(
        "a reset repeats what callers did at once",
        (f"{_SIMULATION}test_a_reset_does_not_repeat_what_callers_did_at_once",),
    ),
    "simulator.21": Weakness(
        "an undone event still counts as executed",
        (f"{_SIMULATION}test_an_undone_event_does_not_count_as_executed",),
    ),
    "simulator.22": Weakness(
        "what can be done again grows without end", instead="it is never longer than what was done, which is capped"
    ),
    "simulator.23": Weakness(
        "listeners never hear of executed events",
        (f"{_STREAM}test_a_listener_hears_what_becomes_of_each_event",),
    ),
    "simulator.24": Weakness(
        "results of a batch lack the modality", (f"{_BATCHES}test_a_batch_makes_every_event",)
    ),
    "simulator.25": Weakness(
        "reminders never come up", (f"{_CALENDAR}test_reminders_come_up_when_their_time_comes",)
    ),
    "simulator.26": Weakness(
        "attachments have no content", instead="left so: the interface has names, sizes and types of them alone"
    ),
    "simulator.27": Weakness(
        "contacts give nobody a name", instead="left so: mail and texts have addresses alone; contacts can be asked"
    ),
    "simulator.28": Weakness(
        "clients and server disagree on fields", ("simulator/test_contract.py::"
        "test_each_endpoint_of_the_contract_answers_a_good_request_in_its_shape",)
    ),
}  # fmt: skip
