"""The lists of a crawl: every fetched URL, every host, every page; with filters, and as files."""

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.base.clock import DAY, SECOND, Instant, from_words, in_words
from gossamer.base.errors import QueryRefused
from gossamer.frontier.reports import STATES, Order
from gossamer.values.format import csv_line
from gossamer.values.outcome import GROUP_OF, GROUPS, IN_WORDS, Reason
from gossamer.web.crawl.forms import FormNotice, Notices, change, field, form_of, then, told
from gossamer.web.crawl.rooms import (
    HostAction,
    HostsAsked,
    HostsFound,
    ListedHost,
    ListedVisit,
    PagesAsked,
    PagesFound,
    VisitsAsked,
    VisitsFound,
)
from gossamer.web.exports import full
from gossamer.web.responses import Show, answers_with, fault, json_answer
from gossamer.web.rooms import WebRooms
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
Words = Annotated[str, Query(max_length=2048)]
Sort = Literal["newest", "oldest"]


class VisitsParameters(msgspec.Struct, frozen=True):
    """As it stands in the address."""

    reason: tuple[str, ...] = ()
    host: str = ""
    text: str = ""
    status: str = ""
    type: str = ""
    since: str = ""
    until: str = ""
    sort: Sort = "newest"
    after: str = ""
    most: int = 50

    def href(self, path: str = "/crawl/visits", **other: object) -> str:
        values = msgspec.structs.asdict(self) | other
        default = msgspec.structs.asdict(VisitsParameters())
        return f"{path}?" + urlencode({k: v for k, v in values.items() if v != default[k]}, doseq=True)


def asked(
    reason: Annotated[
        list[str], Query(max_length=40, default_factory=list, description="Outcome groups or reason codes.")
    ],
    host: Words = "",
    text: Annotated[str, Query(max_length=2048, description="Text in the URL, case-insensitive.")] = "",
    status: Annotated[str, Query(pattern="^([2-5](xx)?)?$", description="2xx, 3xx, 4xx or 5xx.")] = "",
    type: Words = "",
    since: Annotated[str, Query(max_length=40, description="A date, or an RFC 3339 time.")] = "",
    until: Annotated[str, Query(max_length=40)] = "",
    sort: Sort = "newest",
    after: Annotated[str, Query(max_length=80, description="A position: that of the last fetch listed.")] = "",
    most: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> VisitsParameters:
    chosen = tuple(code for code in reason if code)
    return VisitsParameters(
        reason=chosen,
        host=host.strip().lower(),
        text=text.strip(),
        status=status[:1],
        type=type.strip().lower(),
        since=since,
        until=until,
        sort=sort,
        after=after,
        most=most,
    )


Wanted = Annotated[VisitsParameters, Depends(asked)]


def visits_router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    del notices
    routes, slots = APIRouter(), Slots(MOST_EXPORTS)

    @routes.get("/crawl/visits", response_class=HTMLResponse)
    def page(request: Request, wanted: Wanted) -> Response:
        try:
            found = rooms.crawl.visits(meant(wanted))
        except QueryRefused as trouble:
            return fault(request, show, 400, sentence(trouble))
        return show("visits.html", found=found, total=total(rooms, wanted), **page_of(wanted))

    @routes.get("/crawl/visits.json", responses=answers_with(VisitsFound))
    def as_json(request: Request, wanted: Wanted) -> Response:
        """Every fetched URL and the outcome of its last fetch, newest first; `next`: position of the next part."""
        try:
            return json_answer(rooms.crawl.visits(meant(wanted)))
        except QueryRefused as trouble:
            return fault(request, show, 400, sentence(trouble))

    @routes.get("/crawl/visits.csv", responses=answers_with(str, media_type=CSV))
    def as_csv(request: Request, wanted: Wanted) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines. `/export/visits.csv` has every
        fetch, unordered, with fewer columns."""
        try:
            rooms.crawl.visits(msgspec.structs.replace(meant(wanted), most=1))
        except QueryRefused as trouble:
            return fault(request, show, 400, sentence(trouble))
        most = wanted.most if "most" in request.query_params else None
        pieces = partial(every_line, rooms, meant(wanted), most)
        return Stream(pieces, CSV, "visits.csv", slots, full(request, show))

    return routes


def page_of(wanted: VisitsParameters) -> dict[str, Any]:
    return {
        "wanted": wanted,
        "groups": [(key, HEADINGS[key], reasons) for key, reasons in GROUPS.items()],
        "words": IN_WORDS,
        "badges": {code: BADGES[group] for code, group in GROUP_OF.items()},
        "types": TYPES,
        "is_filtered": wanted.href(after="", most=50, sort="newest") != VisitsParameters().href(),
    }


def meant(wanted: VisitsParameters) -> VisitsAsked:
    """Raises QueryRefused for a value that cannot be."""
    reasons: dict[Reason, None] = {}
    for code in wanted.reason:
        reasons |= dict.fromkeys(GROUPS.get(code) or (known(code),))
    return VisitsAsked(
        reasons=tuple(reasons),
        host=wanted.host,
        text=wanted.text,
        status=int(wanted.status) if wanted.status else None,
        media_type=wanted.type,
        since_at=instant(wanted.since),
        until_at=instant(wanted.until, is_end=True),
        is_newest_first=wanted.sort == "newest",
        after=wanted.after,
        most=wanted.most,
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


def sentence(trouble: QueryRefused) -> str:
    words = str(trouble)
    return words[:1].upper() + words[1:] + "."


def total(rooms: WebRooms, wanted: VisitsParameters) -> int | None:
    """How many there are in all, where counters know it; None: nobody counts them."""
    if wanted.href(after="", most=50, sort="newest", reason=()) != VisitsParameters().href():
        return None
    counts = rooms.counts().by_reason
    reasons = meant(wanted).reasons
    return sum(counts.get(reason, 0) for reason in reasons) if reasons else sum(counts.values())


def every_line(rooms: WebRooms, wanted: VisitsAsked, most: int | None) -> Generator[bytes, None, None]:
    """Some hundred visits at a time; each group is asked for when the one before has been taken."""
    yield csv_line(COLUMNS)
    left, is_more = most, True
    while is_more and left != 0:
        at_once = AT_ONCE if left is None else min(left, AT_ONCE)
        found = rooms.crawl.visits(msgspec.structs.replace(wanted, most=at_once))
        yield b"".join(map(csv_line, table(found.visits)))
        left = left - len(found.visits) if left is not None else None
        wanted, is_more = msgspec.structs.replace(wanted, after=found.next), bool(found.next)


def table(found: Iterable[ListedVisit]) -> Iterable[list[object]]:
    for one in found:
        cells = msgspec.structs.asdict(one)
        cells["ended_at"] = in_words(one.ended_at)
        cells["due_at"] = in_words(one.due_at) if one.due_at else ""
        yield [cells[name] for name in COLUMNS]


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
State = Literal["", "under-way", "ready", "waiting", "backing-off", "over-budget", "retired", "done"]


class HostsParameters(msgspec.Struct, frozen=True):
    text: str = ""
    state: State = ""
    sort: Order = "queued"
    after: str = ""
    most: int = 50

    def href(self, path: str = "/crawl/hosts", **other: object) -> str:
        values = msgspec.structs.asdict(self) | other
        default = msgspec.structs.asdict(HostsParameters())
        return f"{path}?" + urlencode({k: v for k, v in values.items() if v != default[k]})


def hosts_asked(
    text: Annotated[str, Query(max_length=300, description="Text in the host name.")] = "",
    state: State = "",
    sort: Order = "queued",
    after: Annotated[str, Query(max_length=400, description="A position: that of the last host listed.")] = "",
    most: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> HostsParameters:
    return HostsParameters(text.strip(), state, sort, after, most)


HostsWanted = Annotated[HostsParameters, Depends(hosts_asked)]
CHANGE_FORM = {
    "action": field("What to do with the host.", *get_args(HostAction), needed=True),
    "host": field("Host name, with its port if it has one.", needed=True),
    "words": field("The reason, for the record."),
}


def hosts_router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    routes, slots = APIRouter(), Slots(MOST_EXPORTS)

    def found_of(wanted: HostsParameters) -> HostsFound:
        return rooms.crawl.hosts(HostsAsked(wanted.text, wanted.state, wanted.sort, wanted.after, wanted.most))

    @routes.get("/crawl/hosts", response_class=HTMLResponse)
    def page(request: Request, wanted: HostsWanted, said: Annotated[str, Query(max_length=20)] = "") -> Response:
        try:
            found = found_of(wanted)
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())
        return show("hosts.html", found=found, said=notices.named(said), **hosts_page(wanted))

    @routes.get("/crawl/hosts.json", responses=answers_with(HostsFound))
    def as_json(request: Request, wanted: HostsWanted) -> Response:
        """Hosts and their state; `next` is the position of the next part."""
        try:
            return json_answer(found_of(wanted))
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())

    @routes.get("/crawl/hosts.csv", responses=answers_with(str, media_type=CSV))
    def as_csv(request: Request, wanted: HostsWanted) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines."""
        try:
            found_of(msgspec.structs.replace(wanted, most=1))
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())
        most = wanted.most if "most" in request.query_params else None
        return Stream(partial(every_host, found_of, wanted, most), CSV, "hosts.csv", slots, full(request, show))

    @routes.post("/crawl/hosts/change", summary="Retire, reinstate, release or exclude a host", **change(**CHANGE_FORM))
    async def changed(request: Request) -> Response:
        fields = await form_of(request)
        action, host = fields.get("action", ""), fields.get("host", "")
        if action not in get_args(HostAction) or not host:
            notice = FormNotice("Say which host, and whether to retire, reinstate, release or exclude it.", "bad")
        else:
            doing = rooms.crawl.change_host(cast(HostAction, action), host, fields.get("words", ""))
            notice = await told(doing)
        state = {name: fields.get(name, "") for name in ("text", "state", "sort", "after")}
        return then(request, notices, notice, "/crawl/hosts", **state)

    return routes


def hosts_page(wanted: HostsParameters) -> dict[str, Any]:
    return {
        "wanted": wanted,
        "states": STATES,
        "orders": HOST_ORDERS,
        "badges": HOST_BADGES,
        "robots": ROBOTS,
        "is_filtered": bool(wanted.text or wanted.state),
    }


def every_host(
    found_of: Callable[[HostsParameters], HostsFound], wanted: HostsParameters, most: int | None
) -> Generator[bytes, None, None]:
    """Some hundred hosts at a time; each group is asked for when the one before has been taken."""
    yield csv_line(HOST_COLUMNS)
    left, is_more = most, True
    while is_more and left != 0:
        found = found_of(msgspec.structs.replace(wanted, most=AT_ONCE if left is None else min(left, AT_ONCE)))
        yield b"".join(map(csv_line, host_rows(found.hosts)))
        left = left - len(found.hosts) if left is not None else None
        wanted, is_more = msgspec.structs.replace(wanted, after=found.next), bool(found.next)


def host_rows(found: Iterable[ListedHost]) -> Iterable[list[object]]:
    for one in found:
        cells = msgspec.structs.asdict(one) | {"next_at": in_words(one.next_at) if one.next_at else ""}
        yield [cells[name] for name in HOST_COLUMNS]


OneHost = Annotated[str, Query(max_length=300, description="Only pages of this host.")]
AfterPage = Annotated[str, Query(max_length=9000, description="A position: that of the last page listed.")]
MostPages = Annotated[int, Query(ge=1, le=1000)]


class ListedPages(msgspec.Struct, frozen=True):
    total: int | None
    """How many there are in all; None: nobody counts those of one host."""
    found: PagesFound


def pages_router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    del notices
    routes = APIRouter()

    def listed(host: str, after: str, most: int) -> ListedPages:
        host = host.strip().lower()
        total = None if host else rooms.counts().pages
        return ListedPages(total, rooms.crawl.pages(PagesAsked(host, after, most)))

    @routes.get("/crawl/pages", response_class=HTMLResponse)
    def page(request: Request, host: OneHost = "", after: AfterPage = "", most: MostPages = 50) -> Response:
        try:
            known = listed(host, after, most)
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())
        return show("pages.html", known=known, host=host, after=after)

    @routes.get("/crawl/pages.json", responses=answers_with(ListedPages))
    def as_json(request: Request, host: OneHost = "", after: AfterPage = "", most: MostPages = 50) -> Response:
        """Every page that is stored and searchable; `next` is the position of the next part. All of them at once,
        with their texts, are in /export/pages.jsonl and /export/pages.csv."""
        try:
            return json_answer(listed(host, after, most))
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())

    return routes
