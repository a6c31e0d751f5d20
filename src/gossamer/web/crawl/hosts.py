"""The table of hosts: how each stands, and taking one out of the crawl or back in."""

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.base.clock import in_words
from gossamer.base.errors import QueryRefused
from gossamer.frontier.reports import STATES, Order
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.cells import csv_line
from gossamer.web.crawl.changes import change, field
from gossamer.web.crawl.forms import FormNotice, Notices, form_of, then, told
from gossamer.web.crawl.rooms import HostAction, HostsAsked, HostsFound, ListedHost
from gossamer.web.exports import full
from gossamer.web.faults import fault
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream

CSV = "text/csv"
AT_ONCE = 500
BADGES = {
    "under-way": "good", "ready": "good", "waiting": "calm", "backing-off": "warn", "over-budget": "warn",
    "retired": "bad", "done": "idle",
}  # fmt: skip
ORDERS: dict[str, str] = {
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
COLUMNS = (
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


def asked(
    text: Annotated[str, Query(max_length=300, description="Text in the host name.")] = "",
    state: State = "",
    sort: Order = "queued",
    after: Annotated[str, Query(max_length=400, description="A position: that of the last host listed.")] = "",
    most: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> HostsParameters:
    return HostsParameters(text.strip(), state, sort, after, most)


Wanted = Annotated[HostsParameters, Depends(asked)]
CHANGE_FORM = {
    "action": field("What to do with the host.", *get_args(HostAction), needed=True),
    "host": field("Host name, with its port if it has one.", needed=True),
    "words": field("The reason, for the record."),
}


def router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    routes, slots = APIRouter(), Slots(MOST_EXPORTS)

    def found_of(wanted: HostsParameters) -> HostsFound:
        return rooms.crawl.hosts(HostsAsked(wanted.text, wanted.state, wanted.sort, wanted.after, wanted.most))

    @routes.get("/crawl/hosts", response_class=HTMLResponse)
    def page(request: Request, wanted: Wanted, said: Annotated[str, Query(max_length=20)] = "") -> Response:
        try:
            found = found_of(wanted)
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())
        return show("hosts.html", found=found, said=notices.named(said), **page_of(wanted))

    @routes.get("/crawl/hosts.json", responses=answers_with(HostsFound))
    def as_json(request: Request, wanted: Wanted) -> Response:
        """Hosts and their state; `next` is the position of the next part."""
        try:
            return json_answer(found_of(wanted))
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())

    @routes.get("/crawl/hosts.csv", responses=answers_with(str, media_type=CSV))
    def as_csv(request: Request, wanted: Wanted) -> Response:
        """The same as CSV, complete; with `most`, at most so many lines."""
        try:
            found_of(msgspec.structs.replace(wanted, most=1))
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())
        most = wanted.most if "most" in request.query_params else None
        return Stream(partial(every_line, found_of, wanted, most), CSV, "hosts.csv", slots, full(request, show))

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


def page_of(wanted: HostsParameters) -> dict[str, Any]:
    return {
        "wanted": wanted,
        "states": STATES,
        "orders": ORDERS,
        "badges": BADGES,
        "robots": ROBOTS,
        "is_filtered": bool(wanted.text or wanted.state),
    }


def every_line(
    found_of: Callable[[HostsParameters], HostsFound], wanted: HostsParameters, most: int | None
) -> Generator[bytes, None, None]:
    """Some hundred hosts at a time; each group is asked for when the one before has been taken."""
    yield csv_line(COLUMNS)
    left, is_more = most, True
    while is_more and left != 0:
        found = found_of(msgspec.structs.replace(wanted, most=AT_ONCE if left is None else min(left, AT_ONCE)))
        yield b"".join(map(csv_line, table(found.hosts)))
        left = left - len(found.hosts) if left is not None else None
        wanted, is_more = msgspec.structs.replace(wanted, after=found.next), bool(found.next)


def table(found: Iterable[ListedHost]) -> Iterable[list[object]]:
    for one in found:
        cells = msgspec.structs.asdict(one) | {"next_at": in_words(one.next_at) if one.next_at else ""}
        yield [cells[name] for name in COLUMNS]
