"""Questions to a model that want a structured answer; what they cost is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from typing_extensions import override

from shared.contracts.assessment.results import ModelCosts
from shared.contracts.base import describe_first_error
from shared.domain.exact_json import Json
from shared.domain.model_price import Price
from shared.domain.sections import render_sections
from shared.ports.models import Message, Model, ModelReply, ModelRequest, ModelUnavailable, TextBlock, Tier

ATTEMPTS = 2
_MAX_TOKENS = 2048
Shape = TypeVar("Shape", bound=BaseModel)


class AnswerForm(BaseModel):
    """The form of an answer: every field is asked for, none besides."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass
class CostAccount:
    """Calls, tokens and money that one assessment spent on models. A model without a price adds no money."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    costs: ModelCosts = field(default_factory=ModelCosts)

    def add(self, reply: ModelReply) -> None:
        usage = reply.usage
        price = self.prices.get(reply.model, Price())
        before = self.costs
        self.costs = ModelCosts(
            calls=before.calls + 1,
            input_tokens=before.input_tokens + usage.all_input,
            output_tokens=before.output_tokens + usage.output,
            nano_dollars=before.nano_dollars + price.compute_cost(usage),
            models=tuple(sorted({*before.models, reply.model})),
        )


class CostCountingModel(Model):
    """A model whose calls are entered into the accounts."""

    def __init__(self, model: Model, accounts: CostAccount) -> None:
        self._model = model
        self._accounts = accounts

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await self._model.complete(request)
        self._accounts.add(reply)
        return reply


async def ask_form(model: Model, tier: Tier, system: str, sections: Mapping[str, Json], form: type[Shape]) -> Shape:
    """Asks the model and parses its answer as ``form``; asks once more, with the error, if the answer does not fit.

    Raises ``ModelUnavailable``.
    """
    problem = ""
    for _ in range(ATTEMPTS):
        text = render_sections({**sections, "correction": problem})
        messages = (Message("user", (TextBlock(text),)),)
        request = ModelRequest(tier, (system,), messages, schema=schema_of(form), max_tokens=_MAX_TOKENS)
        reply = await model.complete(request)
        try:
            return form.model_validate_json(reply.text)
        except ValidationError as error:
            problem = f"The answer before could not be read: {describe_first_error(error)}"
    raise ModelUnavailable(f"no usable answer came in {ATTEMPTS} attempts: {problem}")


def schema_of(form: type[BaseModel]) -> dict[str, JsonValue]:
    """The form as JSON Schema, without titles and defaults."""
    bare = _strip_titles(form.model_json_schema())
    return bare if isinstance(bare, dict) else {}


def _strip_titles(value: JsonValue, named: bool = False) -> JsonValue:
    """``named``: the keys are fields' own names."""
    if isinstance(value, list):
        return [_strip_titles(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept_members = value.items() if named else ((k, v) for k, v in value.items() if k not in ("title", "default"))
    return {key: _strip_titles(part, named=key == "properties" and not named) for key, part in kept_members}
