"""The crawl pages: its state, problems, seeds and rules, and the forms that start, pause and stop it."""

from collections.abc import Sequence
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
from gossamer.collection.control import Crawler, CrawlState, RuleError, RulesChanged, RuleSet, Seed, errors_in
from gossamer.collection.lists import ListedVisit, VisitListQuery
from gossamer.collection.state import RulesPreview
from gossamer.monitor.chronicle import Chronicle, days_in_words
from gossamer.monitor.hints import Hint
from gossamer.monitor.system import System
from gossamer.values.format import fitted
from gossamer.values.outcome import GROUPS, in_group
from gossamer.web.crawl.forms import (
    LONGEST_FORM,
    FormNotice,
    Notices,
    add_change,
    field,
    form_docs,
    is_program,
    notice_of,
    refusal,
    respond,
)
from gossamer.web.crawl.lists import hosts_router, pages_router, visits_router
from gossamer.web.crawl.status import LISTS, outcomes_in
from gossamer.web.responses import Show, json_answer
from gossamer.web.routes import Routes, form_of
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
    "waiting-for-disk-space": "The disk is nearly full. The crawl continues by itself when there is space.",
    "suspended": "The database of the crawl does not answer. The crawl continues by itself when it does.",
    "interrupted": "The crawler ended unexpectedly. Nothing that was acknowledged is lost: start it again.",
    "idle": "No crawl is running.",
}
BADGES = {
    **dict.fromkeys(("paused", "waiting-for-disk-space", "suspended"), "warn"),
    **dict.fromkeys(("starting", "stopping"), "calm"),
    "running": "good",
}
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
    """running, starting, paused, stopping, waiting-for-disk-space, suspended, idle, interrupted"""
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
    async def page(params: CrawlParameters) -> Response:
        if params.reason:  # the links of hints
            return RedirectResponse("/crawl/visits?" + urlencode({"reason": params.reason}), 303)
        now, state, newest = await run_in_threadpool(snapshot, collection)
        said, refill = notices.get(params.said), notices.get(params.seeds)
        return show("crawl.html", confirm=params.confirm, said=said, refill=refill, **page_of(now, state, newest))

    @routes.get("/crawl.json", "The crawl")
    def as_json() -> CrawlNow:
        """Crawl status: its state, numbers, seeds and problems."""
        return snapshot(collection)[0]

    add_controls(routes, collection, notices)
    routes.include(visits_router(collection, show), pages_router(collection, show))
    routes.include(hosts_router(collection, show, notices), rules_router(collection, show, notices))
    return routes


def add_controls(routes: Routes, collection: Collection, notices: Notices) -> None:
    control = collection.control
    add_change(
        routes,
        notices,
        "/crawl/start",
        "Start the crawl",
        lambda fields: control.start(fields.get("contact", "")),
        "/crawl",
        description="The crawl continues where it stopped. Responds after its first heartbeat.",
        contact=CONTACT,
    )
    add_change(routes, notices, "/crawl/pause", "Pause the crawl", lambda _: control.ask("pause"), "/crawl")
    add_change(routes, notices, "/crawl/resume", "Resume the crawl", lambda _: control.ask("resume"), "/crawl")
    add_change(routes, notices, "/crawl/stop", "Stop the crawl", lambda _: control.ask("stop"), "/crawl")

    @routes.post("/crawl/seeds", "Add seed URLs", **form_docs(**SEEDS_FORM))
    async def seeds_added(request: Request) -> Response:
        """URLs that cannot be fetched are rejected, each with a reason."""
        fields = await form_of(request, LONGEST_FORM)
        typed = fields.get("seeds", "")
        notice, are_added = await added(collection, typed, fields.get("reach", "host"), fields.get("contact", ""))
        if are_added and fields.get("then") == "start":
            begun = await notice_of(control.start(fields.get("contact", "")))
            notice = FormNotice(f"{notice.words} {begun.words}", begun.kind, (*notice.lines, *begun.lines))
        refill = notices.keep(FormNotice(typed[:20_000])) if not are_added and typed.strip() else ""
        return respond(request, notices, notice, "/crawl", seeds=refill)


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


def snapshot(collection: Collection) -> tuple[CrawlNow, CrawlState, tuple[ListedVisit, ...]]:
    system, control = collection.watch.system(), collection.control.state()
    state = state_of(system, control.crawler)
    says = control.crawler.ended if state == "idle" and control.crawler.ended else SENTENCES.get(state, "")
    now = CrawlNow(
        state=state,
        says=says,
        numbers=numbers_of(system) | freshness_of(collection.watch.chronicle()),
        outcomes=system.outcomes,
        crawler=control.crawler,
        seeds=control.seeds,
        seed_count=control.seed_count,
        contact=control.contact,
        rules=control.rules,
        hints=system.hints,
        as_of=in_words(system.at),
    )
    return now, control, collection.lists.visits(VisitListQuery(most=NEWEST)).visits


def state_of(system: System, crawler: Crawler) -> str:
    if crawler.is_starting:
        return "starting"
    if crawler.is_stopping:
        return "stopping"
    if not crawler.is_alive and system.state != "interrupted":
        return "idle"
    return "running" if crawler.is_alive and system.state in ("idle", "interrupted") else system.state


def numbers_of(system: System) -> dict[str, float]:
    numbers: dict[str, float] = {name: value for name, value in system.counters.items() if not name.endswith("_bytes")}
    numbers |= {group: in_group(group, system.outcomes) for group in GROUPS}
    numbers["failed"] += numbers.pop("unread")  # stored but unreadable: as useless to people as a failure
    return numbers | {"pages_s": round(system.totals.get("pages_s", 0.0), 1)}


def freshness_of(known: Chronicle) -> dict[str, float]:
    """From the last sample; empty if no page is revisited."""
    if not known.samples:
        return {}
    last = known.samples[-1].all
    return {"freshness": last.freshness, "age_days": last.average_age_days}


def page_of(now: CrawlNow, state: CrawlState, newest: tuple[ListedVisit, ...]) -> dict[str, Any]:
    return {
        "now": now,
        "badge": "bad" if now.state == "interrupted" or now.crawler.has_failed else BADGES.get(now.state, "idle"),
        "cards": [
            (f"{number:,.{name == 'pages_s':d}f}", fitted(label, number), LISTS[name])
            for name, label in CARDS
            for number in (now.numbers.get(name, 0),)
        ],
        "ends": outcomes_in(now.outcomes),
        "reaches": REACHES,
        "reach": state.reach,
        "newest": newest,
        "fresh": f"{now.numbers['freshness']:.0%}" if "freshness" in now.numbers else "",
        "age": days_in_words(now.numbers.get("age_days", 0.0)),
    }


SECONDS = 2.0
MOST_SECONDS = 20.0
LONGEST = 48_000
"""Characters of rules to preview, which are in the URL."""
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
    """The rules in force, or a draft of rules with a preview of its effect."""

    text: str
    is_draft: bool
    mark: str
    """Version of the rules in force. Sent along when saving, so that no other change is overwritten unseen."""
    wrong: tuple[RuleError, ...]
    effect: RulesPreview | None
    """The effect of a draft on the waiting URLs; None without a draft, or if it has an invalid line."""


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
    routes, control = Routes(), collection.control

    @routes.get("/crawl/rules.json", "The rules of the crawl")
    def rules_json(params: RulesParameters) -> RulesNow:
        """The rules in force, or the effect of others: which of the waiting URLs they would exclude."""
        return rules_now(collection, control.rules(), params)

    @routes.get("/crawl/rules")
    def page(params: RulesPageParameters) -> Response:
        rules, said = control.rules(), notices.get(params.said)
        now = rules_now(collection, rules, params)
        return rules_page(show, rules, now, params.mark or rules.mark, params.seconds, said)

    @routes.post("/crawl/rules/save", "Save the rules of the crawl", **form_docs(**SAVE_FORM))
    async def save(request: Request) -> Response:
        """All or nothing: if a line is not a valid rule, it is reported and the rules stay as they were."""
        fields = await form_of(request, LONGEST_FORM)
        text, mark = fields.get("draft", "").replace("\r\n", "\n"), fields.get("mark", "")
        rules = await run_in_threadpool(control.rules)
        wrong = errors_in(text)
        if wrong:
            refused, status = not_saved(wrong), 400
        else:
            try:
                notice = FormNotice(await control.save_rules(text, mark))
                return respond(request, notices, notice, "/crawl/rules")
            except RulesChanged as trouble:
                refused, status, mark = FormNotice(refusal(trouble).words, "bad", (BOTH,)), 409, rules.mark
        if is_program(request):
            return json_answer(refused, 409)
        # The page itself points at each invalid line.
        said = FormNotice(refused.words, "bad") if wrong else refused
        return rules_page(show, rules, RulesNow(text, True, rules.mark, wrong, None), mark, SECONDS, said, status)

    undo, summary = "/crawl/rules/undo", "Undo the last change to the rules"
    add_change(routes, notices, undo, summary, lambda _: control.undo_rules(), "/crawl/rules")
    return routes


def rules_page(
    show: Show, rules: RuleSet, now: RulesNow, mark: str, seconds: float, said: FormNotice | None, status: int = 200
) -> Response:
    longer = min(MOST_SECONDS, seconds * 5)
    values = {"mark": mark, "seconds": seconds, "longer": longer, "said": said, "examples": RULE_EXAMPLES}
    return show("rules.html", status, rules=rules, now=now, **values)


def not_saved(wrong: Sequence[RuleError]) -> FormNotice:
    words = f"Not saved: {len(wrong)} line{'s are not valid rules' if len(wrong) > 1 else ' is not a valid rule'}."
    lines = [f"line {one.line}, column {one.column}: {one.says}" for one in wrong[:MOST_LINES]]
    return FormNotice(words, "bad", tuple(lines))


def rules_now(collection: Collection, rules: RuleSet, params: RulesParameters) -> RulesNow:
    if params.draft is None and not params.add.strip():
        return RulesNow(rules.text, False, rules.mark, rules.wrong, None)
    text = (rules.text if params.draft is None else params.draft).replace("\r\n", "\n")
    if params.add.strip():
        text = (text.rstrip() + "\n" if text.strip() else "") + " ".join(params.add.split()) + "\n"
    wrong = errors_in(text)
    return RulesNow(text, True, rules.mark, wrong, None if wrong else collection.control.effect(text, params.seconds))
