"""The process templates: which states a kind of process walks through, as data."""

from collections.abc import Mapping

from services.executor.core.states.built_in import built_in
from services.executor.core.states.template import Template as Template
from shared.domain.words import FsmState

TEMPLATES: Mapping[str, Template] = {template.process_type: template for template in built_in()}
GENERAL = TEMPLATES["general"]

READ_ONLY = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.COMPLETE)
