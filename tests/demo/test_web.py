"""The demonstration web is the same for every client, is connected by links, and has every odd part."""

import gzip
import statistics
from urllib.parse import urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.base.errors import ConfigError
from gossamer.demo.oddities import NOWHERE, ODD_HOSTS
from gossamer.demo.pages import DemoAnswer, DemoRequest
from gossamer.demo.verdict import Manifest, manifest_of, may_be_asked
from gossamer.demo.web import DemoWeb
from gossamer.demo.words import LANGUAGES, pool
from gossamer.values.url import url_of

WEB = DemoWeb(seed=3, hosts=12, pages=240)


@pytest.fixture(scope="module")
def expected() -> Manifest:
    return manifest_of(WEB)


def ask(web: DemoWeb, url: str, **more: object) -> DemoAnswer:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return web.answer(DemoRequest(parts.netloc, target, **more))  # type: ignore[arg-type]


def test_the_same_numbers_give_the_same_bytes(expected: Manifest) -> None:
    again = DemoWeb(seed=3, hosts=12, pages=240)
    for page in expected.pages[::7]:
        assert ask(again, page.url) == ask(WEB, page.url)


def test_another_seed_gives_another_web(expected: Manifest) -> None:
    other = manifest_of(DemoWeb(seed=4, hosts=12, pages=240))
    ours = {page.url for page in expected.pages if page.facts > 6}
    shared = ours & {page.url for page in other.pages}
    assert len(shared) < len(ours) / 2


def test_a_page_does_not_depend_on_earlier_requests(expected: Manifest) -> None:
    urls = [page.url for page in expected.pages[:60]]
    forwards = [ask(WEB, url) for url in urls]
    assert [ask(WEB, url) for url in reversed(urls)] == forwards[::-1]


@pytest.mark.parametrize(("hosts", "pages"), [(1, 3), (1, 40), (5, 27), (12, 600), (30, 1000)])
def test_a_web_has_exactly_the_requested_number_of_pages(hosts: int, pages: int) -> None:
    web = DemoWeb(hosts=hosts, pages=pages)
    assert len(web.sites) == hosts
    assert sum(site.pages for site in web.sites) == pages
    assert all(site.items >= 1 and site.pages == 1 + site.listings + site.items for site in web.sites)


def test_a_page_of_a_very_large_web_is_written_alone() -> None:
    web = DemoWeb(hosts=200, pages=100_000)
    site = web.sites[199]
    item = web.item(site, site.items - 1)
    assert ask(web, item.url).status == 200
    assert ask(web, f"{site.origin}{site.kind.listing.format(k=site.listings)}").status == 200


def test_an_impossible_web_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 pages a host"):
        DemoWeb(hosts=12, pages=30)
    with pytest.raises(ConfigError, match="no profile 'fast'"):
        DemoWeb(profile_name="fast")


def test_urls_are_canonical_and_other_spellings_are_not_found(expected: Manifest) -> None:
    for page in expected.pages:
        url = url_of(page.url)
        assert url is not None and url.text == page.url
    site = WEB.sites[0]
    assert ask(WEB, f"{site.origin}/objects/another-name-3").status == 404
    assert ask(WEB, f"{site.origin}{site.kind.listing.format(k=site.listings + 1)}").status == 404
    assert ask(WEB, "http://elsewhere.test/").status == 421


def test_pages_have_the_size_and_links_of_real_ones(expected: Manifest) -> None:
    default = manifest_of(DemoWeb())
    pages = [page for host in default.hosts[:12] for page in host.pages if page.counts]
    sizes = [len(ask(DemoWeb(), page.url).body) for page in pages[::3]]
    assert 24_000 < statistics.mean(sizes) < 36_000
    assert min(sizes) > 6_000 and max(sizes) < 90_000
    links = [ask(WEB, page.url).body.count(b"<a ") for page in expected.hosts[0].pages[:30]]
    assert 25 < statistics.mean(links) < 55


def test_every_page_answers_as_in_the_manifest(expected: Manifest) -> None:
    means = {
        "fetched": 200,
        "moved": (301, 302, 307, 308),
        "gone": (404, 410),
        "server-error": 500,
        "disconnected": 200,
    }
    for page in expected.pages:
        if urlsplit(page.url).netloc == NOWHERE or page.outcomes == ("too-many-redirects",):
            continue
        status = ask(WEB, page.url, asked_before=9).status
        right = means[page.outcomes[0]]
        assert status in right if isinstance(right, tuple) else status == right, page


def links_of(url: str, answer: DemoAnswer) -> list[str]:
    if answer.status in (301, 302, 307, 308):
        return [dict(answer.headers)["Location"]]
    tree = LexborHTMLParser(answer.body)
    robots = tree.css_first('meta[name="robots"]')
    if robots is not None and "nofollow" in (robots.attributes["content"] or ""):
        return []
    found = tree.css_first("base")
    base = url_of(found.attributes["href"] or "", url_of(url)) if found is not None else url_of(url)
    followed = [
        a.attributes["href"] or "" for a in tree.css("a[href]") if "nofollow" not in (a.attributes.get("rel") or "")
    ]
    return [joined.text for href in followed if (joined := url_of(href, base)) is not None]


def reach(web: DemoWeb, expected: Manifest, seeds: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The pages that a crawler without a network reaches from `seeds`, and those that robots.txt disallows."""
    hosts = {host.name: host for host in expected.hosts}
    seen, refused, queue = set(seeds), set(), list(seeds)
    while queue:
        url = queue.pop()
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        if parts.netloc == NOWHERE or not may_be_asked(hosts[parts.netloc], target):
            refused.add(url)
            continue
        if parts.path in ("/huge", "/style.css"):
            continue
        base = url_of(url)
        assert base is not None
        for link in links_of(url, ask(web, url, asked_before=9)):
            joined = url_of(link, base)
            if joined is not None and joined.text not in seen:
                seen.add(joined.text)
                queue.append(joined.text)
    return seen - refused, refused


def test_M_Z10_every_page_that_counts_is_reached_by_links_from_any_start_page(expected: Manifest) -> None:
    reached, refused = reach(WEB, expected, (WEB.seeds[5],))
    assert {page.url for page in expected.pages if page.counts} - reached == set()
    assert {page.url for page in expected.pages if page.via == "link"} - reached == {
        f"http://{NOWHERE}/",
        f"http://{NOWHERE}/lost",
    }
    # nofollow hides two URLs; all other forbidden URLs are linked to, and refused by their rules alone
    behind = {url for url in expected.forbidden if "behind" in url}
    assert set(expected.forbidden) - behind <= refused
    assert not behind & (reached | refused)


def test_every_reached_url_is_in_the_manifest(expected: Manifest) -> None:
    reached, refused = reach(WEB, expected, WEB.seeds)
    assert reached - {page.url for page in expected.pages} == set()
    assert not {page.url for page in expected.pages if page.via == "sitemap"} & reached
    assert refused - {f"http://{NOWHERE}/", f"http://{NOWHERE}/lost"} <= set(expected.forbidden)


def test_a_web_of_one_host_is_connected_too() -> None:
    web = DemoWeb(hosts=1, pages=90)
    expected = manifest_of(web)
    reached, _ = reach(web, expected, web.seeds)
    assert {page.url for page in expected.pages if page.counts} <= reached


def test_sitemaps_list_the_pages_without_links(expected: Manifest) -> None:
    unlisted = [page.url for page in expected.pages if page.via == "sitemap"]
    assert len(unlisted) == 12
    for url in unlisted:
        origin = url.rpartition("/unlisted")[0]
        robots = ask(WEB, f"{origin}/robots.txt").body.decode()
        named = robots.rpartition("Sitemap: ")[2].strip()
        text = ask(WEB, named).body.decode()
        if "<sitemapindex" in text:
            text = gzip.decompress(ask(WEB, f"{origin}/sitemap-1.xml.gz").body).decode()
        assert f"<loc>{url}</loc>" in text


def test_traps_link_to_ever_more_urls() -> None:
    odd = "http://odd.demo.test"
    assert f"{odd}/calendar/2027/1" in links_of(f"{odd}/calendar/2026/12", ask(WEB, f"{odd}/calendar/2026/12"))
    onward = links_of(f"{odd}/shelf?session=77", ask(WEB, f"{odd}/shelf?session=77"))
    assert len([url for url in onward if "session=" in url]) == 5


def test_the_blog_has_feeds_in_both_formats() -> None:
    assert b"<rss" in ask(WEB, "http://blog.demo.test/feed.rss").body
    assert b"<feed" in ask(WEB, "http://blog.demo.test/feed.atom").body
    assert b'type="application/atom+xml"' in ask(WEB, "http://blog.demo.test/").body


def test_copies_are_copies() -> None:
    bodies = {path: ask(WEB, f"http://odd.demo.test{path}").body for path in ("/original", "/copy", "/near-copy")}
    assert bodies["/copy"] == bodies["/original"]
    assert bodies["/near-copy"] != bodies["/original"]
    assert bodies["/near-copy"].replace(b"<p>This sentence was added to the copy.</p>", b"") == bodies["/original"]


def test_wrong_charsets_are_wrong() -> None:
    with pytest.raises(UnicodeDecodeError):
        ask(WEB, "http://odd.demo.test/charset/latin1-called-utf8").body.decode()
    japanese = ask(WEB, "http://odd.demo.test/charset/shift-jis").body
    assert "は" in japanese.decode("shift_jis")


def test_prose_needs_no_escaping() -> None:
    for language in LANGUAGES:
        sentences = pool(1, language)
        assert len(set(sentences)) > 0.9 * len(sentences)
        assert not set('<>&"') & set("".join(sentences))


def test_every_size_has_the_odd_hosts() -> None:
    for hosts in (1, 12, 40):
        assert set(ODD_HOSTS) <= set(DemoWeb(hosts=hosts, pages=200).host_names)
        assert NOWHERE not in DemoWeb(hosts=hosts, pages=200).host_names
