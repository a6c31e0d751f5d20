"""The crawl for people: how it stands, what is wrong, and starting, pausing, stopping it; its seeds."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from gossamer.base.clock import in_words
from gossamer.base.errors import GossamerError
from gossamer.monitor.chronicle import Chronicle
from gossamer.monitor.freshness import days_in_words
from gossamer.monitor.hints import Hint
from gossamer.monitor.system import System
from gossamer.values.format import fitted
from gossamer.values.outcome import GROUPS, IN_WORDS, in_group
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.crawl import hosts, visits
from gossamer.web.crawl import rules as crawl_rules
from gossamer.web.crawl.changes import change, field
from gossamer.web.crawl.forms import FormNotice, Notices, form_of, refusal, then, told
from gossamer.web.crawl.number_lists import LISTS
from gossamer.web.crawl.rooms import Crawler, CrawlState, ListedVisit, Seed, VisitsAsked
from gossamer.web.nodes.routes import pieces
from gossamer.web.page import list
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms

NEWEST = 8
CARDS = (
    ("pages_s", "pages per second"),
    ("pages", "pages"),
    ("queued", "URLs waiting"),
    ("leased", "fetches in progress"),
    ("hosts", "hosts"),
    ("failed", "failed"),
    ("missing", "missing"),
    ("refused", "refused by rules"),
    ("quarantined", "quarantined (possible trap)"),
)
SENTENCES = {
    "starting": "Starting: loading the saved state.",
    "running": "URLs are fetched as politeness allows.",
    "paused": "Nothing new is fetched. Fetches that were in progress have finished and are stored.",
    "stopping": "Fetches in progress are being finished and stored; this takes a few seconds.",
    "waits for disk": "The disk is nearly full. The crawl continues by itself when there is space.",
    "interrupted": "The crawler ended unexpectedly. Nothing that was acknowledged is lost: start it again.",
    "at rest": "No crawl is running.",
}
BADGES = {"running": "good", "starting": "calm", "stopping": "calm", "paused": "warn", "waits for disk": "warn"}
REACHES = (
    ("host", "same host"),
    ("domain", "same domain and subdomains"),
    ("prefix", "same folder"),
    ("any", "anywhere"),
)

CONTACT = field("Contact for site owners; required before a public site is fetched, unless it is already set.")
SEEDS_FORM = {
    "seeds": field("URLs, one per line; a line that starts with # is a comment.", needed=True),
    "reach": field("How far links are followed from each seed; the default is host.", *(name for name, _ in REACHES)),
    "contact": CONTACT,
    "then": field("“start”: also start the crawl once they are added.", "", "start"),
}


class CrawlNow(msgspec.Struct, frozen=True):
    """The status of the crawl."""

    state: str
    """running, starting, paused, stopping, waits for disk, at rest, interrupted"""
    says: str
    numbers: dict[str, float]
    outcomes: dict[str, int]
    """Fetch outcomes: reason codes, and the number of URLs."""
    crawler: Crawler
    seeds: tuple[Seed, ...]
    seed_count: int
    contact: str
    rules: int
    hints: tuple[Hint, ...]
    as_of: str


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes, notices = APIRouter(), Notices()

    @routes.get("/crawl", response_class=HTMLResponse)
    async def page(
        reason: Annotated[str, Query(max_length=40)] = "",
        confirm: Literal["", "stop"] = "",
        said: Annotated[str, Query(max_length=20)] = "",
        seeds: Annotated[str, Query(max_length=20)] = "",
    ) -> Response:
        if reason:  # the hints name what they speak of so
            return RedirectResponse("/crawl/visits?" + urlencode({"reason": reason}), 303)
        now, standing, newest = await run_in_threadpool(looked_at, rooms)
        values = page_of(now, standing, newest)
        return show("crawl.html", confirm=confirm, said=notices.named(said), refill=notices.named(seeds), **values)

    @routes.get("/crawl.json", responses=answers_with(CrawlNow))
    def as_json() -> Response:
        """Crawl status: its state, numbers, seeds and problems."""
        return json_answer(looked_at(rooms)[0])

    @routes.post("/crawl/start", summary="Start the crawl", **change(contact=CONTACT))
    async def start(request: Request) -> Response:
        """The crawl continues where it stopped. Responds after its first heartbeat."""
        fields = await form_of(request)
        return then(request, notices, await told(rooms.crawl.start(fields.get("contact", ""))), "/crawl")

    @routes.post("/crawl/pause", summary="Pause the crawl", **change())
    async def pause(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.ask("pause")), "/crawl")

    @routes.post("/crawl/resume", summary="Resume the crawl", **change())
    async def resume(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.ask("resume")), "/crawl")

    @routes.post("/crawl/stop", summary="Stop the crawl", **change())
    async def stop(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.ask("stop")), "/crawl")

    @routes.post("/crawl/seeds", summary="Add seed URLs", **change(**SEEDS_FORM))
    async def seeds_added(request: Request) -> Response:
        """URLs that cannot be fetched are rejected, each with a reason."""
        fields = await form_of(request)
        typed = fields.get("seeds", "")
        notice, are_added = await added(rooms, typed, fields.get("reach", "host"), fields.get("contact", ""))
        if are_added and fields.get("then") == "start":
            begun = await told(rooms.crawl.start(fields.get("contact", "")))
            notice = FormNotice(f"{notice.words} {begun.words}", begun.kind, (*notice.lines, *begun.lines))
        refill = notices.keep(FormNotice(typed[:20_000])) if not are_added and typed.strip() else ""
        return then(request, notices, notice, "/crawl", seeds=refill)

    for subject in (visits, list, hosts, crawl_rules):
        routes.include_router(subject.router(rooms, show, notices))
    return routes


async def added(rooms: WebRooms, typed: str, reach: str, contact: str) -> tuple[FormNotice, bool]:
    texts = [line.strip() for line in typed.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not texts:
        return FormNotice("Enter at least one URL, one per line.", "bad"), False
    try:
        taken = await rooms.crawl.add_seeds(texts, reach, contact.strip())
    except GossamerError as trouble:
        return refusal(trouble), False
    words = f"{taken.taken:,} {'URLs' if taken.taken != 1 else 'URL'} added."
    if taken.left_out:
        words += " Rejected:" if taken.taken else " Reason:"
    return FormNotice(words, "good" if taken.taken else "bad", taken.left_out[:50]), bool(taken.taken)


def looked_at(rooms: WebRooms) -> tuple[CrawlNow, CrawlState, tuple[ListedVisit, ...]]:
    system, standing = rooms.monitor.system(), rooms.crawl.standing()
    state = state_of(system, standing.crawler)
    says = standing.crawler.ended if state == "at rest" and standing.crawler.ended else SENTENCES.get(state, "")
    now = CrawlNow(
        state=state,
        says=says,
        numbers=numbers_of(system) | freshness_of(rooms.monitor.chronicle()),
        outcomes=system.outcomes,
        crawler=standing.crawler,
        seeds=standing.seeds,
        seed_count=standing.seed_count,
        contact=standing.contact,
        rules=standing.rules,
        hints=system.hints,
        as_of=in_words(system.at),
    )
    return now, standing, rooms.crawl.visits(VisitsAsked(most=NEWEST)).visits


def state_of(system: System, crawler: Crawler) -> str:
    if crawler.is_starting:
        return "starting"
    if crawler.is_stopping:
        return "stopping"
    if not crawler.is_alive and system.state != "interrupted":
        return "at rest"
    return "running" if crawler.is_alive and system.state in ("at rest", "interrupted") else system.state


def numbers_of(system: System) -> dict[str, float]:
    numbers: dict[str, float] = {name: value for name, value in system.counters.items() if not name.endswith("_bytes")}
    numbers |= {group: in_group(group, system.outcomes) for group in GROUPS}
    numbers["failed"] += numbers.pop("unread")  # kept, and not read: of no more use
    return numbers | {"pages_s": round(system.totals.get("pages_s", 0.0), 1)}


def freshness_of(known: Chronicle) -> dict[str, float]:
    """By the last sample; nothing where no page comes again."""
    if not known.samples:
        return {}
    last = known.samples[-1].all
    return {"freshness": last.freshness, "age_days": last.average_age_days}


def page_of(now: CrawlNow, standing: CrawlState, newest: tuple[ListedVisit, ...]) -> dict[str, Any]:
    words = {reason.value: text for reason, text in IN_WORDS.items()}
    ends = sorted(now.outcomes.items(), key=lambda one: -one[1])
    return {
        "now": now,
        "badge": "bad" if now.state == "interrupted" or now.crawler.has_failed else BADGES.get(now.state, "idle"),
        "cards": [
            (f"{number:,.{name == 'pages_s':d}f}", fitted(label, number), LISTS[name])
            for name, label in CARDS
            for number in (now.numbers.get(name, 0),)
        ],
        "ends": [(code, number, words.get(code, "")) for code, number in ends],
        "hints": [(hint, pieces(hint.mend)) for hint in now.hints],
        "reaches": REACHES,
        "reach": standing.reach,
        "newest": newest,
        "fresh": f"{now.numbers['freshness']:.0%}" if "freshness" in now.numbers else "",
        "age": days_in_words(now.numbers.get("age_days", 0.0)),
    }
