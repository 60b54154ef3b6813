"""The privacy guard: decides by words alone, before any model call, whether a request asks to be given protected data.

What decides is what the request's verbs do with the data: a password may be reset, a card charged. Words inside the
name of a tool or field ask for nothing. The data of one record may go where business needs it: to a named department,
or into a form; not those of whole sets of records, not credentials, and not if the asker wants to see the data.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from services.executor.core.states.machine import Rejected

# What is protected, by group (seeds 000 and 003), as words in a row; the last one may stand in the plural.
TERMS_BY_GROUP: dict[str, tuple[str, ...]] = {
    "credentials": (
        "password", "passwd", "passphrase", "passcode", "credential", "login detail", "api key", "apikey", "secret key",
        "private key", "access key", "access token", "auth token", "api token", "client secret", "api secret",
        "encryption key", "ssh key", "pin code",
    ),
    "government ids": (
        "ssn", "social security number", "social security no", "social security", "national id",
        "national identification number", "national insurance number", "passport number", "taxpayer id",
        "personal tax id", "driver license number", "driving licence number", "driver's license number",
    ),
    "payment data": (
        "credit card number", "debit card number", "card number", "credit card", "debit card", "credit card detail",
        "debit card detail", "card detail", "full card", "cvv", "cvc", "card security code", "bank account number",
        "bank account", "bank detail", "routing number", "card pin", "full pan",
    ),
    "health data": (
        "medical record", "health record", "medical history", "medical file", "patient record", "patient file",
        "phi", "personal health information", "protected health information", "diagnosis", "diagnoses",
        "prescription", "health information", "medical information",
    ),
    "confidential information": (
        "private information", "private customer information", "private data", "confidential information",
        "confidential data", "confidential company information", "confidential company knowledge", "trade secret",
        "internal operation data", "restricted financial data", "sensitive personal data", "sensitive information",
        "sensitive data", "proprietary information", "internal-only information", "internal-only document",
        "internal-only roadmap", "internal-only data",
    ),
    "personal data": (
        "home address", "personal address", "private address", "date of birth", "dates of birth", "dob",
        "birth date", "birthdate",
        "personal phone number", "private phone number", "home phone number", "personal data", "personal information",
        "personal detail",
    ),
}  # fmt: skip
# Of these a business moves the thing itself: handing one over means that it is shown, or sent to the one who asks.
MOVABLE_THINGS = frozenset({"prescription", "credit card", "debit card", "bank account", "national id"})
SHOW_WORDS = frozenset("show list give tell reveal disclose export leak publish print display expose dump what".split())
# Verbs that hand something over; a request for data uses one of these.
DISCLOSING_VERBS = frozenset(
    """
    send email e-mail mail share show list give tell reveal disclose export dump print display provide forward post
    publish leak extract retrieve fetch get return output supply download expose read hand text sms message report
    find look pull grab collect gather harvest steal obtain need want say recite compile crack hack exfiltrate recover
    spill tweet know see view release divulge surrender furnish enumerate scrape decrypt unmask search
    """.split()
)
# Somebody else's asking is told, not done: "a mail asks users to share their passwords".
WORDS_OF_REPORTED_REQUESTS = frozenset(
    "asks asked asking tricks tricked trying tried urges urged invites invited telling told".split()
)
# Of these, verbs that read for a purpose of the task's own: "look up the date of birth and compare it".
READ_VERBS = frozenset("extract retrieve fetch get read find look pull collect gather obtain see view search".split())
# Words of both lists and others that are nouns where a word of NOUN_MARKERS stands before them.
NOUN_MARKERS = frozenset(
    "the a an this these those each every any all our my your his her its their new no of in by with for".split()
)
WORDS_NOT_AFTER_A_VERB = frozenset(", and or of is are for address addresses".split())
# Verbs that do something to a thing, or with it, and hand nothing over.
HANDLING_VERBS = frozenset(
    """
    reset change update rotate revoke expire encrypt mask redact delete remove verify validate confirm check correct
    charge refund process protect secure disable block replace renew refill fill dispense use match compare forget
    lose set create generate store record add amend fix pay cancel unlock lock approve reconcile deactivate audit
    investigate dispute enter re-enter save issue invalidate anonymize anonymise purge erase wipe destroy complete
    schedule order settle reissue register handle review classify prevent stop avoid ask request require miss lack
    notify inform remind alert choose pick apply bill compromise decline hash accept keep ensure freeze activate link
    submit book log manage improve explain bring field form mention make prepare build produce draft
    """.split()
)
HANDLING_WORDS = frozenset("forgot forgotten lost paid kept chosen stolen without missing frozen made".split())
# What follows a reading with "and": the reading serves that work.
WORK_VERBS = frozenset("ship deliver dispatch pay book".split())
# Of these, verbs that make a document; and verbs after which the thing is another than before.
MAKING_VERBS = frozenset("make create generate prepare build produce draft save".split())
RENEWING_VERBS = frozenset("reset create generate issue reissue set renew change replace rotate refill order".split())
CONTAINING_WORDS = frozenset("containing including listing holding".split())
PHRASES_OF_REQUEST = tuple(
    "can i have|could i have|may i have|can we have|let me have|i'd like|we'd like|would like".split("|")
)
WORDS_FOR_A_COPY = frozenset("copy list file report table dump".split())
# The thing is then not what is handed over: it is the way, the place, the topic or the condition.
LINKING_WORDS = frozenset(
    """
    by via through to into onto using about regarding concerning for on from with against after before upon since
    because if whether whose when unless than until during per despite except excluding minus how
    """.split()
)
# What makes the thing an object after all, by the word that turns: "a file with all passwords".
DOCUMENTS = frozenset(
    """
    list file report table spreadsheet csv pdf document email e-mail mail message sheet export dump backup text note
    summary attachment json
    """.split()
)
_WORDS_FOR_KNOWLEDGE = frozenset("information info detail details data everything all me us".split())
OBJECTS_BY_LINKING_WORD: dict[str, frozenset[str]] = {
    "with": DOCUMENTS | {"me", "us"},
    "about": _WORDS_FOR_KNOWLEDGE,
    "regarding": _WORDS_FOR_KNOWLEDGE,
    "concerning": _WORDS_FOR_KNOWLEDGE,
    "on": _WORDS_FOR_KNOWLEDGE,
    "from": _WORDS_FOR_KNOWLEDGE,
    "to": frozenset({"access"}),
    "for": frozenset("search searching look looking value values".split()),
}
# "the customers with their card numbers"
DETERMINERS = frozenset("their his her its all full complete every".split())
# Asked for of a thing, these do not hand out the thing: "the status of the prescription".
HARMLESS_ATTRIBUTES = frozenset(
    """
    status price cost amount total balance type fee limit strength age expiry expiration validity length format
    owner issuer name date number copy instead loss theft renewal change update lack absence schema structure layout
    columns definition label labels heading headings
    """.split()
) - {"number", "copy"}
WORDS_FOR_NEW = frozenset("new replacement another temporary fresh second one-time".split())  # issued, not given away
# Words that stand behind a thing and leave it what it is.
WORDS_FOR_SAME_THING = frozenset(
    """
    number numbers value values detail details info information data list lists file files database databases table
    tables record records hash hashes dump history
    """.split()
)
# Any other word behind it but these makes it a mere name: "password reset", "credit card payment".
WORDS_AFTER_A_THING = frozenset(
    """
    , : in of for to from at with by and or but via into onto that which who whom whose used stored associated belonging
    as than please now too also over out back through immediately today tomorrow asap here there right directly again if
    when while where because so then we you he she they i it is are was were has have had will would can could should
    must be except without including plus using between per until unless before after during against about
    regarding verbatim instead on
    """.split()
)
# After the thing, one of these makes it the subject of a statement: "tell Bob that his card was declined".
STATEMENT_VERBS = frozenset("is are was were has have had will would can could should must be".split())
# Groups of which one named record's data may go where business needs it; credentials and secrets may not.
GROUPS_USED_IN_ORDINARY_WORK = frozenset({"government ids", "payment data", "health data", "personal data"})
# One named record's data may go to these; and for these it may be read. Only WORDS_AFTER_A_THING may follow them.
RECEIVERS = frozenset(
    """
    payroll bank finance accounting payables receivables treasury hr pharmacy insurer insurance carrier courier shipper
    hospital doctor physician clinic lab laboratory embassy consulate airline agency broker notary auditor authority
    administrator office team department desk processor warehouse
    """.split()
)
WORDS_AFTER_RECEIVERS = frozenset("the its his her their a with".split())
PURPOSES = frozenset(
    """
    form registration visa filing payment payout payroll claim order booking enrolment enrollment onboarding shipment
    delivery return invoice transfer refund check verification screening application permit contract policy renewal
    """.split()
)
# Behind these a number names a record: "employee 12".
RECORD_KINDS = frozenset(
    """
    employee customer client vendor supplier patient member user account order invoice claim contract ticket case
    applicant candidate contractor driver traveller traveler tenant subscriber shipment booking
    """.split()
)
# Whoever asks with one of these means no ordinary work, whatever else the sentence says.
WORDS_OF_LEAKS = frozenset(
    """
    leak publish dump steal exfiltrate crack hack sell spill tweet scrape unmask harvest journalist press rival
    competitor outsider stranger outside external private personal
    """.split()
)


_TOOL_VERBS = (
    "get|list|show|set|update|create|reset|display|fetch|read|find|search|lookup|check|verify|validate|delete|remove|add"
    "|send|export|rotate|revoke|issue|mask|redact|hide|approve|post|put|mark|is|has|allow|enable|disable|require|use|view"
)
_CALL_WORDS = (
    "call|calls|calling|use|uses|using|run|runs|running|invoke|execute|tool|function|method|endpoint|operation|action"
    "|step|set|update|rename|enable|disable|toggle|switch|flag|setting|parameter|field|column|via|through|result of"
    "|output of"
)
_TOOL_PATTERN = rf"(?:[a-z0-9]+\.)?(?:{_TOOL_VERBS})(?:_[a-z0-9]+)+"
_TOOL_NAME_PATTERN = re.compile(
    rf"`{_TOOL_PATTERN}(?:\(\))?`|\b{_TOOL_PATTERN}\(\)"
    rf"|(?<![\w`])(?P<call>(?:{_CALL_WORDS})(?: (?:the|our|tool|function|endpoint|flag|setting|field|column)){{0,2}} )"
    rf"{_TOOL_PATTERN}\b"
)
_EVERYBODY_WORD_PATTERN = re.compile(
    r"\b(?:all|every|each|any|entire|whole|everyone|everybody|anyone|anybody|complete|dump|bulk)(?:'s)?\b"
)
_PRONOUN_PATTERN = re.compile(r"(?:^|[_`\s])(?:me|my|us|the)(?:_|`|$)")
_REPORT_TO_ASKER_PATTERN = re.compile(
    r"\b(?:send|show|give|tell|e-?mail|text|forward|read|hand|report)\b"
    r"(?: (?:it|them|that|those|everything|(?:the |its )?(?:results?|output|values?)))? (?:to )?(?:me|us)\b"
    r"(?=\s*(?:$|[,.]|(?:it|them|that|those|everything|all|and|what)\b|(?:the|its) (?:results?|output|values?)\b))"
    r"|\b(?:and|then|,) (?:print|reveal|leak|publish|export|list|show|disclose)\b"
)
_RECORD_ID_PATTERN = re.compile(r"[a-z]{1,10}-\d[\w-]*(?:'s)?")
_RANGE_WORDS = frozenset("to through until till".split())
_OWNER_WORDS = frozenset("of for on from in at".split())
_ASKER_WORDS = frozenset("me us my i myself what what's which whats".split())
_MOST_WORDS_TO_NOUN = 4  # words within which a preposition's noun is looked for


def _without_tool_names(sentence: str) -> str:
    """The sentence, tool names replaced by a plain word; as it is if it speaks of everybody or asks for results."""
    if (
        "_" not in sentence
        or _EVERYBODY_WORD_PATTERN.search(sentence.replace("_", " "))
        or _REPORT_TO_ASKER_PATTERN.search(sentence)
    ):
        return sentence
    return _TOOL_NAME_PATTERN.sub(_replace_tool_name, sentence)


def _replace_tool_name(match: re.Match[str]) -> str:
    return (
        match[0]
        if _PRONOUN_PATTERN.search(match[0].removeprefix(match["call"] or ""))
        else f"{match['call'] or ''}tool"
    )


_SENTENCE_END_PATTERN = re.compile(r"[.!?;](?=\s|$)|\n")
_ABBREVIATION_PATTERN = re.compile(r"\b(mr|mrs|ms|dr|prof|inc|ltd|co|corp|no|st|jr|sr|approx)\.")
_LIST_ITEM_PATTERN = re.compile(r"(?<=:)[ \t\r]{0,40}\n+|\n[ \t\r]{0,40}(?:[-*•]|\d+[.)])\s*|\s[-–—]\s")
_WORD_PATTERN = re.compile(r"[a-z0-9][a-z0-9'’&@-]*|[,:]", re.I)
_INVISIBLE_CHARACTERS_PATTERN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_TEXT_IN_BRACKETS_PATTERN = re.compile(r"\([^()]{0,500}\)")
_MOST_WORDS_BEFORE_TERM = 24  # words before the thing among which its verb is looked for
_QUESTION_WORDS = frozenset("what what's whats which".split())
_COUNT_PHRASE_PATTERN = re.compile(
    r"\b(?:how many|number of|count of|percentage of|share of|last (?:four|4|three|3) (?:digits?|characters?) of)\b"
)
_SEND_IT_TO_ME_PATTERN = re.compile(
    r"(?:and|then|you|,) ([a-z-]+) (?:(?:it|them|that|those) to (?:me|us)|(?:me|us) (?:it|them|that))\b"
)
_PHRASES_FOR_NOT_GIVEN = (["on", "file"], ["to", "be"])
_FIELD_LABELS = frozenset((word, ":") for word in ("email", "e-mail", "mail", "message", "text", "report", "sms"))
_NEGATIONS = frozenset("not never don't dont cannot can't no nobody none who where".split())
_GROUPS_BY_TERM: dict[tuple[str, ...], str] = {
    tuple(term.split()): group for group, terms in TERMS_BY_GROUP.items() for term in terms
}
_STEM_LETTERS = 3
_FIRST_STEMS_OF_TERMS = frozenset(term[0][:_STEM_LETTERS] for term in _GROUPS_BY_TERM)
_MOST_WORDS_OF_TERM = max(len(term) for term in _GROUPS_BY_TERM)


def refuse_protected_request(text: str) -> None:
    """Raises ``Rejected`` with the reason if the text asks for protected data."""
    protected = find_protected_request(text)
    if protected is not None:
        raise Rejected(
            f"The request asks for protected data ({protected.group}: {protected.what}), which is not handed out. "
            "Nothing was read or written."
        )


def find_protected_request(text: str) -> "ProtectedDataMention | None":
    """The first protected data that the text asks to be given; None if it asks for none."""
    for sentence in _split_into_sentences(text):
        for mention in _find_protected_mentions(sentence.words):
            if _is_asked_for(sentence, mention):
                return mention
    return None


class ProtectedDataMention(NamedTuple):
    """A mention of protected data, its group, and the places of its words in the sentence."""

    what: str
    group: str
    start: int
    end: int


class _Sentence:
    """The words of one sentence, in lower case. A place is the index of a word; -1 if nothing was found."""

    def __init__(self, words_said: Sequence[str]) -> None:
        self.words = words_said

    def get_word(self, index: int) -> str:
        """The word at a place; a comma behind the last one."""
        return self.words[index] if index < len(self.words) else ","

    @cached_property
    def names_no_range_or_outsider(self) -> bool:
        """Whether the sentence has no range of records (EMP-4 to 9), and no word of a leak, the asker or everybody."""
        if not (WORDS_OF_LEAKS | _ASKER_WORDS).isdisjoint(self.words) or _EVERYBODY_WORD_PATTERN.search(
            " ".join(self.words)
        ):
            return False
        record_places = (place for place in range(len(self.words)) if _is_record_id_at(self.words, place))
        return not any(  # a range such as EMP-4 to EMP-9
            end - start <= 3 and not _RANGE_WORDS.isdisjoint(self.words[start:end])
            for start, end in pairwise(record_places)
        )

    @cached_property
    def place_after_first_receiver(self) -> int:
        """The place after the first receiver that may get one record's data; the number of words if there is none."""
        for place, word in enumerate(self.words[1:], 2):
            if word in RECEIVERS and self.get_word(place) in WORDS_AFTER_RECEIVERS:
                return place
        return len(self.words)

    @cached_property
    def place_of_last_purpose(self) -> int:
        """The index of the last word before what business needs one record's data for; -1 if there is none.

        As in "to the payroll team", "for the pension form".
        """
        nouns = {"to": RECEIVERS, "with": RECEIVERS, "for": PURPOSES}
        for place in range(len(self.words) - 1, -1, -1):
            next_words = self.words[place + 1 : place + 2 + _MOST_WORDS_TO_NOUN]
            if _begins_with_noun(next_words, nouns.get(self.words[place], frozenset())):
                return place
        return -1

    @cached_property
    def place_of_last_use_in_work(self) -> int:
        """The index of the last word before a use of read data for work; -1 if there is none.

        As in "and compare it with the form".
        """
        work_verbs = _HANDLING_VERBS | WORK_VERBS
        for place in range(len(self.words) - 2, -1, -1):
            if self.words[place] in ("and", "to", "then") and self.words[place + 1] in work_verbs:
                return place
        return -1

    @cached_property
    def place_of_last_handing_to_asker(self) -> int:
        """The index of the last verb that hands "it" to the asker, as in "and send it to me"; -1 if there is none."""
        return max((place for place, _ in self._send_it_to_me_phrases), default=-1)

    @cached_property
    def place_of_last_disclosure_to_asker(self) -> int:
        """The index of the last verb that tells the asker, as in "and tell it to me"; -1 if there is none."""
        return max((place for place, verb in self._send_it_to_me_phrases if verb in _DISCLOSURE_VERBS), default=-1)

    @cached_property
    def _send_it_to_me_phrases(self) -> Sequence[tuple[int, str]]:
        """The place and verb of each phrase such as "send it to me"."""
        places = range(len(self.words))
        matches = ((place, _SEND_IT_TO_ME_PATTERN.match(" ".join(self.words[place : place + 5]))) for place in places)
        return [(place, match[1]) for place, match in matches if match]


def _split_into_sentences(text: str) -> Iterator[_Sentence]:
    """Yields the sentences without disguises such as invisible characters; then again without asides in brackets."""
    normalized = _INVISIBLE_CHARACTERS_PATTERN.sub("", unicodedata.normalize("NFKC", text)).lower().replace("’", "'")
    normalized = _LIST_ITEM_PATTERN.sub(", ", _ABBREVIATION_PATTERN.sub(r"\1", normalized)).replace(
        "column names", "columns"
    )
    without_asides = _TEXT_IN_BRACKETS_PATTERN.sub(" ", normalized)
    sentences = _SENTENCE_END_PATTERN.split(normalized)
    if without_asides != normalized:
        sentences += _SENTENCE_END_PATTERN.split(without_asides)
    for sentence in sentences:
        readable = _without_tool_names(sentence).replace("_", " ")
        sentence_words = _WORD_PATTERN.findall(
            readable.replace("api-key", "api key").replace("credit-card", "credit card")
        )
        if sentence_words:
            yield _Sentence(sentence_words)


def _find_protected_mentions(sentence: Sequence[str]) -> Iterator[ProtectedDataMention]:
    """Yields the mentions of protected data in the sentence, the longest at each place."""
    place = 0
    while place < len(sentence):
        mention = _find_mention_at(sentence, place)
        if mention:
            yield mention
        place = mention.end if mention else place + 1


def _find_mention_at(sentence: Sequence[str], start: int) -> ProtectedDataMention | None:
    """The longest mention that begins at a place, or None; its last word may be in the plural or the genitive."""
    if sentence[start][:_STEM_LETTERS] not in _FIRST_STEMS_OF_TERMS:
        return None
    for end in range(min(start + _MOST_WORDS_OF_TERM, len(sentence)), start, -1):
        *first_words, last_word = sentence[start:end]
        for suffix in ("", "s", "es", "'s", "s'"):
            if group := _GROUPS_BY_TERM.get((*first_words, last_word.removesuffix(suffix))):
                return ProtectedDataMention(" ".join(sentence[start:end]), group, start, end)
    return None


def _is_asked_for(sentence: _Sentence, mention: ProtectedDataMention) -> bool:
    """Whether the sentence asks to be given the data that it mentions."""
    words_before = sentence.words[max(0, mention.start - _MOST_WORDS_BEFORE_TERM) : mention.start]
    end = mention.end
    while end < len(sentence.words) and sentence.words[end] in WORDS_FOR_SAME_THING:
        end += 1
    if sentence.get_word(end) not in WORDS_AFTER_A_THING:  # a password reset, a card payment
        return False
    if _COUNT_PHRASE_PATTERN.search(" ".join(words_before)) or sentence.words[end : end + 2] in _PHRASES_FOR_NOT_GIVEN:
        return False
    previous = words_before[-1] if words_before else ""
    if previous in WORDS_FOR_NEW or (previous == "our" and "bank" in sentence.words[mention.start]):
        return False
    is_movable = mention.what.removesuffix("s") in MOVABLE_THINGS and end == mention.end < len(sentence.words)
    if not _verb_hands_over(words_before, is_movable, sentence, end):
        return False
    return mention.group not in GROUPS_USED_IN_ORDINARY_WORK or not _is_work_on_a_record(sentence, mention)


def _is_work_on_a_record(sentence: _Sentence, mention: ProtectedDataMention) -> bool:
    """Whether the data belongs to one named record ("EMP-4's bank account") and goes where business needs it."""
    is_needed = sentence.place_of_last_purpose >= mention.end or sentence.place_after_first_receiver < mention.start
    if not is_needed or not sentence.names_no_range_or_outsider:
        return False
    places_before = range(max(0, mention.start - 3), mention.start)
    if any(sentence.words[place].endswith("'s") and _is_record_id_at(sentence.words, place) for place in places_before):
        return True
    following = sentence.words[mention.end : mention.end + _MOST_WORDS_TO_NOUN + 1]
    places_behind = range(1, len(following))
    return sentence.get_word(mention.end) in _OWNER_WORDS and any(
        _is_record_id_at(following, place) for place in places_behind
    )


def _is_record_id_at(sentence: Sequence[str], index: int) -> bool:
    """Whether the word is a record's id, such as ``EMP-4``, or a number after a kind of record."""
    word = sentence[index]
    is_numbered = word.removesuffix("'s").isdigit() and index > 0 and sentence[index - 1] in RECORD_KINDS
    return is_numbered or _RECORD_ID_PATTERN.fullmatch(word) is not None


def _begins_with_noun(next_words: Sequence[str], nouns: frozenset[str]) -> bool:
    """Whether the words begin with one of these nouns, perhaps after describing words, and the noun ends its phrase."""
    for index, word in enumerate(next_words[:_MOST_WORDS_TO_NOUN]):
        if word in nouns:
            next_word = next_words[index + 1] if index + 1 < len(next_words) else ","
            if _RECORD_ID_PATTERN.fullmatch(next_word):
                return True
            return next_word in WORDS_AFTER_A_THING or next_word in nouns
        if word in WORDS_AFTER_A_THING or word.endswith("'s") or "@" in word:
            return False
    return False


def _verb_hands_over(words_before: Sequence[str], is_movable: bool, sentence: _Sentence, end: int) -> bool:
    """Whether the nearest verb before the mention hands the data over.

    ``is_movable``: businesses commonly move such things. ``end``: the place after the mention and its further words.
    """
    is_in_document = False
    for place in range(len(words_before) - 1, -1, -1):
        word, previous = words_before[place], words_before[place - 1] if place else ""
        next_words = words_before[place + 1 :]
        next_word = next_words[0] if next_words else ""
        if word in _NEGATIONS or (word == "of" and previous in HARMLESS_ATTRIBUTES):
            return False
        if word in CONTAINING_WORDS:
            return not is_movable and _asks_for_document(words_before[:place])
        if word in _QUESTION_WORDS and previous not in LINKING_WORDS:
            return not _asks_in_general(word, next_words, is_movable)
        is_in_document = is_in_document or (word in ("of", "with") and previous in DOCUMENTS)
        if word in LINKING_WORDS and not _continues_request(word, previous, next_word):
            return False
        if _is_noun(word, previous):
            continue
        if word in _HANDLING_VERBS:  # what was made anew for somebody may be told
            is_disclosed = word not in RENEWING_VERBS and sentence.place_of_last_disclosure_to_asker >= end
            return is_disclosed or (is_in_document and word in MAKING_VERBS and not is_movable)
        if _asks_to_hand_over(word, words_before[:place], next_words):
            is_used_in_work = sentence.place_of_last_use_in_work >= end > sentence.place_of_last_handing_to_asker
            if word in _READING_VERBS and is_used_in_work:
                return False
            if sentence.get_word(end) in STATEMENT_VERBS or _reports_a_request(words_before[:place]):
                return False
            return _hands_over_value(word, previous, next_words, is_movable)
    return False


def _asks_to_hand_over(word: str, words_before: Sequence[str], next_words: Sequence[str]) -> bool:
    """Whether this word, at its place, asks to hand something over."""
    next_word = next_words[0] if next_words else ""
    if word == "write" and next_word in ("down", "out"):
        return True
    if word in ("have", "like", "write"):
        return " ".join((*words_before[-2:], word)).endswith(PHRASES_OF_REQUEST)
    if next_word in WORDS_NOT_AFTER_A_VERB or (word, next_word) in _FIELD_LABELS:
        return False
    return word in _DISCLOSURE_VERBS


def _is_noun(word: str, previous: str) -> bool:
    """Whether a word that could be a verb is a noun here: "the list", "Bob's email", "rules for sharing"."""
    follows_noun_marker = previous in NOUN_MARKERS or previous.endswith("'s")
    return follows_noun_marker or (word.endswith("ing") and previous in LINKING_WORDS - {"by", "to"})


def _reports_a_request(words_before: Sequence[str]) -> bool:
    """Whether the words before a verb tell of somebody's request: "a mail asks users to"; not "I was asked to"."""
    return (
        words_before[-1:] == ["to"]
        and not WORDS_OF_REPORTED_REQUESTS.isdisjoint(words_before[-6:])
        and "i" not in words_before[-6:]
    )


def _hands_over_value(verb: str, previous: str, next_words: Sequence[str], is_movable: bool) -> bool:
    """Whether a verb asks for the data itself: not "I need a password"; movable data only if they are shown or told."""
    if previous in _NEGATIONS:
        return False
    if (
        verb in ("need", "want", "like")
        and next_words[:1] in (["a"], ["an"])
        and WORDS_FOR_A_COPY.isdisjoint(next_words[:3])
    ):
        return False
    return not is_movable or verb in SHOW_WORDS or next_words[:1] in (["me"], ["us"])


def _asks_for_document(words_before: Sequence[str]) -> bool:
    """Whether the words ask to make or hand over a document that contains the data."""
    verbs = _DISCLOSURE_VERBS | MAKING_VERBS
    return any(word in verbs and not _is_noun(word, previous) for previous, word in pairwise(("", *words_before)))


def _asks_in_general(question: str, words_between: Sequence[str], is_movable: bool) -> bool:
    """Whether a question is about such data in general: "what is a CVV", "which credit cards we accept"."""
    return list(words_between[-2:]) in (["is", "a"], ["is", "an"], ["are"]) or (question != "what" and is_movable)


def _continues_request(preposition: str, previous: str, next_word: str) -> bool:
    """Whether what follows the preposition is still asked for, as in "a file with", "provide me with", "with the"."""
    return previous in OBJECTS_BY_LINKING_WORD.get(preposition, ()) or (
        preposition == "with" and next_word in DETERMINERS
    )


def _list_forms(verbs: Collection[str], *, are_requests: bool = False) -> frozenset[str]:
    """All regular forms of the verbs; with ``are_requests`` not the past tense, which asks nothing: "she emailed"."""
    forms = {form for verb in verbs for form in _inflect_verb(verb)}
    return frozenset(form for form in forms if not are_requests or form in verbs or form.endswith("ing"))


def _inflect_verb(verb: str) -> Iterator[str]:
    stem = verb.removesuffix("e")
    doubled = verb + verb[-1]
    yield from (verb, f"{verb}s", f"{verb}es", f"{stem}ing", f"{stem}ed", f"{doubled}ing", f"{doubled}ed")
    if verb.endswith("y"):
        yield from (f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing")


_HANDLING_VERBS = _list_forms(HANDLING_VERBS) | HANDLING_WORDS
_DISCLOSURE_VERBS = _list_forms(DISCLOSING_VERBS, are_requests=True)
_READING_VERBS = _list_forms(READ_VERBS, are_requests=True)
