"""Freshness on its page, as JSON, and for Prometheus."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.archive.past import DAY, SHOP, START_AT, captured, collection, kettle
from tests.monitor.chronicles import chronicle_of, sample
from tests.web.exposition import families
from tests.web.site import Site, serving, trouble_in

from gossamer.base.clock import SECOND
from gossamer.base.files import DiskFiles
from gossamer.cli.ask.freshness import curve, in_words_of
from gossamer.cli.crawl.demo import line_of
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import MEANINGS, Chronicle, CrawlRun, freshness_report, visits_in
from gossamer.monitor.samples import newest_place, visits_since
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.web.crawl.freshness import pictures_of

HOSTILE = '"><script>alert(1)</script>.test'


def served(root: Path, known: Chronicle) -> Directory:
    directory = Directory(root)
    directory.root.mkdir()
    chronicle.write(DiskFiles(), directory.root, known)
    return directory


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    known = chronicle_of(range(0, 4000, 40), ("a.test", HOSTILE))
    with serving(served(tmp_path_factory.mktemp("fresh") / "c", known)) as site:
        yield site


def test_M_C2_the_page_shows_figures_two_charts_and_every_site(site: Site) -> None:
    page = site.ask("/crawl/freshness").page
    assert set(trouble_in(page)) == {"there is a svg"}, "our own charts"
    assert [one.text() for one in page.css("nav.tabs a[aria-current]")] == ["Freshness"]
    assert len(page.css("ul.figures li")) == 8 and len(page.css("figure.over-time polyline")) == 3
    labels = [one.attributes["aria-label"] or "" for one in page.css("figure.over-time > svg")]
    assert all(label.startswith("Over 2.8 days the") for label in labels), labels
    assert [row.css_first("a").text() for row in page.css("section tbody tr")] == ["a.test", HOSTILE]
    assert [one.text() for one in page.css("dl.meanings dt")] == list(MEANINGS)


def test_every_figure_links_to_its_list_or_the_page_says_there_is_none(site: Site) -> None:
    page = site.ask("/crawl/freshness").page
    links = [one.attributes["href"] or "" for one in page.css("ul.figures a, main > p a")]
    assert links == ["#sites-name"] * 3 + ["/export/revisits.csv"] * 2 and page.css("#sites-name")
    assert len(page.css("ul.figures li")) == 8 and "only counted, not listed" in page.css_first("main").text()


def test_figures_of_a_finished_crawl_are_shown_with_their_time(tmp_path: Path, site: Site) -> None:
    running = site.ask("/crawl/freshness").text
    assert "As of <time" in running and "the end of the last crawl" not in running
    known = chronicle_of(range(0, 400, 40), ("a.test",))
    over = msgspec.structs.replace(known, runs=(CrawlRun(1, known.samples[-1].at, is_over=True, comes_back=True),))
    with serving(served(tmp_path / "c", over)) as ended:
        assert "the end of the last crawl" in ended.ask("/crawl/freshness").text


def test_one_changed_page_in_22_revisits_is_reported_as_1_of_22(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [(kettle(), 200), *[("", 304)] * 21, (kettle("9"), 200)]
    captures = [captured(SHOP, START_AT + day * DAY, body, status) for day, (body, status) in enumerate(answers)]
    directory = collection(tmp_path / "c", captures)
    known = Chronicle().with_run(START_AT, comes_back=True)
    for until in (START_AT + 9 * DAY, START_AT + 30 * DAY):  # sampled twice: no visit is counted twice
        with closing(read_only(directory.state)) as state:
            visits = visits_since(state, known.volume, known.number, known.samples[-1].at if known.samples else 0)
            place = newest_place(state)
        known = known.with_sample(msgspec.structs.replace(sample(until), visits=visits), *place)
    chronicle.write(DiskFiles(), directory.root, known)
    with serving(directory) as shop:
        figures = [one.text() for one in shop.ask("/crawl/freshness").page.css("ul.figures li")]
        as_json = shop.ask("/crawl/freshness.json").json
    assert "1 of 22 revisits found a change" in figures and not any("100" in one for one in figures)
    assert as_json["changed_share"] == pytest.approx(1 / 22) and as_json["visits"]["unmodified"] == 21
    assert "22 revisits; 1 of them found a change" in in_words_of(visits_in(known.samples), "2026-11-01T08:00")
    assert "22 revisits, 1 of them found a change" in line_of(known)


@pytest.mark.parametrize(("apart_s", "is_shown"), [(0, False), (0.4, False), (1.9, False), (2, True), (300, True)])
def test_samples_less_than_two_seconds_apart_are_not_shown_as_a_chart(
    apart_s: float, is_shown: bool, tmp_path: Path
) -> None:
    samples = (sample(START_AT), sample(START_AT + round(apart_s * SECOND)))
    report = freshness_report(Chronicle(samples=samples), None, START_AT)
    lines = " ".join(curve(report))
    assert ("The last" in lines) == bool(pictures_of(report.samples)) == is_shown
    assert "not a date or time" not in lines and not re.search(r"\b0 seconds", lines)


def test_a_site_has_its_own_page_and_an_unknown_site_a_message(site: Site) -> None:
    page = site.ask("/crawl/freshness?site=a.test").page
    assert page.css_first("h2").text() == "a.test" and len(page.css("figure.over-time")) == 2
    unknown = site.ask("/crawl/freshness?site=no.test")
    assert unknown.status == 200 and "No sample covers this site" in unknown.text
    hostile = site.ask("/crawl/freshness?site=%22%3E%3Cscript%3E.test")
    assert "<script>.test" not in hostile.text


def test_freshness_as_json(site: Site) -> None:
    report = site.ask("/crawl/freshness.json").json
    assert report["all"]["pages"] == 100 and report["site_count"] == 2 and report["spared_share"] == 0.6
    assert report["samples"][0]["at"].startswith("2026-11-01") and report["samples"][0]["visits"]["visits"] == 10
    of_site = site.ask("/crawl/freshness.json?site=a.test").json
    assert of_site["samples"][0]["pages"] == 10 and of_site["samples"][0]["visits"] is None
    described = site.ask("/openapi.json").json["paths"]["/crawl/freshness.json"]["get"]
    assert "samples" in str(described) or "FreshnessReport" in str(described)


def test_the_crawl_page_and_the_metrics_have_the_main_figures(tmp_path: Path, site: Site) -> None:
    numbers = site.ask("/crawl.json").json["numbers"]
    assert numbers["freshness"] == 0.8 and numbers["age_days"] > 0
    metrics = families(site.ask("/metrics", accept="application/openmetrics-text").text, is_open=True)
    assert {"gossamer_freshness", "gossamer_age_days", "gossamer_revisits"} <= set(metrics)


def test_the_page_of_a_crawl_without_revisits_explains_how_to_start_them(tmp_path: Path) -> None:
    with serving(served(tmp_path / "c", Chronicle())) as site:
        page = site.ask("/crawl/freshness")
        assert trouble_in(page.page) == [] and "gossamer crawl --forever" in page.text
        assert site.ask("/crawl/freshness.json").json["all"] is None
        assert "gossamer_freshness" not in site.ask("/metrics").text


def test_one_sample_is_not_shown_as_a_chart(tmp_path: Path) -> None:
    with serving(served(tmp_path / "c", chronicle_of([0]))) as site:
        page = site.ask("/crawl/freshness").page
        assert page.css("figure.over-time") == [] and "The chart starts" in page.css_first("p.note").text()
