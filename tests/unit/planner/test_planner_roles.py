"""Every other role: what a schema asks, or the sentence that a model is needed; and the faults on purpose."""

import pytest

from services.planner.core.request import parse
from services.planner.core.roles import reply
from shared.domain.exact_json import JsonObject, loads_object


def _with_schema(properties: JsonObject, text: str = "Judge this.") -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    body: JsonObject = {
        "messages": [{"role": "user", "content": text}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    return loads_object(reply(parse(body)).text)


@pytest.mark.promise("planner.unjudged")
def test_a_criterion_that_needs_judgement_gets_nothing_and_says_so() -> None:
    """Score 0, marked as unjudged, so that totals can be shown with and without it."""
    details: JsonObject = {"type": "object", "properties": {}}
    answer = _with_schema({"score": {"type": "number"}, "details": details, "why": {"type": "string"}})
    assert (answer["score"], answer["details"]) == (0, {"unjudged": True})
    assert "needs a model" in str(answer["why"])
