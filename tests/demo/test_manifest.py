"""The manifest's facts against the extractor, which does not use it, and its list of odd parts."""

from collections import Counter
from urllib.parse import urlsplit

import msgspec
import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.demo.oddities import oddities
from gossamer.demo.pages import DemoRequest, Syntax, facts_in
from gossamer.demo.verdict import ExpectedPage, Manifest, manifest_of
from gossamer.demo.web import DemoWeb
from gossamer.extract.page import extract
from gossamer.parse.html.tree import scan_html
from gossamer.values.url import url_of

WEB = DemoWeb(seed=1, hosts=12, pages=240)


@pytest.fixture(scope="module")
def expected() -> Manifest:
    return manifest_of(WEB)


def body_of(page: ExpectedPage) -> bytes:
    parts = urlsplit(page.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return WEB.answer(DemoRequest(parts.netloc, target, asked_before=9)).body


def test_the_extractor_finds_the_facts_of_the_manifest(expected: Manifest) -> None:
    wrong = []
    for page in expected.pages:
        if page.via == "optional" or page.what in ("huge-page", "no-such-host"):
            continue
        body, url = body_of(page), url_of(page.url)
        assert url is not None
        found = len(extract(scan_html(LexborHTMLParser(body)).survey(), url, 1, body).triples)
        if found != page.facts:
            wrong.append((page.url, page.facts, found))
    assert wrong == []


def without_labels(facts: set[tuple[str, str, str]]) -> Counter[tuple[str, str, str]]:
    return Counter(tuple("_:" if term.startswith("_:") else term for term in fact) for fact in facts)  # type: ignore[misc]


def without_brackets(term: str) -> str:
    return term[1:-1] if term.startswith("<") else term


def test_every_fact_is_the_same(expected: Manifest) -> None:
    for site in WEB.sites:
        for number in range(0, site.items, 4):
            item = WEB.item(site, number)
            statements = WEB.statements_of(item)
            listed = set().union(*(facts_in(syntax, statements, item.url, item.language) for syntax in Syntax))
            url, body = url_of(item.url), WEB.answer(DemoRequest(site.host, item.path)).body
            assert url is not None
            found = {
                tuple(map(without_brackets, triple))
                for triple in extract(scan_html(LexborHTMLParser(body)).survey(), url, 1, body).triples
            }
            assert without_labels(found) == without_labels(listed), item.url  # type: ignore[arg-type]


def test_there_are_pages_with_each_syntax_with_several_and_with_none(expected: Manifest) -> None:
    pages = [page for page in expected.pages if page.counts]
    assert any(page.rdfa and not page.jsonld for page in pages)
    assert any(page.jsonld and not page.rdfa for page in pages)
    assert any(page.microdata for page in pages)
    assert all(page.facts == page.microdata for page in pages if page.microdata)
    assert any(page.rdfa and page.jsonld and page.facts < page.rdfa + page.jsonld for page in pages)
    assert any(not (page.rdfa or page.jsonld or page.microdata) for page in pages)


def test_every_odd_part_is_in_the_manifest_and_is_answered(expected: Manifest) -> None:
    present = {page.what for page in expected.pages}
    assert {odd.what for odd in oddities(5)} <= present
    for odd in oddities(5):
        status = WEB.answer(DemoRequest(odd.host, odd.path, asked_before=9)).status
        assert (status == 200) == (odd.outcomes[0] in ("fetched", "disconnected", "too-many-redirects")), odd.path
        assert {3: "moved", 4: "gone", 5: "server-error"}.get(status // 100, odd.outcomes[0]) in odd.outcomes, odd.path
    for what in (
        "redirect-chain", "redirect-loop", "long-redirect-chain", "moved-to-another-host", "exact-copy", "near-copy",
        "dead-404", "dead-410", "slow", "busy-at-first", "always-failing", "truncated", "huge-page", "wrong-charset",
        "gzip", "br", "open-trap", "noindex", "nofollow", "unlisted", "robots-exception", "no-such-host",
    ):  # fmt: skip
        assert what in present, what
    assert {host.robots for host in expected.hosts} == {"read", "missing", "unreachable", "no-host"}
    assert {host.crawl_delay_s for host in expected.hosts} == {None, 0.5, 0.4, 0.25}
    assert len(expected.forbidden) > 40


def test_the_crash_profile_asks_for_two_seconds_on_some_hosts() -> None:
    delays = [host.crawl_delay_s for host in manifest_of(DemoWeb(hosts=6, pages=30, profile_name="crash")).hosts]
    assert 2.0 in delays and None in delays


def test_a_manifest_is_the_same_after_encoding(expected: Manifest) -> None:
    assert msgspec.json.decode(msgspec.json.encode(expected), type=Manifest) == expected


def test_names_are_linked_across_sites(expected: Manifest) -> None:
    """The people of the people site have painted, written and cooked the works on the other sites."""
    people = {page.url for page in expected.pages if page.url.startswith("http://people.demo.test/people/")}
    for site in WEB.sites:
        if site.kind.name in ("museum", "recipes", "events", "library", "blog", "news", "encyclopedia", "forum"):
            text = WEB.answer(DemoRequest(site.host, WEB.item(site, 0).path)).body.decode()
            assert any(url in text for url in people), site.host
