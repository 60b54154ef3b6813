"""A process that a model proposes for a kind of task that no template covers, checked before anything follows it."""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from services.executor.core.states.machine import with_gate
from services.executor.core.states.template import GENERAL, BadTemplate, Template
from services.executor.core.states.validity import refuse_bad
from shared.contracts.policy import Rule
from shared.domain.marks import marked_values
from shared.domain.words import FsmState, Level, RuleAction

_INSTRUCTION_MOST, _OUTPUT_MOST, _OUTPUTS_MOST = 600, 80, 12
_OF_THE_TASK = re.compile(r"[\w.@+-]*[\d@][\w.@+-]*")  # an identifier, an amount, a date, an address


class Instruction(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: FsmState
    text: str = Field(max_length=_INSTRUCTION_MOST)


class Proposed(BaseModel):
    """A process as a model writes it. Any other word for a state or a risk is no proposal."""

    model_config = ConfigDict(extra="forbid")

    states: tuple[FsmState, ...]
    risk: Literal["low", "medium", "high"]
    approval_wanted: bool
    instructions: tuple[Instruction, ...] = ()
    outputs: tuple[str, ...] = ()


def build_template(process_type: str, proposed: Proposed, example: str) -> Template:
    """The proposal as a template; raises ``BadTemplate``. ``example`` is the task it was made for.

    High risk, or the wish for an approval, puts APPROVAL_GATE before the writes, proposed or not, and a person is
    asked there.
    """
    _refuse_of_one_case((*(one.text for one in proposed.instructions), *proposed.outputs), example)
    _refuse_too_much(proposed.outputs)
    guarded = FsmState.MUTATE in proposed.states and (proposed.risk == "high" or proposed.approval_wanted)
    template = Template(
        process_type=process_type,
        states=with_gate(proposed.states) if guarded else proposed.states,
        risk=proposed.risk,
        instructions={one.state: " ".join(one.text.split()) for one in proposed.instructions if one.text.strip()},
        outputs=tuple(text.strip() for text in proposed.outputs if text.strip()),
        rules=(_asks_a_person(process_type, proposed),) if guarded else (),
        synthesized=True,
    )
    _refuse_unusable(template)
    return template


def read_kept(process_type: str, text: str) -> Template:
    """A template as it was kept; raises ``BadTemplate`` if it is none, or not one that may be followed today."""
    try:
        template = Template.model_validate_json(text)
    except ValueError as error:
        raise BadTemplate("what is kept of it cannot be read") from error
    if template.process_type != process_type or not template.synthesized:
        raise BadTemplate("what is kept under its name is another process")
    _refuse_unusable(template)
    return template


def may_ask_a_person(text: str) -> bool:
    """Whether a kept template asks a person before a write, whatever else is wrong with it; also if nobody can tell."""
    try:
        template = Template.model_validate_json(text)
    except ValueError:
        return True
    return template.risk == "high" or bool(template.rules) or FsmState.APPROVAL_GATE in template.states


def general_with_a_person(kind: str) -> Template:
    """``general`` for a kind of task whose own process cannot be followed: each of its writes waits for a person."""
    asks = Rule(
        id="approval-wanted",
        condition=f'process_type == "{GENERAL.process_type}"',
        action=RuleAction.REQUIRE_APPROVAL,
        level=Level.MANAGER.word,
        reason=f"{kind} has a process of its own, which may ask for an approval and cannot be followed now",
    )
    return GENERAL.model_copy(update={"states": with_gate(GENERAL.states), "rules": (*GENERAL.rules, asks)})


def _refuse_unusable(template: Template) -> None:
    """Only tasks that act are carried out by it: without MUTATE it could do nothing for any of them."""
    refuse_bad(template, synthesized=True)
    if FsmState.MUTATE not in template.states:
        raise BadTemplate(f"{template.process_type} has no MUTATE: nothing that its tasks ask for could be done")


def _asks_a_person(process_type: str, proposed: Proposed) -> Rule:
    why = "a wrong write in it would be bad" if proposed.risk == "high" else "its design asks for an approval"
    return Rule(
        id="approval-wanted",
        condition=f'process_type == "{process_type}"',
        action=RuleAction.REQUIRE_APPROVAL,
        level=Level.MANAGER.word,
        reason=f"{process_type} is a process that was designed without a person, and {why}",
    )


def _refuse_too_much(outputs: tuple[str, ...]) -> None:
    if len(outputs) > _OUTPUTS_MOST or any(len(text) > _OUTPUT_MOST for text in outputs):
        raise BadTemplate("its outputs are too many or too long")


def _refuse_of_one_case(texts: Iterable[str], example: str) -> None:
    """Nothing of the one task that it was made for may be told to later ones, and nothing that the guard marks."""
    said = " ".join(texts)
    if marked_values(said) or _its_own(example) & _its_own(said):
        raise BadTemplate("it speaks of the one task that it was made for")


def _its_own(text: str) -> frozenset[str]:
    return frozenset(word.strip(".-+").lower() for word in _OF_THE_TASK.findall(text))
