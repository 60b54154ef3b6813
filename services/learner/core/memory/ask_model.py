"""Asks a small model what a task taught, and reads its answer; once more, with what was wrong, where it is no use."""

from collections.abc import Sequence
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from typing_extensions import override

from services.learner.ports.memory import Cost, FactFinder, FactsUnavailable, RawFact
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.model_price import Price
from shared.ports.models import Message, Model, ModelReply, ModelRequest, ModelUnavailable, TextBlock, Tier

_PROMPT = (files(__package__) / "facts.md").read_text("utf-8").strip()
_MAX_TOKENS = 700
_ATTEMPTS = 2
_CHARACTERS_A_TOKEN = 4
_CORRECTION = 100  # tokens of what was wrong with an answer
_ORDER = ("task", "entities", "process", "values", "answer", "correction")
_TEXT: JsonValue = {"type": "string"}
_FACT: dict[str, JsonValue] = {
    "subject": _TEXT,
    "attribute": _TEXT,
    "value": _TEXT,
    "text": _TEXT,
    "confidence": {"type": "number"},
}


def _object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA = _object({"facts": {"type": "array", "items": _object(_FACT)}})


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True)

    subject: str
    attribute: str
    value: str
    text: str
    confidence: float = Field(ge=0, le=1)


class _Answer(BaseModel):
    facts: tuple[_Fact, ...]


class ModelFacts(FactFinder):
    """``price`` is that of the model that serves the lower tier."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self._price = price

    @override
    def most(self, sections: JsonObject) -> Cost:
        """All attempts, each with as long an answer as may be."""
        asked = -(-(len(_PROMPT) + len(_show_sections(sections))) // _CHARACTERS_A_TOKEN) + _CORRECTION
        nanos = asked * self._price.fresh_input + _MAX_TOKENS * self._price.output
        return Cost(_ATTEMPTS, _ATTEMPTS * asked, _ATTEMPTS * _MAX_TOKENS, _ATTEMPTS * nanos)

    @override
    async def find(self, sections: JsonObject) -> tuple[Sequence[RawFact], Cost]:
        cost, problem = Cost(), ""
        for _ in range(_ATTEMPTS):
            try:
                reply = await self._model.complete(_request({**sections, "correction": problem}))
            except ModelUnavailable as error:
                raise FactsUnavailable(str(error), cost) from error
            cost = _add_reply(cost, reply, self._price)
            try:
                return [RawFact(**fact.model_dump()) for fact in _Answer.model_validate_json(reply.text).facts], cost
            except ValidationError as error:
                first = error.errors(include_input=False)[0]
                problem = f"{'.'.join(map(str, first['loc'])) or 'the answer'}: {first['msg']}"
        raise FactsUnavailable(f"the model gave no usable facts in {_ATTEMPTS} attempts: {problem}", cost)


def _request(sections: JsonObject) -> ModelRequest:
    return ModelRequest(
        tier=Tier.HAIKU,
        system=(_PROMPT,),
        messages=(Message("user", (TextBlock(_show_sections(sections)),)),),
        schema=SCHEMA,
        max_tokens=_MAX_TOKENS,
    )


def _show_sections(sections: JsonObject) -> str:
    return "\n\n".join(_section(name, sections[name]) for name in _ORDER if sections.get(name))


def _section(name: str, value: Json) -> str:
    """A closing tag inside quoted text is defused, so that data cannot end its own section."""
    text = value if isinstance(value, str) else dumps(value)
    defused = text.replace("</", "<\\/")
    return f"<{name}>\n{defused}\n</{name}>"


def _add_reply(cost: Cost, reply: ModelReply, price: Price) -> Cost:
    usage = reply.usage
    read = usage.input + usage.cache_read + usage.cache_write
    cached = usage.cache_read * price.cache_read + usage.cache_write * price.cache_write
    nanos = usage.input * price.input + usage.output * price.output + cached
    return Cost(cost.calls + 1, cost.input_tokens + read, cost.output_tokens + usage.output, cost.nanos + nanos)
