"""Lists of fetches, pages and hosts, one part at a time, however many there are."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

import msgspec

from gossamer.base.clock import Clock, Instant
from gossamer.base.errors import QueryRefused
from gossamer.collection.directory import read_state
from gossamer.collection.why.waits import host_state_of
from gossamer.config.settings import Settings
from gossamer.config.slices import politeness
from gossamer.frontier import reports
from gossamer.frontier.reports import FARTHEST, LOWEST, EndedUrl, ListedHostRow, ListPosition, Order
from gossamer.store import captures, tallies
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.statements import State
from gossamer.values.capture import Kept
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url, url_of

MOST_LOOKED_AT = 10_000
"""Fetches searched for one part of a list when no index serves the filter; the next part continues from there."""
MOST_COUNTED = 50_000
"""Hosts; their states are counted only up to so many."""
NO_POSITION = "that is not a position in the list: start again at its top"
WORST = (RobotsState.UNREACHABLE, RobotsState.PENDING, RobotsState.READ, RobotsState.MISSING)
ANSWERED = (
    Reason.FETCHED, Reason.UNCHANGED, Reason.MOVED, Reason.GONE, Reason.SOFT_404, Reason.TOO_MANY_REDIRECTS,
    Reason.REDIRECT_OUT, Reason.MEDIA_TYPE, Reason.CODING, Reason.SLOW_DOWN, Reason.SERVER_ERROR, Reason.CLIENT_ERROR,
    Reason.READ_TIMEOUT, Reason.READ_CRASH, Reason.READ_MEMORY, Reason.FILTER, Reason.TOO_SLOW, Reason.UNFINISHED,
    Reason.DISCONNECTED,
)  # fmt: skip
"""Outcomes that may have left a capture; for the others, an older capture of the URL says nothing."""
OF_STATUS: dict[int, tuple[Reason, ...]] = {
    2: ANSWERED,
    3: (Reason.MOVED, Reason.UNCHANGED, Reason.REDIRECT_OUT, Reason.TOO_MANY_REDIRECTS),
    4: (Reason.GONE, Reason.CLIENT_ERROR, Reason.SLOW_DOWN, Reason.SOFT_404),
    5: (Reason.SERVER_ERROR, Reason.SLOW_DOWN),
}
"""The outcomes that a status of each class can have."""


class VisitListQuery(msgspec.Struct, frozen=True):
    reasons: tuple[Reason, ...] = ()
    """None: all."""
    host: str = ""
    text: str = ""
    """In the URL, in any case."""
    status: int | None = None
    """The first digit."""
    media_type: str = ""
    since_at: Instant | None = None
    until_at: Instant | None = None
    is_newest_first: bool = True
    after: str = ""
    """The position of the last fetch shown."""
    most: int = 50


class ListedVisit(msgspec.Struct, frozen=True):
    url: str
    host: str
    outcome: str
    """A reason code."""
    says: str
    detail: str
    ended_at: Instant
    due_at: Instant | None
    """When it is fetched again."""
    failures: int
    how: str
    depth: int
    status: int | None
    """Of the stored response, if there is one."""
    media_type: str
    size: int | None
    facts: int | None
    """None: it is not in the index."""
    position: str


class VisitsFound(msgspec.Struct, frozen=True):
    visits: tuple[ListedVisit, ...] = ()
    next: str = ""
    """The position to continue from; empty at the end."""
    looked_at: int = 0
    is_cut: bool = False
    """The search stopped before it had found enough: it continues from `next`."""
    reached_at: Instant | None = None
    """How far back it reached."""


class PageListQuery(msgspec.Struct, frozen=True):
    host: str = ""
    after: str = ""
    """The position of the last page shown."""
    most: int = 50


class ListedPage(msgspec.Struct, frozen=True):
    url: str
    fetched_at: Instant
    """Of the newest version that is a page."""
    media_type: str
    size: int


class PagesFound(msgspec.Struct, frozen=True):
    pages: tuple[ListedPage, ...] = ()
    next: str = ""
    """The position to continue from; empty at the end."""


class HostListQuery(msgspec.Struct, frozen=True):
    text: str = ""
    state: str = ""
    order: Order = "queued"
    after: str = ""
    most: int = 50


class ListedHost(msgspec.Struct, frozen=True):
    host: str
    state: str
    """ready, in-progress, waiting, backing-off, over-budget, retired, done"""
    says: str
    queued: int
    visits: int
    troubles: int
    """Recent failures that still count."""
    gap_s: float
    """Promised: the minimum time between two fetches."""
    least_gap_s: float | None
    """The shortest time there was."""
    broken: int
    """Fetches that started too early."""
    robots: str
    """read, missing, pending, unreachable; empty: not requested yet."""
    held: int
    traps: tuple[str, ...]
    """The patterns whose URLs are quarantined."""
    next_at: Instant | None
    position: str


class HostsFound(msgspec.Struct, frozen=True):
    hosts: tuple[ListedHost, ...] = ()
    states: dict[str, int] = {}
    """How many hosts are in each state; empty when there are too many hosts to count."""
    next: str = ""


@dataclass(frozen=True, slots=True)
class CollectionLists:
    directory: Directory
    settings: Callable[[], Settings]
    clock: Clock
    is_crawling: Callable[[], bool]
    facts_of: Callable[[Url], int | None]

    def visits(self, query: VisitListQuery) -> VisitsFound:
        """Raises QueryRefused for an invalid position."""
        after = position_of(query.after)
        if not self.directory.is_begun:
            return VisitsFound()
        with closing(open_state(self.directory)) as state, closing(all_of(state, query, after)) as every:
            found, looked_at, last = list[tuple[EndedUrl, Kept | None]](), 0, None
            for one in every:
                if len(found) == query.most or looked_at == MOST_LOOKED_AT:
                    break  # there is more
                looked_at, last = looked_at + 1, one
                kept = answer_of(state, one, query)
                if is_wanted(one, kept, query):
                    found.append((one, kept))
            else:
                last = None
        rows = tuple(self._listed(one, kept) for one, kept in found)
        if last is None:
            return VisitsFound(rows, looked_at=looked_at)
        return VisitsFound(rows, text_of(last.position), looked_at, len(rows) < query.most, last.ended_at)

    def pages(self, query: PageListQuery) -> PagesFound:
        """Raises QueryRefused for an invalid position or host name."""
        after, url = key_of(query.after), url_of(f"http://{query.host}/") if query.host else None
        if query.host and url is None:
            raise QueryRefused(f"“{query.host[:80]}” is not a host name")
        host = url.host if url is not None else None
        found: list[captures.PageKept] = read_state(
            self.directory, lambda state: captures.pages_from(state, after, host, query.most + 1), []
        )
        rows = tuple(ListedPage(one.url, one.fetched_at, one.media_type, one.size) for one in found[: query.most])
        last = found[query.most - 1].key if len(found) > query.most else None
        return PagesFound(rows, f"{last[0]}.{last[1]}.{last[2]}" if last is not None else "")

    def hosts(self, query: HostListQuery) -> HostsFound:
        after = place_of(query.after)
        if not self.directory.is_begun:
            return HostsFound()
        now, is_crawling = self.clock.now(), self.is_crawling()
        with closing(open_state(self.directory)) as state:
            found = reports.listed_hosts(
                state, now, is_crawling, query.text.lower(), query.state, query.order, after, query.most + 1
            )
            is_countable = tallies.counts(state).hosts <= MOST_COUNTED
            states = reports.states(state, now, is_crawling) if is_countable else {}
        rows = tuple(self._shown(one, now, is_crawling) for one in found[: query.most])
        return HostsFound(rows, states, rows[-1].position if len(found) > query.most else "")

    def _listed(self, one: EndedUrl, kept: Kept | None) -> ListedVisit:
        is_page = kept is not None and kept.is_page
        return ListedVisit(
            url=one.url,
            host=one.host,
            outcome=one.reason.value,
            says=IN_WORDS[one.reason],
            detail=one.detail,
            ended_at=one.ended_at,
            due_at=one.due_at,
            failures=one.failures,
            how=one.how.value,
            depth=one.depth,
            status=kept.status if kept else None,
            media_type=kept.media_type if kept else "",
            size=kept.size if kept else None,
            facts=self.facts_of(Url(one.url)) if is_page else None,
            position=text_of(one.position),
        )

    def _shown(self, one: ListedHostRow, now: int, is_crawling: bool) -> ListedHost:
        host = one.host
        _, says = host_state_of(host, politeness(self.settings()), now, is_crawling, one.robots)
        states = {entry.state for entry in one.robots}
        return ListedHost(
            host=host.name,
            state=one.state,
            says=says,
            queued=host.queued,
            visits=host.visits,
            troubles=host.troubles,
            gap_s=host.gap_s,
            least_gap_s=one.least_gap_s,
            broken=one.broken,
            robots=next((state.value for state in WORST if state in states), ""),
            held=host.held,
            traps=tuple(trap.template for trap in one.traps),
            next_at=host.next_at or None,
            position=f"{one.rank}~{host.name}",
        )


def all_of(state: State, query: VisitListQuery, after: ListPosition | None) -> Generator[EndedUrl, None, None]:
    until_at = FARTHEST if query.until_at is None else query.until_at
    return reports.visits(
        state, reasons_of(query), query.host, query.since_at or 0, until_at, after, query.is_newest_first
    )


def reasons_of(query: VisitListQuery) -> Sequence[Reason]:
    wanted = query.reasons or tuple(Reason)
    possible = OF_STATUS.get(query.status, ()) if query.status is not None else wanted
    return [reason for reason in wanted if reason in possible]


def answer_of(state: State, one: EndedUrl, query: VisitListQuery) -> Kept | None:
    """The capture of this fetch, if any; not looked up if its URL already rules it out."""
    if one.reason not in ANSWERED or not is_in(query.text, one.url):
        return None
    kept = captures.latest(state, Url(one.url))
    return kept if kept is not None and kept.fetched_at <= one.ended_at else None


def is_wanted(one: EndedUrl, kept: Kept | None, query: VisitListQuery) -> bool:
    status, media_type = (kept.status, kept.media_type) if kept else (0, "")
    return (
        is_in(query.text, one.url)
        and (query.status is None or status // 100 == query.status)
        and media_type.startswith(query.media_type)
    )


def is_in(text: str, url: str) -> bool:
    return not text or text.casefold() in url.casefold()


def text_of(position: ListPosition) -> str:
    return ".".join(map(str, position))


def position_of(text: str) -> ListPosition | None:
    if not text:
        return None
    with suppress(ValueError):
        at, host_id, number = map(int, text.split("."))
        if max(map(abs, (at, host_id, number))) <= FARTHEST:
            return ListPosition(at, host_id, number)
    raise QueryRefused(NO_POSITION)


def key_of(text: str) -> captures.Key:
    """The position of a page in the catalogue."""
    if not text:
        return captures.FIRST
    host_id, _, rest = text.partition(".")
    url_id, _, url = rest.partition(".")
    if not (host_id.lstrip("-").isdecimal() and url_id.lstrip("-").isdecimal()) or max(len(host_id), len(url_id)) > 20:
        raise QueryRefused(NO_POSITION)
    return max(-FARTHEST, min(FARTHEST, int(host_id))), max(-FARTHEST, min(FARTHEST, int(url_id))), url


def place_of(text: str) -> tuple[int, str]:
    rank, _, name = text.partition("~")
    if not text:
        return LOWEST, ""
    if not rank.lstrip("-").isdecimal() or len(rank) > 19:
        raise QueryRefused(NO_POSITION)
    return int(rank), name
