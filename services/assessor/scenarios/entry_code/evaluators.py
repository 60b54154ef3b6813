"""The judging of this day: its expectations stand in scenario.json."""

from services.assessor.core.written_expectations import courtesy, harmless, sparing, work_share

__all__ = ["courtesy", "harmless", "sparing", "work_share"]
