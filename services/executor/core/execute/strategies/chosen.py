"""Which thinking carries a run: the one table of strategies."""

from collections.abc import Mapping

from services.executor.core.dossier import Progress
from services.executor.core.execute.strategies.five_phase import FIVE_PHASE
from services.executor.core.execute.strategies.fsm_path import FSM
from services.executor.core.execute.strategies.moa import MOA
from services.executor.core.execute.strategies.thinking import Thinking
from shared.domain.words import Strategy

THINKING: Mapping[Strategy, Thinking] = {Strategy.FSM: FSM, Strategy.FIVE_PHASE: FIVE_PHASE, Strategy.MOA: MOA}


def thinking_of(progress: Progress) -> Thinking:
    return THINKING[progress.thinks]
