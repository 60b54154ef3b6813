"""Sources of values other than a whole field of a record: texts that somebody wrote, and what a value follows from."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import MINYEAR, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from services.executor.core.figures.arguments import (
    FIGURE_KINDS,
    SOURCED_KINDS,
    ArgumentKind,
    FieldContentKind,
    ReadField,
    read_epoch,
)
from services.executor.core.figures.dates import read_compact_day, read_machine_moment, read_possible_dates
from services.executor.core.figures.numbers import NumberMention, is_rounding_of, read_figure
from services.executor.core.figures.trace import OriginKind, TraceSources, read_duration_of_mention, trace_scalar
from services.executor.core.figures.vocabulary import SWAP_WORD_PATTERN, find_names_inside_sentences, find_quoted_texts
from services.executor.core.plan.faults import ArgumentToCheck, CallToCheck, ReadFields
from services.executor.core.plan.stated_values import read_share
from services.executor.core.records.seen_records import is_name_in_text, noun_of_tool, singular_words
from services.executor.core.session.context import TOOL_NAME_OF_FILES
from services.executor.core.session.values import Fact, describe_field_place, is_trusted_place
from services.executor.core.tools.classes import find_nouns_of_identifier
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from shared.domain.exact_json import Json, as_text, loads_object

_FIELD_NAME_SYNONYMS = tuple(
    frozenset(group.split())
    for group in (
        "note remark comment memo annotation notiz bemerkung anmerkung kommentar commentaire remarque",
        "mail email message letter nachricht schreiben courriel lettre",
        "description desc beschreibung details detail",
        "instruction instructions anweisung consigne",
    )
)
_BODY_WORDS = frozenset(
    "body text content html markdown message mail email subject title".split()
)  # of a whole message
_WORDS_OF_TAKING = frozenset(
    "from in per within using following see read follow what whatever aus im laut gemäß von vom dans selon"
    " suivant".split()
)
_WORDS_OF_SAYING = frozenset(
    "say says said ask asks asked state states tell tells name names give gives mention mentions want wants contain"
    " contains list lists demand demands sagt nennt steht enthält verlangt dit indique demande contient".split()
)
_FILE_WORDS = frozenset(
    "attached attachment attaching enclosed file document pdf spreadsheet sheet scan image photo picture screenshot"
    " angehängt anhang anlage datei dokument tabelle joint jointe pièce fichier tableau".split()
)
_WORD_PATTERN = re.compile(r"[^\W\d_]+")
_MOST_WORDS_FROM_REFERENCE = 4  # words before and behind what is taken from, within which it is said so

_HOST_PATTERN = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*://|//)?(?:[^\s/@]+@)?([\w-]+(?:\.[\w-]+)+)(?=[/?#:\s]|$)")
_WORDS_BEFORE_ID = ("no", "nr", "number", "nummer", "id")
_SENTENCE_END_PATTERN = re.compile(r"[.;!?](?=\s|$)|\n")
_LONGEST_ENTRY_ID = 4  # characters of an id that can name nothing but an entry of a record: P2
_FEWEST_DIGITS = 3  # of an id that names a record in any text: shorter ones stand in many texts by chance


class FreeTextSourceCheck:
    """Decides whether a value of a call that stands only in a text which somebody wrote may be taken from it.

    ``user_texts``: the user's own words, which alone can refer to such a text as a source. ``trusted``: patterns over
    reference and path of the fields that the tenant trusts.
    """

    def __init__(
        self,
        sources: TraceSources,
        facts: Sequence[Fact],
        fields: ReadFields,
        user_texts: Sequence[str],
        trusted: Sequence[str],
    ) -> None:
        self._sources = sources
        self._user_texts = user_texts
        self._trusted = trusted
        self._facts, self._fields = {fact.ref: fact for fact in facts}, fields

    def why_refused(self, argument: ArgumentToCheck, call: CallToCheck) -> str:
        """Why an amount, identifier, account or recipient that stands only in free text is refused; empty if it is not.

        It is accepted where the user refers to that text as the source, the tenant trusts the field, or it identifies
        an entry of which the user says a name.
        """
        has_source = not argument.is_only_in_free_text or self.has_allowed_origin(argument.source_fields)
        if has_source or argument.kind not in SOURCED_KINDS or self._is_entry_of_stated_name(argument, call):
            return ""
        return (
            f"{argument.path} ({argument.kind}) stands only in a text that somebody wrote "
            f"({argument.origin_ref}), and the task does not say to take it from there: "
            "take it from a record, or leave it"
        )

    def _is_entry_of_stated_name(self, argument: ArgumentToCheck, call: CallToCheck) -> bool:
        """Whether the argument identifies an entry of a record, beside a name that the part has: "entry P2, Repairs".

        The call and the user name that record. The identifier is too short to name anything outside it, and each
        sentence that was read and that has the name has the identifier, too.
        """
        is_short = len(argument.text) <= _LONGEST_ENTRY_ID and sum(map(str.isdecimal, argument.text)) < _FEWEST_DIGITS
        if argument.kind is not ArgumentKind.IDENTIFIER or not is_short:
            return False
        owners = {field.record.identifier if field.record else "" for field in argument.source_fields}
        is_owner_named = any(text.has_words(owner) for owner in owners for text in call.user_mentions)
        if len(owners) > 1 or not owners <= call.texts or not is_owner_named:
            return False
        names = (*find_quoted_texts(call.part.quote), *find_names_inside_sentences(call.part.quote))
        return any(self._is_name_beside_identifier(name, argument.text) for name in names)

    def _is_name_beside_identifier(self, name: str, identifier: str) -> bool:
        """Whether a read sentence has the name, and each that has it also has the identifier."""
        sentences = [each for each in self._read_sentences if is_name_in_text(name, each)]
        return bool(sentences) and all(is_name_in_text(identifier, each) for each in sentences)

    @cached_property
    def _read_sentences(self) -> Sequence[str]:
        return [each for field in self._fields.all for each in _SENTENCE_END_PATTERN.split(as_text(field.value))]

    def find_revealing_text(
        self, argument_name: str, identifier: str, origins: Sequence[ReadField]
    ) -> tuple[ReadField | None, bool]:
        """``(field, is_listed)``: the free text from which the model can have learned the identifier, None if there is
        none or one is a valid source; and whether data that was not read by this identifier shows it, too.

        A record read by an identifier proves no more than the text that gave it. ``origins``: all fields that show it.
        """
        arguments_by_ref = {ref: loads_object(fact.arguments_json).values() for ref, fact in self._facts.items()}
        asked_refs = {ref for ref, arguments in arguments_by_ref.items() if identifier in map(as_text, arguments)}
        kinds = find_nouns_of_identifier(argument_name, frozenset())
        other_fields = (field for field in self._fields.all if field.fact_id not in asked_refs)
        texts = [field for field in other_fields if _is_text_with_identifier(field, identifier, kinds)]
        data_refs = {origin.fact_id for origin in origins if origin.kind is FieldContentKind.STRUCTURED}
        is_listed = not data_refs <= asked_refs
        may_be_taken = any(self._is_allowed_text(text.fact_id, text.path) for text in texts)
        return texts[0] if texts and not may_be_taken else None, is_listed

    def has_allowed_origin(self, origins: Sequence[ReadField]) -> bool:
        """Whether one of these fields is no free text, or one that the tenant trusts or the user refers to."""
        texts = [origin for origin in origins if origin.kind is FieldContentKind.FREE_TEXT]
        return len(texts) < len(origins) or any(self._is_allowed_text(text.fact_id, text.path) for text in texts)

    def _is_allowed_text(self, ref: str, path: str) -> bool:
        """Whether the user refers to the text as a source, or the tenant trusts its field."""
        is_trusted = is_trusted_place(describe_field_place(ref, path), self._trusted)
        return is_trusted or user_refers_to_text(self._user_texts, path, self._facts[ref].tool)

    def is_address_of_free_text(self, address: str) -> bool:
        """Whether an address, or its host, stands in a text that somebody wrote, and in no valid source."""
        address_trace = trace_scalar("url", {}, address, self._sources)
        if address_trace.origin is not OriginKind.NONE:
            return address_trace.is_only_in_free_text and not self.has_allowed_origin(address_trace.source_fields)
        host = _HOST_PATTERN.match(address)
        if host is None or any(host[1].casefold() in text.casefold() for text in self._user_texts):
            return False
        free_texts = (field for field in self._fields.all if field.kind is FieldContentKind.FREE_TEXT)
        return any(host[1].casefold() in str(field.value).casefold() for field in free_texts)

    @cached_property
    def untrusted_texts(self) -> tuple[str, ...]:
        """All texts of several words that are no valid source, also short ones in a field for data."""
        texts = (field for field in self._fields.all if " " in as_text(field.value).strip())
        return tuple(str(field.value) for field in texts if not self._is_allowed_text(field.fact_id, field.path))


def user_refers_to_text(texts: Iterable[str], path: str, tool: str) -> bool:
    """Whether the user's words (``texts``) refer to a read text as a source: "what its note says", "the amount from the
    mail".

    ``path``: of the read text's field; ``tool``: the read that showed it, whose name says what kind of message it is.
    For a file that came with the task, any word for a file is enough.
    """
    if tool == TOOL_NAME_OF_FILES:
        return any(not _FILE_WORDS.isdisjoint(singular_words(text.casefold())) for text in texts)
    names = _words_for_text_field(path, tool)
    return any(_words_refer_to(tuple(_WORD_PATTERN.findall(text.casefold())), names) for text in texts)


def _words_for_text_field(path: str, tool: str) -> frozenset[str]:
    """The words by which people may refer to a field's text; for a message's body also those for the message."""
    steps = [frozenset(singular_words(step)) for step in re.split(r"[.\[\]]+", path) if step and not step.isdecimal()]
    field_words = steps[-1] if steps else frozenset[str]()
    if field_words & _BODY_WORDS:
        field_words = field_words.union(*steps, noun_of_tool(tool, NO_RECORD_KEYS))
    return field_words.union(*(group for group in _FIELD_NAME_SYNONYMS if group & field_words))


@lru_cache(maxsize=256)
def _words_refer_to(text_words: Sequence[str], names: frozenset[str]) -> bool:
    places = [place for place, word in enumerate(text_words) if names.intersection(singular_words(word) or (word,))]
    return any(_is_reference_at(text_words, place) for place in places)


def _is_reference_at(text_words: Sequence[str], place: int) -> bool:
    """Whether one of the four words before the place is such as "from", or one of the four after it such as "says"."""
    words_before = text_words[max(0, place - _MOST_WORDS_FROM_REFERENCE) : place]
    words_after = text_words[place + 1 : place + 1 + _MOST_WORDS_FROM_REFERENCE]
    return not _WORDS_OF_TAKING.isdisjoint(words_before) or not _WORDS_OF_SAYING.isdisjoint(words_after)


def _is_text_with_identifier(field: ReadField, identifier: str, kinds: Iterable[str]) -> bool:
    """Whether a field is a text that somebody wrote and that contains the identifier.

    A plain number counts only behind a word for its kind, "fee 904" or "no. 904", and not in the text of the record
    with that number.
    """
    if field.kind is FieldContentKind.STRUCTURED:
        return False
    if not (identifier.isdecimal() and len(identifier) >= _FEWEST_DIGITS):
        return is_name_in_text(identifier, str(field.value))
    if field.kind is FieldContentKind.PROSE or (field.record is not None and field.record.identifier == identifier):
        return False
    kind_words = "|".join((*(rf"{re.escape(kind)}s?" for kind in sorted(kinds)), *_WORDS_BEFORE_ID))
    pattern = rf"(?:(?<!\w)(?:{kind_words})[\s:.]*|#\s*)+{identifier}(?!\w|[.,/:-]\d)"
    return re.search(pattern, str(field.value), re.IGNORECASE) is not None


_DAYS_BY_TERM_UNIT = {"days": 1, "weeks": 7}
_LONGEST_TERM_DAYS = 3_660
_WORD_FOR_LATER_PATTERN = re.compile(r"(?i)\s*(?:later|longer|more|after\b|nach hinten|später|plus tard|más tarde)\b")
_WORD_FOR_EARLIER_PATTERN = re.compile(
    r"(?i)\s*(?:earlier|sooner|before|nach vorne?|früher|plus tôt|antes)\b(?!\s+(?:noon|midday|lunch|work))"
)
_POSTPONING_VERB_PATTERN = re.compile(r"(?i)\b(?:postpon\w*|delay\w*|extend\w*|prolong\w*|verläng\w*|retras\w*)\b")
_ADVANCING_VERB_PATTERN = re.compile(
    r"(?i)\b(?:bring\w*\b.*\bforward|advanc\w*|shorten\w*|vorzieh\w*|vorverleg\w*|adelant\w*)\b"
)
# Of its sentence before a length of time: there the verb for its direction stands.
_LOOKBACK_FROM_NUMBER = 200
_SENTENCE_ENDS = ".!?;\n"
_NO_CHARGE_PATTERN = re.compile(
    r"(?i)\b(?:free\s+of\s+(?:charge|cost)|for\s+free|no\s+(?:charge|fee|cost)s?|nothing|kostenlos\w*|kostenfrei\w*|"
    r"unentgeltlich\w*|gratis|nichts|gratuit\w*|rien)\b"
)
_SAME_TIME_PATTERN = re.compile(
    r"(?i)(?<!\bnot at the )\b(?:same|gleiche\w*|\w*selbe\w*|même|misma)\s+"
    r"(?:time|hour|zeit|uhrzeit|stunde|heure|hora)\b"
)
_ARTICLE_AND_TIME_UNIT_PATTERN = re.compile(r"(?i)\b(?:an?|eine[rn]?|une|una)\s+(?:hour|minute|stunde|heure|hora)\b")
_WORD_BEFORE_BOUND_PATTERN = re.compile(
    r"(?i)\b(?:between|before|after|from|than|zwischen|vor|nach|ab|entre|avant|après)\s+$"
)
_NIGHTS_OR_DAYS_PATTERN = re.compile(r"(?i)\s+(?:(?:more|further|extra|additional)\s+)?(?:nights?|days?)\b")


class DerivedValues:
    """What can be derived from the session's texts and the records that were read."""

    def __init__(self, sources: TraceSources) -> None:
        self._sources = sources

    def is_implied(self, argument: ArgumentToCheck, call: CallToCheck) -> bool:
        """Whether an argument ``is_stated_share_or_change``, or is the 0 of something that the texts call free."""
        is_nothing = argument.kind is ArgumentKind.AMOUNT and read_figure(argument.value) == 0
        if is_nothing and any(_NO_CHARGE_PATTERN.search(text.text) for text in self._sources.texts):
            return True
        return self.is_stated_share_or_change(argument, call)

    def is_doubtful(self, argument: ArgumentToCheck, call: CallToCheck) -> bool:
        """Whether the argument is a number, a day or an hour that no source states and that follows from none.

        A number is not doubtful if it is 0 or 1, or the tool's schema gives a maximum for it. An hour is doubtful only
        if ``_has_times_but_no_lengths``.
        """
        if argument.origin is not OriginKind.NONE or argument.kind is ArgumentKind.FREE_TEXT:
            return False
        value, is_date = argument.value, argument.kind is ArgumentKind.DATE
        value = as_text(value) if is_date and read_compact_day(value) else value
        if isinstance(value, str):
            moment = read_machine_moment(value, self._sources.now.tzinfo)
            if moment is not None and moment.day is None:
                return moment.hour is not None and self._has_times_but_no_lengths
            days = self._read_days(value)
            if not is_date or not days or self._is_moment_moved_as_asked(value, call):
                return False
            return not any(self.ends_stated_period(day) or self._is_day_moved_as_asked(day, call) for day in days)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value in (0, 1):
            return False
        has_scale = not {"maximum", "exclusiveMaximum"}.isdisjoint(call.tool.parameters.get(argument.path, {}))
        return not has_scale and not self.is_stated_share_or_change(argument, call)

    @cached_property
    def _has_times_but_no_lengths(self) -> bool:
        """Whether the session's texts state a time of day, or say that it stays the same or is swapped, and state no
        length of time except whole days, from which another time of day could follow. False if a time is a bound:
        "after 5 pm".
        """
        texts = self._sources.texts
        before_hours = (
            text.text[max(0, hour.start - _LOOKBACK_FROM_NUMBER) : hour.start] for text in texts for hour in text.times
        )
        if any(_ARTICLE_AND_TIME_UNIT_PATTERN.search(text.text) for text in texts) or any(
            map(_WORD_BEFORE_BOUND_PATTERN.search, before_hours)
        ):
            return False
        lengths = (read_duration_of_mention(number) for text in texts for number in text.numbers)
        patterns = (_SAME_TIME_PATTERN, SWAP_WORD_PATTERN)
        is_given = any(text.times or any(pattern.search(text.text) for pattern in patterns) for text in texts)
        return is_given and not any(length is not None and length % timedelta(days=1) for length in lengths)

    def _is_day_moved_as_asked(self, day: date, call: CallToCheck) -> bool:
        """Whether the day is a named record's day, moved by a distance that the task states: "3 weeks later"."""
        distances = self._stated_distances
        return bool(distances) and any(day - recorded in distances for recorded in self._days_of_named_records(call))

    def _is_moment_moved_as_asked(self, value: str, call: CallToCheck) -> bool:
        """Whether a day with an hour is a named record's, moved by a distance that the task states: "1 hour later"."""
        moment = self._read_moment(value) if self._stated_distances else None
        if moment is None:
            return False
        recorded_moments = map(self._read_moment, self._texts_of_named_records(call))
        return any(recorded and moment - recorded in self._stated_distances for recorded in recorded_moments)

    @cached_property
    def _stated_distances(self) -> frozenset[timedelta]:
        task = self._sources.task
        return frozenset(step for number in task.numbers for step in _list_signed_durations(number, task.text))

    def has_days_to_move(self, call: CallToCheck) -> bool:
        """Whether the records that the call names have a day from which a distance can be counted."""
        return any(True for _ in self._days_of_named_records(call))

    def _days_of_named_records(self, call: CallToCheck) -> Iterator[date]:
        return (day for text in self._texts_of_named_records(call) for day in self._read_days(text))

    def _texts_of_named_records(self, call: CallToCheck) -> Iterator[str]:
        """Yields the texts and days, as text, in the records whose ids the call has, and in what is nested in them."""
        paths = ((field.fact_id, _path_of_named_record(field, call.texts)) for field in call.fields.all)
        places = {(ref, path) for ref, path in paths if path is not None}
        for field in call.fields.all if places else ():
            epoch = read_epoch(field.field_name, field.value, self._sources.now.tzinfo)
            is_text = epoch or isinstance(field.value, str) or read_compact_day(field.value) is not None
            if is_text and any(ref == field.fact_id and f"{field.path}.".startswith(path) for ref, path in places):
                yield epoch.isoformat() if epoch else as_text(field.value)

    def _read_days(self, value: str) -> Sequence[date]:
        """The day that a value is; two days if day and month could be swapped."""
        moment = read_machine_moment(value, self._sources.now.tzinfo)
        if moment is not None:
            return () if moment.day is None else (moment.day,)
        return read_possible_dates(value)

    def keeps_time_span(self, argument: ArgumentToCheck, call: CallToCheck) -> bool:
        """Whether this moment is as far from one of the call's moments that have a source as two moments of a named
        record are from each other: a meeting was moved and kept its length.
        """
        moment = self._read_moment(argument.value) if argument.origin is OriginKind.NONE else None
        if moment is None:
            return False
        values = (other.value for other in call.scalars if other.origin is not OriginKind.NONE)
        distances = {moment - other for value in values if (other := self._read_moment(value)) is not None}
        fields = call.fields.list_fields_of_records(call.texts)
        moments = [found for field in fields if (found := self._read_moment(field.value))]
        recorded_distances = {later - earlier for later in moments for earlier in moments if later != earlier}
        return not recorded_distances.isdisjoint(distances)

    def _read_moment(self, value: Json) -> datetime | None:
        """The moment that a value with both a day and an hour is; else None."""
        moment = read_machine_moment(value, self._sources.now.tzinfo) if isinstance(value, str) else None
        if moment is None or moment.day is None or moment.hour is None:
            return None
        return datetime.combine(moment.day, moment.hour)

    def ends_stated_period(self, day: date) -> bool:
        """Whether a text gives a period that ends on this day by length and first day: "for a week from 1 April"."""
        for text in self._sources.texts if day.year > MINYEAR + 11 else ():
            terms = ((term, _DAYS_BY_TERM_UNIT.get(term.unit.name if term.unit else "", 0)) for term in text.numbers)
            lengths = {value * days for term, days in terms for value in term.values}
            spans = (
                int(length) - 1 for length in lengths if length == int(length) and 0 < length <= _LONGEST_TERM_DAYS
            )
            if any(day - timedelta(days=span) in text.days for span in spans):
                return True
        return False

    def is_stated_share_or_change(self, argument: ArgumentToCheck, call: CallToCheck) -> bool:
        """Whether an amount or quantity is a share that the task states ("by a third") of a field of a named record, or
        that field less or plus the share.
        """
        value, is_number = read_figure(argument.value), argument.kind in FIGURE_KINDS
        if not is_number or value is None or not self._stated_shares:
            return False
        figures = (read_figure(field.value) for field in call.fields.list_fields_of_records(call.texts))
        wholes = [Fraction(figure) for figure in figures if figure is not None]
        return any(
            _is_share_or_change_by_share(value, whole, share) for whole in wholes for share in self._stated_shares
        )

    @cached_property
    def _stated_shares(self) -> tuple[Fraction, ...]:
        """The fractions and percentages that the session's texts state."""
        mentions = (mention for text in self._sources.texts for mention in text.numbers)
        shares = (read_share(mention, value) for mention in mentions for value in mention.values)
        return tuple(share for share in shares if share)


def _path_of_named_record(field: ReadField, call_texts: Container[str]) -> str | None:
    """The path of the record around a field, with a dot, or empty at the top; None if the call does not name it."""
    if field.record is None:
        return None
    is_own = field.record.path == field.parent and str(field.value) in call_texts
    return f"{field.record.path}.".lstrip(".") if is_own or field.record.identifier in call_texts else None


def _list_signed_durations(number: NumberMention, text: str) -> Sequence[timedelta]:
    """The lengths of time that a number can mean: forward, back, or both if no word near it says which; else empty."""
    length = read_duration_of_mention(number) or _read_length_of_stay(number, text)
    begins = max(text.rfind(mark, 0, number.start) for mark in _SENTENCE_ENDS) + 1
    text_before = text[max(begins, number.start - _LOOKBACK_FROM_NUMBER) : number.start]
    is_later = _WORD_FOR_LATER_PATTERN.match(text, number.end) or _POSTPONING_VERB_PATTERN.search(text_before)
    is_earlier = _WORD_FOR_EARLIER_PATTERN.match(text, number.end) or _ADVANCING_VERB_PATTERN.search(text_before)
    if length is None:
        return ()
    return ([length] if is_later or not is_earlier else []) + ([-length] if is_earlier or not is_later else [])


def _read_length_of_stay(number: NumberMention, text: str) -> timedelta | None:
    """The length of a stay: "1 more night"; else None."""
    is_of_nights = _NIGHTS_OR_DAYS_PATTERN.match(text, number.end) and number.values[0] in range(1, _LONGEST_TERM_DAYS)
    return timedelta(days=int(number.values[0])) if is_of_nights else None


def _is_share_or_change_by_share(value: Decimal, whole: Fraction, share: Fraction) -> bool:
    """Whether the value is the share of the whole, the whole less the share, or the whole plus the share, rounded."""
    return any(is_rounding_of(value, rounded) for rounded in (whole * share, whole * (1 - share), whole * (1 + share)))
