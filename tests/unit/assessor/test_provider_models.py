"""Models of other providers, by name."""

from importlib.util import find_spec

import pytest

from services.assessor.adapters.provider_models import provider_name
from services.assessor.hosting import build_models
from shared.infra.starting import CannotStart
from tests.assessor.stage import config
from tests.each_row import each_row

pytestmark = pytest.mark.promise("assessor.providers")


@each_row(
    ("model", "name"),
    ("gpt-5", "openai:gpt-5"),
    ("o3-mini", "openai:o3-mini"),
    ("gemini-3-pro", "google:gemini-3-pro"),
    ("ollama/gpt-oss:20b", "ollama:gpt-oss:20b"),
    ("claude-sonnet-4-6", None),
    ("offline-planner-1", None),
)
def test_a_name_tells_the_provider(model: str, name: str | None) -> None:
    assert provider_name(model) == name


def test_without_a_model_there_is_none() -> None:
    assert build_models(config()).evaluation is None


@pytest.mark.skipif(find_spec("pydantic_ai") is not None, reason="the optional library is here")
def test_a_provider_whose_library_is_missing_stops_the_start_with_what_to_install() -> None:
    with pytest.raises(CannotStart, match=r"gpt-5.*purple-agent\[assessor-providers\]"):
        build_models(config(evaluation_model="gpt-5"))
