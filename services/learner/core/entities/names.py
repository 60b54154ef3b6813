"""Names of companies, people and products, by what stands around them: no list of names, no model."""

import re
from collections.abc import Iterator

from services.learner.core.entities.dates import months
from services.learner.core.entities.kinds import EntityKind, FoundEntity

_CAPITAL = r"(?:[A-ZÀ-ÖØ-ÞŁŚŽČĆŠĐŻ][\w&'’-]*|\d[A-Za-z]\w*)"
_NAME = rf"{_CAPITAL}(?:[ ](?:&[ ]|and[ ]|de[ ]|van[ ]|von[ ])?{_CAPITAL})"  # a count of further words follows it
_LEGAL = (
    r"(?:Inc|Incorporated|Ltd|Limited|LLC|LLP|PLC|plc|Corp|Corporation|Company|Co|GmbH(?: & Co\.? KG)?|AG|KG|OHG|SE|eG|"
    r"S\.A\.S|SAS|SARL|S\.A\.R\.L|S\.A|SA|S\.p\.A|SpA|S\.r\.l|Srl|S\.L|SL|Lda|Ltda|B\.V|BV|N\.V|NV|Oyj|Oy|AB|A/S|ApS|ASA|AS|"
    r"Pty Ltd|Pvt Ltd|Pte Ltd|Sp\. z o\.o|S\.r\.o|s\.r\.o|a\.s|Kft|Zrt|K\.K|KK|Sdn Bhd|Bhd|Group|Holdings?)"
)
_COMPANY = re.compile(rf"(?<!\w)(?P<name>{_NAME}{{0,4}}?),?[ ](?P<legal>{_LEGAL})(?![\w])")
_LABELLED = re.compile(
    rf"(?i:\b(?:vendor|supplier|customer|client|company|payee|merchant|provider|manufacturer|account name)(?: name)?)"
    rf"(?:\s*[:=]\s*|\s+)(?P<name>{_NAME}{{0,3}})"
)
_DEALT_WITH = re.compile(
    r"(?i:\b(?:invoices?|bills?|quotes?|offers?|orders?|contracts?|payments?|deliver(?:y|ies)|statements?|purchases?|credits?))\b"
    rf"[^.;:\n]{{0,40}}?\b(?:from|with|by|of|to)[ ](?P<name>{_NAME}{{0,3}})(?!\w|-\d)"
)
_TITLED = re.compile(
    r"(?<!\w)(?P<title>Mrs?|Ms|Miss|Dr|Prof|Sir|Herr|Frau|Mme|Mlle|Monsieur|Madame|Sra?|Sig|Señora?|Dhr|Mevr)\.?[ ]"
    rf"(?P<name>{_NAME}{{0,2}})"
)
_IN_A_ROLE = re.compile(
    r"(?i:\b(?:employee|manager|approver|requester|requestor|contact|colleague|applicant|director|accountant|owner|"
    r"(?:submitted|approved|requested|signed|reported|paid|filed|raised) by|on behalf of))(?:\s*[:=]\s*|\s+)"
    rf"(?P<name>{_NAME}{{1,2}})"
)
_PRODUCT = re.compile(
    rf"(?<!\w)(?P<name>{_NAME}{{0,2}}?[ ]"
    r"(?:Plan|Tier|Edition|Suite|Licen[cs]e|Package|Subscription|Module|Bundle))(?!\w)"
)
# What begins a sentence or a line in capitals and belongs to no name.
_NO_NAME = frozenset(
    """
    a an the this that these those our your their his her its my for from by of to with on in at and or if please
    when add adjust allocate analyze apply approve archive ask assess assign audit authorize bill book calculate
    cancel charge check clear close collect compare complete compute confirm contact convert create credit debit
    decide delete deny determine downgrade draft email escalate evaluate execute extend file find fix flag forward
    freeze generate get give grant handle help hold inform initiate inspect invoice issue list log look mail make
    mark match migrate move notify offboard onboard open order pay pause place post prepare process procure propose
    provide purchase pull push quote raise read recalculate receive reconcile record refund register reject remind
    remove renew report request reset resolve restore review revoke run schedule send set settle show sign split
    stop submit summarize suspend tell terminate transfer unlock update upgrade use validate verify void waive what
    which who why how where wire withdraw write customer client vendor supplier company invoice employee manager
    payment purchase dear hello hi mr mrs ms miss dr prof sir herr frau mme mlle re regarding yes no not all each
    every any some new old amount total date due net vat tax
    """.split()
)
_LONGEST = 60
_REFERENCE = re.compile(r"[A-Z]{1,6}-?\d[\w-]*")


def names(text: str) -> Iterator[FoundEntity]:
    for match in _PRODUCT.finditer(text):
        yield from _find_name(EntityKind.PRODUCT, match.start("name"), match["name"])
    for match in _COMPANY.finditer(text):
        yield from _company(match)
    for pattern, kind in (
        (_TITLED, EntityKind.PERSON),
        (_IN_A_ROLE, EntityKind.PERSON),
        (_LABELLED, EntityKind.VENDOR),
        (_DEALT_WITH, EntityKind.VENDOR),
    ):
        for match in pattern.finditer(text):
            yield from _find_name(kind, match.start("name"), match["name"])


def short_name(value: str) -> str:
    """A company's name without its legal form."""
    found = re.fullmatch(rf"(?P<name>.+?),?[ ]{_LEGAL}\.?", value)
    return found["name"] if found else value


def _company(match: re.Match[str]) -> Iterator[FoundEntity]:
    for found in _find_name(EntityKind.VENDOR, match.start("name"), match["name"]):
        legal = match["legal"]
        yield found._replace(value=f"{found.value} {legal}", end=match.end())


def _find_name(kind: EntityKind, start: int, written: str) -> Iterator[FoundEntity]:
    """The name without words at its ends that belong to the sentence; nothing where nothing is left."""
    words = written.split(" ")
    while words and _is_no_name(words[0]):
        start += len(words.pop(0)) + 1
    while words and _is_no_name(words[-1]):
        words.pop()
    name = " ".join(words).rstrip("'’-&")
    if name and len(name) <= _LONGEST and not _REFERENCE.fullmatch(name) and any(map(str.isalpha, name)):
        bare = name.removesuffix("'s").removesuffix("’s")
        yield FoundEntity(kind, bare, " ".join(bare.casefold().split()), start, start + len(bare))


def _is_no_name(word: str) -> bool:
    plain = word.casefold().strip("'’-&,")
    return plain in _NO_NAME or plain in months() or _REFERENCE.fullmatch(word) is not None
