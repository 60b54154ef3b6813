"""Whether the words of a task set a condition, or leave it to what is found how much there is to do."""

import re

_CONDITION = re.compile(
    r"\b(?:if|unless|when|whenever|once|only|until|provided|otherwise|except|whether|where|wherever|should|as long as|"
    r"in case|as soon as|depending|"
    r"wenn|falls|sofern|sobald|nur|solange|ob|si|sauf|seulement|lorsque|quand|cuando|siempre|solo|sólo|salvo|se)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:all|any|anything|anyone|each|every|everything|everyone|whatever|whichever|those|who|whose|which|"
    r"that (?:is|are|has|have|was|were|do|does)|necessary|needed|"
    r"alle|allen|aller|jede|jeden|jedes|welche|tous|toutes|chaque|todos|todas|cada)\b",
    re.IGNORECASE,
)


def has_condition(text: str) -> bool:
    """Whether a text says when something is to be done, and when not."""
    return _CONDITION.search(text) is not None


def may_come_to_nothing(text: str) -> bool:
    """The same, or whether it speaks of things that there may be none of: "every open claim", "those who paid"."""
    return has_condition(text) or _OPEN.search(text) is not None
