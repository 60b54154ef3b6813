"""What a process computes and decides by itself, as its file describes it: figures and routes."""

from shared.contracts.base import Contract


class Figure(Contract):
    """A named value that the executor itself computes from the facts; the first of several with one name that can be.

    ``operands``: patterns over the facts (``kind.field``), or names of figures before it. ``about``: the kind of record
    of which a task may name several; then each has a figure of its own. ``by``: one figure for each value of this
    field of the rows. ``required``: a change of which it is not known asks a person; not one by a verb of
    ``not_required_for``, and of those in ``required_for`` alone, where any are named. ``governs``: arguments that are
    the figure and nothing else. ``remainder``: of a required difference, that it is what is left of its first operand:
    for changes of one plan that draw on the same it is what all of them leave.
    """

    name: str
    operation: str
    operands: tuple[str, ...]
    about: str = ""
    by: str = ""
    required: bool = False
    required_for: tuple[str, ...] = ()
    not_required_for: tuple[str, ...] = ()
    governs: tuple[str, ...] = ()
    remainder: bool = False


class Route(Contract):
    """The way of those rows of the list whose age in days is above ``over`` and at most ``up_to``."""

    name: str
    way: str
    over: int = 0
    up_to: int | None = None
