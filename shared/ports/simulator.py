"""What asking a simulator may come to."""


class SimulatorFailed(Exception):
    """The simulator is gone, silent, or refused; the message is a sentence for people."""


class SimulatorRefused(SimulatorFailed):
    """It is there, and does not do what it was asked."""
