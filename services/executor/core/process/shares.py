"""What several changes of one plan leave together of that which each of them draws on: one budget, two claims (I2)."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from services.executor.core.dossier.dossier import Fact
from services.executor.core.process.figures import Figured, Shared
from services.executor.core.process.subjects import ids_of, named_in, resting
from services.executor.core.records.called_records import seen
from services.executor.core.records.refs import literal_parts
from services.executor.core.states.figures import Figure
from services.executor.core.states.template import Template
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import JsonObject

Left = Mapping[str, Mapping[str, Decimal]]  # by figure and record


def left_by(figure: Figure, together: Collection[str], shared: Shared, found: Figured) -> Decimal | None:
    """What these records leave together; None if the figure is no remainder, or it is not known of all of them."""
    alone = [
        Decimal(one.value) for one in found.values if one.figure == figure.name and one.about.casefold() in together
    ]
    if not figure.remainder or shared.whole is None or len(alone) != len(together):
        return None
    return shared.whole - sum((shared.whole - one for one in alone), Decimal(0))


def left_together(
    template: Template, calls: Sequence[PlannedCall], found: Figured, facts: Sequence[Fact]
) -> dict[str, dict[str, Decimal]]:
    """For each remainder and each record that draws on the same as another of the plan: what all of them leave."""
    left: dict[str, dict[str, Decimal]] = {}
    for figure in template.figures if found.shared else ():
        written = _written(figure, calls, facts) if figure.remainder else frozenset()
        for shared in found.shared.get(figure.name, ()):
            together = shared.ids & written
            least = left_by(figure, together, shared, found) if len(together) > 1 else None
            if least is not None:
                left.setdefault(figure.name, {}).update(dict.fromkeys(together, least))
    return left


def figures_left(arguments: JsonObject, figures: Mapping[str, Decimal], left: Left) -> dict[str, Decimal]:
    """The figures as they are about a call, each remainder after all that the plan draws on the same."""
    named = {str(part).casefold() for part in literal_parts(arguments)}
    after = {
        name: min(by[one] for one in named & by.keys())
        for name, by in left.items()
        if name in figures and named & by.keys()
    }
    return {**figures, **after}


def _written(figure: Figure, calls: Sequence[PlannedCall], facts: Sequence[Fact]) -> frozenset[str]:
    ids = ids_of(figure, seen(facts))
    return frozenset[str]().union(*(named_in(figure, call.arguments, ids) for call in resting(figure, calls)))
