"""What a strategy is: how a run thinks up to the WritePlan, and how it drafts the answer. It never writes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from shared.contracts.policy import CallRefusal
from shared.domain.words import FsmState

Step: TypeAlias = Callable[[TurnContext, Progress], Awaitable[Progress]]


class MakesPlan(Protocol):
    """The progress with a plan in its dossier. ``refused``: what rules forbade in the plan before."""

    def __call__(
        self, ctx: TurnContext, progress: Progress, refused: Sequence[CallRefusal] = (), /
    ) -> Awaitable[Progress]: ...


class Thinking(NamedTuple):
    """``states``: what is done in DECOMPOSE, ASSESS and COMPUTE. The other states are the machine's, whoever thinks."""

    states: Mapping[FsmState, Step]
    plan: MakesPlan
    answer: Step
