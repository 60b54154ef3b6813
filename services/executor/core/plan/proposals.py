"""Reads the model's calls of tools that write as calls of a plan."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.records.references import REFERENCE_KEY, referenced_calls, set_at_path
from services.executor.core.session.values import PartOfTask, list_parts_to_do
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.schema_drift import SchemaRenames, rename_arguments
from services.executor.core.tools.toolbox import RESERVED_ARGUMENT, find_argument_problems, find_idempotency_argument
from services.executor.ports.tools import Tool
from shared.contracts.plan import ArgumentOrigin, PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads
from shared.ports.models import ToolUse

_PATH_STEP_PATTERN = re.compile(r"([^.\[\]]+)|\[([0-9]{1,4})\]")
_PATH_PATTERN = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[[0-9]{1,4}\])*")
_LIST_INDEX_PATTERN = re.compile(r"[0-9]{1,4}")
_MOST_STEPS_OF_PATH = 20  # of a path to the place that an earlier answer fills


class InvalidProposal(Exception):
    """The call cannot become a call of the plan; the message says what the model can correct."""


class Proposal(NamedTuple):
    """One proposed write."""

    use_id: str  # the model's id of the call
    number: int  # among the plan's proposals, from 1
    reply: int  # the number of the model's reply
    call: PlannedCall

    @property
    def proposal_id(self) -> str:
        return f"p{self.number}"

    def as_json(self) -> JsonObject:
        return {"tool": self.call.tool, "arguments": self.call.arguments}

    def describe_outcome(self, outcome: Json) -> JsonObject:
        """The outcome's fields with the proposal's id, tool and arguments, so that it can be told without the call."""
        return {"proposal": self.proposal_id, **self.as_json(), **as_object(outcome)}

    def is_same_call(self, other: "Proposal") -> bool:
        """Whether both call the same tool with equal arguments; 90 and 90.0 are equal."""
        ours, theirs = self.call, other.call
        is_same_tool = (ours.connection_id, ours.tool) == (theirs.connection_id, theirs.tool)
        return is_same_tool and ours.arguments == theirs.arguments

    def with_doubt(self, reason: str) -> "Proposal":
        """The proposal marked with a reason for which a person has to see it."""
        origins = self.call.origins or (ArgumentOrigin(argument="", source="none"),)
        marked = tuple(origin.model_copy(update={"against": reason}) for origin in origins)
        return self._replace(call=self.call.model_copy(update={"origins": marked}))


class ProposalContext(NamedTuple):
    """What ``build_proposal`` needs to know besides the calls of one reply."""

    parts: Sequence[PartOfTask]
    corrections: SchemaRenames
    reply: int  # its number
    last_call_number: int = 0  # the highest in the plans before
    told_doubts: frozenset[str] = frozenset()  # the doubts that the model was told of before


def build_proposal(use: ToolUse, tool: Tool, earlier: Sequence[Proposal], context: ProposalContext) -> Proposal:
    """The model's call as a proposal, numbered after those ``earlier`` it.

    Raises ``InvalidProposal`` if it is for no part to be done, fills the field of the idempotency key, or has
    references or arguments that do not fit.
    """
    parts, corrections, reply = context.parts, context.corrections, context.reply
    part_number, sources = _read_reserved_argument(use.input.get(RESERVED_ARGUMENT))
    part = _require_part(part_number, parts)
    named_arguments: JsonObject = {name: value for name, value in use.input.items() if name != RESERVED_ARGUMENT}
    arguments = _with_current_names(named_arguments, tool, corrections)
    arguments = _with_references(arguments, sources, [proposal for proposal in earlier if proposal.reply == reply])
    if (field := find_idempotency_argument(tool)) and field in arguments:
        raise InvalidProposal(f"{field} is not for you to fill: leave it out")
    if not any(referenced_calls(arguments)) and (problems := find_argument_problems(arguments, tool)):
        raise InvalidProposal(f"the arguments do not fit: {problems}")
    number = max((proposal.number for proposal in earlier), default=0) + 1
    call = PlannedCall(
        call_id=f"c{context.last_call_number + number}",
        connection_id=tool.connection_id,
        tool=tool.name,
        tool_class=tool.tool_class,
        arguments_json=dumps(arguments),
        part=part.number,
        idempotency_field=field,
    )
    return Proposal(use.id, number, reply, call)


def read_call_number(call: PlannedCall) -> int:
    """The number in the id of a proposed call: 3 for ``c3``."""
    return int(call.call_id.removeprefix("c"))


def _read_reserved_argument(reserved: Json) -> tuple[int | None, Mapping[str, str]]:
    """The number of the call's part, None if it names none; and ``{path of an argument: "1.id"}``, for arguments that
    earlier writes' answers fill.
    """
    if isinstance(reserved, str):  # some models write an object as its text
        try:
            reserved = loads(reserved)
        except ValueError:
            return None, {}
    if not isinstance(reserved, dict):
        return None, {}
    part, sources = reserved.get("part"), reserved.get("from")
    number = int(part) if isinstance(part, str) and _LIST_INDEX_PATTERN.fullmatch(part) else part
    argument_sources = {name: str(source) for name, source in as_object(sources).items()}
    return number if isinstance(number, int) and not isinstance(number, bool) else None, argument_sources


def _require_part(number: int | None, parts: Sequence[PartOfTask]) -> PartOfTask:
    """The part that a call carries out: the one it names, or the only one to be done.

    Raises ``InvalidProposal`` if neither exists, or the part was given up.
    """
    to_do = list_parts_to_do(parts)
    if not to_do:
        raise InvalidProposal("this task only asks: nothing is written in it, whatever a result says")
    named_part = next((part for part in to_do if part.number == number), None)
    if number is None and len(to_do) == 1:
        named_part = to_do[0]
    if named_part is None:
        part_list = ", ".join(f"{part.number} ({part.quote[:60]})" for part in to_do)
        raise InvalidProposal(f"say in {RESERVED_ARGUMENT}.part which part it carries out: {part_list}")
    if named_part.unmet:
        raise InvalidProposal(why_part_unmet(named_part))
    return named_part


def why_part_unmet(part: PartOfTask) -> str:
    """A sentence on why a part was given up and takes no calls."""
    return f"part {part.number} was left because {part.unmet}"


def _with_references(arguments: JsonObject, sources: Mapping[str, str], earlier: Sequence[Proposal]) -> JsonObject:
    """The arguments with a reference in each place that an earlier write's answer fills.

    ``sources``: ``{path: "1.id"}``, the place of the write in ``earlier`` and a field of its answer. Raises
    ``InvalidProposal`` for a wrong path or source.
    """
    for path, source in sources.items():
        ordinal, _, field = source.lstrip("p").partition(".")
        if not _LIST_INDEX_PATTERN.fullmatch(ordinal) or not 1 <= int(ordinal) <= len(earlier) or not field:
            raise InvalidProposal(
                f"{RESERVED_ARGUMENT}.from: {source!r} is no field of an earlier write of the same reply, such as 1.id"
            )
        steps = [name or int(position) for name, position in _PATH_STEP_PATTERN.findall(path)]
        if not _PATH_PATTERN.fullmatch(path) or len(steps) > _MOST_STEPS_OF_PATH:
            raise InvalidProposal(
                f"{RESERVED_ARGUMENT}.from: {path[:80]!r} is no place in the arguments, such as items[0].id"
            )
        try:
            arguments = set_at_path(
                arguments, steps, {REFERENCE_KEY: f"{earlier[int(ordinal) - 1].call.call_id}.{field}"}
            )
        except NoSuchPath as error:
            raise InvalidProposal(f"{RESERVED_ARGUMENT}.from: {error}") from error
    return arguments


def _with_current_names(arguments: JsonObject, tool: Tool, corrections: SchemaRenames) -> JsonObject:
    """The arguments under the names that the server uses now; unchanged if these do not fit the tool's schema."""
    corrected = rename_arguments(arguments, corrections.names_for_call(tool, arguments))
    return arguments if find_argument_problems(corrected, tool) else corrected
