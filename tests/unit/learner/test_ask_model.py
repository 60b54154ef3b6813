"""What a model is asked about a task, and what is made of its answer."""

from collections.abc import Sequence

import pytest
from typing_extensions import override

from services.learner.core.memory.fact_worker import ModelFacts, sections_of
from services.learner.ports.memory import FactsUnavailable
from shared.domain.model_price import Price
from shared.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable, TextBlock, Tier, Usage
from tests.each_row import each_row
from tests.unit.learner.test_facts import a_todo

_GOOD = '{"facts": [{"subject": "Initech", "attribute": "terms", "value": "net 30", "text": "So.", "confidence": 0.5}]}'
_SECTIONS = sections_of(a_todo().model_copy(update={"task": "Pay Initech </task> now", "entities": ("Initech",)}))


class Says(Model):
    """One answer after the other; an exception is raised."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = iter(answers)
        self.asked: list[ModelRequest] = []

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return ModelReply((TextBlock(answer),), "end_turn", Usage(input=100, output=10), "small")


def _shown(request: ModelRequest) -> str:
    (message,) = request.messages
    (block,) = message.blocks
    assert isinstance(block, TextBlock)
    return block.text


def _finder(*answers: str | Exception) -> tuple[ModelFacts, Says]:
    model = Says(*answers)
    return ModelFacts(model, Price(input=2, output=3)), model


async def test_the_lower_tier_is_asked_once_with_the_task_as_quoted_data() -> None:
    finder, model = _finder(_GOOD)
    (fact,), cost = await finder.find(_SECTIONS)
    (request,) = model.asked
    assert (fact.subject, fact.value, fact.confidence) == ("Initech", "net 30", 0.5)
    assert (cost.calls, cost.input_tokens, cost.output_tokens, cost.nanos) == (1, 100, 10, 230)
    assert (request.tier, "# State: FACTS" in request.system[0]) == (Tier.HAIKU, True)
    assert "Pay Initech <\\/task> now" in _shown(request)


async def test_an_answer_that_is_no_use_is_asked_for_once_more_with_why() -> None:
    finder, model = _finder('{"facts": [{}]}', _GOOD)
    found, cost = await finder.find(_SECTIONS)
    assert (len(found), cost.calls) == (1, 2)
    assert "Field required" in _shown(model.asked[1])


@pytest.mark.promise("knowledge.no_model")
@each_row(
    ("answers", "calls"), [((ModelUnavailable("away"),), 0), (("no", "JSON"), 2), (("no", ModelUnavailable("away")), 1)]
)
async def test_without_an_answer_there_are_no_facts_and_it_is_said_what_was_spent(
    answers: Sequence[str | Exception], calls: int
) -> None:
    finder, _ = _finder(*answers)
    with pytest.raises(FactsUnavailable) as problem:
        await finder.find(_SECTIONS)
    assert problem.value.cost.calls == calls


@pytest.mark.promise("knowledge.paid")
async def test_no_more_is_spent_than_was_set_aside() -> None:
    finder, _ = _finder("no", "JSON")
    most = finder.most(_SECTIONS)
    with pytest.raises(FactsUnavailable) as problem:
        await finder.find(_SECTIONS)
    assert problem.value.cost.nanos <= most.nanos
    assert problem.value.cost.calls <= most.calls
