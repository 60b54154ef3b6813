"""The assessments in which this worker is measured, as the gateway needs them."""

from shared.ports.participations import Beginning, BegunByOther, Participations

__all__ = ["Beginning", "BegunByOther", "Participations"]
