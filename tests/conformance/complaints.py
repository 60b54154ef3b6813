"""What users of the official SDK and of A2A servers complain about, each with the tests that show it is not so here.

``sdk.N`` are faults that were found in the official SDK's own server, ``field.N`` what is said in the issue threads of
servers that run in production. ``test_complaints_index.py`` looks after every name below.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Complaint(NamedTuple):
    """``tests``: file (below ``tests``) and test; empty with ``instead`` where it does not arise."""

    what: str
    tests: tuple[str, ...] = ()
    instead: str = ""


_TASKS, _STREAMS, _SURFACE = (f"conformance/test_{name}.py::" for name in ("1_0_tasks", "1_0_streams", "surface"))
_OLD, _LEGACY, _HERE = (f"conformance/test_{name}.py::" for name in ("0_3", "legacy", "complaints"))
_HOOKS, _FAILURES = "integration/test_webhook_methods.py::", "integration/test_webhook_failures.py::"

COMPLAINTS: Mapping[str, Complaint] = {
    "sdk.1": Complaint(
        "a follow-up without a context gets a fresh one",
        (f"{_TASKS}test_a_follow_up_without_a_context_is_in_its_tasks_context",),
    ),
    "sdk.2": Complaint("a tenant's prefix shadows every longer path", (f"{_HERE}test_no_path_is_shadowed",)),
    "sdk.3": Complaint(
        "0.3: wrong params get the wrong code, and insides leak",
        (f"{_OLD}test_wrong_params_are_refused_as_such_and_nothing_of_our_insides_is_told",),
    ),
    "sdk.4": Complaint(
        "0.3: deleting a webhook is answered without a result",
        (f"{_OLD}test_webhooks_are_set_read_listed_and_deleted",),
    ),
    "sdk.5": Complaint(
        "0.3: a webhook cannot be read without its id", (f"{_OLD}test_webhooks_are_set_read_listed_and_deleted",)
    ),
    "sdk.6": Complaint(
        "0.3 REST: subscribing to no task breaks the body; a negative length passes",
        (f"{_OLD}test_rest_refuses_with_a_status_and_a_code",),
    ),
    "sdk.7": Complaint(
        "a method of 0.3 under a newer version is an internal error",
        (f"{_SURFACE}test_a_method_of_0_3_under_a_newer_version_is_told_so",),
    ),
    "sdk.8": Complaint(
        "a body that is not UTF-8 is a server error",
        (f"{_SURFACE}test_a_body_that_is_no_json_object_is_the_clients_fault",),
    ),
    "sdk.9": Complaint(
        "gRPC: neither version nor caller is checked", instead="gRPC is not offered, and no card names it"
    ),
    "sdk.10": Complaint(
        "whoever has no name sees everybody's tasks, across tenants",
        (f"{_TASKS}test_another_client_of_the_tenant_sees_only_its_own_tasks",),
    ),
    "sdk.11": Complaint(
        "the extended card is shown to anybody",
        (f"{_STREAMS}test_the_extended_card_is_for_those_who_are_known",),
    ),
    "sdk.12": Complaint(
        "webhooks: unchecked addresses, one try, no limit, no signature",
        (
            f"{_FAILURES}test_a_receiver_that_fails_gets_the_same_delivery_until_it_takes_it",
            f"{_FAILURES}test_a_name_that_leads_inside_by_now_is_not_called",
            f"{_FAILURES}test_a_redirect_is_not_followed",
            f"{_HOOKS}test_a_task_has_only_so_many_webhooks",
            "unit/gateway/test_webhook_secret.py::test_a_receiver_verifies_with_its_tenants_secret_and_with_no_other",
        ),
    ),
    "sdk.13": Complaint(
        "the same message twice is two tasks; streams have no ids; the card has no time",
        (
            f"{_HERE}test_the_same_message_at_once_on_both_replicas_is_one_task",
            f"{_STREAMS}test_every_update_has_one_name_and_an_id_of_its_own",
            f"{_SURFACE}test_a_card_that_the_client_has_is_not_sent_again",
        ),
    ),
    "sdk.14": Complaint(
        "the card with merged fields is no card of 1.0",
        (f"{_SURFACE}test_the_pure_card_has_the_fields_of_1_0_and_no_others",),
    ),
    "sdk.15": Complaint(
        "batches, and calls without an id",
        (
            f"{_SURFACE}test_a_batch_is_refused_as_one",
            f"{_LEGACY}test_a_call_without_an_id_is_answered_all_the_same",
        ),
    ),
    "sdk.16": Complaint(
        "any version 1.x is accepted", (f"{_SURFACE}test_major_and_minor_version_must_be_that_of_the_method",)
    ),
    "sdk.17": Complaint(
        "the OpenAPI document declares no path parameters and only successes",
        (
            "integration/test_gateway_openapi.py::test_every_path_names_its_parameters_and_more_than_its_success",
            "integration/test_gateway_openapi.py::test_what_is_answered_fits_its_description",
        ),
    ),
    "field.1": Complaint(
        "streams break across replicas", (f"{_HERE}test_a_stream_on_either_replica_tells_what_happens",)
    ),
    "field.2": Complaint(
        "a stale snapshot in one replica overwrites the task", (f"{_HERE}test_no_replica_shows_an_older_task",)
    ),
    "field.3": Complaint(
        "events are lost between losing a stream and taking it up again",
        (f"{_STREAMS}test_a_stream_that_was_cut_goes_on_after_the_last_id",),
    ),
    "field.4": Complaint(
        "the first message may be sent twice", (f"{_HERE}test_the_same_message_at_once_on_both_replicas_is_one_task",)
    ),
    "field.5": Complaint(
        "a client that goes away cancels the work", (f"{_HERE}test_a_client_that_goes_away_cancels_nothing",)
    ),
    "field.6": Complaint(
        "cancel leaves no terminal state, or a late write reverts it",
        (f"{_HERE}test_a_canceled_task_stays_canceled",),
    ),
    "field.7": Complaint("a burst wedges the server", (f"{_HERE}test_a_burst_is_answered_to_the_last",)),
    "field.8": Complaint(
        "webhooks lead inside, credentials forge headers, configurations are without number",
        (
            "unit/gateway/test_webhook_config.py::test_a_webhook_leads_nowhere_inside",
            "unit/gateway/test_webhook_config.py::"
            "test_what_would_forge_a_header_is_refused_by_its_name_and_without_its_value",
            f"{_HOOKS}test_a_task_has_only_so_many_webhooks",
        ),
    ),
    "field.9": Complaint(
        "webhooks are tried once, never disabled, and nobody sees it",
        (
            f"{_FAILURES}test_a_receiver_that_fails_gets_the_same_delivery_until_it_takes_it",
            f"{_FAILURES}test_a_webhook_that_fails_too_often_is_disabled_and_seen_by_its_tenant",
        ),
    ),
    "field.10": Complaint(
        "tasks are anybody's; references leak; sessions hang on a context that the client names",
        (
            f"{_HERE}test_another_tenant_reaches_nothing_by_naming_it",
            f"{_HERE}test_a_context_of_another_principal_is_not_joined",
        ),
    ),
    "field.11": Complaint(
        "many tenants at one host shadow each other's paths",
        ("conformance/test_tenant_prefix.py::test_messages_and_tasks_are_reached", f"{_HERE}test_no_path_is_shadowed"),
    ),
    "field.12": Complaint(
        "the trace is lost between client, server and worker",
        (
            "e2e/one_stack/test_one_trace.py::test_a_task_is_one_tree_over_all_processes_and_tells_no_word_of_it",
            "unit/tracing/test_tracer.py::test_a_span_of_another_process_is_gone_on_from",
        ),
    ),
    "field.13": Complaint(
        "the card names the internal address", (f"{_SURFACE}test_every_interface_is_where_the_public_url_says",)
    ),
    "field.14": Complaint(
        "no keep-alive, no ids, no limit of bodies; a waiting answer is cut at the idle time-out",
        (
            f"{_STREAMS}test_every_update_has_one_name_and_an_id_of_its_own",
            "integration/test_gateway_limits.py::test_no_route_reads_a_body_over_the_limit",
            "unit/gateway/test_gateway_kept_alive.py::test_white_space_is_sent_while_the_answer_is_not_there",
        ),
    ),
    "field.15": Complaint(
        "contexts are neither inferred nor compared",
        (
            f"{_TASKS}test_a_follow_up_without_a_context_is_in_its_tasks_context",
            f"{_TASKS}test_a_follow_up_with_another_context_is_refused",
        ),
    ),
    "field.16": Complaint("0.3 flattens codes and drops data", (f"{_HERE}test_0_3_keeps_codes_apart_and_data_whole",)),
    "field.17": Complaint(
        "tasks and events stay for ever, or leave at once",
        (
            "integration/test_task_lists.py::test_an_ended_task_leaves_the_list_in_the_stated_time",
            "integration/test_state_keys.py::test_an_ended_task_and_its_idle_session_leave_in_the_stated_time",
        ),
    ),
    "field.18": Complaint("signatures of cards differ between SDKs", instead="cards are not signed"),
}
