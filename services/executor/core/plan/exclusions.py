"""Which identifiers a text names as exceptions: "all but EXP-7"."""

import re
from collections.abc import Collection

from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.vocabulary import has_condition
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools.name_similarity import words_of

NO_OTHERS_REGEX = (  # before "except": "nobody other than Ann Lee" means her
    r"(?P<no_others>\b(?:(?:nobody|none|nothing|no(?:\s+one|\s+other)?)(?:\s+of(?:\s+[^\W\d]+){1,3})?|"
    r"whether\s+or|why|if)\s+)?"
)
_EXCLUSION_PHRASE_PATTERN = re.compile(
    f"(?i){NO_OTHERS_REGEX}"
    r"(?:\b(?:do\s+not|don't|don’t|never|must\s+not|may\s+not|should\s+not)\s+(?!forget|fail|hesitate|skip|miss|omit|leave|"
    r"neglect|delay|lose|let|wait|keep|stop|hold|postpone|worry|mind)(?P<verb>[^\W\d]+)\s+|"
    r"(?:^|[.,;:!?]\s*|\b(?:and|but|or|then|please|to|also|just|you)\s+)leave(?!\s+(?:for|of)\b)\s+|"  # no sick leave
    r"\b(?:except(?:ing)?(?:\s+for)?|excluding|but\s+not|not|other\s+than|apart\s+from|leaving|(?P<omits>skip|spare)|"
    r"(?:all|every\w*|each)\s+(?:[^\W\d]+\s+){0,4}but(?!\s+(?:please\s+)?(?:do|never|must|may|should|leave|keep|skip|spare)\b)|"
    r"with\s+the\s+exception\s+of|save|keep|bis\s+auf|mit\s+Ausnahme\s+von|"
    r"außer|ausser|nicht|sauf|excepté|à\s+l'exception\s+de|salvo|excepto|menos)\s+)(?P<between>(?:[^\W\d]+\s+){0,4})$"
)
_LEFT_ALONE_PATTERN = re.compile(
    r"(?i)(?:\W|\b(?:and|or|und|oder|et|ou|the)\b)*\b(?:alone|out(?!\s+of\b)|aside|untouched|unchanged|as\s+(?:it|they|is)|"
    r"in\s+Ruhe|unverändert|tranquilles?)\b"
)
_NEXT_CLAUSE_PATTERN = re.compile(r"(?i)[,.;:!?](?=\s)|\b(?:and|but|then|und|aber|dann|et|mais|puis)\b")
_WORD_FOR_ALL_OR_REST_PATTERN = re.compile(
    r"(?i)\b(?:all|each|every|others?|rest|remaining|alle[nrs]?|jede\w*|übrige\w*|tous|toutes|autres?|chaque|todos|todas)\b"
)
_BACKWARD_PRONOUN_PATTERN = re.compile(
    r"(?i)\b(?:it|that|this|th[eo]se|them|her|him|ih[mnr]|das|dies\w*|lui)\b(?!\s+(?:is|are)\b)"
)
_POSSESSIVE_PATTERN = re.compile(r"['’]s\b")
_OWN_THING_PATTERN = re.compile(r"(?i)\b(?:hers|his|theirs)\b")
_LIST_SEPARATOR_PATTERN = re.compile(
    r"(?i)(?:\s*,|\s+(?P<and>and|or|und|oder|et|ou|&))\s+(?:(?:and|or|und|oder|et|ou)\s+)?(?:the\s+)?$"
)
_LIST_GOES_ON_PATTERN = re.compile(r"(?i)\W{0,2}\s*(?:,\s|and\b|or\b|und\b|oder\b|et\b|ou\b|&)")
_ARTICLES = frozenset("the den die das le la les el".split())
_LEAVING_VERB_PATTERN = re.compile(r"(?i)\b(?:leav(?:e|ing)|save|keep)\s")
_CLOSING_QUOTES = "\"'»“”’"
_QUOTES = "(\"'«„“‘"
_STAYS_UNCHANGED_PATTERN = re.compile(
    r"(?i)\s+(?:(?:stays?|remains?|keeps?)\b|(?:must|may|should|shall)\s+not\b|mustn't\b|(?:is|are)\s+not\s+to\b|"
    r"excluded\b|nicht(?=\s*(?:[,.;!]|$))|bleibt|bleiben|darf\s+nicht|dürfen\s+nicht|reste|restent|se\s+queda)"
)
_LIST_BEFORE_ID_PATTERN = re.compile(  # each piece of the list has a digit and is matched in one way only
    r"(?i)(?:(?<![\w/.-])(?=[\w/.-]*\d)(?>[\w/.-]+)(?>\s*)(?:[,;&]|(?<=\s)(?:and|or|und|oder|et|ou)(?=\s))(?>\s*))+$"
)
FILLER_WORDS = frozenset(
    "the a for of to from this that those one ones only just with number no der die das den dem für an zu le la les "
    "pour à".split()
)
_WORDS_FOR_ONE_THING = frozenset("one ones those that".split())
CHARACTERS_BEFORE_IDENTIFIER = 160  # characters before an identifier in which the words for it stand


def is_named_as_exception(identifier: str, words_before: str, mentions: Mentions) -> bool:
    """Whether a text names the identifier as an exception: "all but invoice 7".

    ``words_before``: those that may stand before it, such as its field's name.
    """
    allowed_words = FILLER_WORDS | {*words_of(words_before), *singular_words(words_before)}
    for id_match in re.finditer(rf"(?<!\w){re.escape(identifier)}(?!\w)", mentions.text, re.IGNORECASE):
        exclusion = _EXCLUSION_PHRASE_PATTERN.search(text_before_list(mentions.text, id_match.start()))
        words_between = exclusion["between"].split() if exclusion else ()
        singulars = ((singular_words(word) or (word,))[0].casefold() for word in words_between)
        if exclusion and not exclusion["no_others"] and allowed_words.issuperset(singulars):
            return True
        if _STAYS_UNCHANGED_PATTERN.match(mentions.text, id_match.end()):
            return True
    return False


def is_title_excepted(title: str, titles: Collection[str], text: str) -> bool:
    """Whether a text has the title once, as an exception, alone or after others of the ``titles``: "all but Old Mill",
    "leave Mill and Old Mill alone". False if a pronoun after the title points back to it ("and return it").
    """
    places = [place for place in _find_phrase(title, text) if not _is_within_longer_title(title, titles, text, place)]
    if len(places) != 1 or _BACKWARD_PRONOUN_PATTERN.search(text, places[0] + len(title)):
        return False
    before, after = text[: places[0]].rstrip(_QUOTES), text[places[0] + len(title) :]
    following = after
    while joint := _LIST_SEPARATOR_PATTERN.search(before, max(0, len(before) - CHARACTERS_BEFORE_IDENTIFIER)):
        head = before[: joint.start()].rstrip(_CLOSING_QUOTES)
        title_before = max((other for other in titles if head.endswith(other)), key=len, default=None)
        if title_before is None or not (joint["and"] or _LIST_GOES_ON_PATTERN.match(after)):
            break
        before, after = head.removesuffix(title_before).rstrip(_QUOTES), before[joint.start() :]
    exclusion = _EXCLUSION_PHRASE_PATTERN.search(before, max(0, len(before) - CHARACTERS_BEFORE_IDENTIFIER))
    if exclusion is None or not _ARTICLES.issuperset(exclusion["between"].casefold().split()):
        return False
    if exclusion["no_others"] or not _leaves_others_to_act_on(exclusion, following):
        return False
    if not _LEAVING_VERB_PATTERN.search(exclusion[0]):
        return True
    for other in sorted(titles, key=len, reverse=True):  # the rest of the list
        following = following.replace(other, ",")
    return _LEFT_ALONE_PATTERN.match(following) is not None


def is_excepted_by_value(value: str, text: str) -> bool:
    """Whether a text has the value once, and excepts the one thing that has it: "all but the one to Old Mill".

    False where a pronoun points back to that thing, and for "leave the one to Old Mill alone".
    """
    places = [place for place in _find_phrase(value, text) if not _POSSESSIVE_PATTERN.match(text, place + len(value))]
    pronouns = (_BACKWARD_PRONOUN_PATTERN, _OWN_THING_PATTERN)
    if len(places) != 1 or any(pattern.search(text, places[0] + len(value)) for pattern in pronouns):
        return False
    start, end = places[0], places[0] + len(value)
    before = text[max(0, start - CHARACTERS_BEFORE_IDENTIFIER) : start].rstrip(_QUOTES)
    exclusion = _EXCLUSION_PHRASE_PATTERN.search(before)
    if exclusion is None or exclusion["no_others"] or _LEAVING_VERB_PATTERN.search(exclusion[0]):
        return False
    words_between = set(exclusion["between"].casefold().split())
    is_one_thing = not words_between.isdisjoint(_WORDS_FOR_ONE_THING) and words_between.isdisjoint({"only", "just"})
    return is_one_thing and words_between <= FILLER_WORDS and _leaves_others_to_act_on(exclusion, text[end:])


def _find_phrase(phrase: str, text: str) -> list[int]:
    """Where the text has the phrase, as whole words. Most phrases are not in the text, so no pattern is compiled."""
    if phrase not in text:
        return []
    return [match.start() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)]


def _is_within_longer_title(title: str, titles: Collection[str], text: str, place: int) -> bool:
    """Whether the title stands at this place of the text as a piece of a longer one of the ``titles``."""
    longer_titles = (other for other in titles if title in other and title != other)
    return any(text.startswith(other, max(0, place - other.find(title))) for other in longer_titles)


def _leaves_others_to_act_on(exclusion: re.Match[str], following: str) -> bool:
    """Whether an order to do nothing to something ("do not end Old Mill", "skip Old Mill") leaves a rest: another
    clause speaks of all or the others, or has the forbidden verb again. True for every other exclusion.
    """
    verb, before = exclusion["verb"], exclusion.string[: exclusion.start()]
    if not (verb or exclusion["omits"]):
        return True
    clauses = (before, *_NEXT_CLAUSE_PATTERN.split(following, maxsplit=1)[1:])
    is_rest_asked = any(_WORD_FOR_ALL_OR_REST_PATTERN.search(clause) or verb in words_of(clause) for clause in clauses)
    return is_rest_asked and not has_condition(_NEXT_CLAUSE_PATTERN.split(before[-CHARACTERS_BEFORE_IDENTIFIER:])[-1])


def text_before_list(text: str, start: int) -> str:
    """The text before an identifier that begins at ``start``, or before the list around it; at most 160 characters."""
    return _LIST_BEFORE_ID_PATTERN.sub("", text[max(0, start - CHARACTERS_BEFORE_IDENTIFIER) : start].rstrip(_QUOTES))
