"""`gossamer sitemap`: which files it lists, under which URLs, and that our own parser reads it."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.site import gossamer

from gossamer.base.clock import SECOND, from_words
from gossamer.base.errors import ConfigError
from gossamer.cli.tools.sitemap import earlier, home_of
from gossamer.lab.sitemap import (
    FoundFile,
    SitemapPage,
    choose,
    files_of,
    frequency_of,
    interval_of,
    reason_against,
    url_at,
)
from gossamer.parse.sitemaps import parse_sitemap
from gossamer.values.url import Url

SITE = Url("https://example.org/")
NOW = from_words("2024-06-01T00:00:00Z")
DAY = 86_400 * SECOND


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "public"
    pages = ("index.html", "a/index.htm", "a/index.html", "a/b & c.html", "a/é.txt", "x.pdf", "private/y.html")
    others = (".hidden.html", ".git/z.html", "old.html~", "old.html.bak", "style.css", "robots.txt")
    for number, name in enumerate((*pages, *others)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("words")
        os.utime(path, (1_700_000_000 + number * 86_400, 1_700_000_000 + number * 86_400))
    (root / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "in.txt").symlink_to(root / "x.pdf")
    (root / "round").symlink_to(root)
    return root


LISTED = ("", "a/", "a/%C3%A9.txt", "a/b%20&%20c.html", "in.txt", "x.pdf")


def test_M_C5_a_folder_becomes_a_sitemap_that_our_parser_reads(folder: Path) -> None:
    done = gossamer("sitemap", folder, "--site", "https://example.org/")
    assert done.returncode == 0, done.stderr
    assert "6 pages" in done.stdout and "robots.txt" in done.stdout
    body = (folder / "sitemap.xml").read_bytes()
    found = parse_sitemap(body, Url("https://example.org/sitemap.xml"), is_strict=True)
    assert (found.kind, found.flags) == ("urlset", ())
    assert [entry.url.text for entry in found.entries] == [f"https://example.org/{path}" for path in sorted(LISTED)]
    assert found.entries[0].changed_at == 1_700_000_000 * SECOND and found.entries[0].changefreq
    assert (folder / "sitemap.xml").stat().st_mode & 0o777 == 0o644
    again = gossamer("sitemap", folder, "--site", "example.org", "--output", folder / "s.xml.gz", "--json")
    assert gzip.decompress((folder / "s.xml.gz").read_bytes()) == body
    data = json.loads(again.stdout)
    assert data["pages"] == 6 and data["files"][0]["entries"] == 6
    assert {"backup": 2, "hidden": 2, "link out of the folder": 1, "robots.txt": 1}.items() <= data["left_out"].items()


def test_an_empty_folder_and_wrong_arguments_are_errors(tmp_path: Path) -> None:
    empty = gossamer("sitemap", tmp_path, "--site", "https://example.org/")
    assert empty.returncode == 1 and "nothing to list" in empty.stderr and not (tmp_path / "sitemap.xml").exists()
    assert gossamer("sitemap", tmp_path / "no", "--site", "https://example.org/").returncode == 2
    for site in ("ftp://example.org/", "https://example.org/?a", "https://"):
        with pytest.raises(ConfigError):
            home_of(site)
    with pytest.raises(ConfigError):
        earlier(tmp_path / "no.xml", SITE)
    (tmp_path / "words.xml").write_text("<words/>")
    with pytest.raises(ConfigError):
        earlier(tmp_path / "words.xml", SITE)


def test_files_are_listed_under_the_urls_of_the_server() -> None:
    docs = home_of("example.org/docs")
    assert docs.text == "https://example.org/docs/"
    urls = {
        path: url.text if (url := url_at(path, docs)) else None
        for path in ("index.html", "a/INDEX.HTML", "a b.html", "100%.txt", "a?b#c.html")
    }
    assert urls == {
        "index.html": "https://example.org/docs/",
        "a/INDEX.HTML": "https://example.org/docs/a/",
        "a b.html": "https://example.org/docs/a%20b.html",
        "100%.txt": "https://example.org/docs/100%25.txt",
        "a?b#c.html": "https://example.org/docs/a%3Fb%23c.html",
    }


@pytest.mark.parametrize("name", [".a.html", "a.html~", "a.BAK", "#a.html#", "a.css", "a", "robots.txt", "a.html.swp"])
def test_some_files_are_not_listed(name: str) -> None:
    assert reason_against(name)


def test_the_change_frequency_follows_from_two_versions_of_a_page() -> None:
    page = Url("https://example.org/a")
    week = {page.text: NOW - 10 * DAY}
    assert frequency_of(interval_of(page, NOW - 3 * DAY, [NOW - 3 * DAY], NOW, week)) == "weekly"
    same = {page.text: NOW - 300 * DAY}
    assert frequency_of(interval_of(page, NOW - 300 * DAY, [NOW], NOW, same)) == "yearly"


def test_without_an_earlier_version_the_frequency_follows_from_dates_in_the_folder() -> None:
    page = Url("https://example.org/a")

    def word(age_days: float, *other_days: float) -> str:
        dates = [NOW - round(days * DAY) for days in (age_days, *other_days)]
        return frequency_of(interval_of(page, dates[0], dates, NOW, {}))

    assert word(0.05, 0.1, 0.2) == "hourly" and word(1, 2, 3) == "daily"
    assert word(7, 9, 12) == "weekly" and word(60, 90, 30) == "monthly" and word(900, 400, 800) == "yearly"
    assert word(3, 3, 3) == "", "files that were copied here together show no frequency"


def test_a_second_index_is_left_out_and_a_future_date_corrected() -> None:
    left_out: Counter[str] = Counter()
    files = [FoundFile("index.htm", NOW - DAY), FoundFile("index.html", NOW + DAY), FoundFile("b.html", NOW - 9 * DAY)]
    choice = choose(files, SITE, NOW, left_out)
    assert [(page.url.text, page.changed_at) for page in choice.pages] == [
        ("https://example.org/", NOW),
        ("https://example.org/b.html", NOW - 9 * DAY),
    ]
    assert choice.left_out == {"second index": 1}


def pages(count: int) -> Sequence[SitemapPage]:
    return [SitemapPage(Url(f"https://example.org/{n:06}?a=1&b=(2)~"), NOW - n * SECOND) for n in range(count)]


def test_too_many_pages_are_split_and_an_index_names_the_parts() -> None:
    made = files_of(pages(25), "sitemap.xml.gz", SITE, most_entries=10)
    assert [(one.name, one.entries) for one in made] == [
        ("sitemap-1.xml.gz", 10),
        ("sitemap-2.xml.gz", 10),
        ("sitemap-3.xml.gz", 5),
        ("sitemap.xml.gz", 3),
    ]
    index = parse_sitemap(made[-1].body, SITE)
    assert [one.url.text for one in index.maps] == [f"https://example.org/sitemap-{n}.xml.gz" for n in (1, 2, 3)]
    assert [one.changed_at for one in index.maps] == [NOW, NOW - 10 * SECOND, NOW - 20 * SECOND]
    listed = [entry.url for one in made[:-1] for entry in parse_sitemap(one.body, SITE).entries]
    assert listed == [page.url for page in pages(25)]


def test_no_part_is_larger_than_allowed() -> None:
    made = files_of(pages(200), "sitemap.xml", SITE, largest=4096)
    assert len(made) > 2 and all(len(one.body) <= 4096 for one in made[:-1])
    assert sum(one.entries for one in made[:-1]) == 200


def test_an_earlier_index_is_read_with_its_parts(tmp_path: Path) -> None:
    for one in files_of(pages(12), "sitemap.xml", SITE, most_entries=5):
        (tmp_path / one.name).write_bytes(one.body)
    assert earlier(tmp_path / "sitemap.xml", SITE) == {page.url.text: page.changed_at for page in pages(12)}


def test_the_same_folder_gives_the_same_bytes() -> None:
    assert files_of(pages(30), "s.xml.gz", SITE) == files_of(pages(30), "s.xml.gz", SITE)
