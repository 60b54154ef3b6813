"""What the events of a task's live story count for."""

from shared.contracts.task import TaskEvent
from shared.domain import metric_names as names
from shared.domain.model_price import NANO
from shared.ports.meter import Meter


def count_event(meter: Meter, event: TaskEvent) -> None:
    """Each event once. A call that a resumed turn finds in its journal is told no second time."""
    data = event.data
    if event.kind == "model":
        nanos = data.get("nanos")
        price = nanos / NANO if isinstance(nanos, int) else 0.0
        meter.add(names.MODEL_MONEY, price, tier=str(data["tier"]), model=str(data["model"]))
    elif event.kind == "note" and "bandit" in data:
        meter.add(names.STRATEGIES_CHOSEN, strategy=str(data["strategy"]))
    elif event.kind == "note" and "not_applied" in data:
        meter.add(names.STRATEGIES_LEFT, strategy=str(data["strategy"]))
