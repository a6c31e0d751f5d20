"""One definition of a page, and every number links to its list: checked on all surfaces after a small crawl."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.site import QUICK, gossamer, harbour, page
from tests.cli.site import Site as Web
from tests.web.site import Site, serving

from gossamer.store.directory import Directory
from gossamer.web.crawl.status import LISTS

PAGES = 9
"""Eight of the harbour and a copy of one; the page with `noindex` does not count."""
LEAST_TIMESTAMP = 10**14


class Crawled:
    def __init__(self, root: Path, site: Site, origin: str, messages: str, summary: dict[str, object]) -> None:
        self.root, self.site, self.origin, self.messages, self.summary = root, site, origin, messages, summary


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    root = tmp_path_factory.mktemp("numbers") / "harbour"
    pages = harbour()
    pages["/"] = pages["/"].replace("</main>", '<a href="/copy">c</a><a href="/hidden">h</a></main>')
    pages["/copy"] = pages["/docs/ropes"]
    pages["/hidden"] = page("Hidden", "Not for search.").replace(
        "<head>", '<head><meta name="robots" content="noindex">'
    )
    with Web(pages).serving() as web:
        first = gossamer("crawl", web.root, "--dir", root, *QUICK)
        assert first.returncode == 0, first.stderr
        again = gossamer("crawl", "--dir", root, *QUICK, "--json")
        summary = json.loads(again.stdout.splitlines()[-1])
        with serving(Directory(root)) as site:
            yield Crawled(root, site, web.root, first.stderr, summary)


def rows_of(crawled: Crawled, target: str) -> list[dict[str, object]]:
    """All rows of the list behind a number."""
    path, _, query = target.partition("#")[0].partition("?")
    answer = crawled.site.ask(f"{path}.json?{query}&most=1000").json
    lists = answer.get("found", answer)
    return next(lists[name] for name in ("pages", "visits", "hosts") if name in lists)


def test_every_surface_counts_the_same_pages(crawled: Crawled) -> None:
    site, root = crawled.site, crawled.root
    counts = {
        "status": json.loads(gossamer("status", "--dir", root, "--json").stdout)["pages"],
        "top": json.loads(gossamer("top", "--once", "--json", "--dir", root).stdout)["counters"]["pages"],
        "crawl --json": crawled.summary["pages"],
        "summary": int(re.search(r"(\d+)\s+pages;", crawled.messages)[1]),  # type: ignore[index]
        "/crawl": site.ask("/crawl.json").json["numbers"]["pages"],
        "/status": site.ask("/status.json").json["numbers"]["pages"],
        "/nodes": site.ask("/nodes.json").json["counters"]["pages"],
        "/crawl/pages": site.ask("/crawl/pages.json").json["total"],
        "its rows": len(rows_of(crawled, "/crawl/pages")),
        "vocabularies": site.ask("/vocabularies.json").json["pages"],
        "search": site.ask("/search.json?q=site:127.0.0.1").json["total"],
        "/export/pages.csv": len(list(csv.reader(io.StringIO(site.ask("/export/pages.csv").text)))) - 1,
        "/export/pages.jsonl": len(site.ask("/export/pages.jsonl").text.splitlines()),
        "export jsonl": len(gossamer("export", "jsonl", "--dir", root).stdout.splitlines()),
        "export pages": len(gossamer("export", "pages", "--dir", root).stdout.splitlines()) - 1,
    }
    assert counts == dict.fromkeys(counts, PAGES)


def test_every_number_links_to_a_list_with_that_many_rows(crawled: Crawled) -> None:
    numbers = crawled.site.ask("/crawl.json").json["numbers"]
    for name, what in (("known", "urls"), ("captures", "captures")):
        table = list(csv.DictReader(io.StringIO(crawled.site.ask(LISTS[name]).text)))
        assert len(table) == numbers[name] > PAGES, name
        written = gossamer("export", what, "--dir", crawled.root).stdout
        assert list(csv.DictReader(io.StringIO(written))) == table
    assert numbers["refused"] == 1 and numbers["missing"] == 1 and numbers["found"] == PAGES + 1
    for name in ("pages", "found", "redirected", "missing", "refused", "failed", "leased", "hosts", "retired"):
        assert len(rows_of(crawled, LISTS[name])) == numbers[name], name
    for name, column in (("queued", "queued"), ("quarantined", "held")):
        assert sum(int(str(row[column])) for row in rows_of(crawled, LISTS[name])) == numbers[name]
    outcomes = crawled.site.ask("/crawl.json").json["outcomes"]
    for code, number in outcomes.items():
        assert len(rows_of(crawled, f"/crawl/visits?reason={code}")) == number
        listed = gossamer("export", "outcomes", "--reason", code, "--dir", crawled.root).stdout
        assert len(listed.splitlines()) - 1 == number
    assert sum(outcomes.values()) == crawled.site.ask("/nodes.json").json["counters"]["visited"]


@pytest.mark.parametrize("path", ["/", "/crawl", "/status", "/nodes"])
def test_the_numbers_on_pages_are_links_that_work(crawled: Crawled, path: str) -> None:
    targets = {node.attributes["href"] or "" for node in crawled.site.ask(path).page.css("ul.cards a, dl.counters a")}
    assert LISTS["pages"] in targets or path == "/nodes"
    for target in targets:
        assert crawled.site.ask(target.partition("#")[0]).status == 200, target


def test_numbers_of_pages_vocabularies_and_results_are_links_that_work_too(crawled: Crawled) -> None:
    site, places = crawled.site, ["/vocabularies", "/?q=site:127.0.0.1", f"/page?url={crawled.origin}", "/nodes"]
    vocabulary = site.ask("/vocabularies").page.css_first("table.vocabularies th a").attributes["href"] or ""
    plain: list[str] = []
    for place in (*places, vocabulary):
        page = site.ask(place).page
        for element in page.css("table.vocabularies td.number, ul.cards strong, dl.summary dd, .meta"):
            links = [link for link in (*element.css("a"), element.parent) if link is not None and link.tag == "a"]
            for link in links:
                target = (link.attributes["href"] or "").partition("#")
                assert target[0] == "" or site.ask(target[0]).status == 200, (place, target)
                assert not target[2] or target[0] or page.css_first(f"#{target[2]}") is not None, (place, target)
            if re.search(r"\d (fact|page)|^\d+$", element.text().strip()) and not links:
                plain.append(f"{place}: {element.html}")
    assert [one for one in plain if vocabulary not in one] == [], "numbers without a link"


@pytest.mark.parametrize(
    "path",
    ["/crawl.json", "/crawl/visits.json", "/crawl/pages.json", "/crawl/hosts.json", "/nodes.json", "/status.json",
     "/search.json?q=harbour", "/nodes/history.json?minutes=1", "/vocabularies.json", "/crawl/freshness.json"],
)  # fmt: skip
def test_no_answer_has_a_timestamp_as_a_number(crawled: Crawled, path: str) -> None:
    def numbers(value: object) -> Iterator[float]:
        if isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                yield from numbers(one)
        elif isinstance(value, int | float):
            yield value

    assert max(numbers(crawled.site.ask(path).json), default=0) < LEAST_TIMESTAMP


def test_the_links_of_an_archived_page_are_checked_by_the_rules_of_its_crawl(crawled: Crawled) -> None:
    done = gossamer("links", crawled.origin, "--dir", crawled.root, "--json")
    link = {one["url"].removeprefix(crawled.origin): one for one in json.loads(done.stdout)}
    assert done.returncode == 0 and link["docs/ropes"]["is_followed"] and link["docs/ropes"]["text"] == "to /docs/ropes"
    assert link["private/x"]["is_followed"] is False and link["private/x"]["rule"] == "robots"
    assert gossamer("links", crawled.origin + "never", "--dir", crawled.root).returncode == 1


def test_without_revisits_the_command_explains_how_to_start_them(crawled: Crawled) -> None:
    done = gossamer("revisits", "--dir", crawled.root)
    assert done.returncode == 0 and "crawl --forever" in done.stdout
