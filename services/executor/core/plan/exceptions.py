"""Which identifiers a text names as exceptions: "all but EXP-7"."""

import re

from services.executor.core.figures.mentions import Mentions
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools.name_similarity import words_of

_EXCLUDES = re.compile(
    r"(?:\b(?:do\s+not|don't|don’t|never|must\s+not|may\s+not|should\s+not)\s+(?!forget|fail|hesitate|skip|miss|omit|leave|"
    r"neglect|delay|lose|let|wait|keep|stop|hold|postpone|worry|mind)[^\W\d]+\s+|"
    r"(?:^|[.,;:!?]\s*|\b(?:and|but|or|then|please|to|also|just|you)\s+)leave(?!\s+(?:for|of)\b)\s+|"  # no sick leave
    r"\b(?:except(?:ing)?(?:\s+for)?|excluding|(?:all|every\w*|each)\s+(?:[^\W\d]+\s+){0,4}but|but\s+not|not|other\s+than|apart\s+from|leaving|skip|spare|"
    r"with\s+the\s+exception\s+of|save|keep|bis\s+auf|mit\s+Ausnahme\s+von|"
    r"außer|ausser|nicht|sauf|excepté|à\s+l'exception\s+de|salvo|excepto|menos)\s+)(?P<between>(?:[^\W\d]+\s+){0,4})$",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\s+(?:(?:stays?|remains?|keeps?)\b|(?:must|may|should|shall)\s+not\b|mustn't\b|(?:is|are)\s+not\s+to\b|"
    r"excluded\b|nicht(?=\s*(?:[,.;!]|$))|bleibt|bleiben|darf\s+nicht|dürfen\s+nicht|reste|restent|se\s+queda)",
    re.IGNORECASE,
)
_LIST_BEFORE_ID = re.compile(  # each piece of the list has a digit and is matched in one way only
    r"(?:(?<![\w/.-])(?=[\w/.-]*\d)(?>[\w/.-]+)(?>\s*)(?:[,;&]|(?<=\s)(?:and|or|und|oder|et|ou)(?=\s))(?>\s*))+$",
    re.IGNORECASE,
)
FILLER_WORDS = frozenset(
    "the a for of to from this that those one ones only just with number no der die das den dem für an zu le la les "
    "pour à".split()
)
LOOKED_BACK = 160  # characters before an identifier in which the words for it stand


def is_named_as_exception(text: str, name: str, mentions: Mentions) -> bool:
    """Whether ``mentions`` name the identifier ``text`` as an exception. ``name``: words that may stand before it, such
    as its field's: "all but invoice 7".
    """
    allowed_words = FILLER_WORDS | {*words_of(name), *singular_words(name)}
    for id_match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", mentions.text, re.IGNORECASE):
        exclusion = _EXCLUDES.search(text_before_list(mentions.text, id_match.start()))
        words_between = exclusion["between"].split() if exclusion else ()
        singulars = ((singular_words(word) or (word,))[0].casefold() for word in words_between)
        if exclusion and allowed_words.issuperset(singulars):
            return True
        if _STAYS.match(mentions.text, id_match.end()):
            return True
    return False


def text_before_list(text: str, start: int) -> str:
    """The words before an identifier that begins here, or before the list in which it stands."""
    return _LIST_BEFORE_ID.sub("", text[max(0, start - LOOKED_BACK) : start].rstrip("\"'«„“‘("))
