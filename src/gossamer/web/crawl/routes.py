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
    ("pages_s", "pages a second"),
    ("pages", "pages"),
    ("queued", "addresses waiting"),
    ("leased", "visits under way"),
    ("hosts", "hosts"),
    ("failed", "failed"),
    ("missing", "missing"),
    ("refused", "refused by rules"),
    ("quarantined", "held in endless series"),
)
SENTENCES = {
    "starting": "It has been started and reads what it knew.",
    "running": "Addresses are visited as politeness allows.",
    "paused": "Nothing new is visited. What was under way has been finished and kept.",
    "stopping": "What is under way is finished and kept; this takes a few seconds.",
    "waits for disk": "The disk is nearly full. It goes on by itself when there is room.",
    "interrupted": "The crawler ended without a word. Nothing that was acknowledged is lost: start it again.",
    "at rest": "Nobody is crawling.",
}
BADGES = {"running": "good", "starting": "calm", "stopping": "calm", "paused": "warn", "waits for disk": "warn"}
REACHES = (
    ("host", "its host"),
    ("domain", "its domain, all hosts below"),
    ("prefix", "its folder"),
    ("any", "anywhere"),
)

CONTACT = field("Where site owners reach whoever crawls; needed before a public site is visited, unless it is set.")
SEEDS_FORM = {
    "seeds": field("Addresses, one a line; a line that begins with # is a remark.", needed=True),
    "reach": field("How far links are followed from there; host if not given.", *(name for name, _ in REACHES)),
    "contact": CONTACT,
    "then": field("“start”: start the crawl too, once they are added.", "", "start"),
}


class CrawlNow(msgspec.Struct, frozen=True):
    """How the crawl stands."""

    state: str
    """running, starting, paused, stopping, waits for disk, at rest, interrupted"""
    says: str
    numbers: dict[str, float]
    outcomes: dict[str, int]
    """How visits ended: reason codes, and how many addresses."""
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
        """How the crawl stands: its state, numbers, seeds, and what is wrong with it."""
        return json_answer(looked_at(rooms)[0])

    @routes.post("/crawl/start", summary="Start the crawl", **change(contact=CONTACT))
    async def start(request: Request) -> Response:
        """It goes on from where it was. Says so once something has been heard of it."""
        fields = await form_of(request)
        return then(request, notices, await told(rooms.crawl.start(fields.get("contact", ""))), "/crawl")

    @routes.post("/crawl/pause", summary="Pause the crawl", **change())
    async def pause(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.ask("pause")), "/crawl")

    @routes.post("/crawl/resume", summary="Let the crawl go on", **change())
    async def resume(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.ask("resume")), "/crawl")

    @routes.post("/crawl/stop", summary="Stop the crawl", **change())
    async def stop(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.ask("stop")), "/crawl")

    @routes.post("/crawl/seeds", summary="Add addresses to begin with", **change(**SEEDS_FORM))
    async def seeds_added(request: Request) -> Response:
        """Those that cannot be visited are left out, and each reason is said."""
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
        return FormNotice("Write at least one address, one a line.", "bad"), False
    try:
        taken = await rooms.crawl.add_seeds(texts, reach, contact.strip())
    except GossamerError as trouble:
        return refusal(trouble), False
    words = f"{taken.taken:,} address{'es are' if taken.taken != 1 else ' is'} added."
    if taken.left_out:
        words += " Left out:" if taken.taken else " Why:"
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
            (f"{now.numbers.get(name, 0):,.{name == 'pages_s':d}f}", label, LISTS[name]) for name, label in CARDS
        ],
        "ends": [(code, number, words.get(code, "")) for code, number in ends],
        "hints": [(hint, pieces(hint.mend)) for hint in now.hints],
        "reaches": REACHES,
        "reach": standing.reach,
        "newest": newest,
        "fresh": f"{now.numbers['freshness']:.0%}" if "freshness" in now.numbers else "",
        "age": days_in_words(now.numbers.get("age_days", 0.0)),
    }
