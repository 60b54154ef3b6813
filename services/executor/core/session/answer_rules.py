"""How answers are finished, as the operator set it."""

from typing import NamedTuple

from shared.domain.quality import Formula


class AnswerRules(NamedTuple):
    """``footer``: whether prose ends with one line about its run. ``reviews``: whether weak answers are improved and
    documents are written; false only for tasks of a release that did neither.
    """

    formula: Formula = Formula.SIGNALS
    footer: bool = False
    reviews: bool = True
