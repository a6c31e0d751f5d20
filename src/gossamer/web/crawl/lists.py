"""The lists of a crawl: every fetched URL, every host, every page; with filters, and as files."""

from collections.abc import Callable, Generator, Sequence
from typing import Annotated, Literal, TypeVar, cast, get_args
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from gossamer.base.clock import DAY, SECOND, Instant, from_words, in_words
from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.collection.control import HostAction
from gossamer.collection.lists import HostListQuery, HostsFound, PageListQuery, PagesFound, VisitListQuery, VisitsFound
from gossamer.frontier.reports import STATES, Order
from gossamer.values.format import csv_line
from gossamer.values.outcome import GROUP_OF, GROUPS, IN_WORDS, Reason
from gossamer.web.crawl.forms import LONGEST_FORM, FormNotice, Notices, change, field, then, told
from gossamer.web.responses import Show, json_answer
from gossamer.web.routes import Routes, answers_with, form_of
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream

CSV = "text/csv"
AT_ONCE = 500
LATEST = 253_402_300_799 * SECOND
"""The end of the year 9999: no calendar here goes further."""
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
    "under-way": "good", "ready": "good", "waiting": "calm", "backing-off": "warn", "over-budget": "warn",
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
State = Literal["", "under-way", "ready", "waiting", "backing-off", "over-budget", "retired", "done"]


class VisitsFilter(msgspec.Struct, frozen=True):
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

    def href(self, path: str = "/crawl/visits", **other: object) -> str:
        return href_of(path, self, VisitsParameters(), other)


class VisitsCsvParameters(VisitsFilter, frozen=True):
    most: Most | None = None


class HostsFilter(msgspec.Struct, frozen=True):
    text: Annotated[str, Meta(max_length=300, description="Text in the host name.")] = ""
    state: State = ""
    sort: Order = "queued"
    after: Annotated[str, Meta(max_length=400, description="A position: that of the last host listed.")] = ""


class HostsParameters(HostsFilter, frozen=True):
    most: Most = 50

    def href(self, path: str = "/crawl/hosts", **other: object) -> str:
        return href_of(path, self, HostsParameters(), other)


class HostsCsvParameters(HostsFilter, frozen=True):
    most: Most | None = None


class HostsPageParameters(HostsParameters, frozen=True):
    said: Annotated[str, Meta(max_length=20)] = ""


class PagesParameters(msgspec.Struct, frozen=True):
    host: Annotated[str, Meta(max_length=300, description="Only pages of this host.")] = ""
    after: Annotated[str, Meta(max_length=9000, description="A position: that of the last page listed.")] = ""
    most: Most = 50


class ListedPages(msgspec.Struct, frozen=True):
    total: int | None
    """How many there are in all; None: nobody counts those of one host."""
    found: PagesFound


CHANGE_FORM = {
    "action": field("What to do with the host.", *get_args(HostAction), needed=True),
    "host": field("Host name, with its port if it has one.", needed=True),
    "words": field("The reason, for the record."),
}


def href_of(path: str, wanted: msgspec.Struct, plain: msgspec.Struct, other: dict[str, object]) -> str:
    """A list in another of its states; parameters that are as always are left out."""
    default = msgspec.structs.asdict(plain)
    values = {name: getattr(wanted, name) for name in default} | other
    return f"{path}?" + urlencode({name: one for name, one in values.items() if one != default[name]}, doseq=True)


def visits_router(collection: Collection, show: Show) -> Routes:
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    @routes.get("/crawl/visits")
    def page(given: VisitsParameters) -> Response:
        wanted = tidied(given)
        found = collection.lists.visits(meant(wanted, wanted.most))
        return show(
            "visits.html",
            found=found,
            total=total(collection, wanted),
            wanted=wanted,
            groups=[(key, HEADINGS[key], reasons) for key, reasons in GROUPS.items()],
            words=IN_WORDS,
            badges={code: BADGES[group] for code, group in GROUP_OF.items()},
            types=TYPES,
            is_filtered=wanted.href(after="", most=50, sort="newest") != VisitsParameters().href(),
        )

    @routes.get("/crawl/visits.json", answers_with(VisitsFound), "Fetched URLs")
    def as_json(given: VisitsParameters) -> Response:
        """Every fetched URL and the outcome of its last fetch, newest first; `next`: position of the next part."""
        return json_answer(collection.lists.visits(meant(tidied(given), given.most)))

    @routes.get("/crawl/visits.csv", answers_with(str, CSV), "Fetched URLs as CSV")
    def as_csv(given: VisitsCsvParameters) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines. `/export/visits.csv` has every
        fetch, unordered, with fewer columns."""
        asked = meant(tidied(given), AT_ONCE)

        def look(after: str, most: int) -> tuple[list[Row], str]:
            found = collection.lists.visits(msgspec.structs.replace(asked, after=after, most=most))
            return [row_of(one, COLUMNS) for one in found.visits], found.next

        look(asked.after, 1)  # what is wrong with the question is said before the file begins
        return Stream(lambda: every_line(COLUMNS, look, asked.after, given.most), CSV, "visits.csv", slots)

    return routes


def hosts_router(collection: Collection, show: Show, notices: Notices) -> Routes:
    routes, slots = Routes(), Slots(MOST_EXPORTS)

    def found_of(wanted: HostsFilter, after: str, most: int) -> HostsFound:
        return collection.lists.hosts(HostListQuery(wanted.text.strip(), wanted.state, wanted.sort, after, most))

    @routes.get("/crawl/hosts")
    def page(wanted: HostsPageParameters) -> Response:
        return show(
            "hosts.html",
            found=found_of(wanted, wanted.after, wanted.most),
            said=notices.named(wanted.said),
            wanted=wanted,
            states=STATES,
            orders=HOST_ORDERS,
            badges=HOST_BADGES,
            robots=ROBOTS,
            is_filtered=bool(wanted.text.strip() or wanted.state),
        )

    @routes.get("/crawl/hosts.json", answers_with(HostsFound), "Hosts")
    def as_json(wanted: HostsParameters) -> Response:
        """Hosts and their state; `next` is the position of the next part."""
        return json_answer(found_of(wanted, wanted.after, wanted.most))

    @routes.get("/crawl/hosts.csv", answers_with(str, CSV), "Hosts as CSV")
    def as_csv(wanted: HostsCsvParameters) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines."""

        def look(after: str, most: int) -> tuple[list[Row], str]:
            found = found_of(wanted, after, most)
            return [row_of(one, HOST_COLUMNS) for one in found.hosts], found.next

        look(wanted.after, 1)
        return Stream(lambda: every_line(HOST_COLUMNS, look, wanted.after, wanted.most), CSV, "hosts.csv", slots)

    @routes.post("/crawl/hosts/change", summary="Retire, reinstate, release or exclude a host", **change(**CHANGE_FORM))
    async def changed(request: Request) -> Response:
        fields = await form_of(request, LONGEST_FORM)
        action, host = fields.get("action", ""), fields.get("host", "")
        if action not in get_args(HostAction) or not host:
            notice = FormNotice("Say which host, and whether to retire, reinstate, release or exclude it.", "bad")
        else:
            notice = await told(collection.control.change_host(cast(HostAction, action), host, fields.get("words", "")))
        state = {name: fields.get(name, "") for name in ("text", "state", "sort", "after")}
        return then(request, notices, notice, "/crawl/hosts", **state)

    return routes


def pages_router(collection: Collection, show: Show) -> Routes:
    """Every URL whose document was fetched, is kept and can be found."""
    routes = Routes()

    def listed(wanted: PagesParameters) -> ListedPages:
        host = wanted.host.strip().lower()
        total = None if host else collection.counts().pages
        return ListedPages(total, collection.lists.pages(PageListQuery(host, wanted.after, wanted.most)))

    @routes.get("/crawl/pages")
    def page(wanted: PagesParameters) -> Response:
        return show("pages.html", known=listed(wanted), host=wanted.host, after=wanted.after)

    @routes.get("/crawl/pages.json", answers_with(ListedPages), "Stored pages")
    def as_json(wanted: PagesParameters) -> Response:
        """Every page that is stored and searchable; `next` is the position of the next part. All of them at once,
        with their texts, are in /export/pages.jsonl and /export/pages.csv."""
        return json_answer(listed(wanted))

    return routes


Filter = TypeVar("Filter", bound=VisitsFilter)


def tidied(given: Filter) -> Filter:
    return msgspec.structs.replace(
        given,
        reason=tuple(filter(None, given.reason)),
        host=given.host.strip().lower(),
        text=given.text.strip(),
        status=given.status[:1],
        type=given.type.strip().lower(),
    )


def meant(wanted: VisitsFilter, most: int) -> VisitListQuery:
    """Raises QueryRefused for a value that cannot be."""
    reasons: dict[Reason, None] = {}
    for code in wanted.reason:
        reasons |= dict.fromkeys(GROUPS.get(code) or (known(code),))
    return VisitListQuery(
        reasons=tuple(reasons),
        host=wanted.host,
        text=wanted.text,
        status=int(wanted.status) if wanted.status else None,
        media_type=wanted.type,
        since_at=instant(wanted.since),
        until_at=instant(wanted.until, is_end=True),
        is_newest_first=wanted.sort == "newest",
        after=wanted.after,
        most=most,
    )


def known(code: str) -> Reason:
    try:
        return Reason(code)
    except ValueError:
        raise QueryRefused(f"unknown outcome “{code[:40]}”; possible are {', '.join(Reason)}") from None


def instant(text: str, *, is_end: bool = False) -> Instant | None:
    """Raises QueryRefused. A day as an end means all of it."""
    if not text.strip():
        return None
    try:
        at = from_words(text.strip().replace(" ", "+"))
    except (ValueError, OverflowError):
        raise QueryRefused(f"“{text[:40]}” is not a date or time; write 2026-11-15 or 2026-11-15T08:30") from None
    return min(LATEST, max(0, at + (DAY - 1 if is_end and len(text.strip()) == 10 else 0)))


def total(collection: Collection, wanted: VisitsParameters) -> int | None:
    """How many there are in all, where counters know it; None: nobody counts them."""
    if wanted.href(after="", most=50, sort="newest", reason=()) != VisitsParameters().href():
        return None
    counts = collection.counts().by_reason
    reasons = meant(wanted, 1).reasons
    return sum(counts.get(reason, 0) for reason in reasons) if reasons else sum(counts.values())


Row = list[object]
Look = Callable[[str, int], tuple[list[Row], str]]
"""From a position on, at most so many rows; and the position to go on from, empty at the end."""


def every_line(columns: Sequence[str], look: Look, after: str, most: int | None) -> Generator[bytes, None, None]:
    """Some hundred rows at a time; each group is asked for when the one before has been taken."""
    yield csv_line(columns)
    left = most
    while left is None or left > 0:
        rows, after = look(after, AT_ONCE if left is None else min(left, AT_ONCE))
        yield b"".join(map(csv_line, rows))
        left = None if left is None else left - len(rows)
        if not after:
            return


def row_of(one: msgspec.Struct, columns: Sequence[str]) -> Row:
    """Instants, which are called `..._at`, as text."""
    cells = msgspec.structs.asdict(one)
    return [(in_words(cells[name]) if cells[name] else "") if name.endswith("_at") else cells[name] for name in columns]
