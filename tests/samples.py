"""What a process counted, as a test reads it."""

from prometheus_client import CollectorRegistry


def samples(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """The samples of that name that are not zero, by the values of their labels in the order of the labels' names."""
    found = (sample for family in registry.collect() for sample in family.samples if sample.name == name)
    return {_values(sample.labels): sample.value for sample in found if sample.value}


def _values(labels: dict[str, str]) -> tuple[str, ...]:
    return tuple(value for _, value in sorted(labels.items()))
