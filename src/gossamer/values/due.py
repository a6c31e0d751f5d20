"""When a page is to be visited again, and why then."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.history import History
from gossamer.values.past import Look
from gossamer.values.url import Url


class Why(StrEnum):
    """Stable codes, shown by `why`. Add, never rename."""

    FIRST = "first"
    """Nothing is known of it yet: the interval of the average page."""
    RATE = "rate"
    """What its rate of change and its importance are worth under the budget."""
    SHORTEST = "shortest"
    """It would pay to come sooner; the least interval is kept."""
    LONGEST = "longest"
    """It would pay to come later, or never; no page waits longer than this."""
    EVEN = "even"
    """Every page alike."""
    TURN = "turn"
    """Its turn comes each so many crawls."""
    LINKS = "links"
    """Enough of the pages it links to have changed, or the page that links to it has."""
    LISTED = "listed"
    """A sitemap or a feed says that it has changed since."""
    ASKED = "asked"
    """Its host asks for this much time between two visits to a page."""


IN_WORDS: dict[Why, str] = {
    Why.FIRST: "its rate of change is not known yet: it is revisited like the average page",
    Why.RATE: "due by its estimated rate of change",
    Why.SHORTEST: "it changes faster than the shortest interval between fetches",
    Why.LONGEST: "it rarely changes; this is the longest interval",
    Why.EVEN: "every page is revisited at the same interval",
    Why.TURN: "its regular turn",
    Why.LINKS: "pages it links to, or that link to it, have changed",
    Why.LISTED: "a sitemap or feed says that it has changed since the last fetch",
    Why.ASKED: "its robots.txt sets a minimum time between fetches of a page (Recrawl-delay)",
}


class Due(msgspec.Struct, frozen=True, gc=False):
    at: Instant
    why: Why


class PolicyPage(msgspec.Struct, frozen=True, gc=False):
    """A page as a policy sees it."""

    id: int
    """Its address's id; evenly spread, so that a sample of pages can be taken by it."""
    group: tuple[str, ...] = ()
    """Whose pages it resembles: its site, then its URL template."""
    history: History = History()
    importance: float = 1.0
    """Relative to the average page."""


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A policy's answer to a visit."""

    history: History
    due: Due
    looks_below: bool = False
    """The pages it links to, one step further from the start of the site, are due at once (`tree`)."""


class Sooner(msgspec.Struct, frozen=True):
    """Word to the frontier: a page that waits for its time is to come sooner, or was at least thought of."""

    url: Url
    due_at: Instant | None
    """None: it comes when it comes, and only the look is noted."""
    why: Why = Why.LINKS
    look: Look | None = None
    threshold: int | None = None
    """Of links that must have changed from now on; None: as before."""
