"""The verdict on a crawl: each way to fail, and a crawl that passes."""

import msgspec

from gossamer.base.clock import SECOND
from gossamer.demo.server import Logged
from gossamer.demo.verdict import (
    CrawledPage,
    ExpectedHost,
    Manifest,
    check,
    manifest_of,
    may_be_asked,
)
from gossamer.demo.web import DemoWeb

WEB = DemoWeb(seed=1, hosts=3, pages=30)
EXPECTED = manifest_of(WEB)
DELAY_S = 0.2


def perfect(expected: Manifest) -> dict[str, CrawledPage]:
    return {page.url: CrawledPage(page.outcomes[0], page.facts) for page in expected.pages if page.via == "link"}


def polite_log(expected: Manifest, gap_s: float = 1.0) -> list[Logged]:
    """Every page of every host once, one after the other."""
    hits = []
    for host in expected.hosts:
        at = 1_000 * SECOND
        for page in host.pages:
            if host.robots in ("read", "missing") and page.via == "link":
                hits.append(Logged(host.name, page.url.removeprefix(f"http://{host.name}"), 200, at, at + SECOND // 10))
                at += SECOND // 10 + round(gap_s * SECOND)
    return hits


def test_M_Z10_a_perfect_and_polite_crawl_passes() -> None:
    verdict = check(EXPECTED, perfect(EXPECTED), polite_log(EXPECTED), DELAY_S)
    assert verdict.passes and verdict.recall == 1.0
    assert verdict.facts_found == verdict.facts_expected > 200
    assert verdict.wrong_outcomes == ()
    assert verdict.pages_expected == sum(page.counts for page in EXPECTED.pages)
    assert abs(verdict.smallest_gap_s["museum.demo.test"] - 1.0) < 1e-6


def test_a_page_that_was_not_found_is_missing() -> None:
    found = perfect(EXPECTED)
    url = next(page.url for page in EXPECTED.pages if page.facts > 10)
    del found[url]
    verdict = check(EXPECTED, found, [], DELAY_S)
    assert not verdict.passes and verdict.missing == (url,) and verdict.recall < 1


def test_pages_that_only_a_sitemap_lists_are_optional_and_counted_when_found() -> None:
    found = perfect(EXPECTED)
    found |= {page.url: CrawledPage("fetched") for page in EXPECTED.pages if page.via == "sitemap"}
    verdict = check(EXPECTED, found, [], DELAY_S)
    assert verdict.passes and verdict.found_via["sitemap"] == 3


def test_a_disallowed_url_in_the_log_fails_also_if_not_in_the_manifest() -> None:
    for host, target in [
        ("museum.demo.test", "/private/ledger-2"),
        ("museum.demo.test", "/private/never-linked"),
        ("closed.demo.test", "/anything-at-all"),
        ("odd.demo.test", "/shelf?session=99"),
        ("odd.demo.test", "/behind-nofollow"),
    ]:
        verdict = check(EXPECTED, perfect(EXPECTED), [Logged(host, target, 200, 0, 1)], DELAY_S)
        assert verdict.disallowed_fetched == (f"http://{host}{target}",) and not verdict.passes
    allowed = [
        Logged("museum.demo.test", "/private/welcome", 200, 0, 1),
        Logged("closed.demo.test", "/robots.txt", 500, 0, 1),
    ]
    assert check(EXPECTED, perfect(EXPECTED), allowed, DELAY_S).disallowed_fetched == ()


def test_a_fetch_before_the_gap_is_over_fails() -> None:
    delay = next(host for host in EXPECTED.hosts if host.crawl_delay_s == 0.5)
    first = Logged(delay.name, "/robots.txt", 200, 0, SECOND)
    in_time = Logged(delay.name, "/", 200, SECOND + round(0.496 * SECOND), 3 * SECOND)
    early = msgspec.structs.replace(in_time, asked_at=SECOND + round(0.4 * SECOND))
    assert check(EXPECTED, {}, [first, in_time], DELAY_S).politeness_violations == ()
    (violation,) = check(EXPECTED, {}, [first, early], DELAY_S).politeness_violations
    assert (violation.promised_s, round(violation.gap_s, 3)) == (0.5, 0.4)
    assert check(EXPECTED, {}, [first, in_time], delay_s=0.6).politeness_violations[0].promised_s == 0.6


def test_a_crawl_delay_applies_once_robots_txt_has_been_read() -> None:
    slow = next(host for host in EXPECTED.hosts if host.crawl_delay_s == 0.5)
    first = Logged(slow.name, "/robots.txt", 200, 0, SECOND)
    again = Logged(slow.name, "/robots.txt", 200, SECOND + round(0.3 * SECOND), 2 * SECOND)
    page = Logged(slow.name, "/", 200, 3 * SECOND, 4 * SECOND)
    later = Logged(slow.name, "/robots.txt", 200, 4 * SECOND + round(0.3 * SECOND), 5 * SECOND)
    assert check(EXPECTED, {}, [first, again, page], 0.2).politeness_violations == ()
    assert [one.promised_s for one in check(EXPECTED, {}, [first, again], 0.4).politeness_violations] == [0.4]
    assert [one.promised_s for one in check(EXPECTED, {}, [first, page, later], 0.2).politeness_violations] == [0.5]


def test_two_fetches_at_once_are_a_violation_even_without_a_delay() -> None:
    hits = [Logged("museum.demo.test", "/", 200, 0, 9 * SECOND),
            Logged("museum.demo.test", "/a", 200, SECOND, 2 * SECOND),
            Logged("museum.demo.test", "/b", 200, 3 * SECOND, 4 * SECOND)]  # fmt: skip
    gaps = [violation.gap_s for violation in check(EXPECTED, {}, hits, 0.0).politeness_violations]
    assert gaps == [-8.0, -6.0]


def test_hosts_do_not_wait_for_each_other() -> None:
    hits = [Logged("museum.demo.test", "/", 200, 0, SECOND), Logged("people.demo.test", "/", 200, 1, SECOND)]
    assert check(EXPECTED, {}, hits, 1.0).politeness_violations == ()


def test_facts_too_few_or_too_many_fail() -> None:
    found = perfect(EXPECTED)
    url = next(page.url for page in EXPECTED.pages if page.facts > 10)
    right = found[url].facts
    for wrong in (right - 1, right + 1):
        found[url] = CrawledPage("fetched", wrong)
        verdict = check(EXPECTED, found, [], DELAY_S)
        assert not verdict.passes and [(each.url, each.found) for each in verdict.wrong_facts] == [(url, wrong)]


def test_an_unexpected_outcome_of_a_dead_link_is_reported_but_does_not_fail() -> None:
    found = perfect(EXPECTED) | {"http://odd.demo.test/dead/410": CrawledPage("client-error")}
    verdict = check(EXPECTED, found, [], DELAY_S)
    assert verdict.passes and [each.url for each in verdict.wrong_outcomes] == ["http://odd.demo.test/dead/410"]


def test_patterns_with_stars_and_ends_are_understood() -> None:
    host = ExpectedHost("x.test", "read", ((False, "/*.pdf$"), (False, "/a"), (True, "/a/b")))
    assert [may_be_asked(host, target) for target in ("/x.pdf", "/x.pdf?y", "/a", "/a/b/c", "/")] == [
        False, True, False, True, True,
    ]  # fmt: skip
