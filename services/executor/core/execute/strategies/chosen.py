"""Which thinking carries a run: the one table of strategies, and the orchestrators that are tried in their turn."""

from collections.abc import Mapping

from services.executor.core.dossier import Progress
from services.executor.core.execute.orchestrate.in_turn import in_turn
from services.executor.core.execute.strategies.five_phase import FIVE_PHASE
from services.executor.core.execute.strategies.fsm_path import FSM
from services.executor.core.execute.strategies.moa import MOA
from services.executor.core.execute.strategies.thinking import Thinking
from services.executor.ports.orchestrators import Orchestrating
from shared.domain.words import Strategy

THINKING: Mapping[Strategy, Thinking] = {Strategy.FSM: FSM, Strategy.FIVE_PHASE: FIVE_PHASE, Strategy.MOA: MOA}
_IN_TURN = {strategy: in_turn(thinking) for strategy, thinking in THINKING.items()}
_LOCAL = (Orchestrating.LOCAL,)


def thinking_of(progress: Progress) -> Thinking:
    alone = progress.orchestrators == _LOCAL
    return THINKING[progress.thinks] if alone else _IN_TURN[progress.thinks]
