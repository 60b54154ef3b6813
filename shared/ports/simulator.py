"""Errors of a request to a simulator."""


class SimulatorFailed(Exception):
    """The simulator could not be reached, did not answer, or refused; the message is for people."""


class SimulatorRefused(SimulatorFailed):
    """The simulator answered, and refused the request."""
