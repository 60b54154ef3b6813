"""Finds where the arguments of a proposed call come from: the task, what was read, what was calculated."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import filterfalse, islice
from typing import NamedTuple

from services.executor.core.figures import trace
from services.executor.core.figures.arguments import (
    FIGURE_KINDS,
    RECORD_KINDS,
    SOURCED_KINDS,
    ArgumentHints,
    ArgumentKind,
    FieldContentKind,
    ReadField,
    hints_of_argument,
)
from services.executor.core.figures.identifiers import (
    ADDRESS_KINDS,
    IdentifierKind,
    find_special_identifiers,
    kind_of_identifier,
)
from services.executor.core.figures.mentions import find_mentions
from services.executor.core.figures.numbers import NumberMention, read_figure
from services.executor.core.figures.operands import OperandFinder, OperandSources
from services.executor.core.figures.trace import FactsIndex, OriginKind, trace_argument, trace_scalar
from services.executor.core.figures.vocabulary import SWAP_WORD_PATTERN, minor_unit_places
from services.executor.core.plan.agreement import find_disagreements, find_disagreements_of_notice, find_empty_changes
from services.executor.core.plan.faults import (
    NO_PART,
    ArgumentToCheck,
    CallFault,
    CallToCheck,
    PartContext,
    ReadFields,
    Severity,
    say_what_part_states,
    shorten_value,
    texts_of_arguments,
)
from services.executor.core.plan.indirect_sources import DerivedValues, FreeTextSourceCheck
from services.executor.core.plan.mentioned_records import NAMING_KINDS, CalledRecords, MentionedRecords
from services.executor.core.records.references import argument_at, referenced_calls
from services.executor.core.records.seen_records import is_name_in_text, singular_words
from services.executor.core.session.context import TurnContext, convert_files_to_facts, get_task_time
from services.executor.core.session.values import Fact, NamedValue, trace_operands
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, RecordKeys
from services.executor.ports.tools import Tool
from services.executor.ports.turns import QUESTION_ROLE
from shared.contracts.plan import ArgumentOrigin, PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_text
from shared.domain.protected_values import ProtectedKind, find_protected_spans
from shared.domain.words import ToolClass


class KnownSources(NamedTuple):
    """What arguments may come from."""

    texts: Sequence[str]  # the task first, then earlier turns
    facts: Sequence[Fact]
    values: Sequence[NamedValue]
    now: datetime  # in the user's zone
    user_texts: Sequence[str] = ()  # the user's own among the texts: only they can refer to a free text as a source
    trusted: Sequence[str] = ()  # patterns of free-text fields that the tenant trusts
    keys: RecordKeys = NO_RECORD_KEYS  # the key fields of records that the tenant declares


def build_operand_sources(ctx: TurnContext, facts: Sequence[Fact], values: Sequence[NamedValue] = ()) -> OperandSources:
    now = get_task_time(ctx)
    return OperandSources(facts, values, _list_session_texts(ctx), now.date(), now.tzinfo)


def _list_session_texts(ctx: TurnContext) -> tuple[str, ...]:
    """The task and the session's texts before it, from which a value may be taken.

    A question to a person about a plan is left out, since it shows that plan's own values.
    """
    return (ctx.task, *(text for role, text in ctx.session.turns if role != QUESTION_ROLE))


def list_user_texts(ctx: TurnContext) -> tuple[str, ...]:
    """The user's own words: the task and earlier turns. Only these say what is to be done."""
    return (ctx.task, *(text for role, text in ctx.session.turns if role == "user"))


def build_known_sources(ctx: TurnContext, facts: Sequence[Fact], values: Sequence[NamedValue]) -> KnownSources:
    """The sources of arguments, and of figures in an answer. The task's files count as texts that somebody wrote."""
    now, trusted = get_task_time(ctx), ctx.tenant.trusted_texts
    facts = (*facts, *convert_files_to_facts(ctx.files))
    return KnownSources(_list_session_texts(ctx), facts, values, now, list_user_texts(ctx), trusted, ctx.toolbox.keys)


_KINDS_THAT_A_PERSON_CHECKS = frozenset({ArgumentKind.AMOUNT, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})
_HIGHEST_SOURCELESS_NUMBER = 100  # a whole number up to here needs no source where it is no amount
_ACCOUNT_TITLES = {ProtectedKind.IBAN: "account number", ProtectedKind.CARD: "card number"}
_GROUP_SEPARATOR_PATTERN = re.compile(r"[ -]")
_MONEY_WORD_PATTERN = re.compile(
    r"[€$£¥]|\b[A-Z]{3}\b|\b(?:euros?|dollars?|francs?|franken|cents?)\b"
)  # "50 real cases" is none
_MOST_AMOUNTS_OF_TEXT = 100  # of money in a text that is sent
_MOST_CHARACTERS_OF_TEXT = 20_000  # of a text that is sent
_DIGITS_PATTERN = re.compile(r"[0-9]+")


class SourcedCall(NamedTuple):
    """A call with the origins of its arguments, and sentences for the model on what is wrong with them."""

    call: PlannedCall  # doubted records and contradicted arguments are marked in their origins
    problems: tuple[str, ...]  # why the call is refused, such as for an argument without a source
    doubts: tuple[str, ...] = ()  # what may be a slip or the model's own choice; sent back once
    lacks_source: bool = False  # whether reading what the call names may help


class SourceFinder:
    """Finds the sources of the arguments of one reply's calls; indexes what was read only once."""

    def __init__(self, known: KnownSources) -> None:
        self._facts = known.facts
        self._user_texts = known.user_texts or known.texts[:1]
        self._has_answers = len(known.texts) > len(self._user_texts)
        self._values = {value.name: value for value in known.values}
        self._fields = ReadFields(known.facts)
        task, *earlier = (find_mentions(text, known.now) for text in known.texts)
        self._sources = trace.TraceSources(
            task=task,
            facts=FactsIndex(known.facts, known.now),
            now=known.now,
            earlier=tuple(earlier),
            calculated={
                value.name: value.value if (number := read_figure(value.value)) is None else number
                for value in known.values
            },
            calculated_in_cents={value.name for value in known.values if value.unit == "cents"},
        )
        self._records = MentionedRecords(self._facts, self._user_texts, self._sources, known.keys)
        self._derived = DerivedValues(self._sources)
        self._free_texts = FreeTextSourceCheck(
            self._sources, self._facts, self._fields, self._user_texts, known.trusted
        )
        self.is_address_of_free_text = self._free_texts.is_address_of_free_text

    def find_sources(self, call: PlannedCall, tool: Tool, part: PartContext = NO_PART) -> SourcedCall:
        """The call with the origin of each argument, and what is wrong with it."""
        call_to_check = self._build_call_to_check(call, tool, part)
        checks = (  # faults that weigh the same are told in this order
            self._find_unsourced_arguments,
            self._find_values_from_free_text,
            self._find_amounts_of_other_records,
            self._find_ids_from_free_text,
            find_empty_changes,
            self._find_unmentioned_records,
            _find_disagreements_with_part,
            self._find_amounts_of_earlier_answers,
            self._find_unsourced_texts,
            self._find_doubtful_values,
        )
        return _apply_faults(call_to_check, [fault for check in checks for fault in check(call_to_check)])

    def _build_call_to_check(self, call: PlannedCall, tool: Tool, part: PartContext) -> CallToCheck:
        return CallToCheck(
            call=call,
            tool=tool,
            scalars=[*self._trace_arguments(call.arguments, tool)],
            part=part,
            part_mentions=find_mentions(part.quote, self._sources.now) if part.quote else self._sources.task,
            user_mentions=self._records.user_mentions,
            facts=self._facts,
            fields=self._fields,
            values=self._values,
            titles=self._records.titles_by_id,
            untrusted_texts=self._free_texts.untrusted_texts,
        )

    def _trace_arguments(self, arguments: JsonObject, tool: Tool) -> Iterator[ArgumentToCheck]:
        """Yields the scalars of a call's arguments with their sources, without those that earlier answers will fill."""
        fields = self._fields.list_fields_of_records(texts_of_arguments(arguments))
        for name, value in arguments.items():
            schema = tool.parameters.get(name, {})
            for leaf in () if any(referenced_calls(value)) else trace_argument(name, schema, value, self._sources):
                hints = hints_of_argument(leaf.path, schema if "." not in leaf.path else {}, None)
                numbers = _list_recorded_numbers(leaf.path, fields if leaf.kind in FIGURE_KINDS else ())
                scalar = argument_at(arguments, leaf.path)
                yield ArgumentToCheck(**vars(leaf), value=scalar, hints=hints, recorded_numbers=tuple(numbers))

    def _find_unsourced_arguments(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each argument that lacks the source it needs, or has it only in reads that code made."""
        for argument in call.scalars:
            has_none = _lacks_needed_source(argument) and not self._derived.is_implied(argument, call)
            if has_none or self._is_shown_by_code_reads_alone(argument):
                reason = (
                    f"{argument.description} ({argument.kind}) stands neither in the task nor in a result, "
                    "and is not calculated: read or calculate it"
                )
                yield CallFault(argument.path, reason, Severity.UNSOURCED)

    def _is_shown_by_code_reads_alone(self, argument: ArgumentToCheck) -> bool:
        """Whether the identifier is shown only by reads that code made for this call, and the user does not mention its
        record.

        Such a read shows whatever the model named. The user mentions a record by its id or name, and with it the
        records that it refers to.
        """
        if argument.kind not in RECORD_KINDS or argument.origin is not OriginKind.FACT:
            return False
        machine_refs = {fact.ref for fact in self._facts if fact.by_machine}
        data_origins = [origin for origin in argument.source_fields if origin.kind is not FieldContentKind.FREE_TEXT]
        if not data_origins or any(origin.fact_id not in machine_refs for origin in data_origins):
            return False
        return not self._records.is_id_mentioned(argument.text)

    def _find_values_from_free_text(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each argument that stands only in a free text which is no allowed source."""
        for argument in call.scalars:
            if reason := self._free_texts.why_refused(argument, call):
                yield CallFault(argument.path, reason, Severity.REFUSED)

    def _find_amounts_of_other_records(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each amount of another record.

        If the part names that record, too, a person may let it pass; nobody is asked where the part has the two
        exchange their values.
        """
        severity = Severity.CONTRADICTED if self._names_other_record(call) else Severity.REFUSED
        for argument in call.scalars:
            reason = self._why_amount_of_other_record(argument, call)
            if reason and not self._is_amount_swapped(argument, call):
                yield CallFault(argument.path, reason, severity)

    def _is_amount_swapped(self, argument: ArgumentToCheck, call: CallToCheck) -> bool:
        """Whether the part speaks of an exchange, and another call gives this record's value to the amount's record."""
        owners = {field.record.identifier for field in argument.source_fields if field.record}
        if not SWAP_WORD_PATTERN.search(call.part.quote):
            return False
        own_texts = set(map(as_text, _list_recorded_values(argument, call)))
        calls = ({*map(as_text, arguments.values())} for _, arguments in call.part.proposed_calls)
        return any(owners & call_texts and own_texts & call_texts for call_texts in calls)

    def _names_other_record(self, call: CallToCheck) -> bool:
        """Whether the part names a record that no call is about: "set the rent of A to that of B"."""
        argument_sets = [arguments for _, arguments in call.part.proposed_calls]
        called_ids = {as_text(value) for arguments in argument_sets for value in arguments.values()}
        owners = self._fields.by_record.keys() - called_ids - call.texts
        return any(is_name_in_text(owner, call.part.quote) for owner in owners)

    def _why_amount_of_other_record(self, argument: ArgumentToCheck, call: CallToCheck) -> str:
        """A sentence if the amount is another record's, while the named record has another value in that field, of
        which the amount is no share that the task states; else empty.
        """
        is_read = argument.kind is ArgumentKind.AMOUNT and argument.origin is OriginKind.FACT
        if not is_read or self._derived.is_stated_share_or_change(argument, call):
            return ""
        owners = {field.record.identifier if field.record else "" for field in argument.source_fields}
        if not owners or "" in owners or owners & call.texts:
            return ""
        own_values = _list_recorded_values(argument, call)
        if not own_values:
            return ""
        return (
            f"{argument.path} {shorten_value(argument.source_fields[0].value)} is of {', '.join(sorted(owners))}; "
            f"the record that the call names has {shorten_value(own_values[0])}"
        )

    def _find_ids_from_free_text(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each identifier that the model learned only from a free text, even if its record was read
        since.

        A list that shows such an identifier is no source either, unless the user mentions the record or leaves open
        which one is meant.
        """
        for argument in call.scalars:
            is_read = argument.origin is OriginKind.FACT and not argument.is_only_in_free_text
            if argument.kind not in NAMING_KINDS or not is_read:
                continue
            value, origins = argument.text, argument.source_fields
            text, is_listed = self._free_texts.find_revealing_text(argument.field_name, value, origins)
            if text is None or self._records.is_in_user_texts(value):
                continue
            is_open = self._records.leaves_records_open(call.part_mentions, self._records.find_by_id(value))
            if not is_listed or not (is_open or self._records.is_id_mentioned(value)):
                reason = (
                    f"{argument.description} ({argument.kind}) stands only in a text that somebody wrote "
                    f"({text.fact_id} {text.path}), and reading it makes it no task: leave it"
                )
                yield CallFault(argument.path, reason, Severity.REFUSED)

    def _find_unmentioned_records(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each record that the user does not mention, while another one of its kind is mentioned."""
        records = CalledRecords(call, self._records)
        for argument in call.scalars:
            if records.names_unmentioned_record(argument):
                sentence = (
                    "no word of the task tells of this record, and of another one it does: take the one that is meant; "
                    "if it is this one, propose the call again as it is, and a person is asked"
                )
                yield argument.build_fault(sentence, Severity.UNMENTIONED)

    def _find_amounts_of_earlier_answers(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each amount calculated from a figure that an earlier answer states, and neither the user
        nor a read of this task: a record may have it otherwise by now.
        """
        if not self._has_answers or call.tool.tool_class is not ToolClass.CHANGE:
            return
        for argument in call.scalars:
            value = call.find_value(argument) if argument.kind is ArgumentKind.AMOUNT else None
            operands = (operand for _, operand in trace_operands(value, self._values)) if value else ()
            literals = (operand.literal for operand in operands if operand.source == "task")
            untold_literals = (literal for literal in literals if not self._user_figure_finder.is_in_texts(literal))
            if stale_literal := next(filterfalse(self._stands_in_read_field, untold_literals), ""):
                yield argument.build_fault(f"only an earlier answer says {stale_literal}: read it again")

    def _stands_in_read_field(self, literal: str) -> bool:
        """Whether a field of a tool's result is the number that the text spells; False for a text that is none."""
        number = read_figure(literal)
        fields = self._sources.facts.find_origins(number, ArgumentHints()) if number is not None else ()
        return any(field.is_whole for field in fields)

    @cached_property
    def _user_figure_finder(self) -> OperandFinder:
        return OperandFinder(OperandSources((), (), self._user_texts, self._sources.now.date()))

    def _find_unsourced_texts(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each text with an account, an address or, if it is sent, an amount of money without a
        source.
        """
        for argument in call.scalars:
            if argument.kind in SOURCED_KINDS or not isinstance(argument.value, str):
                continue
            reason = self._why_text_unsourced(argument.value, is_sent=call.tool.tool_class is ToolClass.NOTIFY)
            if reason:
                yield CallFault(argument.path, f"{argument.path}: {reason}")

    def _why_text_unsourced(self, text: str, *, is_sent: bool) -> str:
        """A sentence if an account, card or address in the text has no source, or an amount of money in a text that
        ``is_sent`` to somebody; else empty.
        """
        for span in find_protected_spans(text):
            notations = (span.value, _GROUP_SEPARATOR_PATTERN.sub("", span.value))
            if span.kind in _ACCOUNT_TITLES and not self._has_source("account", *notations, is_sent=is_sent):
                return f"no source has the {_ACCOUNT_TITLES[span.kind]} in its text"
        if is_sent and (unsourced_amount := next(self._find_unsourced_money(text), None)) is not None:
            return f"its text names {unsourced_amount}, which no source has"
        addresses = (identifier for identifier in find_special_identifiers(text) if identifier.form in ADDRESS_KINDS)
        if any(not self._has_source("url", identifier.text, is_sent=is_sent) for identifier in addresses):
            return "no source has the address in its text"
        return ""

    def _find_unsourced_money(self, text: str) -> Iterator[str]:
        """Yields the amounts of money in a text that are no amount of the task, a result or a calculation, in its unit
        or in the minor one; of a long text the first ones are looked at.
        """
        numbers = find_mentions(text[:_MOST_CHARACTERS_OF_TEXT], self._sources.now, includes_relative=False).numbers
        money: dict[str, NumberMention] = {}
        end_reached = 0
        for number in sorted(numbers, key=lambda mention: (mention.start, -mention.end)):
            is_outermost = number.end > end_reached  # "5 euros" lies within "5 euros and 20 cents"
            end_reached = max(end_reached, number.end)
            is_money = number.money is not None and any(number.values)
            if is_outermost and is_money and _MONEY_WORD_PATTERN.search(number.text):
                money.setdefault(number.text, number)
        for number in islice(money.values(), _MOST_AMOUNTS_OF_TEXT):
            size = 10 ** minor_unit_places(number.money)
            notations = (f"{figure}" for value in number.values for figure in (value, value * size))
            if not any(self._has_source("amount", notation, is_sent=True) for notation in (number.text, *notations)):
                yield number.text

    def _has_source(self, name: str, *texts: str, is_sent: bool = False) -> bool:
        """Whether a value has a source in one of its notations (``texts``), as an argument called ``name``.

        For a value that ``is_sent`` to somebody, a free text alone is no source.
        """
        traces = [trace_scalar(name, {}, text, self._sources) for text in texts]
        sourced = [argument for argument in traces if argument.origin is not OriginKind.NONE]
        if not is_sent:
            return bool(sourced)
        allows = self._free_texts.has_allowed_origin
        return any(argument.is_sourced or allows(argument.source_fields) for argument in sourced)

    def _find_doubtful_values(self, call: CallToCheck) -> Iterator[CallFault]:
        """Yields a fault for each number, day and hour that no source states and that follows from none."""
        for argument in call.scalars:
            if not self._derived.is_doubtful(argument, call) or self._derived.keeps_time_span(argument, call):
                continue
            if argument.kind is ArgumentKind.DATE and (stated_days := self._list_stated_days_or_distances(call)):
                yield argument.build_fault(say_what_part_states(stated_days))
                continue
            reason = (
                f"{argument.description} of {call.tool.name} stands neither in the task nor in a "
                "result, and is not calculated: calculate it, or take what stands there; if it is yours to choose, "
                "propose the call again as it is"
            )
            yield CallFault(argument.path, reason, Severity.DOUBTFUL)

    def _list_stated_days_or_distances(self, call: CallToCheck) -> list[str]:
        """The days that the part states, or how far they are from a day of the record, as the part's words."""
        mentions = call.part_mentions
        stated_days = [mentions.text[day.start : day.end] for day in mentions.dates]
        if not stated_days and self._derived.has_days_to_move(call):
            return [number.text for number in mentions.numbers if trace.read_duration_of_mention(number) is not None]
        return stated_days

    def find_untraced_figures(self, text: str) -> tuple[str, ...]:
        """The numbers and identifiers of an answer that have no source."""
        return trace.find_untraced_figures(text, self._sources)

    def find_untraced_days(self, stated: Sequence[trace.StatedDay]) -> tuple[str, ...]:
        """The days of an answer, except today, that no source has, as written or in the user's zone."""
        return tuple(stated_day.text for stated_day in stated if not any(map(self._is_known_day, stated_day.days)))

    def _is_known_day(self, day: date) -> bool:
        iso_day = day.isoformat()
        if day == self._sources.now.date() or any(iso_day in fact.result_json for fact in self._facts):
            return True
        return trace_scalar("day", {"format": "date"}, iso_day, self._sources).origin is not OriginKind.NONE


def _find_disagreements_with_part(call: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a change or a notice does not agree with the words of its part."""
    is_notice = call.tool.tool_class is ToolClass.NOTIFY
    return find_disagreements_of_notice(call) if is_notice else find_disagreements(call)


def _list_recorded_numbers(path: str, fields: Iterable[ReadField]) -> Iterator[Decimal]:
    """Yields the numbers in those of the fields that have the name of the argument at this path."""
    field_words = singular_words(path.rpartition(".")[2])
    for field in fields:
        number = read_figure(field.value) if singular_words(field.name) == field_words else None
        if number is not None:
            yield number


def _list_recorded_values(argument: ArgumentToCheck, call: CallToCheck) -> list[Json]:
    """The values that the records which the call names have in the field from which the argument comes."""
    name = argument.source_fields[0].field_name
    return [field.value for field in call.fields.list_fields_of_records(call.texts) if field.name == name]


def _lacks_needed_source(argument: ArgumentToCheck) -> bool:
    """Whether the argument needs a source and has none. It needs none for a small whole number, such as a page."""
    if argument.kind in (ArgumentKind.QUANTITY, ArgumentKind.OTHER):
        return argument.origin is OriginKind.NONE and not _has_only_small_whole_numbers(argument.value)
    return argument.kind in SOURCED_KINDS and not argument.is_sourced and not argument.is_only_in_free_text


def _has_only_small_whole_numbers(value: Json) -> bool:
    """Whether each number in a value is small and whole: the model may choose `P1D`, but not `ID-4711`."""
    number = read_figure(value)
    if number is not None:
        return number == number.to_integral_value() and 0 <= number <= _HIGHEST_SOURCELESS_NUMBER
    is_code = isinstance(value, str) and kind_of_identifier(value) is IdentifierKind.CODE  # other words are no figure
    return not is_code or all(
        int(digits) <= _HIGHEST_SOURCELESS_NUMBER for digits in _DIGITS_PATTERN.findall(str(value))
    )


def _apply_faults(call: CallToCheck, faults: Sequence[CallFault]) -> SourcedCall:
    """The call with what follows from its faults. An argument that is contradicted is not also called doubtful."""
    unsourced, refused, doubtful, unmentioned, contradicted = (
        [fault for fault in faults if fault.severity is severity] for severity in Severity
    )
    reasons: dict[str, str] = {}
    first_path = call.scalars[0].path if call.scalars else ""
    for fault in contradicted:
        reasons.setdefault(fault.argument or first_path, fault.reason)
    unmentioned_paths = {fault.argument for fault in unmentioned}
    origins: list[ArgumentOrigin] = []
    for argument in call.scalars:
        is_unmentioned, against = argument.path in unmentioned_paths, reasons.get(argument.path, "")
        origins.append(_build_origin(argument, is_unmentioned=is_unmentioned, against=against))
    if contradicted and not origins:  # the call takes nothing but answers to come
        origins.append(ArgumentOrigin(argument="", source="none", against=reasons[first_path]))
    doubts = [fault.reason for fault in doubtful if fault.argument not in reasons]
    doubts += [fault.reason for fault in unmentioned]
    advice = "propose what it says; if it is right as it is, a person is asked"
    doubts += [f"{fault.reason}: {advice}" for fault in contradicted]
    return SourcedCall(
        call.call.model_copy(update={"origins": tuple(origins)}),
        problems=tuple(fault.reason for fault in (*unsourced, *refused)),
        doubts=tuple(doubts),
        lacks_source=bool(unsourced),
    )


def _build_origin(argument: ArgumentToCheck, *, is_unmentioned: bool, against: str) -> ArgumentOrigin:
    sources: dict[str, str] = {OriginKind.FACT: "result", OriginKind.CALCULATED: "value", OriginKind.TASK: "task"}
    needs_a_person = argument.is_only_in_free_text and argument.kind in _KINDS_THAT_A_PERSON_CHECKS
    marks = {"free_text": needs_a_person, "untold": is_unmentioned, "against": against}
    source = sources.get(argument.origin, "none")
    return ArgumentOrigin.model_validate(
        {"argument": argument.path, "source": source, "ref": argument.origin_ref, **marks}
    )
