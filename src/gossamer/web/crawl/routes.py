"""The crawl for people: how it stands, what is wrong, and starting, pausing, stopping it; its seeds."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.base.clock import in_words
from gossamer.base.errors import GossamerError
from gossamer.collection.collection import Collection
from gossamer.collection.control import Crawler, CrawlState, RulesChanged, RuleSet, Seed, Wrong, wrong_in
from gossamer.collection.lists import ListedVisit, VisitListQuery
from gossamer.collection.state import RulesPreview
from gossamer.monitor.chronicle import Chronicle, days_in_words
from gossamer.monitor.hints import Hint
from gossamer.monitor.system import System
from gossamer.values.format import fitted
from gossamer.values.outcome import GROUPS, IN_WORDS, in_group
from gossamer.web.crawl.forms import LONGEST_FORM, FormNotice, Notices, change, field, is_program, refusal, then, told
from gossamer.web.crawl.lists import hosts_router, pages_router, visits_router
from gossamer.web.crawl.status import LISTS
from gossamer.web.nodes.routes import pieces
from gossamer.web.responses import Show, json_answer
from gossamer.web.routes import Routes, answers_with, form_of
from gossamer.web.site import WebSite

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


class CrawlParameters(msgspec.Struct, frozen=True):
    reason: Annotated[str, Meta(max_length=40)] = ""
    confirm: Literal["", "stop"] = ""
    said: Annotated[str, Meta(max_length=20)] = ""
    seeds: Annotated[str, Meta(max_length=20)] = ""


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes, notices = Routes(), Notices()

    @routes.get("/crawl")
    async def page(wanted: CrawlParameters) -> Response:
        if wanted.reason:  # the hints name what they speak of so
            return RedirectResponse("/crawl/visits?" + urlencode({"reason": wanted.reason}), 303)
        now, standing, newest = await run_in_threadpool(looked_at, collection)
        said, refill = notices.named(wanted.said), notices.named(wanted.seeds)
        return show("crawl.html", confirm=wanted.confirm, said=said, refill=refill, **page_of(now, standing, newest))

    @routes.get("/crawl.json", answers_with(CrawlNow), "The crawl")
    def as_json() -> Response:
        """Crawl status: its state, numbers, seeds and problems."""
        return json_answer(looked_at(collection)[0])

    routes.include(controls(collection, notices))
    for others in (visits_router(collection, show), pages_router(collection, show)):
        routes.include(others)
    for others in (hosts_router(collection, show, notices), rules_router(collection, show, notices)):
        routes.include(others)
    return routes


def controls(collection: Collection, notices: Notices) -> Routes:
    routes = Routes()

    @routes.post("/crawl/start", summary="Start the crawl", **change(contact=CONTACT))
    async def start(request: Request) -> Response:
        """The crawl continues where it stopped. Responds after its first heartbeat."""
        fields = await form_of(request, LONGEST_FORM)
        return then(request, notices, await told(collection.control.start(fields.get("contact", ""))), "/crawl")

    @routes.post("/crawl/pause", summary="Pause the crawl", **change())
    async def pause(request: Request) -> Response:
        return then(request, notices, await told(collection.control.ask("pause")), "/crawl")

    @routes.post("/crawl/resume", summary="Resume the crawl", **change())
    async def resume(request: Request) -> Response:
        return then(request, notices, await told(collection.control.ask("resume")), "/crawl")

    @routes.post("/crawl/stop", summary="Stop the crawl", **change())
    async def stop(request: Request) -> Response:
        return then(request, notices, await told(collection.control.ask("stop")), "/crawl")

    @routes.post("/crawl/seeds", summary="Add seed URLs", **change(**SEEDS_FORM))
    async def seeds_added(request: Request) -> Response:
        """URLs that cannot be fetched are rejected, each with a reason."""
        fields = await form_of(request, LONGEST_FORM)
        typed = fields.get("seeds", "")
        notice, are_added = await added(collection, typed, fields.get("reach", "host"), fields.get("contact", ""))
        if are_added and fields.get("then") == "start":
            begun = await told(collection.control.start(fields.get("contact", "")))
            notice = FormNotice(f"{notice.words} {begun.words}", begun.kind, (*notice.lines, *begun.lines))
        refill = notices.keep(FormNotice(typed[:20_000])) if not are_added and typed.strip() else ""
        return then(request, notices, notice, "/crawl", seeds=refill)

    return routes


async def added(collection: Collection, typed: str, reach: str, contact: str) -> tuple[FormNotice, bool]:
    texts = [line.strip() for line in typed.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not texts:
        return FormNotice("Enter at least one URL, one per line.", "bad"), False
    try:
        taken = await collection.control.add_seeds(texts, reach, contact.strip())
    except GossamerError as trouble:
        return refusal(trouble), False
    words = f"{taken.taken:,} {'URLs' if taken.taken != 1 else 'URL'} added."
    if taken.left_out:
        words += " Rejected:" if taken.taken else " Reason:"
    return FormNotice(words, "good" if taken.taken else "bad", taken.left_out[:50]), bool(taken.taken)


def looked_at(collection: Collection) -> tuple[CrawlNow, CrawlState, tuple[ListedVisit, ...]]:
    system, standing = collection.watch.system(), collection.control.state()
    state = state_of(system, standing.crawler)
    says = standing.crawler.ended if state == "at rest" and standing.crawler.ended else SENTENCES.get(state, "")
    now = CrawlNow(
        state=state,
        says=says,
        numbers=numbers_of(system) | freshness_of(collection.watch.chronicle()),
        outcomes=system.outcomes,
        crawler=standing.crawler,
        seeds=standing.seeds,
        seed_count=standing.seed_count,
        contact=standing.contact,
        rules=standing.rules,
        hints=system.hints,
        as_of=in_words(system.at),
    )
    return now, standing, collection.lists.visits(VisitListQuery(most=NEWEST)).visits


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
        "hints": [(hint, pieces(hint.fix)) for hint in now.hints],
        "reaches": REACHES,
        "reach": standing.reach,
        "newest": newest,
        "fresh": f"{now.numbers['freshness']:.0%}" if "freshness" in now.numbers else "",
        "age": days_in_words(now.numbers.get("age_days", 0.0)),
    }


SECONDS = 2.0
MOST_SECONDS = 20.0
LONGEST = 48_000
"""Of rules that are tried out: they stand in the address."""
RULE_EXAMPLES = (
    ('exclude path ~ "/calendar/"', "exclude URLs whose path matches this pattern"),
    ("exclude host = shop.example.org", "exclude a site"),
    ("exclude query has sessionid", "exclude URLs with this query parameter"),
    ("exclude type = application/pdf", "drop responses of this type"),
    ("later 2 depth > 6", "fetch deep pages later"),
    ("sooner 2 host = news.example.org", "fetch a site sooner"),
    ("include domain = example.org", "accept this domain and its subdomains only"),
)
MOST_LINES = 50
BOTH = "Compare both versions, and save again to replace them with yours."
SAVE_FORM = {
    "draft": field("The complete new rules, one per line.", needed=True),
    "mark": field("Version of the rules being replaced, from /crawl/rules.json: someone else may have changed them."),
}


class RulesNow(msgspec.Struct, frozen=True):
    """The rules in force; or rules that are tried out, and what they would do."""

    text: str
    is_draft: bool
    mark: str
    """Of the rules in force: whoever saves others sends it along, so that nobody's change is lost unseen."""
    wrong: tuple[Wrong, ...]
    effect: RulesPreview | None
    """What a draft would do to what waits; None without one, or when something is wrong with it."""


class RulesParameters(msgspec.Struct, frozen=True):
    draft: Annotated[
        Annotated[str, Meta(max_length=LONGEST)] | None, Meta(description="Rules to preview; nothing is saved.")
    ] = None
    add: Annotated[str, Meta(max_length=2000, description="One rule to preview in addition to the current ones.")] = ""
    seconds: Annotated[
        float, Meta(ge=0.1, le=MOST_SECONDS, description="How long to search through the queue, in seconds.")
    ] = SECONDS


class RulesPageParameters(RulesParameters, frozen=True):
    mark: Annotated[str, Meta(max_length=20)] = ""
    said: Annotated[str, Meta(max_length=20)] = ""


def rules_router(collection: Collection, show: Show, notices: Notices) -> Routes:
    routes = Routes()
    rules_shown = partial(rules_page, show)

    @routes.get("/crawl/rules")
    def page(wanted: RulesPageParameters) -> Response:
        rules, said = collection.control.rules(), notices.named(wanted.said)
        return rules_shown(rules, now_of(collection, rules, wanted), wanted.mark or rules.mark, wanted.seconds, said)

    @routes.get("/crawl/rules.json", answers_with(RulesNow), "The rules of the crawl")
    def as_json(wanted: RulesParameters) -> Response:
        """The rules in force, or the effect of others: which of the waiting URLs they would exclude."""
        return json_answer(now_of(collection, collection.control.rules(), wanted))

    @routes.post("/crawl/rules/save", summary="Save the rules of the crawl", **change(**SAVE_FORM))
    async def save(request: Request) -> Response:
        """All or nothing: if a line is not a valid rule, it is reported and the rules stay as they were."""
        fields = await form_of(request, LONGEST_FORM)
        text, mark = fields.get("draft", "").replace("\r\n", "\n"), fields.get("mark", "")
        wrong = wrong_in(text)
        rules = await run_in_threadpool(collection.control.rules)
        now = RulesNow(text, True, rules.mark, wrong, None)
        if wrong:
            said = not_saved(wrong)
            if is_program(request):
                return json_answer(said, 409)
            return rules_shown(
                rules, now, mark, SECONDS, FormNotice(said.words, "bad"), 400
            )  # the page points at the lines
        try:
            notice = FormNotice(await collection.control.save_rules(text, mark))
        except RulesChanged as trouble:
            said = FormNotice(refusal(trouble).words, "bad", (BOTH,))
            return (
                json_answer(said, 409)
                if is_program(request)
                else rules_shown(rules, now, rules.mark, SECONDS, said, 409)
            )
        return then(request, notices, notice, "/crawl/rules")

    @routes.post("/crawl/rules/undo", summary="Undo the last change to the rules", **change())
    async def undo(request: Request) -> Response:
        return then(request, notices, await told(collection.control.undo_rules()), "/crawl/rules")

    return routes


def rules_page(
    show: Show, rules: RuleSet, now: RulesNow, mark: str, seconds: float, said: FormNotice | None, status: int = 200
) -> Response:
    return show(
        "rules.html",
        status,
        rules=rules,
        now=now,
        mark=mark,
        seconds=seconds,
        said=said,
        examples=RULE_EXAMPLES,
        longer=min(MOST_SECONDS, seconds * 5),
    )


def not_saved(wrong: Sequence[Wrong]) -> FormNotice:
    words = f"Not saved: {len(wrong)} line{'s are not valid rules' if len(wrong) > 1 else ' is not a valid rule'}."
    lines = [f"line {one.line}, column {one.column}: {one.says}" for one in wrong[:MOST_LINES]]
    return FormNotice(words, "bad", tuple(lines))


def now_of(collection: Collection, rules: RuleSet, wanted: RulesParameters) -> RulesNow:
    if wanted.draft is None and not wanted.add.strip():
        return RulesNow(rules.text, False, rules.mark, rules.wrong, None)
    text = (rules.text if wanted.draft is None else wanted.draft).replace("\r\n", "\n")
    if wanted.add.strip():
        text = (text.rstrip() + "\n" if text.strip() else "") + " ".join(wanted.add.split()) + "\n"
    wrong = wrong_in(text)
    return RulesNow(text, True, rules.mark, wrong, None if wrong else collection.control.effect(text, wanted.seconds))
