"""The evaluators of this scenario, whose expectations are in scenario.json."""

from services.assessor.core.written_expectations import courtesy, harmless, sparing, work_share

__all__ = ["courtesy", "harmless", "sparing", "work_share"]
