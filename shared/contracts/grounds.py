"""The grounds of a plan, for the person who decides on it: rules, reads, figures, and each argument's source."""

from typing import Literal

from shared.contracts.base import Contract


class RuleGround(Contract):
    """A rule that requires the approval, and the values that made it apply (canonical JSON)."""

    rule_id: str
    policy_id: str
    action: str
    level: str | None = None
    approvers: int = 1
    reason: str = ""
    call_id: str | None = None
    values_json: str = "{}"
    indeterminate: bool = False  # it asks because a field was missing


class ArgumentSource(Contract):
    """The source of one argument's value.

    ``result``: a read, at ``ref`` ("f1.amount"). ``value``: the figure of that name. ``call``: the result of an earlier
    call of the plan. ``task``: the request's text. ``words``: none of these; the model wrote it.
    """

    call_id: str
    argument: str
    source: Literal["task", "result", "value", "call", "words"]
    ref: str = ""


class ReadGround(Contract):
    """A read: its arguments and its answer, as JSON text. ``cut``: only the beginning of the answer is included.

    ``supports``: the arguments ("c1.amount") and figures ("value net") that are based on it.
    """

    ref: str
    connection_id: str
    tool: str
    arguments_json: str
    shows: str
    cut: bool = False
    ok: bool = True
    note: str = ""
    supports: tuple[str, ...] = ()


class FigureGround(Contract):
    """A computed figure: its exact value, its operation, and its operands ("f1.amount", "value net", "task 19")."""

    name: str
    value: str
    operation: str
    operands: tuple[str, ...] = ()


class Grounds(Contract):
    """What a plan rests on, for whoever approves it. ``not_known``: sentences on what could not be found out."""

    rules: tuple[RuleGround, ...] = ()
    policy_hash: str = ""
    policy_versions: tuple[str, ...] = ()
    arguments: tuple[ArgumentSource, ...] = ()
    reads: tuple[ReadGround, ...] = ()
    figures: tuple[FigureGround, ...] = ()
    not_known: tuple[str, ...] = ()
