"""Finds where the arguments of a proposed call come from: the task, what was read, what was calculated."""

import re
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from services.executor.core.figures import trace
from services.executor.core.figures.arguments import STRICT, ArgumentKind, FieldStanding, hints_of
from services.executor.core.figures.dates import read_possible_dates
from services.executor.core.figures.identifiers import ADDRESSES, IdentifierForm, find_special_identifiers, whole_form
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import NumberMention, figure
from services.executor.core.figures.operands import KnownFigures, OperandSources
from services.executor.core.figures.trace import OriginKind, Trace, index_facts, trace_argument, trace_scalar
from services.executor.core.model.talk import local_now
from services.executor.core.plan.agreement import (
    asks_for_several,
    changes_nothing,
    find_disagreements,
    find_forbidden_notice,
)
from services.executor.core.plan.derived_values import DerivedValues, texts_in
from services.executor.core.plan.free_texts import FreeTexts
from services.executor.core.plan.stated_amounts import (
    THE_WHOLE,
    Disagreement,
    NamesByNumber,
    PartOfCall,
    PartWords,
    SaidArgument,
    find_stated,
    names_by_number,
    trace_operands,
)
from services.executor.core.plan.told_records import NAMING, ToldRecords
from services.executor.core.records.called_records import stands_in, words
from services.executor.core.records.references import references, value_at
from services.executor.core.session.context import TurnContext, files_as_facts
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.record_tree import NO_KEYS, RecordKeys
from services.executor.core.tools.toolbox import CALL
from services.executor.ports.tools import Tool
from shared.contracts.plan import Origin, PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object
from shared.domain.marks import MarkKind, find_secret_values
from shared.domain.words import ToolClass


class KnownSources(NamedTuple):
    """What arguments may come from. ``texts``: the task first, then earlier turns. ``now``: in the user's zone.

    ``told``: the user's own texts of these; only they can send the reader to a text that somebody wrote. ``trusted``:
    patterns of such fields that the tenant trusts. ``keys``: of records, as the tenant declares them.
    """

    texts: Sequence[str]
    facts: Sequence[Fact]
    values: Sequence[NamedValue]
    now: datetime
    told: Sequence[str] = ()
    trusted: Sequence[str] = ()
    keys: RecordKeys = NO_KEYS


def known_figures(ctx: TurnContext, facts: Sequence[Fact], values: Sequence[NamedValue] = ()) -> KnownFigures:
    return KnownFigures(facts, values, said_texts(ctx), local_now(ctx).date())


def said_texts(ctx: TurnContext) -> tuple[str, ...]:
    """The task, and all texts of the session before it: what a value may be taken from."""
    return (ctx.task, *(text for _, text in ctx.session.turns))


def user_texts(ctx: TurnContext) -> tuple[str, ...]:
    """The user's own words: the task, and those of earlier turns; only these say what is to be done."""
    return (ctx.task, *(text for role, text in ctx.session.turns if role == "user"))


def known_sources(ctx: TurnContext, facts: Sequence[Fact], values: Sequence[NamedValue]) -> KnownSources:
    """The sources of an argument or of a figure in an answer; the task's files count as texts that somebody wrote."""
    now, trusted = local_now(ctx), ctx.tenant.trusted_texts
    facts = (*facts, *files_as_facts(ctx.files))
    return KnownSources(said_texts(ctx), facts, values, now, user_texts(ctx), trusted, ctx.toolbox.keys)


_FOR_A_PERSON = frozenset({ArgumentKind.AMOUNT, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})
_SOUGHT = NAMING | {ArgumentKind.ACCOUNT}
_MOST_CHOSEN = 100  # a whole number up to here needs no source where it is no amount
_ACCOUNTS = {MarkKind.IBAN: "account number", MarkKind.CARD: "card number"}
_GAPS = re.compile(r"[ -]")
_DIGITS = re.compile(r"[0-9]+")
_SHOWN = 80  # characters of a value in a sentence


class SourcedCall(NamedTuple):
    """A call with the origins of its arguments, and ``problems`` with those that have none, as sentences.

    ``doubts``: numbers, days and records that may be the model's own choice, and may be a slip; they are sent back
    once. A record that is proposed again all the same is marked in its origin. ``lacks_source``: whether a read of what
    the call names may mend it.
    """

    call: PlannedCall
    problems: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    lacks_source: bool = False


class SourceFinder:
    """Finds the sources of the arguments of one reply's calls; indexes what was read once."""

    def __init__(self, known: KnownSources) -> None:
        self._facts = known.facts
        self._told = known.told or known.texts[:1]
        self._has_answers = len(known.texts) > len(self._told)
        self._values = {value.name: value for value in known.values}
        self._stated_by_quote: dict[str, Sequence[NumberMention]] = {}
        task, *earlier = (find_mentions(text, known.now) for text in known.texts)
        self._sources = trace.TraceSources(
            task=task,
            facts=index_facts(known.facts, known.now),
            now=known.now,
            earlier=tuple(earlier),
            calculated={
                value.name: value.value if (number := figure(value.value)) is None else number for value in known.values
            },
        )
        self._records = ToldRecords(self._facts, self._told, self._sources, known.keys)
        self._derived = DerivedValues(self._sources, self._facts)
        self._free = FreeTexts(self._sources, self._facts, self._told, known.trusted)
        self.is_address_of_free_text = self._free.is_address_of_free_text

    def find(self, call: PlannedCall, tool: Tool, part: PartOfCall = THE_WHOLE) -> SourcedCall:
        """The call with the origin of each argument. Strict for amounts, identifiers, accounts and recipients."""
        leaves = [
            leaf
            for name, value in call.arguments.items()
            if not any(references(value))
            for leaf in trace_argument(name, tool.parameters.get(name, {}), value, self._sources)
        ]
        unsourced = [
            leaf
            for leaf in leaves
            if (_has_no_source(leaf, call) and not self._derived.follows(leaf, call))
            or self._is_found_for_it(leaf, call)
        ]
        problems = [_why_unsourced(leaf, call) for leaf in unsourced]
        problems += [text for leaf in leaves if (text := self._free.why_refused(leaf))]
        of_others = [Disagreement(leaf.path, why) for leaf in leaves if (why := self._why_of_other_record(leaf, call))]
        told_others = of_others if self._names_other_record(call, part) else []
        problems += [one.why for one in of_others if not told_others]
        problems += [text for leaf in leaves if (text := self._why_laundered(leaf, call, part))]
        if changes_nothing(tool, call.arguments):
            problems.append(f"{tool.name} is given nothing to change: say what is to be set")
        untold = [leaf for leaf in leaves if self._records.is_strange(leaf, call, tool, part)]
        kept = {leaf.path for leaf in leaves if self._derived.keeps_length(leaf, call, leaves)}
        doubtful = [leaf for leaf in leaves if leaf.path not in kept and self._derived.is_doubtful(leaf, call, tool)]
        against = (
            *told_others,
            *self._find_disagreements(call, tool, leaves, part),
            *self._find_other_days(doubtful, call, part),
        )
        whys = {one.argument or leaves[0].path: one.why for one in reversed(against) if leaves}
        origins = tuple(
            _build_origin(leaf, is_untold=leaf in untold, against=whys.get(leaf.path, "")) for leaf in leaves
        )
        doubts = tuple(_describe_doubt(leaf, call, tool) for leaf in doubtful if leaf.path not in whys)
        doubts += tuple(_doubt_record(leaf, call) for leaf in untold)
        doubts += tuple(
            f"{one.why}: propose what it says; if it is right as it is, a person is asked" for one in against
        )
        sourced = call.model_copy(update={"origins": origins})
        return SourcedCall(sourced, tuple(problems), doubts, lacks_source=bool(unsourced))

    def _find_disagreements(
        self, call: PlannedCall, tool: Tool, leaves: Sequence[Trace], part: PartOfCall
    ) -> tuple[Disagreement, ...]:
        """What of a change does not agree with its part, and what of any call's text has no source."""
        quoted = find_mentions(part.quote or self._sources.task.text, self._sources.now)
        strange = [
            Disagreement(leaf.path, why) for leaf in leaves if (why := self._why_strange_text(leaf, call, quoted))
        ]
        if tool.tool_class is ToolClass.NOTIFY:
            return (*find_forbidden_notice(tool, part), *strange)
        if tool.tool_class is not ToolClass.CHANGE:
            return tuple(strange)
        given = [
            SaidArgument(
                leaf.path,
                leaf.kind,
                leaf.origin,
                value_at(call.arguments, leaf.path),
                _figure_of(leaf),
                _is_in_minor_units(leaf, tool),
                tuple(self._present_values(leaf, call)),
            )
            for leaf in leaves
        ]
        quote = part.quote or self._sources.task.text
        setting = PartWords(
            quote,
            self._records.said,
            self._facts,
            self._sources.now,
            part,
            self._values,
            self._records.titles,
            self._list_stated(quoted),
        )
        return (
            *find_disagreements(tool, given, setting),
            *self._find_repeated(call, tool, leaves, part),
            *self._find_stale(call, leaves),
            *strange,
        )

    def _find_stale(self, call: PlannedCall, leaves: Sequence[Trace]) -> Iterator[Disagreement]:
        """Yields the amounts worked out from a figure which only an answer of an earlier turn tells: a record may have
        another one since.
        """
        calculated = [
            leaf for leaf in leaves if (leaf.kind, leaf.origin) == (ArgumentKind.AMOUNT, OriginKind.CALCULATED)
        ]
        for leaf in calculated if self._has_answers else ():
            operands = (one for _, one in trace_operands(self._values[leaf.where], self._values))
            told = (one.literal for one in operands if one.source == "task")
            if stale := next((one for one in told if not self._figures_of_user.is_in_texts(one)), ""):
                value = _format_value(value_at(call.arguments, leaf.path))
                yield Disagreement(
                    leaf.path, f"{leaf.path} {value}: only an earlier answer says {stale}: read it again"
                )

    @cached_property
    def _figures_of_user(self) -> OperandSources:
        return OperandSources(KnownFigures((), (), self._told, self._sources.now.date()))

    def _present_values(self, leaf: Trace, call: PlannedCall) -> Iterator[Decimal]:
        """Yields the numbers that the records which the call names have in a field of the argument's name."""
        named, called = texts_in(call), words(leaf.path.rpartition(".")[2])
        for (owner, field), values in self._derived.by_record.items() if leaf.kind is ArgumentKind.AMOUNT else ():
            if owner in named and words(field) == called:
                yield from (number for value in values if (number := figure(value)) is not None)

    def _list_stated(self, quoted: Mentions) -> Sequence[NumberMention]:
        """The numbers of a part that are figures to act with, found once for all calls of the part."""
        if quoted.text not in self._stated_by_quote:
            self._stated_by_quote[quoted.text] = find_stated(quoted, lambda: self._names_by_number)
        return self._stated_by_quote[quoted.text]

    @cached_property
    def _names_by_number(self) -> NamesByNumber:
        return names_by_number(self._facts)

    def _why_strange_text(self, leaf: Trace, call: PlannedCall, quoted: Mentions) -> str:
        """A sentence if an argument's text holds an account, a card or an address that has no source, or another day or
        hour than the part says; else empty.
        """
        value = value_at(call.arguments, leaf.path)
        if leaf.kind in STRICT or not isinstance(value, str):
            return ""
        is_told = call.tool_class is ToolClass.NOTIFY
        for mark in find_secret_values(value):
            writings = (mark.value, _GAPS.sub("", mark.value))
            if mark.kind in _ACCOUNTS and not self._is_known("account", *writings, is_told=is_told):
                return f"{leaf.path}: no source has the {_ACCOUNTS[mark.kind]} in its text"
        for one in find_special_identifiers(value):
            if one.form in ADDRESSES and not self._is_known("url", one.text, is_told=is_told):
                return f"{leaf.path}: no source has the address in its text"
        if leaf.kind is not ArgumentKind.FREE_TEXT or not (quoted.days or quoted.times):
            return ""
        written = find_mentions(value, self._sources.now, relative=False)
        days = {period.first for one in written.dates for period in one.periods if period.first == period.last}
        if quoted.days and any(not self._is_known("date", day.isoformat()) for day in days):
            return f"{leaf.path}: its text names a day that no source has, and this part says another one"
        if quoted.times_of_day and written.times_of_day and written.times_of_day.isdisjoint(quoted.times_of_day):
            return f"{leaf.path}: its text names another time of day than this part"
        return ""

    def _find_repeated(
        self, call: PlannedCall, tool: Tool, leaves: Sequence[Trace], part: PartOfCall
    ) -> Iterator[Disagreement]:
        """Yields a change that moves money as another one of the task does, and differs in its words alone, unless the
        part asks for several.
        """
        if asks_for_several(part.quote) or not any(leaf.kind is ArgumentKind.AMOUNT for leaf in leaves):
            return
        texts = {
            leaf.path.partition(".")[0].partition("[")[0] for leaf in leaves if leaf.kind is ArgumentKind.FREE_TEXT
        }
        made = [loads_object(fact.arguments_json) for fact in self._facts if fact.tool == tool.name]
        own = _plain_arguments(call.arguments, texts)
        for other in [*made, *(arguments for name, arguments in part.calls if name == tool.name)]:
            given = {name: value for name, value in other.items() if name != CALL}
            if given != call.arguments and _plain_arguments(given, texts) == own:
                yield Disagreement("", f"{tool.name}: it is proposed twice, and this part asks for one")
                return

    def _is_known(self, name: str, *texts: str, is_told: bool = False) -> bool:
        """Whether a value has a source, in one of its writings, under such a name. ``is_told``: somebody is told it, so
        that what only a text says is not enough.
        """
        traced = [trace_scalar(name, {}, text, self._sources) for text in texts]
        found = [one for one in traced if one.origin is not OriginKind.NONE]
        return any(not is_told or one.strictness_met or self._free.may_be_taken(one.origins) for one in found)

    def _find_other_days(
        self, doubtful: Sequence[Trace], call: PlannedCall, part: PartOfCall
    ) -> Iterator[Disagreement]:
        """A day that follows from no source, where the part says one, or how far it is from one of the record."""
        days = [leaf for leaf in doubtful if leaf.kind is ArgumentKind.DATE]
        said = find_mentions(part.quote or self._sources.task.text, self._sources.now) if days else None
        told = ", ".join(said.text[one.start : one.end] for one in said.dates) if said else ""
        if said and not told and self._derived.has_days_to_move(call):
            told = ", ".join(one.text for one in said.numbers if trace.duration_of(one) is not None)
        for leaf in days if told else ():
            value = _format_value(value_at(call.arguments, leaf.path))
            yield Disagreement(leaf.path, f"{leaf.path} {value}: this part says {told[:_SHOWN]}")

    def strange_figures(self, text: str) -> tuple[str, ...]:
        """The numbers and identifiers of an answer that no source has."""
        return trace.untraced_figures(text, self._sources)

    def _why_laundered(self, leaf: Trace, call: PlannedCall, part: PartOfCall) -> str:
        """Why an identifier is refused that only a text told the model of, though it was read since; else empty.

        Nor does a list in which it stands make it one, unless the user's words tell of the record, or leave open which
        one is meant.
        """
        if leaf.kind not in NAMING or leaf.origin is not OriginKind.FACT or leaf.free_text_only:
            return ""
        value = as_text(value_at(call.arguments, leaf.path))
        text, is_listed = self._free.find_telling(value, leaf.origins)
        if text is None or self._records.is_in_words_of_user(value):
            return ""
        if is_listed and (
            self._records.tells_of(value) or self._records.leaves_choice(part.quote, self._records.find_named(value))
        ):
            return ""
        return (
            f"{leaf.path} {value[:_SHOWN]} ({leaf.kind}) stands only in a text that somebody wrote "
            f"({text.fact_id} {text.path}), and reading it makes it no task: leave it"
        )

    def _is_found_for_it(self, leaf: Trace, call: PlannedCall) -> bool:
        """Whether only reads that code made for this call show the identifier, and no word of the user tells of it.

        Such a read shows whatever the model named. The user tells of a record by its id or its name, and with it of
        those that it refers to.
        """
        if leaf.kind not in _SOUGHT or leaf.origin is not OriginKind.FACT:
            return False
        by_machine = {fact.ref for fact in self._facts if fact.by_machine}
        shown = [one for one in leaf.origins if one.standing is not FieldStanding.FREE_TEXT]
        if not shown or any(one.fact_id not in by_machine for one in shown):
            return False
        return not self._records.tells_of(as_text(value_at(call.arguments, leaf.path)))

    def _names_other_record(self, call: PlannedCall, part: PartOfCall) -> bool:
        """Whether the part names a record that no call is about: "set the rent of A to that of B"."""
        called = {as_text(value) for _, given in part.calls for value in given.values()} | texts_in(call)
        return any(stands_in(owner, part.quote) for owner, _ in self._derived.by_record if owner not in called)

    def _why_of_other_record(self, leaf: Trace, call: PlannedCall) -> str:
        """A sentence if the amount is another record's, and the named record has another value in that field, of which
        it is no share that the task states; else empty.
        """
        if leaf.kind is not ArgumentKind.AMOUNT or leaf.origin is not OriginKind.FACT:
            return ""
        if self._derived.is_share(leaf, call):
            return ""
        named = texts_in(call)
        owners = {place.record.identifier if place.record else "" for place in leaf.origins}
        if not owners or "" in owners or owners & named:
            return ""
        own = [one for name in named for one in self._derived.by_record.get((name, leaf.origins[0].field), [])]
        if not own:
            return ""
        return (
            f"{leaf.path} {_format_value(leaf.origins[0].value)} is of {', '.join(sorted(owners))}; "
            f"the record that the call names has {_format_value(own[0])}"
        )


def _plain_arguments(arguments: JsonObject, texts: Container[str]) -> JsonObject:
    """A call's arguments without its free texts, in one writing of numbers and days."""
    return {name: _plain_value(value) for name, value in arguments.items() if name not in texts}


def _plain_value(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    days = read_possible_dates(value)
    return days[0].isoformat() if len(days) == 1 else value.strip().casefold()


def _figure_of(leaf: Trace) -> str:
    """The name of the calculated value that an argument is; empty if it is none."""
    return leaf.where if leaf.origin is OriginKind.CALCULATED else ""


def _is_in_minor_units(leaf: Trace, tool: Tool) -> bool:
    schema = tool.parameters.get(leaf.path.partition(".")[0].partition("[")[0], {})
    return hints_of(leaf.path, schema if "." not in leaf.path else {}, None).is_in_minor_units


def _has_no_source(leaf: Trace, call: PlannedCall) -> bool:
    """Whether the argument needs a source and has none; a small whole number may be the model's own choice: a priority,
    a page.
    """
    if leaf.kind in (ArgumentKind.QUANTITY, ArgumentKind.OTHER):
        return leaf.origin is OriginKind.NONE and not _is_small(value_at(call.arguments, leaf.path))
    return leaf.kind in STRICT and not leaf.strictness_met and not leaf.free_text_only


def _is_small(value: Json) -> bool:
    """Whether a number, or each number in a code, is small and whole: `P1D` may be chosen, nobody chooses `ID-4711`."""
    number = figure(value)
    if number is not None:
        return number == number.to_integral_value() and 0 <= number <= _MOST_CHOSEN
    is_code = isinstance(value, str) and whole_form(value) is IdentifierForm.CODE  # other words are no figure
    return not is_code or all(int(digits) <= _MOST_CHOSEN for digits in _DIGITS.findall(str(value)))


def _describe_doubt(leaf: Trace, call: PlannedCall, tool: Tool) -> str:
    value = _format_value(value_at(call.arguments, leaf.path))
    return (
        f"{leaf.path} {value} of {tool.name} stands neither in the task nor in a result, and is not calculated: "
        "calculate it, or take what stands there; if it is yours to choose, propose the call again as it is"
    )


def _doubt_record(leaf: Trace, call: PlannedCall) -> str:
    value = _format_value(value_at(call.arguments, leaf.path))
    return (
        f"{leaf.path} {value}: no word of the task tells of this record, and of another one it does: take the one that "
        "is meant; if it is this one, propose the call again as it is, and a person is asked"
    )


def _why_unsourced(leaf: Trace, call: PlannedCall) -> str:
    value = value_at(call.arguments, leaf.path)
    return (
        f"{leaf.path} {_format_value(value)} ({leaf.kind}) stands neither in the task nor in a result, "
        "and is not calculated: read or calculate it"
    )


def _build_origin(leaf: Trace, *, is_untold: bool, against: str = "") -> Origin:
    sources = {OriginKind.FACT: "result", OriginKind.CALCULATED: "value", OriginKind.TASK: "task"}
    free = leaf.free_text_only and leaf.kind in _FOR_A_PERSON
    marks = {"free_text": free, "untold": is_untold, "against": against}
    source = sources.get(leaf.origin, "none")
    return Origin.model_validate({"argument": leaf.path, "source": source, "ref": leaf.where, **marks})


def _format_value(value: Json) -> str:
    return as_text(value)[:_SHOWN]
