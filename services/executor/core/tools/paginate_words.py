"""The words with which servers speak of parts of a list, in arguments and in answers: a table, and nothing else."""

from collections.abc import Mapping
from enum import StrEnum

from services.executor.core.tools.near_names import words_of


class Word(StrEnum):
    """What a name is about."""

    PAGE = "page"  # a number of a page
    OFFSET = "offset"  # how many rows to pass over
    CURSOR = "cursor"  # an opaque place
    AFTER = "after"  # the id of the last row that is known
    SIZE = "size"  # how many rows one answer holds
    NEXT = "next"  # whatever leads to the part that follows
    MORE = "more"  # whether more follows
    LAST = "last"  # whether this is the last part
    TOTAL = "total"  # rows in the whole list
    COUNT = "count"  # rows, and nobody can say whether in this part or in the whole list
    PAGES = "pages"  # pages in the whole list


_NAMES: Mapping[Word, str] = {
    Word.PAGE: "page,page number,page no,page num,page index,current page,number page",
    Word.OFFSET: "offset,skip,start,start index,start at,from,row offset",
    Word.CURSOR: "cursor,page token,page cursor,continuation token,continuation,marker,scroll id,bookmark,after cursor,"
    "end cursor,cursor after,cursors after,next token,next cursor,next page token,token",
    Word.AFTER: "after,starting after,start after,after id,last id,since id",
    Word.SIZE: "limit,page size,per page,size,page limit,take,top,max results,max items,items per page,size page,first",
    Word.MORE: "has more,has next,has next page,more,more available,more results,is truncated,truncated,"
    "has more results,has more items,more items",
    Word.LAST: "is last,last,is last page,end of list,no more",
    Word.TOTAL: "total,total count,count total,total results,total items,total rows,total records,total entries,"
    "total elements,total hits,total number,number of results,result count,record count,all count",
    Word.COUNT: "count,num found,hits,matches",
    Word.PAGES: "total pages,pages,page count,num pages,number of pages,pages total,last page",
}
_BY_NAME = {name: word for word, names in _NAMES.items() for name in names.split(",")}
_NEXT = frozenset("next page cursor token link url uri href offset marker key start skip continuation id odata".split())
_PART_OF_ANOTHER = frozenset("href url uri number size cursor token value after total".split())
_KEEPERS = frozenset("links link meta pagination paging".split())


def word_of(name: str, parent: str = "") -> Word | None:
    """What a name is about; with its ``parent``, the name of the object that it stands in, where it needs it."""
    own = words_of(name)
    around = [word for word in words_of(parent) if word not in _KEEPERS]
    if own and own[-1] in _PART_OF_ANOTHER and around:
        found = _word([*around, *own]) or _word([*own, *around])
        if found is not None:
            return found
    return _word(own)


def _word(words: list[str]) -> Word | None:
    if "next" in words and _NEXT.issuperset(words):
        return Word.NEXT
    return _BY_NAME.get(" ".join(words))
