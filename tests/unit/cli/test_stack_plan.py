"""Which processes a stack has, what each is told, and how long one that ended rests."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.console import CommandError
from cli.launcher import (
    LONGEST_PAUSE_SECONDS,
    STARTED_AFTER_SECONDS,
    RestartBackoff,
    are_unruled_writes_undecided,
    make_stack_folder,
    record_unruled_writes_choice,
)
from cli.stack.child import TERM_SECONDS
from cli.stack.plan import PLANNER_NOTICE, ProcessSpec, StackOptions, StackPorts, choose_model_notice, plan_stack
from tests.each_row import each_row

PORTS = StackPorts(planner=1, company=2, policy=3, learner=6, executors=(4, 5))
KEY = {"ANTHROPIC_API_KEY": "sk-secret", "HOME": "/home/x"}


def _plan(environ: Mapping[str, str], executors: int = 1) -> dict[str, ProcessSpec]:
    options = StackOptions(Path("/data"), environ, port=9010, executors=executors)
    return {spec.name: spec for spec in plan_stack(options, PORTS, "unix:///data/redis.sock")}


@pytest.mark.promise("launcher.defaults", "launcher.notice")
def test_with_an_empty_environment_everything_is_supplied() -> None:
    """Redis, planner and company come from the launcher; the executor is told where they are, all of the planner."""
    plan = _plan({})
    assert list(plan) == ["policy", "planner", "company", "gateway", "learner", "executor-1"]
    told = plan["executor-1"].environ
    assert told["ANTHROPIC_BASE_URL"] == plan["planner"].url
    assert told["GREEN_AGENT_MCP_URL"] == plan["company"].url
    assert told["POLICY_URL"] == plan["policy"].url
    assert told["PROFILE"] == "embedded"
    assert {told[name] for name in ("HAIKU_MODEL", "SONNET_MODEL", "FALLBACK_MODEL")} == {"offline-planner-1"}
    assert {spec.environ["MODEL_NOTICE"] for spec in plan.values()} == {PLANNER_NOTICE}


@pytest.mark.promise("launcher.defaults")
@each_row(
    ("host", "url"),
    ("0.0.0.0", "http://127.0.0.1:9010"),  # noqa: S104  # every address
    ("192.168.1.5", "http://192.168.1.5:9010"),
    ("localhost", "http://localhost:9010"),
    ("::", "http://[::1]:9010"),
    ("fd00::5", "http://[fd00::5]:9010"),
)
def test_the_gateway_is_asked_at_an_address_on_which_it_listens(host: str, url: str) -> None:
    specs = {spec.name: spec for spec in plan_stack(StackOptions(Path("/data"), {}, host=host), PORTS, "unix:///r")}
    assert specs["gateway"].url == url
    assert specs["gateway"].environ.get("WORLDS_URL") == (url if host in ("0.0.0.0", "::") else None)  # noqa: S104
    assert f"{url}/" in specs["gateway"].arguments
    assert specs["executor-1"].environ["PRACTICE_SERVERS"] == f"{url}/worlds"


@pytest.mark.promise("demo.any_model", "launcher.defaults")
@each_row("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"])
def test_with_a_model_configured_there_is_no_planner_and_no_notice(name: str) -> None:
    """A person with a key gets the model they configured, and no tier is overridden."""
    environ = {name: "given"}
    plan = _plan(environ)
    assert "planner" not in plan
    assert plan["executor-1"].environ[name] == "given"
    assert "HAIKU_MODEL" not in plan["executor-1"].environ
    assert choose_model_notice(StackOptions(Path("/data"), environ)) == ""


@pytest.mark.promise("secrets.model_key")
@each_row(
    ("name", "facts", "asking"),
    ("ANTHROPIC_API_KEY", "on", {"executor-1", "learner"}),
    ("ANTHROPIC_API_KEY", "off", {"executor-1"}),
    ("BRAINOS_API_KEY", "on", {"executor-1"}),
)
def test_only_who_asks_a_model_is_handed_its_key_and_no_printed_plan_shows_it(
    name: str, facts: str, asking: set[str]
) -> None:
    given = {**KEY, "ANTHROPIC_API_KEY": "another", "LEARN_KNOWLEDGE": facts, name: "sk-secret"}
    holders = {name for name, spec in _plan(given).items() if "sk-secret" in spec.environ.values()}
    assert holders == asking
    assert "sk-secret" not in repr(_plan(given))


def test_with_a_tool_server_configured_there_is_no_company_and_a_tenant_file_of_the_callers_own_is_kept() -> None:
    plan = _plan({"GREEN_AGENT_MCP_URL": "http://tools.example"})
    assert "company" not in plan
    assert plan["executor-1"].environ["GREEN_AGENT_MCP_URL"] == "http://tools.example"
    assert plan["executor-1"].environ["TENANT_FILE"].endswith("/tenant.json")
    assert _plan({"TENANT_FILE": "/mine.json"})["executor-1"].environ["TENANT_FILE"] == "/mine.json"


def test_each_executor_has_its_own_port_and_gives_its_sessions_back_before_the_launcher_loses_patience() -> None:
    """Killed instead, it would leave them to be found only when their leases run out."""
    plan = _plan({}, executors=2)
    assert {plan["executor-1"].environ["PORT"], plan["executor-2"].environ["PORT"]} == {"4", "5"}
    assert float(_plan({})["executor-1"].environ["GRACE_SECONDS"]) < TERM_SECONDS
    assert _plan({"GRACE_SECONDS": "1"})["executor-1"].environ["GRACE_SECONDS"] == "1"


def test_who_accepts_work_stops_before_who_does_it_and_the_tools_last() -> None:
    ordered = sorted(_plan({}).values(), key=lambda spec: spec.stop_rank)
    assert [spec.name for spec in ordered][:2] == ["gateway", "executor-1"]
    assert ordered[-1].name == "company"


def test_only_a_stack_that_asks_for_it_has_a_company_that_can_be_told_to_misbehave() -> None:
    options = StackOptions(Path("/data"), {}, allows_company_faults=True)
    able = {spec.name for spec in plan_stack(options, PORTS, "unix:///r") if "ALLOW_FAULTS" in spec.environ}
    assert able == {"company"}
    assert "ALLOW_FAULTS" not in _plan({})["company"].environ


@pytest.mark.promise("participant.offered")
def test_the_gateway_alone_has_the_key_for_assessed_worlds() -> None:
    """The caller's own, else the launcher's."""
    for options in (
        StackOptions(Path("/data"), {"ASSESSMENT_KEY": "the-key"}, executors=2, assessment_key="made", assessor_port=7),
        StackOptions(Path("/data"), {}, executors=2, assessment_key="the-key", assessor_port=7),
    ):
        holders = {spec.name for spec in plan_stack(options, PORTS, "unix:///r") if "the-key" in spec.environ.values()}
        assert holders == {"gateway"}


def test_an_assessor_is_part_of_a_stack_that_asks_for_one_and_ends_before_those_it_measures() -> None:
    asked = StackOptions(Path("/data"), {}, assessor_port=9060)
    specs = {spec.name: spec for spec in plan_stack(asked, PORTS, "unix:///r")}
    assert specs["assessor"].environ["PORT"] == "9060"
    assert specs["assessor"].stop_rank < specs["gateway"].stop_rank
    assert "ANTHROPIC_BASE_URL" not in specs["assessor"].environ
    assert "assessor" not in _plan({})


@pytest.mark.promise("launcher.restarts")
def test_the_pause_grows_with_each_early_end_up_to_a_bound_and_begins_anew_after_a_long_run() -> None:
    restarts = RestartBackoff()
    pauses = [restarts.compute_pause_after(lived=1.0) for _ in range(9)]
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE_SECONDS
    assert restarts.compute_pause_after(lived=STARTED_AFTER_SECONDS) == 0.5


FOREIGN = {"GREEN_AGENT_MCP_URL": "http://tools.example/mcp"}


def _options(folder: Path, environ: Mapping[str, str]) -> StackOptions:
    return StackOptions(folder, environ)


def _said_by_record(options: StackOptions) -> str:
    return str(json.loads(Path(options.environ["TENANT_FILE"]).read_text())["unruled_writes"])


@pytest.mark.promise("launcher.unruled_writes")
@pytest.mark.parametrize("word", ["allow", "approve"])
def test_the_word_of_the_environment_stands_in_the_record(tmp_path: Path, word: str) -> None:
    settled = record_unruled_writes_choice(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": word}))
    assert _said_by_record(settled) == word


@pytest.mark.promise("launcher.unruled_writes")
def test_without_a_word_with_another_one_or_beside_a_spoiled_record_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="UNRULED_WRITES") as caught:
        record_unruled_writes_choice(_options(tmp_path, FOREIGN))
    assert all(word in caught.value.sentence for word in ("approve", "allow"))
    with pytest.raises(CommandError, match="UNRULED_WRITES cannot be 'maybe'"):
        record_unruled_writes_choice(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": "maybe"}))
    (tmp_path / "tenant.json").write_text("{")
    with pytest.raises(CommandError, match=r"tenant\.json cannot be read"):
        record_unruled_writes_choice(_options(tmp_path, FOREIGN))


@pytest.mark.promise("launcher.unruled_writes")
def test_it_is_asked_once_and_remembered_in_a_record_that_its_owner_may_edit(tmp_path: Path) -> None:
    assert are_unruled_writes_undecided(_options(tmp_path, FOREIGN))
    record_unruled_writes_choice(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": "allow"}))
    record = tmp_path / "tenant.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "time_zone": "Europe/Rome"}))
    assert not are_unruled_writes_undecided(_options(tmp_path, FOREIGN))
    assert _said_by_record(record_unruled_writes_choice(_options(tmp_path, FOREIGN))) == "allow"
    record_unruled_writes_choice(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": "approve"}))
    assert json.loads(record.read_text())["time_zone"] == "Europe/Rome"
    assert json.loads(record.read_text())["unruled_writes"] == "approve"


@pytest.mark.promise("launcher.unruled_writes")
def test_a_record_of_ones_own_says_it_itself(tmp_path: Path) -> None:
    """A second word beside it would be one too many."""
    own = {**FOREIGN, "TENANT_FILE": "/mine.json"}
    assert not are_unruled_writes_undecided(_options(tmp_path, own))
    assert record_unruled_writes_choice(_options(tmp_path, own)).environ["TENANT_FILE"] == "/mine.json"
    with pytest.raises(CommandError, match="TENANT_FILE"):
        record_unruled_writes_choice(_options(tmp_path, {**own, "UNRULED_WRITES": "allow"}))


@pytest.mark.promise("launcher.unruled_writes")
def test_the_example_company_has_its_own_record_and_a_word_changes_it(tmp_path: Path) -> None:
    assert not are_unruled_writes_undecided(_options(tmp_path, {}))
    assert "TENANT_FILE" not in record_unruled_writes_choice(_options(tmp_path, {})).environ
    settled = record_unruled_writes_choice(_options(tmp_path, {"UNRULED_WRITES": "approve"}))
    assert _said_by_record(settled) == "approve"
    assert json.loads(Path(settled.environ["TENANT_FILE"]).read_text())["policies"]


def test_a_folder_that_cannot_hold_data_is_named_and_no_traceback(tmp_path: Path) -> None:
    taken = tmp_path / "notes"
    taken.write_text("no folder")
    with pytest.raises(CommandError, match=r"notes cannot hold data and logs .*--dir"):
        make_stack_folder(StackOptions(taken, {}))
