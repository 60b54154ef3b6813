"""Evaluators that were written for the public assessor, unchanged."""

import sys
from pathlib import Path
from typing import cast

import pytest

from services.assessor.adapters.scenario_folder import BadScenario, load_evaluators
from services.assessor.core.chat_model import AIMessage, ChatModel, HumanMessage, SystemMessage
from services.assessor.core.evaluation import EvalContext, Evaluators
from services.assessor.core.judge import CriteriaJudge
from services.assessor.core.scenario import Criterion
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.results import CriterionResult
from shared.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable, TextBlock, Usage
from tests.assessor.agents import Following
from tests.assessor.foreign_evaluators import EVALUATORS, WORDS
from tests.doubles.scripted_model import ScriptedModel

pytestmark = pytest.mark.promise("assessor.foreign_scenarios")
NAMES = ("is_polite", "is_polite_unguarded", "is_polite_careful")


def grading(request: ModelRequest) -> ModelReply:
    return ModelReply((TextBlock("8"),), "end_turn", Usage(input=5, output=1), "judge")


def down(request: ModelRequest) -> ModelReply:
    raise ModelUnavailable("overloaded")


@pytest.mark.parametrize("name", NAMES)
async def test_it_is_judged_by_the_model_that_there_is(tmp_path: Path, name: str) -> None:
    model = ScriptedModel(grading)

    result = await _judged(tmp_path, name, model)

    assert (result.score, result.max_score, result.unjudged) == (16, 20, False)


@pytest.mark.parametrize("name", NAMES)
async def test_it_is_unjudged_where_there_is_no_model_or_none_that_answers(tmp_path: Path, name: str) -> None:
    without = await _judged(tmp_path / "without", name, None)
    silent = await _judged(tmp_path / "silent", name, ScriptedModel(down))

    assert (without.score, without.unjudged) == (0, True)
    assert (silent.score, silent.unjudged) == (0, True)
    assert "overloaded" in silent.explanation


def test_its_imports_are_there_while_it_loads_and_at_no_other_time(tmp_path: Path) -> None:
    before = set(sys.modules)

    found = load_evaluators(_scenario(tmp_path))

    assert set(found) == set(NAMES)
    assert not [name for name in set(sys.modules) - before if name.split(".")[0] in ("src", "langchain_core", "words")]
    with pytest.raises(ImportError):
        __import__("src.green.evaluation")


def test_what_is_imported_and_has_no_counterpart_is_named(tmp_path: Path) -> None:
    code = "from src.green.agent import TimeMachine\n"

    with pytest.raises(BadScenario, match=r"foreign/evaluators\.py: .*TimeMachine"):
        load_evaluators(_scenario(tmp_path, code))


async def test_a_model_is_asked_with_messages_of_every_usual_form() -> None:
    asked: list[ModelRequest] = []

    def heard(request: ModelRequest) -> ModelReply:
        asked.append(request)
        return grading(request)

    model = ChatModel(ScriptedModel(heard))
    forms = (
        [
            SystemMessage("Grade."),
            HumanMessage([{"type": "text", "text": "Well?"}]),
            AIMessage("5"),
            HumanMessage("Again"),
        ],
        [("system", "Grade."), ("human", "Well?"), ("ai", "5"), ("human", "Again")],
        [
            {"role": "system", "content": "Grade."},
            {"role": "user", "content": "Well?"},
            {"role": "assistant", "content": "5"},
            {"role": "user", "content": "Again"},
        ],
    )
    answers = [await model.ainvoke(form) for form in forms]

    assert {request.system for request in asked} == {("Grade.",)}
    assert {request.messages for request in asked} == {asked[0].messages}
    assert [message.role for message in asked[0].messages] == ["user", "assistant", "user"]
    assert {answer.content for answer in answers} == {"8"}
    assert answers[0].usage_metadata == {"input_tokens": 5, "output_tokens": 1}
    with pytest.raises(ValueError, match="no message"):
        await model.ainvoke([{"content": "whose?"}])


def _scenario(root: Path, evaluators: str = EVALUATORS) -> Path:
    folder = root / "foreign"
    folder.mkdir(parents=True)
    (folder / "evaluators.py").write_text(evaluators)
    (folder / "words.py").write_text(WORDS)
    return folder


async def _judged(root: Path, name: str, model: Model | None) -> CriterionResult:
    found: Evaluators = load_evaluators(_scenario(root))
    given = {"criterion_id": "polite", "name": "Polite", "dimension": "politeness", "max_score": 20}
    criterion = Criterion.model_validate({**given, "evaluator_id": name})
    context = EvalContext(cast(SimulatedWorld, None), {}, (), {}, {}, "Do it.", model)
    judge = CriteriaJudge(llm=model, criteria=[criterion], evaluators=found, emitter=Following())
    (result,) = await judge.evaluate_all(context)
    return result
