"""What the search page asks for beside the answer itself."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gossamer.values.query import Query
from gossamer.values.url import Url
from gossamer.views.words.dictionary import Completion
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.searcher import SameText
from gossamer.web.search.page import Reply, SearchQuestion, Suggest


def no_suggestions(_text: str, _at_most: int) -> Sequence[Completion]:
    return ()


def no_reasons(_query: Query, _url: Url) -> Explanation | None:
    return None


def no_copies(_url: Url) -> Sequence[SameText]:
    return ()


def perhaps(_query: Query) -> bool:
    """For who cannot tell: one must look."""
    return True


async def nowhere(_question: SearchQuestion) -> Reply | None:
    return None


@dataclass(frozen=True, slots=True)
class SearchRooms:
    suggest: Suggest = no_suggestions
    """What a text may be the beginning of; best first."""
    explain: Callable[[Query, Url], Explanation | None] = no_reasons
    """Why a page stands where it stands in an answer; None when it is not in the index."""
    copies: Callable[[Url], Sequence[SameText]] = no_copies
    """Pages with the very text of this one, itself included."""
    is_found: Callable[[Query], bool] = perhaps
    """Whether any page has all that is asked for."""
    elsewhere: Callable[[SearchQuestion], Awaitable[Reply | None]] = nowhere
    """The answer of a process that does nothing but search; None while there is none."""
