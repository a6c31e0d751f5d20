"""How often pages are revisited: by importance, by the new pages they lead to, by sitemaps and feeds; at which hour;
and within the daily budget, over a restart too. Many days of fetches, without a web."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gossamer.base.clock import DAY, SECOND, Instant
from gossamer.base.environment import seeded
from gossamer.crawler.revisit import FetchEnd, Revisits, news_in
from gossamer.frontier.priority import priority_of
from gossamer.recrawl.policies import POLICIES, VisitBudget, policy_named
from gossamer.values.capture import Capture
from gossamer.values.history import Change, Past, Prints
from gossamer.values.link import How, ListClaim
from gossamer.values.messages import Listed, Listing, ReadDone
from gossamer.values.outcome import Fetched, Reason
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

START = 1_700_000_000 * SECOND
Text = Callable[[int], str]
"""The text of a page on each day."""


def revisits(policy: str = "age", allowance: VisitBudget | None = None, **more: Any) -> Revisits:
    return Revisits(lambda per_page: policy_named(policy, per_page), seeded(7), allowance, **more)


def made(url: str, at: Instant, past: Past | None = None, **more: Any) -> Visit:
    return Visit(Url(url), VisitKind.PAGE, at, past=past, **more)


def end(visit: Visit, at: Instant, text: str = "words", **more: Any) -> FetchEnd:
    prints = Prints(text.encode(), text.encode(), b"facts")
    read = ReadDone(b"", b"", "text/html", b"", is_page=True, prints=prints, **more)
    return FetchEnd(visit, Fetched(Capture(visit.url, at, 200, "OK", (), b"")), Reason.FETCHED, at, read)


class Site:
    """Pages that are fetched whenever they are due."""

    def __init__(self, again: Revisits, pages: dict[str, dict[str, Any]]) -> None:
        self.again, self.pages = again, pages
        self.pasts: dict[str, Past | None] = dict.fromkeys(pages)
        self.due: dict[str, Instant] = {url: START + place * SECOND for place, url in enumerate(pages)}
        self.visits: dict[str, list[Instant]] = {url: [] for url in pages}

    def pass_days(self, days: float, text: Callable[[str, int], str] = lambda _url, _day: "words", **more: Any) -> None:
        until = START + round(days * DAY)
        while (url := min(self.due, key=self.due.__getitem__)) and (at := self.due[url]) < until:
            visit = made(url, at, self.pasts[url], **self.pages[url])
            plan = self.again.plan(end(visit, at, text(url, (at - START) // DAY), **more))
            assert plan.past is not None and plan.due_at is not None and plan.due_at > at
            self.pasts[url], self.due[url] = plan.past, plan.due_at
            self.visits[url].append(at)


def changing_now_and_then(url: str, day: int) -> str:
    return f"changed on day {day // 9}"


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ({"depth": 0}, {"depth": 8}),
        ({"priority": priority_of(How.LINK, 3, others=3)}, {"priority": priority_of(How.LINK, 3)}),
        ({"priority": priority_of(How.LINK, 3, hint=-2)}, {"priority": priority_of(How.LINK, 3, hint=2)}),
    ],
    ids=["nearer to its seed", "linked from other sites", "by its sitemap's priority"],
)
def test_M_E7_the_more_important_of_similar_pages_are_fetched_more_often(
    more: dict[str, int], less: dict[str, int]
) -> None:
    pages = {f"http://one.test/more/{number}": {"depth": 3, **more} for number in range(20)}
    pages |= {f"http://one.test/less/{number}": {"depth": 3, **less} for number in range(20)}
    site = Site(revisits(), pages)
    site.pass_days(120, changing_now_and_then)
    visits = Counter[bool]()
    for url, found in site.visits.items():
        visits["/more/" in url] += len(found)
    assert visits[True] > 1.1 * visits[False] > 0


def test_M_E7_a_site_that_the_user_s_rules_favour_is_fetched_more_often() -> None:
    pages = {f"http://{name}.test/{number}": {} for name in ("news", "else") for number in range(20)}
    site = Site(revisits(nudge=lambda visit: -8 if visit.url.host.name == "news.test" else 0), pages)
    site.pass_days(120, changing_now_and_then)
    news, others = (sum(len(found) for url, found in site.visits.items() if name in url) for name in ("news", "else"))
    assert news > 1.4 * others > 0


def test_M_C8_published_items_of_a_feed_are_rarely_fetched_again() -> None:
    pages = {f"http://one.test/item/{number}": {"how": How.FEED, "depth": 1} for number in range(10)}
    pages |= {f"http://one.test/page/{number}": {"how": How.LINK, "depth": 1} for number in range(10)}
    site = Site(revisits(), pages)
    site.pass_days(60, lambda url, day: "as it was published" if "/item/" in url else changing_now_and_then(url, day))
    items = [len(found) for url, found in site.visits.items() if "/item/" in url]
    others = [len(found) for url, found in site.visits.items() if "/page/" in url]
    assert sum(items) < 0.5 * sum(others) and max(items) <= 5


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_M_B1_the_hour_at_which_a_page_is_fetched_varies_from_day_to_day(policy: str) -> None:
    url = "http://one.test/"
    site = Site(revisits(policy), {url: {}})
    site.pass_days(400, lambda _url, day: f"day {day}")
    hours = [at // (3600 * SECOND) % 24 for at in site.visits[url][-10:]]
    assert len(hours) == 10 and len(set(hours)) >= 4


def test_pages_that_lead_to_new_pages_are_fetched_more_often() -> None:
    pages = {f"http://one.test/hub/{number}": {} for number in range(10)}
    pages |= {f"http://one.test/page/{number}": {} for number in range(10)}
    site = Site(revisits(), pages)
    site.pass_days(20, changing_now_and_then)
    site.visits = {url: [] for url in pages}
    for day in range(20, 140):
        site.pass_days(day, changing_now_and_then)
        for url, past in site.pasts.items():
            if "/hub/" in url and past is not None:  # as the frontier does when it settles the fetch
                site.pasts[url] = msgspec.structs.replace(past, leads=500)
    hubs, others = (sum(len(found) for url, found in site.visits.items() if name in url) for name in ("hub", "page"))
    assert hubs > 1.2 * others > 0


def test_new_links_are_a_change_for_the_schedule_of_a_page_that_leads_to_new_pages() -> None:
    again, url, at = revisits(), "http://one.test/", START
    first = again.plan(end(made(url, at), at, links=("http://one.test/a", "http://ads.test/1"))).past
    assert first is not None

    def is_change(past: Past, *links: str) -> bool:
        later = end(made(url, at + DAY, past), at + DAY, links=links)
        assert again.indexed(later) is not None and not again.indexed(later).is_shown  # type: ignore[union-attr]
        found = again.plan(later).past
        assert found is not None
        return bool(found.known.recent & 1)

    hub = first.led(1)
    assert is_change(hub, "http://one.test/a", "http://one.test/b")
    assert not is_change(hub, "http://one.test/a", "http://ads.test/2"), "links of advertisements do not count"
    assert not is_change(first, "http://one.test/a", "http://one.test/b"), "it has not led to new pages"


def test_the_count_of_new_pages_that_a_page_led_to_decays() -> None:
    again, url, at = revisits(), "http://one.test/", START
    past = again.plan(end(made(url, at), at)).past
    assert past is not None
    past = past.led(3)
    leads = [past.leads]
    for day in range(1, 20):
        past = again.plan(end(made(url, at + day * DAY, past), at + day * DAY)).past
        assert past is not None
        leads.append(past.leads)
    assert leads[0] == 300 and leads == sorted(leads, reverse=True) and leads[-1] < 10
    assert Past(1, 2).led(10**9).leads == 1_000


def test_M_C5_the_claims_of_a_sitemap_are_evidence_for_the_first_revisit() -> None:
    claims = {
        "often": ListClaim(START - DAY // 4, 86_400.0),
        "rarely": ListClaim(START - 900 * DAY, 31_536_000.0),
        "unknown": None,
    }
    found = {}
    for name, claim in claims.items():
        again = Revisits(lambda per_page: policy_named("age", per_page), _Same())
        url = f"http://one.test/{name}"
        plan = again.plan(end(made(url, START, claim=claim, how=How.SITEMAP), START))
        assert plan.due_at is not None
        found[name] = plan.due_at - START
    assert found["often"] < found["unknown"] < found["rarely"]


class _Same:
    def random(self) -> float:
        return 0.9


@pytest.mark.parametrize("source", ["sitemap", "page", "server"])
def test_a_plausible_date_is_when_a_page_changed(source: str) -> None:
    """A change at a known time is more informative: it is counted separately."""
    again, url = revisits(), "http://one.test/"
    past = again.plan(end(made(url, START), START, "one")).past
    assert past is not None
    now, changed_at = START + 10 * DAY, START + 6 * DAY
    sent = (("Last-Modified", "Mon, 20 Nov 2023 22:13:20 GMT"),) if source == "server" else ()
    visit = made(url, now, past, claim=ListClaim(changed_at) if source == "sitemap" else None)
    done = end(visit, now, "two", modified_at=changed_at if source == "page" else None)
    done = msgspec.structs.replace(done, outcome=Fetched(Capture(visit.url, now, 200, "OK", sent, b"")))
    found = again.plan(done).past
    assert found is not None and found.known.dated == 1.0 and found.known.changes == 0.0
    assert round(found.known.quiet_days, 3) == 4.0, "unchanged since then"


def test_only_new_entries_of_a_list_are_news() -> None:
    url = "http://one.test/sitemap.xml"
    entries = [Listed(Url(f"http://one.test/{days}"), changed_at=START - days * DAY) for days in (0, 5, 50)]
    listing = Listing("sitemap", (*entries, Listed(Url("http://one.test/undated"))))
    assert news_in(made(url, START), listing) == entries
    before = Past(START - 6 * DAY, START)
    assert news_in(made(url, START, before), listing) == entries[:2]


def test_a_list_has_changed_when_its_bytes_have_changed() -> None:
    again, url = revisits(), "http://one.test/sitemap.xml.gz"

    def read(at: Instant, body: bytes, past: Past | None) -> Past:
        done = end(made(url, at, past), at, listing=Listing("sitemap"))
        assert done.read is not None
        prints = Prints(body, b"nothing", b"nothing")
        done = msgspec.structs.replace(done, read=msgspec.structs.replace(done.read, prints=prints, is_page=False))
        found = again.plan(done).past
        assert found is not None
        return found

    past = read(START, b"one", None)
    assert read(START + DAY, b"two", past).known.recent & 1
    assert not read(START + DAY, b"one", past).known.recent & 1


@pytest.mark.parametrize(
    ("wanted", "is_change"), [(Change.BYTES, True), (Change.FACTS, False), (Change.TEXT | Change.FACTS, False)]
)
def test_the_user_decides_what_counts_as_a_change(wanted: Change, is_change: bool) -> None:
    again, url = revisits(wanted=wanted), "http://one.test/"
    past = again.plan(end(made(url, START), START)).past
    done = end(made(url, START + DAY, past), START + DAY)
    assert done.read is not None
    other = msgspec.structs.replace(done.read, prints=Prints(b"other bytes", b"words", b"facts"))
    done = msgspec.structs.replace(done, read=other)
    shown, found = again.indexed(done), again.plan(done).past
    assert shown is not None and found is not None
    assert (shown.is_shown, bool(found.known.recent & 1), bool(found.changed_at)) == (is_change,) * 3


def test_the_daily_budget_is_kept_over_a_restart() -> None:
    allowance, pages = VisitBudget(in_all=3.0), {f"http://one.test/{number}": {} for number in range(30)}
    site = Site(revisits(allowance=allowance), pages)
    site.pass_days(0.01)
    planned = Counter(due_at // DAY for due_at in site.due.values())
    assert max(planned.values()) <= 3
    again = revisits(allowance=allowance)
    again.expect({("one.test", day): many for day, many in planned.items()})
    for number in range(30):
        due_at = again.plan(end(made(f"http://one.test/new/{number}", START + SECOND), START + SECOND)).due_at
        assert due_at is not None
        planned[due_at // DAY] += 1
    assert max(planned.values()) <= 3 and sum(planned.values()) == 60
