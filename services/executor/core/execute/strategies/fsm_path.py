"""The fsm strategy: one question a state, along the template."""

from services.executor.core.execute.assess import assess
from services.executor.core.execute.complete import complete
from services.executor.core.execute.compute import compute
from services.executor.core.execute.decompose import decompose
from services.executor.core.execute.strategies.thinking import Thinking
from services.executor.core.execute.write_plan import make_plan
from shared.domain.words import FsmState

FSM = Thinking(
    states={FsmState.DECOMPOSE: decompose, FsmState.ASSESS: assess, FsmState.COMPUTE: compute},
    plan=make_plan,
    answer=complete,
)
