"""The table of all metrics, made from their module: ``python -m tests.observability.metrics_page``.

Writes docs/metrics.md; with ``--check`` it changes nothing, and the exit code is 1 if the page says otherwise.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from shared.domain.metric_names import METRICS, MOST_SERIES, Metric, MetricScope
from tests.deployment.dockerfile import ROOT

PAGE = ROOT / "docs" / "metrics.md"
_TEMPLATE = Path(__file__).with_suffix(".md")


def page() -> str:
    """The whole page, as it should be."""
    tables = "\n".join(_table(shown) for shown in MetricScope)
    return _TEMPLATE.read_text().replace("{tables}", tables).replace("{most}", str(MOST_SERIES))


def main(arguments: Sequence[str], place: Path = PAGE) -> int:
    wanted = page()
    if list(arguments) != ["--check"]:
        place.write_text(wanted)
        return 0
    if place.is_file() and place.read_text() == wanted:
        return 0
    sys.stderr.write(f"{place.name} is not what the metrics say: python -m tests.observability.metrics_page\n")
    return 1


def _table(shown: MetricScope) -> str:
    rows = "\n".join(_row(metric) for metric in METRICS if metric.scope is shown)
    return f"## {shown.value.capitalize()}\n\n| metric | kind | labels | what it is |\n|---|---|---|---|\n{rows}\n"


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
