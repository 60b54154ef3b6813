"""What every template keeps to, built in or synthesized: said in one place."""

from collections.abc import Callable, Iterator, Sequence

from services.executor.core.finance.catalogue import OPERATIONS
from services.executor.core.states.template import (
    TEMPLATES,
    BadPattern,
    BadTemplate,
    Template,
    is_figure,
    parse_governed,
    pattern,
)
from shared.domain.words import FsmState

_ORDER = (
    FsmState.DECOMPOSE,
    FsmState.ASSESS,
    FsmState.COMPUTE,
    FsmState.POLICY_CHECK,
    FsmState.APPROVAL_GATE,
    FsmState.MUTATE,
    FsmState.SCHEDULE_NOTIFY,
    FsmState.COMPLETE,
)
_WRITING = (FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)


def refuse_bad_files() -> None:
    """Raises ``BadTemplate`` where a file of a process cannot be followed: asked once, when an executor starts."""
    for template in TEMPLATES.values():
        refuse_bad(template)


def refuse_bad(template: Template, *, synthesized: bool = False) -> None:
    """Raises ``BadTemplate``, naming everything that is wrong."""
    wrong = tuple(problems(template, synthesized=synthesized))
    if wrong:
        raise BadTemplate(f"{template.process_type or 'a process without a name'}: {'; '.join(wrong)}")


def problems(template: Template, *, synthesized: bool = False) -> Iterator[str]:
    """What is wrong with a template, a sentence each.

    A ``synthesized`` one has its policy checked before it changes anything: a model made it up.
    """
    if not template.process_type.strip():
        yield "it has no process_type"
    states = template.states
    unknown = [state for state in states if state not in _ORDER]
    if unknown:
        yield f"{', '.join(unknown)} is no state of a path"
        return
    if states[:1] != _ORDER[:1] or states[-1:] != _ORDER[-1:]:
        yield "it must begin with DECOMPOSE and end with COMPLETE"
    if [_ORDER.index(state) for state in states] != sorted({_ORDER.index(state) for state in states}):
        yield f"each state stands once, in the order {', '.join(_ORDER)}"
    if any(state in _WRITING for state in states):
        yield from _missing_states(states, synthesized)
    yield from _unheard(template)
    yield from _uncomputable(template)


def _missing_states(states: Sequence[FsmState], synthesized: bool) -> Iterator[str]:
    needed = (FsmState.ASSESS, FsmState.POLICY_CHECK) if synthesized else (FsmState.ASSESS,)
    missing = [state for state in needed if state not in states]
    if missing:
        yield f"it writes without {' and '.join(missing)} before"


def _unheard(template: Template) -> Iterator[str]:
    for state in template.instructions:
        if state not in template.states:
            yield f"it has instructions for {state}, where it never is"


def _uncomputable(template: Template) -> Iterator[str]:
    """What no facts could ever make computable, and would be found out only when a task needs it."""
    before: set[str] = set()
    for figure in template.figures:
        if figure.operation not in OPERATIONS:
            yield f"figure {figure.name}: there is no operation {figure.operation}"
        if figure.remainder and not (figure.required and figure.operation == "difference"):
            yield f"figure {figure.name}: only a required difference is a remainder"
        for text in figure.operands:
            if is_figure(text):
                yield from () if text in before else (f"figure {figure.name}: no figure before it is {text}",)
            else:
                yield from _bad_pattern(figure.name, text)
        for text in figure.governs:
            yield from _bad_pattern(figure.name, text, parse_governed)
        before.add(figure.name)
    if template.routed:
        yield from _bad_pattern("routed", template.routed)


def _bad_pattern(name: str, text: str, reading: Callable[[str], object] = pattern) -> Iterator[str]:
    try:
        reading(text)
    except BadPattern as error:
        yield f"figure {name}: {error}"
