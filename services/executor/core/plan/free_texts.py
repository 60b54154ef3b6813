"""Values that stand only in a text that somebody wrote: when such a text is a valid source, and when it is not."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from services.executor.core.figures.arguments import SOURCED_KINDS, ArgumentKind, FieldContentKind, ReadField
from services.executor.core.figures.trace import OriginKind, TraceSources, trace_scalar
from services.executor.core.figures.vocabulary import find_names_inside_sentences, find_quoted_texts
from services.executor.core.plan.faults import ArgumentToCheck, CallToCheck, ReadFields
from services.executor.core.records.seen_records import is_name_in_text, noun_of_tool, singular_words
from services.executor.core.session.context import TOOL_NAME_OF_FILES
from services.executor.core.session.values import Fact, describe_field_place, is_trusted_place
from services.executor.core.tools.classes import find_nouns_of_identifier
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from shared.domain.exact_json import as_text, loads_object

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
        self._sources, self._user_texts, self._trusted = sources, user_texts, trusted
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
        if argument.kind is not ArgumentKind.IDENTIFIER or sum(map(str.isdecimal, argument.text)) >= _FEWEST_DIGITS:
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
