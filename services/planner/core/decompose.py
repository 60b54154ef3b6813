"""What must be known for a task, what it names, and the form of answer it asks for."""

from services.planner.core.answer import wants_list
from services.planner.core.intents import Intent
from services.planner.core.mentions import Mention
from services.planner.core.named import proper_names
from services.planner.core.situation import Situation
from shared.domain.exact_json import Json, JsonObject


def decompose(situation: Situation) -> JsonObject:
    """The structured output DECOMPOSITION."""
    entities = [_entity(mention) for mention in situation.mentions]
    entities += [{"kind": "name", "value": name} for name in proper_names(situation.text)]
    return {
        "needs": _needs(situation),
        "entities": entities,
        "answer_format": "list" if wants_list(situation.text) else "prose",
    }


def _entity(mention: Mention) -> Json:
    return {"kind": mention.kind.value, "value": mention.value}


def _needs(situation: Situation) -> list[Json]:
    needs: list[Json] = [f"what answers: {question}" for question in situation.reading.questions]
    for intent in situation.reading.actions:
        needs += _of(intent)
    return needs


def _of(intent: Intent) -> list[Json]:
    needs: list[Json] = [f"the records that this concerns: {intent.clause}"]
    return [*needs, f"whether it holds that {intent.condition}"] if intent.condition else needs
