"""The lists of fetches and hosts of a real collection: filters, paging, JSON and CSV."""

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


def visits(site: Site, query: str = "") -> VisitsFound:
    answer = site.ask(f"/crawl/visits.json?most=1000&{query}")
    assert answer.status == 200, answer.text
    return decoded(answer.body, VisitsFound)


def hosts(site: Site, query: str = "") -> HostsFound:
    return decoded(site.ask(f"/crawl/hosts.json?most=1000&{query}").body, HostsFound)


def test_every_reason_belongs_to_one_group_and_no_group_has_the_name_of_a_reason() -> None:
    assert sorted(GROUP_OF) == sorted(Reason) and not set(GROUPS) & set(Reason)


def test_the_table_shows_time_url_outcome_and_response(site: Site) -> None:
    shown = site.ask("/crawl/visits").page
    assert trouble_in(shown) == []
    head = [cell.text() for cell in shown.css("table.visits thead th")]
    assert head == ["Ended (UTC)", "URL", "Outcome", "Status", "Type", "Size", "Facts", "Depth"]
    assert len(shown.css("table.visits tbody tr")) == 50
    assert all((link.attributes["href"] or "").startswith("/page?url=") for link in shown.css("td.where a"))
    listed = visits(site).visits
    pages = [one for one in listed if one.outcome == "fetched" and one.media_type == "text/html"]
    assert len(pages) > 30 and all(one.status == 200 and one.size for one in pages)
    assert sum(one.facts or 0 for one in pages) > 100
    times = [one.ended_at for one in listed]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_every_fetch_is_shown_once_over_all_pages_of_the_list(site: Site, sort: str) -> None:
    all_visits = [one.url for one in visits(site, f"sort={sort}").visits]
    shown_positions: list[str] = []
    target = f"/crawl/visits?sort={sort}"
    while True:
        shown = site.ask(target).page
        shown_positions += [row.attributes["data-position"] or "" for row in shown.css("table.visits tbody tr")]
        next_page = shown.css_first("a[rel=next]")
        if next_page is None:
            break
        target = next_page.attributes["href"] or ""
    assert len(shown_positions) == len(set(shown_positions)) == len(all_visits) > 60


@pytest.mark.parametrize(
    ("query", "matches"),
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
def test_a_filter_keeps_exactly_the_fetches_that_match(site: Site, query: str, matches: object) -> None:
    def is_match(one: ListedVisit) -> bool:
        return bool(matches(one))  # type: ignore[operator]

    filtered, all_visits = visits(site, query).visits, visits(site).visits
    assert filtered and [one for one in all_visits if is_match(one)] == list(filtered)


def test_a_search_without_an_index_is_bounded_and_can_be_continued(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.collection.lists.MOST_LOOKED_AT", 10)
    result = visits(site, "text=nowhere-to-be-found")
    assert result.is_cut and result.looked_at == 10 and result.next and not result.visits and result.reached_at
    shown = site.ask("/crawl/visits?text=nowhere-to-be-found").page
    assert "fetches searched" in shown.text() and "Search further" in shown.css_first("a[rel=next]").text()


def test_an_empty_list_has_a_message(site: Site, empty_site: Site) -> None:
    assert "No fetch matches" in site.ask("/crawl/visits?text=zzzz").text
    assert "Nothing has been fetched yet" in empty_site.ask("/crawl/visits").text
    assert "No host is known yet" in empty_site.ask("/crawl/hosts").text
    assert "starts from the seed URLs you add" in empty_site.ask("/crawl").text


@pytest.mark.parametrize(
    "query",
    ["reason=nonsense", "since=yesterday", "after=x", "after=1.2", "status=9xx", "sort=up", "most=0", "most=1001"],
)
def test_an_invalid_value_is_refused_with_a_message(site: Site, query: str) -> None:
    for path in ("/crawl/visits", "/crawl/visits.json", "/crawl/visits.csv"):
        answer = site.ask(f"{path}?{query}")
        assert answer.status == 400 and "Traceback" not in answer.text


@pytest.mark.parametrize("at_once", [1, 7, 500])
def test_a_list_as_csv_is_complete_at_any_length(site: Site, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_pages, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(host_pages, "ROWS_AT_ONCE", at_once)
    by_url, by_host = visits(site).visits, hosts(site).hosts
    assert len(by_url) > 50 and len(by_host) > 8
    for path, column, expected in (
        ("/crawl/visits.csv", "url", [one.url for one in by_url]),
        ("/crawl/visits.csv?reason=refused", "url", [one.url for one in visits(site, "reason=refused").visits]),
        ("/crawl/visits.csv?most=9", "url", [one.url for one in by_url[:9]]),
        ("/crawl/visits.csv?host=nowhere.at.all", "url", []),
        ("/crawl/hosts.csv", "host", [one.host for one in by_host]),
        ("/crawl/hosts.csv?most=3", "host", [one.host for one in by_host[:3]]),
    ):
        answer = site.ask(path)
        assert answer.headers["transfer-encoding"] == "chunked", "it is streamed"
        assert [row[column] for row in csv.DictReader(io.StringIO(answer.text, newline=""))] == expected, path


def test_lists_as_csv(site: Site) -> None:
    answer = site.ask("/crawl/visits.csv?most=1000")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["url"] for row in rows] == [one.url for one in visits(site).visits]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", rows[0]["ended_at"])
    rows = list(csv.DictReader(io.StringIO(site.ask("/crawl/hosts.csv?most=1000").text, newline="")))
    assert [row["host"] for row in rows] == [one.host for one in hosts(site).hosts]


def test_hosts_are_listed_with_state_gap_robots_and_traps(site: Site) -> None:
    listed = hosts(site)
    assert len(listed.hosts) > 8 and sum(listed.states.values()) == len(listed.hosts)
    by_name = {one.host: one for one in listed.hosts}
    museum = by_name["museum.demo.test"]
    assert museum.state == "done" and museum.visits > 3 and museum.robots in ("read", "missing") and museum.gap_s > 0
    assert museum.least_gap_s is not None and museum.broken == 0
    assert {one.robots for one in listed.hosts} >= {"read", "missing"}
    shown = site.ask("/crawl/hosts").page
    assert trouble_in(shown) == [] and len(shown.css("table.hosts tbody tr")) == len(listed.hosts)
    assert shown.css_first("table.hosts th a").attributes["href"].startswith("/host?name=")


def test_hosts_are_filtered_by_state_and_name_and_sorted(site: Site) -> None:
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


def test_the_filter_by_state_finds_hosts_shown_with_that_state(site: Site) -> None:
    """The filter decides the state in SQL, the text in Python."""
    for state in hosts(site).states:
        assert all(one.state == state for one in hosts(site, f"state={state}").hosts)
