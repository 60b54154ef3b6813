"""Stages on which some replies of the model cost more than others."""

from shared.ports.models import ModelReply, ModelRequest, Usage
from tests.unit.executor.stage import Stage


def costing(stage: Stage, **outputs: int) -> Stage:
    """The stage with what replies of its conversation cost in output, as ``first=``, ``second=`` or ``third=``."""
    order = ("first", "second", "third")

    def thinks(request: ModelRequest) -> ModelReply:
        reply = stage.talk(request)
        number = sum(entry.kind == "model" for entry in stage.turns.steps.values())  # that are stored by now
        output = outputs.get(order[number]) if number < len(order) else None
        return reply if output is None else reply._replace(usage=Usage(input=10, output=output))

    stage.thinks = thinks
    return stage
