"""What a PromQL expression names: metrics, the labels that it selects and groups by, and the values it looks for."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import promql_parser

from shared.domain.metric_names import METRICS, Metric, MetricKind

EVERYWHERE = frozenset({"instance", "job"})  # Prometheus adds them


def sample_names(metric: Metric) -> tuple[str, ...]:
    """The names of a metric's samples in queries."""
    if metric.kind is not MetricKind.HISTOGRAM:
        return (metric.name,)
    return tuple(f"{metric.name}_{part}" for part in ("bucket", "sum", "count"))


_OWN = {series: metric for metric in METRICS for series in sample_names(metric)}
_PLACEHOLDERS = {"$__rate_interval": "5m", "$__range": "1h"}  # Grafana's, before it asks
_PROCESS = re.compile(r"(process|python)_[a-z_]+")


class Selected(NamedTuple):
    metric: str
    labels: frozenset[str]
    values: tuple[tuple[str, str], ...]  # label and each word that it is compared with


def parsed(expression: str) -> promql_parser.Expr:
    """Raises ``ValueError`` where it is none."""
    for placeholder, value in _PLACEHOLDERS.items():
        expression = expression.replace(placeholder, value)
    return promql_parser.parse(expression)


def selected(expression: str) -> list[Selected]:
    found: list[promql_parser.VectorSelector] = []

    def note(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(parsed(expression), note)
    return [Selected(str(one.name), *_compared(one)) for one in found]


def grouped_by(expression: str) -> frozenset[str]:
    """Every label that is grouped or matched by, anywhere in it."""
    labels: set[str] = set()

    def note(node: promql_parser.Expr) -> None:
        modifier = getattr(node, "modifier", None)
        if isinstance(node, promql_parser.AggregateExpr) and modifier is not None:
            labels.update(modifier.labels)
        if isinstance(node, promql_parser.BinaryExpr) and modifier is not None and modifier.matching is not None:
            labels.update(modifier.matching.labels)

    promql_parser.walk(parsed(expression), note)
    return frozenset(labels)


def metric_of(series: str) -> Metric | None:
    return _OWN.get(series)


def is_of_the_process(series: str) -> bool:
    return _PROCESS.fullmatch(series) is not None


def labels_of(series: str, recorded: dict[str, frozenset[str]]) -> frozenset[str] | None:
    """The labels that a series has; None for one that there is not. ``recorded``: those of recording rules."""
    if series in recorded:
        return recorded[series]
    if is_of_the_process(series):
        return EVERYWHERE
    metric = _OWN.get(series)
    if metric is None:
        return None
    bucket = {"le"} if series.endswith("_bucket") else set()
    return frozenset({*metric.labels, *bucket, *EVERYWHERE})


def _compared(one: promql_parser.VectorSelector) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    pairs = [(matcher.name, matcher.value) for matcher in one.matchers.matchers]
    return frozenset(name for name, _ in pairs), tuple(_words(pairs))


def _words(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in pairs:
        yield from ((name, word) for word in value.split("|") if re.fullmatch(r"[\w-]+", word))
