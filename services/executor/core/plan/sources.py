"""Finds where the arguments of a proposed call come from: the task, what was read, what was calculated."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from services.executor.core.figures import trace
from services.executor.core.figures.arguments import (
    STRICT,
    ArgumentKind,
    FieldStanding,
    ReadField,
    hints_of,
    read_fields,
)
from services.executor.core.figures.dates import read_machine_moment, read_possible_dates
from services.executor.core.figures.facts import FactOrigin, duration_of, index_facts
from services.executor.core.figures.identifiers import ADDRESSES, IdentifierForm, find_special_identifiers, whole_form
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import NumberMention
from services.executor.core.figures.operands import KnownFigures, OperandSources
from services.executor.core.figures.trace import OriginKind, Trace, trace_argument, trace_scalar
from services.executor.core.model.talk import local_now
from services.executor.core.plan.agreement import (
    asks_for_several,
    changes_nothing,
    find_disagreements,
    find_forbidden_notice,
)
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
from services.executor.core.plan.told_records import NAMING, ToldRecords, number_of
from services.executor.core.records.called_records import (
    noun_of_tool,
    stands_in,
    words,
)
from services.executor.core.records.references import references, value_at
from services.executor.core.session.context import FILE, TurnContext, files_as_facts
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.toolbox import CALL
from services.executor.ports.tools import Tool
from shared.contracts.plan import Origin, PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object
from shared.domain.marks import MarkKind, find_secret_values
from shared.domain.words import ToolClass


class KnownSources(NamedTuple):
    """What arguments may come from. ``texts``: the task first, then earlier turns. ``now``: in the user's zone.

    ``told``: the user's own texts of these; only they can send the reader to a text that somebody wrote. ``trusted``:
    patterns of such fields that the tenant trusts.
    """

    texts: Sequence[str]
    facts: Sequence[Fact]
    values: Sequence[NamedValue]
    now: datetime
    told: Sequence[str] = ()
    trusted: Sequence[str] = ()


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
    return KnownSources(said_texts(ctx), facts, values, now, user_texts(ctx), trusted)


_SAME = tuple(
    frozenset(group.split())
    for group in (
        "note remark comment memo annotation notiz bemerkung anmerkung kommentar commentaire remarque",
        "mail email message letter nachricht schreiben courriel lettre",
        "description desc beschreibung details detail",
        "instruction instructions anweisung consigne",
    )
)
_BODIES = frozenset("body text content html markdown message mail email subject title".split())  # of a whole message
_TAKES = "from in per within using following see read follow what whatever aus im laut gemäß von vom dans selon suivant"
_SAYS = (
    "say says said ask asks asked state states tell tells name names give gives mention mentions want wants contain"
    " contains list lists demand demands sagt nennt steht enthält verlangt dit indique demande contient"
)
_FILES = frozenset(
    "attached attachment attaching enclosed file document pdf spreadsheet sheet scan image photo picture screenshot"
    " angehängt anhang anlage datei dokument tabelle joint jointe pièce fichier tableau".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_NEAR = 4  # words between what takes and what is taken from
_TAKING, _SAYING = frozenset(_TAKES.split()), frozenset(_SAYS.split())


def is_told_to_take(said: Iterable[str], origin: FactOrigin, tool: str) -> bool:
    """Whether the user's words send the reader to that text: "what its note says", "the amount from the mail".

    ``tool``: the read that showed it, whose name says what kind of message it is. For a file that came with the task
    any word for a file is enough.
    """
    if tool == FILE:
        return any(not _FILES.isdisjoint(words(text.casefold())) for text in said)
    names = _names_of_text(origin.path, tool)
    return any(_sends_to(tuple(_WORD.findall(text.casefold())), names) for text in said)


def _names_of_text(path: str, tool: str) -> frozenset[str]:
    """The words by which people may call the text in a field; for a message's body also those for the message."""
    steps = [frozenset(words(step)) for step in re.split(r"[.\[\]]+", path) if step and not step.isdecimal()]
    own = steps[-1] if steps else frozenset[str]()
    if own & _BODIES:
        own = own.union(*steps, noun_of_tool(tool))
    return own.union(*(group for group in _SAME if group & own))


@lru_cache(maxsize=256)
def _sends_to(said: Sequence[str], names: frozenset[str]) -> bool:
    places = [place for place, word in enumerate(said) if names.intersection(words(word) or (word,))]
    return any(_is_taken_from(said, place) for place in places)


def _is_taken_from(said: Sequence[str], place: int) -> bool:
    before, after = said[max(0, place - _NEAR) : place], said[place + 1 : place + _NEAR]
    return not _TAKING.isdisjoint(before) or not _SAYING.isdisjoint(after)


_FOR_A_PERSON = frozenset({ArgumentKind.AMOUNT, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})
_SOUGHT = NAMING | {ArgumentKind.ACCOUNT}
_TERMS = {"days": 1, "weeks": 7}
_LONGEST_TERM = 3_660  # days
_NIGHTS = re.compile(r"\s+(?:(?:more|further|extra|additional)\s+)?(?:nights?|days?)\b", re.IGNORECASE)
_MOST_CHOSEN = 100  # a whole number up to here needs no source where it is no amount
_ACCOUNTS = {MarkKind.IBAN: "account number", MarkKind.CARD: "card number"}
_GAPS = re.compile(r"[ -]")
_DIGITS = re.compile(r"[0-9]+")
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://|//)?(?:[^\s/@]+@)?([\w-]+(?:\.[\w-]+)+)(?=[/?#:\s]|$)", re.IGNORECASE)
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
        self._trusted = known.trusted
        self._values = {value.name: value for value in known.values}
        self._stated_by_quote: dict[str, Sequence[NumberMention]] = {}
        task, *earlier = (find_mentions(text, known.now) for text in known.texts)
        self._sources = trace.TraceSources(
            task=task,
            facts=index_facts({fact.ref: fact.result for fact in known.facts if fact.ok}, known.now),
            now=known.now,
            earlier=tuple(earlier),
            calculated={
                value.name: value.value if (number := number_of(value.value)) is None else number
                for value in known.values
            },
        )
        self._records = ToldRecords(self._facts, self._told, self._sources)

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
            if (_has_no_source(leaf, call) and not (self._is_share(leaf, call) or self._is_in_words(leaf, call)))
            or self._is_found_for_it(leaf, call)
        ]
        problems = [_why_unsourced(leaf, call) for leaf in unsourced]
        problems += [text for leaf in leaves if (text := self._why_free_text(leaf))]
        of_others = [Disagreement(leaf.path, why) for leaf in leaves if (why := self._why_of_other_record(leaf, call))]
        told_others = of_others if self._names_other_record(call, part) else []
        problems += [one.why for one in of_others if not told_others]
        problems += [text for leaf in leaves if (text := self._why_laundered(leaf, call, part))]
        if changes_nothing(tool, call.arguments):
            problems.append(f"{tool.name} is given nothing to change: say what is to be set")
        untold = [leaf for leaf in leaves if self._records.is_strange(leaf, call, tool, part)]
        kept = {leaf.path for leaf in leaves if self._keeps_length(leaf, call, leaves)}
        doubtful = [leaf for leaf in leaves if leaf.path not in kept and self._is_doubtful(leaf, call, tool)]
        against = (
            *told_others,
            *self._find_disagreements(call, tool, leaves, part),
            *self._find_other_days(doubtful, call, part),
        )
        whys = {one.argument or leaves[0].path: one.why for one in reversed(against) if leaves}
        origins = tuple(_origin(leaf, is_untold=leaf in untold, against=whys.get(leaf.path, "")) for leaf in leaves)
        doubts = tuple(_doubt(leaf, call, tool) for leaf in doubtful if leaf.path not in whys)
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
            *self._find_stale(call, tool, leaves),
            *strange,
        )

    def _find_stale(self, call: PlannedCall, tool: Tool, leaves: Sequence[Trace]) -> Iterator[Disagreement]:
        """Yields the amounts that rest on a figure which only an answer of an earlier turn tells: a record may have
        another one since.
        """
        for leaf in leaves if self._has_answers else ():
            value = value_at(call.arguments, leaf.path)
            if leaf.kind is not ArgumentKind.AMOUNT:
                continue
            if leaf.origin is OriginKind.CALCULATED:
                operands = (one for _, one in trace_operands(self._values[leaf.where], self._values))
                told = [one.literal for one in operands if one.source == "task"]
                stale = next((one for one in told if not self._figures_of_user.is_in_texts(one)), "")
            else:
                schema = tool.parameters.get(leaf.path.partition(".")[0].partition("[")[0], {})
                by_user = trace_scalar(leaf.path, schema, value, self._sources_of_user).origin
                is_told = leaf.origin is not OriginKind.TASK or by_user is OriginKind.TASK
                stale = "" if is_told else _format_value(value)
            if stale:
                yield Disagreement(
                    leaf.path, f"{leaf.path} {_format_value(value)}: only an earlier answer says {stale}: read it again"
                )

    @cached_property
    def _figures_of_user(self) -> OperandSources:
        return OperandSources(KnownFigures((), (), self._told, self._sources.now.date()))

    @cached_property
    def _sources_of_user(self) -> trace.TraceSources:
        task, *earlier = (find_mentions(text, self._sources.now) for text in self._told)
        return trace.TraceSources(task, index_facts({}, self._sources.now), self._sources.now, tuple(earlier))

    def _present_values(self, leaf: Trace, call: PlannedCall) -> Iterator[Decimal]:
        """Yields the numbers that the records which the call names have in a field of the argument's name."""
        named, called = _texts_in(call), words(leaf.path.rpartition(".")[2])
        for (owner, field), values in self._by_record.items() if leaf.kind is ArgumentKind.AMOUNT else ():
            if owner in named and words(field) == called:
                yield from (number for value in values if (number := number_of(value)) is not None)

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
        return any(not is_told or one.strictness_met or self._may_be_taken(one.origins) for one in found)

    def _find_other_days(
        self, doubtful: Sequence[Trace], call: PlannedCall, part: PartOfCall
    ) -> Iterator[Disagreement]:
        """A day that follows from no source, where the part says one."""
        days = [leaf for leaf in doubtful if leaf.kind is ArgumentKind.DATE]
        said = find_mentions(part.quote or self._sources.task.text, self._sources.now) if days else None
        told = ", ".join(said.text[one.start : one.end] for one in said.dates) if said else ""
        for leaf in days if told else ():
            value = _format_value(value_at(call.arguments, leaf.path))
            yield Disagreement(leaf.path, f"{leaf.path} {value}: this part says {told[:_SHOWN]}")

    def strange_figures(self, text: str) -> tuple[str, ...]:
        """The numbers and identifiers of an answer that no source has."""
        return trace.untraced_figures(text, self._sources)

    def is_address_of_free_text(self, address: str) -> bool:
        """Whether an address, or its host, stands in a text that somebody wrote, and in no other source.

        It does not count if the user says to take it from that text, or the tenant trusts the field.
        """
        found = trace_scalar("url", {}, address, self._sources)
        if found.origin is not OriginKind.NONE:
            return found.free_text_only and not self._may_be_taken(found.origins)
        host = _HOST.match(address)
        if host is None or any(host[1].casefold() in text.casefold() for text in self._told):
            return False
        return any(host[1].casefold() in text for text in self._free_texts)

    @cached_property
    def _free_texts(self) -> tuple[str, ...]:
        fields = (field for fact in self._facts if fact.ok for field in read_fields(fact.ref, fact.result))
        written = (field for field in fields if field.standing is FieldStanding.FREE_TEXT)
        return tuple(str(field.value).casefold() for field in written)

    def _is_doubtful(self, leaf: Trace, call: PlannedCall, tool: Tool) -> bool:
        """Whether the argument is a whole number, a day or an hour that stands in no source and follows from none.

        A number on a scale that the tool's schema sets is not doubtful.
        """
        if leaf.origin is not OriginKind.NONE or leaf.kind is ArgumentKind.FREE_TEXT:
            return False
        value = value_at(call.arguments, leaf.path)
        if isinstance(value, str):
            moment = read_machine_moment(value, self._sources.now.tzinfo)
            if moment is not None and moment.day is None:
                return moment.hour is not None and self._is_hour_told
            days = self._days_in(value)
            if leaf.kind is not ArgumentKind.DATE or not days:
                return False
            return not any(day in self._last_days or self._is_moved_day(day, call) for day in days)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value in (0, 1):
            return False
        has_scale = not {"maximum", "exclusiveMaximum"}.isdisjoint(tool.parameters.get(leaf.path, {}))
        return not has_scale and not self._is_share(leaf, call)

    @cached_property
    def _is_hour_told(self) -> bool:
        """Whether the session's texts give a time of day, and no length of time from which another one may follow."""
        texts = self._sources.texts
        lengths = (duration_of(number) for text in texts for number in text.numbers)
        return any(text.times for text in texts) and not any(length is not None for length in lengths)

    def _is_moved_day(self, day: date, call: PlannedCall) -> bool:
        """Whether a day lies as far from one of a record that the call names as the task says: "3 weeks later"."""
        task = self._sources.task
        lengths = {length for number in task.numbers if (length := duration_of(number) or _nights(number, task.text))}
        return bool(lengths) and not lengths.isdisjoint(abs(day - one) for one in self._days_of_named(call))

    def _days_of_named(self, call: PlannedCall) -> Iterator[date]:
        """Yields the days in the records of which the call names an identifier, and in what is nested in them."""
        named = _texts_in(call)
        for fact in self._facts:
            fields = tuple(read_fields(fact.ref, fact.result)) if fact.ok else ()
            places = {place for field in fields if (place := _place_of_named(field, named)) is not None}
            for field in fields:
                if isinstance(field.value, str) and any(f"{field.path}.".startswith(place) for place in places):
                    yield from self._days_in(field.value)

    def _days_in(self, value: str) -> Sequence[date]:
        """The day that a value is; two where its day and month may be in either order."""
        moment = read_machine_moment(value, self._sources.now.tzinfo)
        if moment is not None:
            return () if moment.day is None else (moment.day,)
        return read_possible_dates(value)

    def _keeps_length(self, leaf: Trace, call: PlannedCall, leaves: Sequence[Trace]) -> bool:
        """Whether a moment is as far from one that has a source as two moments of the named record are from each
        other.
        """
        moment = self._moment(value_at(call.arguments, leaf.path)) if leaf.origin is OriginKind.NONE else None
        if moment is None:
            return False
        values = (value_at(call.arguments, one.path) for one in leaves if one.origin is not OriginKind.NONE)
        distances = {moment - other for one in values if (other := self._moment(one)) is not None}
        named = _texts_in(call)
        shown = [one for (owner, _), given in self._by_record.items() if owner in named for one in given]
        moments = [one for given in shown if (one := self._moment(given)) is not None]
        apart = {one - other for one in moments for other in moments if one != other}
        return not apart.isdisjoint(distances)

    def _moment(self, value: Json) -> datetime | None:
        """The day and hour of a value that has both; else None."""
        read = read_machine_moment(value, self._sources.now.tzinfo) if isinstance(value, str) else None
        return datetime.combine(read.day, read.hour) if read and read.day and read.hour is not None else None

    @cached_property
    def _last_days(self) -> frozenset[date]:
        """The last day of each term that a text gives with its first day: "for a week from 1 April"."""
        last: set[date] = set()
        for text in self._sources.texts:
            terms = (number for number in text.numbers if number.unit is not None and number.unit.name in _TERMS)
            for length in {value * _TERMS[term.unit.name] for term in terms if term.unit for value in term.values}:
                if length == int(length) and 0 < length <= _LONGEST_TERM:
                    last.update(day + timedelta(days=int(length) - 1) for day in text.days if day.year < MAXYEAR - 11)
        return frozenset(last)

    def _is_in_words(self, leaf: Trace, call: PlannedCall) -> bool:
        """Whether an identifier is a number that the user spells out: the shelf "thirty-one"."""
        value = value_at(call.arguments, leaf.path)
        if leaf.kind is not ArgumentKind.IDENTIFIER or not isinstance(value, str) or not value.isdecimal():
            return False
        texts = self._sources.texts
        said = (one for text in texts for one in text.numbers_by_value.get(Decimal(value), ()))
        return any(not any(mark.isdigit() for mark in one.text) for one in said)

    def _why_free_text(self, leaf: Trace) -> str:
        """Why an amount, identifier, account or recipient is refused that stands only in free text; empty if it is not.

        It is not where the user says to take it from there, or the tenant trusts the field.
        """
        if leaf.kind not in STRICT or not leaf.free_text_only or self._may_be_taken(leaf.origins):
            return ""
        return (
            f"{leaf.path} ({leaf.kind}) stands only in a text that somebody wrote "
            f"({leaf.where}), and the task does not say to take it from there: take it from a record, or leave it"
        )

    def _why_laundered(self, leaf: Trace, call: PlannedCall, part: PartOfCall) -> str:
        """Why an identifier is refused that only a text told the model of, though it was read since; else empty.

        A record that is read by an identifier shows that identifier: it says no more than the text that named it. Nor
        does a list in which it stands, unless the user's words tell of the record, or leave open which one is meant.
        """
        if leaf.kind not in NAMING or leaf.origin is not OriginKind.FACT or leaf.free_text_only:
            return ""
        value = as_text(value_at(call.arguments, leaf.path))
        asked = {fact.ref for fact in self._facts if value in map(as_text, loads_object(fact.arguments_json).values())}
        fields = (field for fact in self._facts if fact.ok for field in read_fields(fact.ref, fact.result))
        texts = [field for field in fields if _is_named_in(field, value) and field.fact_id not in asked]
        if not texts or self._records.is_in_words_of_user(value) or any(map(self._sends_to_field, texts)):
            return ""
        is_listed = any(one.fact_id not in asked and one.standing is FieldStanding.STRUCTURED for one in leaf.origins)
        if is_listed and (
            self._records.tells_of(value) or self._records.leaves_choice(part.quote, self._records.find_named(value))
        ):
            return ""
        return (
            f"{leaf.path} {value[:_SHOWN]} ({leaf.kind}) stands only in a text that somebody wrote "
            f"({texts[0].fact_id} {texts[0].path}), and reading it makes it no task: leave it"
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

    def _sends_to_field(self, field: ReadField) -> bool:
        """Whether the user says to take it from that field, or the tenant trusts it."""
        tools = {fact.ref: fact.tool for fact in self._facts}
        named = f"{field.fact_id} {field.path}".strip()
        return any(fnmatchcase(named, one) for one in self._trusted) or any(
            _sends_to(tuple(_WORD.findall(text.casefold())), _names_of_text(field.path, tools.get(field.fact_id, "")))
            for text in self._told
        )

    def _may_be_taken(self, origins: Sequence[FactOrigin]) -> bool:
        """Whether one of these places counts: the tenant trusts it, the user sends to it, or it is the tool's own
        answer.
        """
        tools = {fact.ref: fact.tool for fact in self._facts}
        return any(
            one.standing is not FieldStanding.FREE_TEXT
            or any(fnmatchcase(f"{one.fact_id} {one.path}".strip(), field) for field in self._trusted)
            or is_told_to_take(self._told, one, tools.get(one.fact_id, ""))
            for one in origins
        )

    def _names_other_record(self, call: PlannedCall, part: PartOfCall) -> bool:
        """Whether the part names a record that no call is about: "set the rent of A to that of B"."""
        called = {as_text(value) for _, given in part.calls for value in given.values()} | _texts_in(call)
        return any(stands_in(owner, part.quote) for owner, _ in self._by_record if owner not in called)

    def _why_of_other_record(self, leaf: Trace, call: PlannedCall) -> str:
        """A sentence if the amount is another record's, and the named record has another value in that field; else
        empty.
        """
        if leaf.kind is not ArgumentKind.AMOUNT or leaf.origin is not OriginKind.FACT:
            return ""
        named = _texts_in(call)
        owners = {place.record.identifier if place.record else "" for place in leaf.origins}
        if not owners or "" in owners or owners & named:
            return ""
        own = [one for name in named for one in self._by_record.get((name, leaf.origins[0].field), [])]
        if not own:
            return ""
        return (
            f"{leaf.path} {_format_value(leaf.origins[0].value)} is of {', '.join(sorted(owners))}; "
            f"the record that the call names has {_format_value(own[0])}"
        )

    def _is_share(self, leaf: Trace, call: PlannedCall) -> bool:
        """Whether a number is a share that the task states ("by a third") of a field of the named record.

        Only for amounts and quantities.
        """
        value = number_of(value_at(call.arguments, leaf.path))
        if leaf.kind not in (ArgumentKind.AMOUNT, ArgumentKind.QUANTITY) or value is None or not self._shares:
            return False
        named = _texts_in(call)
        fields = [one for (owner, _), values in self._by_record.items() if owner in named for one in values]
        numbers = [Fraction(number) for one in fields if (number := number_of(one)) is not None]
        return any(_is_share_of(value, number, share) for number in numbers for share in self._shares)

    @cached_property
    def _shares(self) -> tuple[Fraction, ...]:
        """The fractions and percentages that the task and earlier turns state."""
        found: list[Fraction] = []
        for mention in (one for text in self._sources.texts for one in text.numbers):
            percent = mention.unit is not None and mention.unit.measure == "percent"
            for said in mention.values:
                if percent:
                    found.append(Fraction(said) / 100)
                elif isinstance(said, Fraction):
                    found.append(said)
        return tuple(found)

    @cached_property
    def _by_record(self) -> dict[tuple[str, str], list[Json]]:
        """The values that the records show, by identifier and field."""
        found: dict[tuple[str, str], list[Json]] = {}
        for fact in self._facts:
            for field in read_fields(fact.ref, fact.result) if fact.ok else ():
                if field.record is not None:
                    found.setdefault((field.record.identifier, field.name), []).append(field.value)
        return found


def _plain_arguments(arguments: JsonObject, texts: Container[str]) -> JsonObject:
    """A call's arguments without its free texts, in one writing of numbers and days."""
    return {name: _plain_value(value) for name, value in arguments.items() if name not in texts}


def _plain_value(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    days = read_possible_dates(value)
    return days[0].isoformat() if len(days) == 1 else value.strip().casefold()


def _is_named_in(field: ReadField, value: str) -> bool:
    """Whether a field is a text that somebody wrote and that has the identifier."""
    return field.standing is not FieldStanding.STRUCTURED and stands_in(value, str(field.value))


def _texts_in(call: PlannedCall) -> set[str]:
    """The texts and whole numbers among a call's arguments: what may name a record."""
    return {str(given) for given in call.arguments.values() if isinstance(given, str | int)}


def _place_of_named(field: ReadField, named: Container[str]) -> str | None:
    """The path, with a dot behind it, of the record around a field if the call names it; else None."""
    if field.record is None:
        return None
    is_own = field.record.path == field.parent and str(field.value) in named
    return f"{field.record.path}.".lstrip(".") if is_own or field.record.identifier in named else None


def _nights(number: NumberMention, text: str) -> timedelta | None:
    """The length of a stay that a number gives: "1 more night"; else None."""
    is_of_nights = _NIGHTS.match(text, number.end) and number.values[0] in range(1, _LONGEST_TERM)
    return timedelta(days=int(number.values[0])) if is_of_nights else None


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
    number = number_of(value)
    if number is not None:
        return number == number.to_integral_value() and 0 <= number <= _MOST_CHOSEN
    is_code = isinstance(value, str) and whole_form(value) is IdentifierForm.CODE  # other words are no figure
    return not is_code or all(int(digits) <= _MOST_CHOSEN for digits in _DIGITS.findall(str(value)))


def _doubt(leaf: Trace, call: PlannedCall, tool: Tool) -> str:
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


def _origin(leaf: Trace, *, is_untold: bool, against: str = "") -> Origin:
    sources = {OriginKind.FACT: "result", OriginKind.CALCULATED: "value", OriginKind.TASK: "task"}
    free = leaf.free_text_only and leaf.kind in _FOR_A_PERSON
    marks = {"free_text": free, "untold": is_untold, "against": against}
    source = sources.get(leaf.origin, "none")
    return Origin.model_validate({"argument": leaf.path, "source": source, "ref": leaf.where, **marks})


def _is_share_of(value: Decimal, whole: Fraction, share: Fraction) -> bool:
    """Whether the value is the share, what is left without it, or what comes with it, rounded as it is written."""
    half = Fraction(10) ** int(value.as_tuple().exponent) / 2
    exact = (whole * share, whole * (1 - share), whole * (1 + share))
    return any(abs(Fraction(value) - one) <= half for one in exact)


def _format_value(value: Json) -> str:
    return as_text(value)[:_SHOWN]
