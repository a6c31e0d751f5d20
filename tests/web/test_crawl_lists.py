"""Visits and hosts as lists over a real collection: filters, positions, and the same as JSON and CSV."""

import csv
import io
import re

import pytest
from tests.json_answers import decoded
from tests.web.site import Site, trouble_in

from gossamer.collection.lists import HostsFound, ListedVisit, VisitsFound
from gossamer.values.outcome import GROUP_OF, GROUPS, Reason
from gossamer.web.crawl import lists as host_pages
from gossamer.web.crawl import lists as visit_pages


def visits(site: Site, asked: str = "") -> VisitsFound:
    answer = site.ask(f"/crawl/visits.json?most=1000&{asked}")
    assert answer.status == 200, answer.text
    return decoded(answer.body, VisitsFound)


def hosts(site: Site, asked: str = "") -> HostsFound:
    return decoded(site.ask(f"/crawl/hosts.json?most=1000&{asked}").body, HostsFound)


def test_every_reason_belongs_to_one_kind_and_no_kind_is_called_like_a_reason() -> None:
    assert sorted(GROUP_OF) == sorted(Reason) and not set(GROUPS) & set(Reason)


def test_the_table_shows_when_where_how_it_ended_and_what_came(site: Site) -> None:
    shown = site.ask("/crawl/visits").page
    assert trouble_in(shown) == []
    head = [cell.text() for cell in shown.css("table.visits thead th")]
    assert head == ["Ended (UTC)", "URL", "Outcome", "Status", "Type", "Size", "Facts", "Depth"]
    assert len(shown.css("table.visits tbody tr")) == 50
    assert all((link.attributes["href"] or "").startswith("/page?url=") for link in shown.css("td.where a"))
    found = visits(site).visits
    pages = [one for one in found if one.outcome == "fetched" and one.media_type == "text/html"]
    assert len(pages) > 30 and all(one.status == 200 and one.size for one in pages)
    assert sum(one.facts or 0 for one in pages) > 100
    times = [one.ended_at for one in found]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_from_page_to_page_every_visit_is_shown_once(site: Site, sort: str) -> None:
    everything = [one.url for one in visits(site, f"sort={sort}").visits]
    found: list[str] = []
    target = f"/crawl/visits?sort={sort}"
    while True:
        shown = site.ask(target).page
        found += [row.attributes["data-position"] or "" for row in shown.css("table.visits tbody tr")]
        onwards = shown.css_first("a[rel=next]")
        if onwards is None:
            break
        target = onwards.attributes["href"] or ""
    assert len(found) == len(set(found)) == len(everything) > 60


@pytest.mark.parametrize(
    ("asked", "holds"),
    [
        ("reason=failed", lambda one: GROUP_OF[one.outcome] == "failed"),
        ("reason=robots&reason=gone", lambda one: one.outcome in ("robots", "gone")),
        ("host=museum.demo.test", lambda one: one.host == "museum.demo.test"),
        ("text=MUSEUM", lambda one: "museum" in one.url),
        ("status=4xx", lambda one: one.status and one.status // 100 == 4),
        ("status=3", lambda one: one.status and one.status // 100 == 3),
        ("type=text/html", lambda one: one.media_type == "text/html"),
        (
            "type=text/html&status=2xx&text=mus",
            lambda one: (one.media_type, one.status) == ("text/html", 200) and "mus" in one.url,
        ),
        ("since=2020-01-01&until=2100-01-01", lambda one: True),
    ],
)
def test_a_filter_keeps_what_it_says_and_nothing_else(site: Site, asked: str, holds: object) -> None:
    def is_so(one: ListedVisit) -> bool:
        return bool(holds(one))  # type: ignore[operator]

    found, everything = visits(site, asked).visits, visits(site).visits
    assert found and [one for one in everything if is_so(one)] == list(found)


def test_a_search_without_an_index_is_bounded_and_goes_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.collection.lists.MOST_LOOKED_AT", 10)
    found = visits(site, "text=nowhere-to-be-found")
    assert found.is_cut and found.looked_at == 10 and found.next and not found.visits and found.reached_at
    shown = site.ask("/crawl/visits?text=nowhere-to-be-found").page
    assert "fetches searched" in shown.text() and "Search further" in shown.css_first("a[rel=next]").text()


def test_nothing_found_is_said_and_led_out_of(site: Site, empty_site: Site) -> None:
    assert "No fetch matches" in site.ask("/crawl/visits?text=zzzz").text
    assert "Nothing has been fetched yet" in empty_site.ask("/crawl/visits").text
    assert "No host is known yet" in empty_site.ask("/crawl/hosts").text
    assert "starts from the seed URLs you add" in empty_site.ask("/crawl").text


@pytest.mark.parametrize(
    "asked",
    ["reason=nonsense", "since=yesterday", "after=x", "after=1.2", "status=9xx", "sort=up", "most=0", "most=1001"],
)
def test_a_value_that_cannot_be_is_refused_in_words(site: Site, asked: str) -> None:
    for path in ("/crawl/visits", "/crawl/visits.json", "/crawl/visits.csv"):
        answer = site.ask(f"{path}?{asked}")
        assert answer.status == 400 and "Traceback" not in answer.text


@pytest.mark.parametrize("at_once", [1, 7, 500])
def test_a_list_as_csv_is_whole_whatever_its_length(site: Site, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_pages, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(host_pages, "ROWS_AT_ONCE", at_once)
    by_url, by_host = visits(site).visits, hosts(site).hosts
    assert len(by_url) > 50 and len(by_host) > 8
    for path, column, wanted in (
        ("/crawl/visits.csv", "url", [one.url for one in by_url]),
        ("/crawl/visits.csv?reason=refused", "url", [one.url for one in visits(site, "reason=refused").visits]),
        ("/crawl/visits.csv?most=9", "url", [one.url for one in by_url[:9]]),
        ("/crawl/visits.csv?host=nowhere.at.all", "url", []),
        ("/crawl/hosts.csv", "host", [one.host for one in by_host]),
        ("/crawl/hosts.csv?most=3", "host", [one.host for one in by_host[:3]]),
    ):
        answer = site.ask(path)
        assert answer.headers["transfer-encoding"] == "chunked", "it is made while it is sent"
        assert [row[column] for row in csv.DictReader(io.StringIO(answer.text, newline=""))] == wanted, path


def test_the_same_as_csv(site: Site) -> None:
    answer = site.ask("/crawl/visits.csv?most=1000")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["url"] for row in rows] == [one.url for one in visits(site).visits]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", rows[0]["ended_at"])
    rows = list(csv.DictReader(io.StringIO(site.ask("/crawl/hosts.csv?most=1000").text, newline="")))
    assert [row["host"] for row in rows] == [one.host for one in hosts(site).hosts]


def test_hosts_are_listed_with_state_gap_robots_and_traps(site: Site) -> None:
    found = hosts(site)
    assert len(found.hosts) > 8 and sum(found.states.values()) == len(found.hosts)
    by_name = {one.host: one for one in found.hosts}
    museum = by_name["museum.demo.test"]
    assert museum.state == "done" and museum.visits > 3 and museum.robots in ("read", "missing") and museum.gap_s > 0
    assert museum.least_gap_s is not None and museum.broken == 0
    assert {one.robots for one in found.hosts} >= {"read", "missing"}
    shown = site.ask("/crawl/hosts").page
    assert trouble_in(shown) == [] and len(shown.css("table.hosts tbody tr")) == len(found.hosts)
    assert shown.css_first("table.hosts th a").attributes["href"].startswith("/host?name=")


def test_hosts_by_state_name_and_order(site: Site) -> None:
    assert {one.state for one in hosts(site, "state=done").hosts} == {"done"}
    assert all("demo" in one.host for one in hosts(site, "text=demo").hosts)
    visited = [one.visits for one in hosts(site, "sort=visits").hosts]
    assert visited == sorted(visited, reverse=True)
    names = [one.host for one in hosts(site, "sort=name").hosts]
    assert names == sorted(names)
    first = site.ask("/crawl/hosts.json?sort=visits&most=3").json
    second = site.ask(f"/crawl/hosts.json?sort=visits&most=3&after={first['next']}").json
    both = [one["host"] for one in first["hosts"] + second["hosts"]]
    assert both == [one.host for one in hosts(site, "sort=visits").hosts][:6]
    for wrong in ("state=asleep", "sort=colour", "after=x", "most=0"):
        assert site.ask(f"/crawl/hosts?{wrong}").status == 400


def test_one_state_of_a_host_in_the_list_and_in_words(site: Site) -> None:
    """The list tells states apart in SQL, the words in Python."""
    for state in hosts(site).states:
        assert all(one.state == state for one in hosts(site, f"state={state}").hosts)
