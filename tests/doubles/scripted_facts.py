"""A ``ModelFactFinder`` that says what a test wants said."""

from collections.abc import Callable, Sequence

from typing_extensions import override

from services.learner.ports.memory import FactCost, FactSearchFailed, RawFact
from services.learner.workers.fact_worker import ModelFactFinder
from shared.domain.exact_json import JsonObject


class ScriptedFacts(ModelFactFinder):
    """``asked`` has the sections of every question. While ``broken`` says why, nothing is found."""

    def __init__(self, say: Callable[[JsonObject], Sequence[RawFact]]) -> None:
        self._say = say
        self.asked: list[JsonObject] = []
        self.broken = ""

    @override
    def estimate_max_cost(self, sections: JsonObject) -> FactCost:
        return FactCost(1, 200, 50, 1_000)

    @override
    async def find_facts(self, sections: JsonObject) -> tuple[Sequence[RawFact], FactCost]:
        self.asked.append(sections)
        if self.broken:
            raise FactSearchFailed(self.broken)
        return self._say(sections), FactCost(1, 100, 20, 500)
