"""An executor that lacks something says what, in one sentence, and does not start."""

import pytest

from services.executor.__main__ import main
from services.executor.bootstrap import choose_fallback_models
from services.executor.settings import ExecutorSettings
from shared.infra.archive_open import generate_encryption_key
from shared.ports.models import Tier
from tests.each_row import each_row
from tests.refusals import Refusal, refusal_of

NEEDED = {
    "REDIS_URL": "unix:///nowhere.sock",
    "POLICY_URL": "http://x",
    "TENANT_FILE": "t.json",
    "ANTHROPIC_API_KEY": "k",
    "ARCHIVE_URL": "file:///archive",
    "ARCHIVE_KEY": generate_encryption_key(),
}
LACKING = [(name, f"{name} is not set") for name in NEEDED] + [("", "PORT cannot be used")]


def _without(lacking: str) -> dict[str, str]:
    left = {name: value for name, value in NEEDED.items() if name != lacking}
    return left if lacking else {**left, "PORT": "many"}


def _refuses_with(ended: Refusal, sentence: str) -> None:
    assert ended.code == 2
    assert ended.said.startswith(sentence)
    assert ended.said.count("\n") == 1


@pytest.mark.promise("state.refuses_to_start")
@each_row(("lacking", "sentence"), LACKING)
def test_it_names_what_it_lacks_and_exits_with_2(lacking: str, sentence: str) -> None:
    _refuses_with(refusal_of(lambda: main([]), _without(lacking)), sentence)


@pytest.mark.promise("state.refuses_to_start")
def test_all_that_is_missing_or_wrong_is_named_at_once() -> None:
    """Whoever installs it does not start it once for each variable."""
    ended = refusal_of(lambda: main([]), {**_without("POLICY_URL"), "PORT": "many"})
    lines = ended.said.splitlines()
    assert (ended.code, len(lines)) == (2, 2)
    assert [line.split()[0] for line in sorted(lines)] == ["POLICY_URL", "PORT"]


@pytest.mark.promise("state.refuses_to_start")
@each_row(
    ("name", "value"),
    ("POLICY_URL", "foo"),
    ("POLICY_URL", "http://policy:99999"),
    ("GREEN_AGENT_MCP_URL", "http://tools..example"),
    ("ANTHROPIC_BASE_URL", "foo"),
    ("GREEN_AGENT_MCP_URL", "ftp://x"),
    ("PRACTICE_SERVERS", "http://gateway/worlds,foo"),
    ("HAIKU_MODEL", ""),
    ("OTEL_TRACES_SAMPLER_ARG", "nan"),
    ("OTEL_TRACES_SAMPLER_ARG", "a tenth"),
)
def test_an_address_or_a_figure_that_cannot_be_used_stops_the_start(name: str, value: str) -> None:
    """Not the first task."""
    given = {**NEEDED, "OTEL_TRACES_SAMPLER": "traceidratio", name: value}
    _refuses_with(refusal_of(lambda: main([]), given), f"{name} cannot be used: ")


@pytest.mark.promise("archive.named_in_production")
@each_row(("name", "value"), [("ARCHIVE_URL", "/archive"), ("ARCHIVE_URL", "s3:"), ("ARCHIVE_KEY", "x")])
def test_an_archive_or_a_key_that_is_none_is_named_and_not_shown(name: str, value: str) -> None:
    ended = refusal_of(lambda: main([]), {**NEEDED, name: value})
    _refuses_with(ended, f"{name} cannot be used: ")


@pytest.mark.promise("archive.named_in_production")
def test_only_an_operator_who_says_so_runs_without_an_archive() -> None:
    """Past its settings it fails at the tenant's file, which is not there."""
    given = {name: value for name, value in NEEDED.items() if not name.startswith("ARCHIVE")}
    ended = refusal_of(lambda: main([]), {**given, "ALLOW_NO_ARCHIVE": "true"})
    assert (ended.code, "t.json" in ended.said) == (2, True)


@pytest.mark.promise("state.refuses_to_start")
@each_row("url", ["nowhere", "redis://:s3cret/pass@host:6379/0", "http://:s3cret@host"])
def test_an_address_of_redis_that_is_none_is_named_and_not_shown(url: str) -> None:
    ended = refusal_of(lambda: main([]), {**NEEDED, "REDIS_URL": url})
    _refuses_with(ended, "REDIS_URL cannot be used: it must be like redis://")
    assert "s3cret" not in ended.said


@pytest.mark.promise("budget.plan_tier")
@each_row(("fallback", "tiers"), [("small", {Tier.SMALL}), ("other", set(Tier))])
def test_no_plan_of_writes_is_made_by_the_lower_tiers_model_for_want_of_its_own(
    fallback: str, tiers: set[Tier]
) -> None:
    """A ``FALLBACK_MODEL`` that is the lower tier's own serves that tier alone."""
    given = {name.lower(): value for name, value in NEEDED.items()}
    settings = ExecutorSettings.model_validate({**given, "haiku_model": "small", "fallback_model": fallback})
    assert set(choose_fallback_models(settings)) == tiers
