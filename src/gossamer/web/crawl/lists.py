"""Lists of the crawl: every fetched URL, every host, every page; with filters, and as CSV."""

from collections.abc import Callable, Generator, Sequence
from typing import Annotated, ClassVar, Literal, TypeVar, cast, get_args
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer.base.clock import DAY, SECOND, Instant, from_words, in_words
from gossamer.base.errors import GossamerError, QueryRefused
from gossamer.collection.collection import Collection
from gossamer.collection.control import HostAction
from gossamer.collection.lists import HostListQuery, HostsFound, PageListQuery, PagesFound, VisitListQuery, VisitsFound
from gossamer.frontier.reports import STATES, Order
from gossamer.values.format import csv_line
from gossamer.values.outcome import GROUP_OF, GROUPS, Reason
from gossamer.web.crawl.forms import Fields, Notices, add_change, field
from gossamer.web.responses import Show
from gossamer.web.routes import CSV, Routes, answers_with
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream

ROWS_AT_ONCE = 500
"""Rows of a CSV file read in one query."""
LATEST = 253_402_300_799 * SECOND
"""The end of the year 9999, the last one datetime knows."""
HEADINGS = {
    "found": "Fetched",
    "redirected": "Redirected",
    "missing": "Gone",
    "refused": "Refused by rules",
    "failed": "Failed",
    "unread": "Stored, not read",
}
BADGES = {"found": "good", "redirected": "calm", "missing": "idle", "refused": "warn", "failed": "bad", "unread": "bad"}
TYPES = ("text/html", "application/xhtml+xml", "application/json", "application/pdf", "text/plain", "application/xml")
COLUMNS = (
    "ended_at", "url", "outcome", "says", "detail", "status", "media_type", "size", "facts", "depth", "how", "failures",
    "due_at",
)  # fmt: skip
HOST_BADGES = {
    "in-progress": "good", "ready": "good", "waiting": "calm", "backing-off": "warn", "over-budget": "warn",
    "retired": "bad", "done": "idle",
}  # fmt: skip
HOST_ORDERS: dict[str, str] = {
    "queued": "most waiting",
    "visits": "most fetched",
    "troubles": "most failures",
    "held": "most quarantined",
    "gap": "longest gap",
    "next": "next fetch first",
    "name": "name",
}
ROBOTS = {
    "": "not requested yet",
    "read": "read",
    "missing": "none",
    "pending": "has moved",
    "unreachable": "cannot be read",
}
HOST_COLUMNS = (
    "host", "state", "says", "queued", "visits", "troubles", "gap_s", "least_gap_s", "broken", "robots", "held",
    "next_at",
)  # fmt: skip
Words = Annotated[str, Meta(max_length=2048)]
Most = Annotated[int, Meta(ge=1, le=1000)]
Sort = Literal["newest", "oldest"]
State = Literal["", "in-progress", "ready", "waiting", "backing-off", "over-budget", "retired", "done"]


class ListFilter(msgspec.Struct, frozen=True):
    """The parameters of a list, which links on its page change one by one."""

    page: ClassVar[str]

    def href(self, path: str = "", **changes: object) -> str:
        """Without parameters that have their default, and without the notice, which is shown once."""
        default = msgspec.structs.asdict(type(self)())
        values = msgspec.structs.asdict(self) | changes
        changed = {name: one for name, one in values.items() if one != default[name] and name != "said"}
        return f"{path or self.page}?{urlencode(changed, doseq=True)}"


class VisitsFilter(ListFilter, frozen=True):
    page = "/crawl/visits"
    reason: Annotated[
        tuple[Annotated[str, Meta(max_length=40)], ...],
        Meta(max_length=40, description="Outcome groups or reason codes."),
    ] = ()
    host: Words = ""
    text: Annotated[str, Meta(max_length=2048, description="Text in the URL, case-insensitive.")] = ""
    status: Annotated[str, Meta(pattern="^([2-5](xx)?)?$", description="2xx, 3xx, 4xx or 5xx.")] = ""
    type: Words = ""
    since: Annotated[str, Meta(max_length=40, description="A date, or an RFC 3339 time.")] = ""
    until: Annotated[str, Meta(max_length=40)] = ""
    sort: Sort = "newest"
    after: Annotated[str, Meta(max_length=80, description="A position: that of the last fetch listed.")] = ""


class VisitsParameters(VisitsFilter, frozen=True):
    most: Most = 50

    @property
    def is_filtered(self) -> bool:
        return msgspec.structs.replace(self, after="", most=50, sort="newest") != VisitsParameters()


class VisitsCsvParameters(VisitsFilter, frozen=True):
    most: Most | None = None


class HostsFilter(ListFilter, frozen=True):
    page = "/crawl/hosts"
    text: Annotated[str, Meta(max_length=300, description="Text in the host name.")] = ""
    state: State = ""
    sort: Order = "queued"
    after: Annotated[str, Meta(max_length=400, description="A position: that of the last host listed.")] = ""


class HostsParameters(HostsFilter, frozen=True):
    most: Most = 50


class HostsCsvParameters(HostsFilter, frozen=True):
    most: Most | None = None


class HostsPageParameters(HostsParameters, frozen=True):
    said: Annotated[str, Meta(max_length=20)] = ""


class PagesParameters(ListFilter, frozen=True):
    page = "/crawl/pages"
    host: Annotated[str, Meta(max_length=300, description="Only pages of this host.")] = ""
    after: Annotated[str, Meta(max_length=9000, description="A position: that of the last page listed.")] = ""
    most: Most = 50


class ListedPages(msgspec.Struct, frozen=True):
    total: int | None
    """None for the pages of one host, which are not counted."""
    found: PagesFound


def visits_router(collection: Collection, show: Show) -> Routes:
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    @routes.get("/crawl/visits.json", "Fetched URLs")
    def visits(given: VisitsParameters) -> VisitsFound:
        """Every fetched URL and the outcome of its last fetch, newest first; `next`: position of the next part."""
        return collection.lists.visits(query_of(normalized(given), given.most))

    @routes.get("/crawl/visits")
    def page(given: VisitsParameters) -> Response:
        params = normalized(given)
        return show(
            "visits.html",
            found=visits(params),
            total=total(collection, params),
            params=params,
            groups=[(key, HEADINGS[key], reasons) for key, reasons in GROUPS.items()],
            badges={code: BADGES[group] for code, group in GROUP_OF.items()},
            types=TYPES,
        )

    @routes.get("/crawl/visits.csv", "Fetched URLs as CSV", answers_with(str, CSV))
    def as_csv(given: VisitsCsvParameters) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines. `/export/outcomes.csv` has every
        fetch, unordered, with fewer columns."""
        query = query_of(normalized(given), ROWS_AT_ONCE)

        def rows(after: str, most: int) -> tuple[Sequence[msgspec.Struct], str]:
            found = collection.lists.visits(msgspec.structs.replace(query, after=after, most=most))
            return found.visits, found.next

        return csv_stream(COLUMNS, rows, given.after, given.most, "visits.csv", slots=slots)

    return routes


def hosts_router(collection: Collection, show: Show, notices: Notices) -> Routes:
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    def found_of(params: HostsFilter, after: str, most: int) -> HostsFound:
        return collection.lists.hosts(HostListQuery(params.text.strip(), params.state, params.sort, after, most))

    @routes.get("/crawl/hosts.json", "Hosts")
    def hosts(params: HostsParameters) -> HostsFound:
        """Hosts and their state; `next` is the position of the next part."""
        return found_of(params, params.after, params.most)

    @routes.get("/crawl/hosts")
    def page(params: HostsPageParameters) -> Response:
        return show(
            "hosts.html",
            found=hosts(params),
            said=notices.get(params.said),
            params=params,
            states=STATES,
            orders=HOST_ORDERS,
            badges=HOST_BADGES,
            robots=ROBOTS,
            is_filtered=bool(params.text.strip() or params.state),
        )

    @routes.get("/crawl/hosts.csv", "Hosts as CSV", answers_with(str, CSV))
    def as_csv(params: HostsCsvParameters) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines."""

        def rows(after: str, most: int) -> tuple[Sequence[msgspec.Struct], str]:
            found = found_of(params, after, most)
            return found.hosts, found.next

        return csv_stream(HOST_COLUMNS, rows, params.after, params.most, "hosts.csv", slots=slots)

    async def change(fields: Fields) -> str:
        action, host = fields.get("action", ""), fields.get("host", "")
        if action not in get_args(HostAction) or not host:
            raise GossamerError("Say which host, and whether to retire, reinstate, release or exclude it.")
        return await collection.control.change_host(cast(HostAction, action), host, fields.get("words", ""))

    add_change(
        routes,
        notices,
        "/crawl/hosts/change",
        "Retire, reinstate, release or exclude a host",
        change,
        "/crawl/hosts",
        state=lambda fields: {name: fields.get(name, "") for name in ("text", "state", "sort", "after")},
        action=field("What to do with the host.", *get_args(HostAction), needed=True),
        host=field("Host name, with its port if it has one.", needed=True),
        words=field("The reason, for the record."),
    )
    return routes


def pages_router(collection: Collection, show: Show) -> Routes:
    routes = Routes()

    @routes.get("/crawl/pages.json", "Stored pages")
    def pages(params: PagesParameters) -> ListedPages:
        """Every page that is stored and searchable; `next` is the position of the next part. All of them at once,
        with their texts, are in /export/pages.jsonl and /export/pages.csv."""
        host = params.host.strip().lower()
        total = None if host else collection.counts().pages
        return ListedPages(total, collection.lists.pages(PageListQuery(host, params.after, params.most)))

    @routes.get("/crawl/pages")
    def page(params: PagesParameters) -> Response:
        return show("pages.html", known=pages(params), params=params)

    return routes


Filter = TypeVar("Filter", bound=VisitsFilter)


def normalized(given: Filter) -> Filter:
    return msgspec.structs.replace(
        given,
        reason=tuple(filter(None, given.reason)),
        host=given.host.strip().lower(),
        text=given.text.strip(),
        status=given.status[:1],
        type=given.type.strip().lower(),
    )


def query_of(params: VisitsFilter, most: int) -> VisitListQuery:
    """Raises QueryRefused for an unknown outcome or an invalid date."""
    reasons: dict[Reason, None] = {}
    for code in params.reason:
        reasons |= dict.fromkeys(GROUPS.get(code) or (reason_of(code),))
    return VisitListQuery(
        reasons=tuple(reasons),
        host=params.host,
        text=params.text,
        status=int(params.status) if params.status else None,
        media_type=params.type,
        since_at=instant(params.since),
        until_at=instant(params.until, is_end=True),
        is_newest_first=params.sort == "newest",
        after=params.after,
        most=most,
    )


def reason_of(code: str) -> Reason:
    try:
        return Reason(code)
    except ValueError:
        raise QueryRefused(f"unknown outcome “{code[:40]}”; choose from {', '.join(Reason)}") from None


def instant(text: str, *, is_end: bool = False) -> Instant | None:
    """A date as an end includes that whole day. Raises QueryRefused."""
    if not text.strip():
        return None
    try:
        at = from_words(text.strip().replace(" ", "+"))
    except (ValueError, OverflowError):
        raise QueryRefused(f"“{text[:40]}” is not a date or time; write 2026-11-15 or 2026-11-15T08:30") from None
    return min(LATEST, max(0, at + (DAY - 1 if is_end and len(text.strip()) == 10 else 0)))


def total(collection: Collection, params: VisitsParameters) -> int | None:
    """How many URLs match, if a counter knows: it does when they are filtered by outcome only, or not at all."""
    if msgspec.structs.replace(params, reason=()).is_filtered:
        return None
    counts = collection.counts().by_reason
    reasons = query_of(params, 1).reasons
    return sum(counts.get(reason, 0) for reason in reasons) if reasons else sum(counts.values())


Rows = Callable[[str, int], tuple[Sequence[msgspec.Struct], str]]
"""At most so many rows from a position on, and the position of the next row; empty at the end."""


def csv_stream(columns: Sequence[str], rows: Rows, after: str, most: int | None, name: str, *, slots: Slots) -> Stream:
    rows(after, 1)  # an invalid query is refused before the file begins
    return Stream(lambda: csv_lines(columns, rows, after, most), CSV, name, slots)


def csv_lines(columns: Sequence[str], rows: Rows, after: str, most: int | None) -> Generator[bytes, None, None]:
    """Some hundred rows at a time; the next are read once the client has taken those."""
    yield csv_line(columns)
    left = most
    while left is None or left > 0:
        found, after = rows(after, ROWS_AT_ONCE if left is None else min(left, ROWS_AT_ONCE))
        yield b"".join(csv_line(cells_of(one, columns)) for one in found)
        left = None if left is None else left - len(found)
        if not after:
            return


def cells_of(one: msgspec.Struct, columns: Sequence[str]) -> list[object]:
    """Instants, whose names end in `_at`, become text."""
    cells = msgspec.structs.asdict(one)
    return [(in_words(cells[name]) if cells[name] else "") if name.endswith("_at") else cells[name] for name in columns]
