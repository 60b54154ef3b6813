"""The faults that a model commits, and whether a careful guard could see them.

A fault counts as detectable if the task's text, the records, the calls and the rules together contradict it.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from random import Random
from typing import NamedTuple

from tools.bench.worth.steps import FinalReply, IntendedCall, IntendedCalls, Step
from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.data import Json, TableRow
from tools.bench.worth.worlds.operation import Effect, Param, ParamKind, WorldOperation
from tools.bench.worth.worlds.task import WorthTask
from tools.bench.worth.worlds.world import Blueprint


class ModelFault(StrEnum):
    WRONG_AMOUNT = "wrong amount"
    SIBLING_AMOUNT = "amount of a sibling record"
    WRONG_UNIT = "amount a hundred times too large"
    WRONG_NUMBER = "wrong number"
    WRONG_RECORD = "wrong record"
    WRONG_DATE = "wrong date"
    WRONG_TIME = "wrong time"
    WRONG_CHOICE = "wrong choice"
    WRONG_NAME = "wrong name"
    WRONG_WORDS = "wrong words in free text"
    WRONG_RECIPIENT = "wrong recipient"
    WRONG_TOOL = "wrong tool"
    INVENTED_TOOL = "invented tool"
    MISSPELT_ARGUMENT = "misspelt argument"
    MALFORMED_ARGUMENT = "malformed argument"
    MISSING_ARGUMENT = "missing argument"
    SKIPPED_READ = "skipped read"
    WRITE_WITH_READ = "write in one reply with its read"
    LEFT_OUT_PART = "a part's writes left out"
    LEFT_OUT_ONE = "one of several writes left out"
    REPEATED_WRITE = "repeated write"
    EXTRA_WRITE = "unasked extra write"
    IGNORED_EXCLUSION = "ignored exception"
    IGNORED_CONDITION = "ignored condition"
    EARLY_CLAIM = "claim of being done before the write"
    EARLY_STOP = "stops early"
    INVENTED_FIGURE = "invented figure in the answer"
    SIBLING_FIGURE = "figure of another record in the answer"


class FaultNature(NamedTuple):
    detectable: bool
    why: str


NATURES: Mapping[ModelFault, FaultNature] = {
    ModelFault.WRONG_AMOUNT: FaultNature(True, "no record, no word of the task and no calculation gives the amount"),
    ModelFault.SIBLING_AMOUNT: FaultNature(True, "the amount stands in a record that the call does not name"),
    ModelFault.WRONG_UNIT: FaultNature(True, "the amount has no source in the unit that the tool takes"),
    ModelFault.WRONG_NUMBER: FaultNature(True, "no record, no word of the task and no calculation gives the number"),
    ModelFault.WRONG_RECORD: FaultNature(
        True, "task and reads point to another record, and this one was never read or named"
    ),
    ModelFault.WRONG_DATE: FaultNature(True, "the date follows neither from the task's words nor from a record"),
    ModelFault.WRONG_TIME: FaultNature(True, "the time follows neither from the task's words nor from a record"),
    ModelFault.WRONG_CHOICE: FaultNature(False, "which of a server's words is meant is a matter of the task's meaning"),
    ModelFault.WRONG_NAME: FaultNature(True, "the task or a record spells the name otherwise"),
    ModelFault.WRONG_WORDS: FaultNature(False, "free text has no source that it could be held against"),
    ModelFault.WRONG_RECIPIENT: FaultNature(True, "the task's person has another address or id in the records"),
    ModelFault.WRONG_TOOL: FaultNature(True, "what the tool does is not what the part asks for"),
    ModelFault.INVENTED_TOOL: FaultNature(True, "the server lists no such tool"),
    ModelFault.MISSPELT_ARGUMENT: FaultNature(True, "the tool's schema has no such argument"),
    ModelFault.MALFORMED_ARGUMENT: FaultNature(True, "the tool's schema asks for another type"),
    ModelFault.MISSING_ARGUMENT: FaultNature(True, "the tool's schema requires the argument"),
    ModelFault.SKIPPED_READ: FaultNature(True, "a write names a record that no call has read"),
    ModelFault.WRITE_WITH_READ: FaultNature(True, "the write was proposed before the read had a result"),
    ModelFault.LEFT_OUT_PART: FaultNature(True, "a part of the task has no call"),
    ModelFault.LEFT_OUT_ONE: FaultNature(False, "the part has calls; how many records it means, only its meaning says"),
    ModelFault.REPEATED_WRITE: FaultNature(True, "two equal writes for a part that asks for one"),
    ModelFault.EXTRA_WRITE: FaultNature(True, "no part of the task asks for the write"),
    ModelFault.IGNORED_EXCLUSION: FaultNature(True, "the task names the record as an exception"),
    ModelFault.IGNORED_CONDITION: FaultNature(True, "the records contradict the condition that the task states"),
    ModelFault.EARLY_CLAIM: FaultNature(True, "the answer claims a write that no call made"),
    ModelFault.EARLY_STOP: FaultNature(True, "parts of the task have no call and no reason"),
    ModelFault.INVENTED_FIGURE: FaultNature(True, "the figure stands in no result and follows from none"),
    ModelFault.SIBLING_FIGURE: FaultNature(
        False, "the figure stands in a record; that it is the wrong one, only meaning says"
    ),
}
FREE_TEXT = frozenset("text body reason question purpose subject".split())


class FaultScene(NamedTuple):
    """A reply that is about to go wrong: the right step, the one after it, and the ids of the calls made so far."""

    task: WorthTask
    right: Step
    after: Step | None
    replies: int
    random: Random
    made: frozenset[str] = frozenset()

    @property
    def blueprint(self) -> Blueprint:
        return self.task.world.blueprint

    @property
    def calls(self) -> tuple[IntendedCall, ...]:
        return self.right.calls if isinstance(self.right, IntendedCalls) else ()

    def find_operation(self, call: IntendedCall) -> WorldOperation:
        operation = self.blueprint.find_operation(call.tool)
        if operation is None:
            raise ValueError(f"the gold calls {call.tool}, which nobody offers")
        return operation

    def writes(self) -> list[IntendedCall]:
        return [call for call in self.calls if self.find_operation(call).writes]

    def read_arguments(self, call: IntendedCall) -> TableRow:
        return self.find_operation(call).read_arguments(call.arguments, self.blueprint.form)

    def change_call(self, call: IntendedCall, **changes: Json) -> Step:
        """The right step with other canonical arguments in one call."""
        given = {**self.read_arguments(call), **changes}
        arguments = self.find_operation(call).write_arguments(given, self.blueprint.form)
        return self.replace_call(call, call._replace(arguments=arguments))

    def replace_call(self, call: IntendedCall, other: IntendedCall) -> Step:
        return IntendedCalls(tuple(other if each is call else each for each in self.calls))

    def drop_calls(self, dropped: list[IntendedCall]) -> Step | None:
        """The right step without these calls, or, where none are left, the step after it."""
        kept = tuple(call for call in self.calls if call not in dropped)
        return IntendedCalls(kept) if kept else self.after

    def add_call(self, tool: str, arguments: dict[str, Json], part: int, name: str = "fault") -> Step:
        return IntendedCalls((*self.calls, IntendedCall(f"{name}-{self.replies}", tool, arguments, part)))


Commit = Callable[[FaultScene], Step | None]
Change = Callable[[FaultScene, IntendedCall, Param, Json], Json]


def commit_fault(kind: ModelFault, scene: FaultScene) -> Step | None:
    """The step with the fault; none where the reply gives no occasion for it."""
    return COMMITS[kind](scene)


def change_argument(kind: ParamKind, change: Change) -> Commit:
    """A fault that changes one argument of this kind in one write; a change to null is none."""

    def commit_change(scene: FaultScene) -> Step | None:
        for call, param in list_arguments(scene, kind):
            old = scene.read_arguments(call)[param.name]
            new = change(scene, call, param, old)
            if new is not None and new != old:
                return scene.change_call(call, **{param.name: new})
        return None

    return commit_change


def list_arguments(scene: FaultScene, kind: ParamKind) -> list[tuple[IntendedCall, Param]]:
    """The arguments of this kind that the reply's writes have, in an order that chance gives."""
    found = [
        (call, param)
        for call in scene.writes()
        for param in scene.find_operation(call).params
        if param.kind is kind and param.name in scene.read_arguments(call)
    ]
    return scene.random.sample(found, len(found))


def slip_amount(scene: FaultScene, _call: IntendedCall, _param: Param, old: Json) -> Json:
    cents = int(str(old))
    return max(100, cents + scene.random.choice((-1, 1)) * scene.random.randint(1, max(2, cents // 1000)) * 100)


def take_sibling_amount(scene: FaultScene, call: IntendedCall, _param: Param, _old: Json) -> Json:
    given = scene.read_arguments(call)
    for key in scene.find_operation(call).params:
        if key.kind is ParamKind.KEY and key.table:
            amounts = list_amounts(scene, key.table, given.get(key.name))
            if amounts:
                return scene.random.choice(amounts)
    return None


def list_amounts(scene: FaultScene, table: str, besides: Json) -> list[Json]:
    """The amounts in a table's other records."""
    rows = [row for row in scene.task.world.rows(table) if first_value(row) != besides]
    return [value for row in rows for name, value in row.items() if name.endswith("_cents") and value]


def first_value(row: TableRow) -> Json:
    """A record's id: it stands first."""
    return next(iter(row.values()))


def multiply_amount(_scene: FaultScene, _call: IntendedCall, _param: Param, old: Json) -> Json:
    return int(str(old)) * 100


def slip_number(scene: FaultScene, _call: IntendedCall, _param: Param, old: Json) -> Json:
    return int(str(old)) + scene.random.choice((1, 2, 10))


def take_sibling_record(scene: FaultScene, call: IntendedCall, param: Param, _old: Json) -> Json:
    """The id of another record of the table that neither the task nor the gold names."""
    if scene.find_operation(call).effect is Effect.NOTICE:
        return None
    return draw_unnamed(scene, param.table)


def draw_unnamed(scene: FaultScene, table: str) -> Json:
    named = {str(value) for gold in scene.task.calls() for value in gold.arguments.values()}
    keys = [first_value(row) for row in scene.task.world.rows(table)]
    fresh = [key for key in keys if str(key) not in named and str(key) not in scene.task.text]
    return scene.random.choice(fresh) if fresh else None


def shift_day(scene: FaultScene, _call: IntendedCall, _param: Param, old: Json) -> Json:
    return (TableRow(day=old).day("day") + timedelta(scene.random.choice((-2, -1, 1, 2, 7)))).isoformat()


def shift_time(scene: FaultScene, _call: IntendedCall, param: Param, old: Json) -> Json:
    if not param.name.endswith("_at"):
        return None
    hour = (int(str(old)[:2]) + scene.random.choice((1, 2, 11))) % 24
    return f"{hour:02}{str(old)[2:]}"


def take_other_choice(scene: FaultScene, _call: IntendedCall, param: Param, old: Json) -> Json:
    return scene.random.choice([choice for choice in param.choices if choice != old])


def slip_name(_scene: FaultScene, _call: IntendedCall, param: Param, old: Json) -> Json:
    if param.name in FREE_TEXT or param.name.endswith("_at"):
        return None
    return str(old)[:-1] if len(str(old)) > 1 else f"{old}1"


def change_words(_scene: FaultScene, _call: IntendedCall, param: Param, old: Json) -> Json:
    return f"{old} Please call us about it." if param.name in FREE_TEXT else None


def take_other_address(scene: FaultScene, _call: IntendedCall, _param: Param, old: Json) -> Json:
    rows = [row for table in scene.blueprint.form.kinds for row in scene.task.world.rows(table)]
    addresses = [value for row in rows for value in row.values() if isinstance(value, str) and "@" in value]
    return scene.random.choice([address for address in addresses if address != old])


def commit_wrong_recipient(scene: FaultScene) -> Step | None:
    return change_argument(ParamKind.RECIPIENT, take_other_address)(scene) or send_to_sibling(scene)


def send_to_sibling(scene: FaultScene) -> Step | None:
    for call, param in list_arguments(scene, ParamKind.KEY):
        other = draw_unnamed(scene, param.table)
        if other is not None and scene.find_operation(call).effect is Effect.NOTICE:
            return scene.change_call(call, **{param.name: other})
    return None


def commit_wrong_tool(scene: FaultScene) -> Step | None:
    """The step with another change of the same record in place of one; None if the domain has no other."""
    for call, param in list_arguments(scene, ParamKind.KEY):
        others = [each for each in list_changes(scene) if names_table(each, param.table) and each.tool != call.tool]
        if others:
            operation = scene.random.choice(others)
            given = draw_arguments(scene, operation, scene.read_arguments(call))
            arguments = operation.write_arguments(given, scene.blueprint.form)
            return scene.replace_call(call, call._replace(tool=operation.tool, arguments=arguments))
    return None


def list_changes(scene: FaultScene) -> list[WorldOperation]:
    """The domain's own changes: neither tools that every server has nor those of no use."""
    common = {"payout", "delete"}
    operations = scene.blueprint.operations.values()
    changes = [each for each in operations if each.effect is Effect.CHANGE]
    return [each for each in changes if each.key not in common and not each.key.startswith("unused.")]


def names_table(operation: WorldOperation, table: str) -> bool:
    return any(param.table == table for param in operation.params)


def draw_arguments(scene: FaultScene, operation: WorldOperation, known: TableRow) -> TableRow:
    """Arguments that the server's schema takes: known ones where the names agree, others made up."""
    required = [param for param in operation.params if not param.optional]
    return TableRow({param.name: known.get(param.name, draw_argument(scene, param)) for param in required})


def draw_argument(scene: FaultScene, param: Param) -> Json:
    if param.kind is ParamKind.KEY:
        return scene.random.choice([first_value(row) for row in scene.task.world.rows(param.table)])
    made_up: Mapping[ParamKind, Json] = {
        ParamKind.MONEY: scene.random.randint(1, 90) * 100,
        ParamKind.DAY: (scene.blueprint.today + timedelta(3)).isoformat(),
        ParamKind.NUMBER: scene.random.randint(1, 5),
        ParamKind.CHOICE: param.choices[0] if param.choices else None,
        ParamKind.RECIPIENT: "someone@nowhere.example",
    }
    return made_up.get(param.kind, "as agreed")


def commit_invented_tool(scene: FaultScene) -> Step | None:
    return change_one_write(scene, lambda call: call._replace(tool=f"{call.tool}_now"))


def commit_misspelling(scene: FaultScene) -> Step | None:
    return change_one_write(scene, lambda call: call._replace(arguments=misspell_first(call.arguments)))


def change_one_write(scene: FaultScene, change: Callable[[IntendedCall], IntendedCall]) -> Step | None:
    writes = scene.writes()
    call = scene.random.choice(writes) if writes else None
    return scene.replace_call(call, change(call)) if call else None


def misspell_first(arguments: dict[str, Json]) -> dict[str, Json]:
    name, *_ = arguments
    return {(f"{name[:-2]}{name[-1]}{name[-2]}" if each == name else each): value for each, value in arguments.items()}


def commit_malformed(scene: FaultScene) -> Step | None:
    def wrap_first(call: IntendedCall) -> IntendedCall:
        name, *_ = call.arguments
        return call._replace(arguments={**call.arguments, name: {"value": call.arguments[name]}})

    return change_one_write(scene, wrap_first)


def commit_missing_argument(scene: FaultScene) -> Step | None:
    return change_one_write(scene, lambda call: call._replace(arguments=dict(list(call.arguments.items())[1:])))


def commit_skipped_read(scene: FaultScene) -> Step | None:
    return scene.after if scene.calls and not scene.writes() and isinstance(scene.after, IntendedCalls) else None


def commit_write_with_read(scene: FaultScene) -> Step | None:
    if not scene.calls or scene.writes() or not isinstance(scene.after, IntendedCalls):
        return None
    writes = [call for call in scene.after.calls if scene.find_operation(call).writes]
    return IntendedCalls((*scene.calls, *scene.after.calls)) if writes else None


def commit_left_out_part(scene: FaultScene) -> Step | None:
    """The step without the writes of a part that has them in this reply alone; None if there is no such part."""
    for part in {call.part for call in scene.writes()}:
        dropped = [call for call in scene.writes() if call.part == part]
        if len(dropped) == count_writes(scene, part):
            return scene.drop_calls(dropped)
    return None


def count_writes(scene: FaultScene, part: int) -> int:
    return sum(gold.writes and gold.part == part for gold in scene.task.calls())


def commit_left_out_one(scene: FaultScene) -> Step | None:
    several = [call for call in scene.writes() if count_writes(scene, call.part) > 1]
    return scene.drop_calls([scene.random.choice(several)]) if several else None


def commit_repetition(scene: FaultScene) -> Step | None:
    writes = scene.writes()
    if not writes:
        return None
    call = scene.random.choice(writes)
    return scene.add_call(call.tool, dict(call.arguments), call.part)


def commit_extra_write(scene: FaultScene) -> Step | None:
    used = {gold.tool for gold in scene.task.calls()}
    others = [operation for operation in list_changes(scene) if operation.tool not in used]
    if not others or not scene.calls:
        return None
    operation = scene.random.choice(others)
    given = draw_arguments(scene, operation, TableRow())
    return scene.add_call(operation.tool, operation.write_arguments(given, scene.blueprint.form), 0)


def commit_ignored_exclusion(scene: FaultScene) -> Step | None:
    parts = {call.part for call in scene.writes()}
    spared = [gold for gold in scene.task.refrained if gold.part in parts]
    return scene.add_call(spared[0].tool, dict(spared[0].arguments), spared[0].part) if spared else None


def commit_ignored_condition(scene: FaultScene) -> Step | None:
    """The task's end with a write of a part that its condition keeps from being done; None before the end, without such
    a part, and at the second time.
    """
    idle = [gold for gold in scene.task.refrained if not count_writes(scene, gold.part)]
    if not isinstance(scene.right, FinalReply) or not idle or any(each.startswith("unmet") for each in scene.made):
        return None
    return scene.add_call(idle[0].tool, dict(idle[0].arguments), idle[0].part, "unmet")


def commit_early_claim(scene: FaultScene) -> Step | None:
    return FinalReply(scene.task.answer) if scene.writes() else None


def commit_early_stop(scene: FaultScene) -> Step | None:
    return FinalReply("I have looked into it.") if scene.calls else None


def commit_invented_figure(scene: FaultScene) -> Step | None:
    figure = wording.write_amount(scene.random.randint(3_000_000, 90_000_000))
    return change_answer(scene, figure) or add_to_answer(scene, f" The total is now {figure}.")


def commit_sibling_figure(scene: FaultScene) -> Step | None:
    amounts = [amount for table in scene.blueprint.form.kinds for amount in list_amounts(scene, table, None) if amount]
    figures = [wording.write_amount(int(str(amount))) for amount in amounts]
    fresh = [figure for figure in figures if figure not in scene.task.expects]
    return change_answer(scene, scene.random.choice(fresh)) if fresh else None


def change_answer(scene: FaultScene, figure: str) -> Step | None:
    """The answer with this figure in place of one that the task expects; None if the step is no answer, or none is
    expected.
    """
    expected = [each for each in scene.task.expects if "," in each or "." in each]
    if not isinstance(scene.right, FinalReply) or not expected:
        return None
    return scene.right._replace(text=scene.right.text.replace(scene.random.choice(expected), figure))


def add_to_answer(scene: FaultScene, sentence: str) -> Step | None:
    return scene.right._replace(text=scene.right.text + sentence) if isinstance(scene.right, FinalReply) else None


COMMITS: Mapping[ModelFault, Commit] = {
    ModelFault.WRONG_AMOUNT: change_argument(ParamKind.MONEY, slip_amount),
    ModelFault.SIBLING_AMOUNT: change_argument(ParamKind.MONEY, take_sibling_amount),
    ModelFault.WRONG_UNIT: change_argument(ParamKind.MONEY, multiply_amount),
    ModelFault.WRONG_NUMBER: change_argument(ParamKind.NUMBER, slip_number),
    ModelFault.WRONG_RECORD: change_argument(ParamKind.KEY, take_sibling_record),
    ModelFault.WRONG_DATE: change_argument(ParamKind.DAY, shift_day),
    ModelFault.WRONG_TIME: change_argument(ParamKind.TEXT, shift_time),
    ModelFault.WRONG_CHOICE: change_argument(ParamKind.CHOICE, take_other_choice),
    ModelFault.WRONG_NAME: change_argument(ParamKind.TEXT, slip_name),
    ModelFault.WRONG_WORDS: change_argument(ParamKind.TEXT, change_words),
    ModelFault.WRONG_RECIPIENT: commit_wrong_recipient,
    ModelFault.WRONG_TOOL: commit_wrong_tool,
    ModelFault.INVENTED_TOOL: commit_invented_tool,
    ModelFault.MISSPELT_ARGUMENT: commit_misspelling,
    ModelFault.MALFORMED_ARGUMENT: commit_malformed,
    ModelFault.MISSING_ARGUMENT: commit_missing_argument,
    ModelFault.SKIPPED_READ: commit_skipped_read,
    ModelFault.WRITE_WITH_READ: commit_write_with_read,
    ModelFault.LEFT_OUT_PART: commit_left_out_part,
    ModelFault.LEFT_OUT_ONE: commit_left_out_one,
    ModelFault.REPEATED_WRITE: commit_repetition,
    ModelFault.EXTRA_WRITE: commit_extra_write,
    ModelFault.IGNORED_EXCLUSION: commit_ignored_exclusion,
    ModelFault.IGNORED_CONDITION: commit_ignored_condition,
    ModelFault.EARLY_CLAIM: commit_early_claim,
    ModelFault.EARLY_STOP: commit_early_stop,
    ModelFault.INVENTED_FIGURE: commit_invented_figure,
    ModelFault.SIBLING_FIGURE: commit_sibling_figure,
}
