"""`gossamer history`: the versions of a page, their differences, and the export of all versions to folders."""

import asyncio
import gzip
import json
from pathlib import Path

import pytest
from tests.archive.past import DAY, HOUR, SHOP, START_AT, captured, collection, keep, kettle, past

from gossamer.archive.versions import CaptureVersion, Timeline
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, GossamerError, QueryRefused, WorkerLost
from gossamer.base.tell import silent
from gossamer.cli.ask.history import chosen, history
from gossamer.collection.history.export import (
    LONGEST_NAME,
    LONGEST_PATH,
    PROGRESS,
    ExportedHistory,
    export_tree,
    file_of,
    numbered,
)
from gossamer.collection.history.reader import HistoryReader, extractor
from gossamer.collection.maintenance.compact import compact
from gossamer.config.slices import Retain
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Chronicle, CrawlRun
from gossamer.reader.reading import version_job
from gossamer.store.directory import Directory
from gossamer.values.url import Url, url_of

ESCAPE = "\x1b]0;mine\x07"
NEXT = Url("https://shop.test/kettle/big")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    """Six fetches of a page: first seen, another menu, another price, gone, other words, the same."""
    sings = kettle("18.00", f"A kettle that sings{ESCAPE} all day.")
    taken = [
        captured(SHOP, START_AT, kettle()),
        captured(SHOP, START_AT + DAY, kettle(menu="<a href=/news>news</a>")),
        captured(SHOP, START_AT + 2 * DAY, kettle("18.00")),
        captured(SHOP, START_AT + 3 * DAY, "gone", 404),
        captured(SHOP, START_AT + 4 * DAY, sings),
        captured(SHOP, START_AT + 5 * DAY, sings),
        captured(NEXT, START_AT + 5 * DAY, kettle("99.00", name="Big")),
    ]
    return collection(tmp_path_factory.mktemp("past") / "shop", taken)


def output(capsys: pytest.CaptureFixture[str], kept: Directory, *what: str, **more: object) -> str:
    assert history(*what, dir=kept.root, **more) == 0  # type: ignore[arg-type]
    return capsys.readouterr().out


def timeline(directory: Directory, url: Url = SHOP, most: int = 99) -> Timeline:
    return asyncio.run(past(directory).timeline(url, most))


def changes(versions: list[CaptureVersion]) -> list[tuple[str, ...] | None]:
    return [version.changes for version in versions]


def test_M_B4_every_fetch_is_listed_with_the_kind_of_its_change(kept: Directory) -> None:
    found = timeline(kept)
    expected = [None, ("bytes",), ("bytes", "facts"), None, ("bytes", "text"), ()]
    assert changes(found.versions) == expected and found.earlier == 0
    assert [version.status for version in found.versions] == [200, 200, 200, 404, 200, 200]
    assert [version.number for version in found.versions] == [1, 2, 3, 4, 5, 6]
    assert found.versions[3].note == "answered 404" and found.versions[0].fact_count == 9


def test_the_newest_versions_are_compared_with_the_one_before_them_too(kept: Directory) -> None:
    found = timeline(kept, most=2)
    assert changes(found.versions) == [("bytes", "text"), ()], "compared with the last version that was a page"
    assert changes(timeline(kept, most=4).versions)[0] == ("bytes", "facts")
    assert found.earlier == 4 and found.versions[0].number == 5


def test_the_table_has_times_and_changes(capsys: pytest.CaptureFixture[str], kept: Directory) -> None:
    lines = output(capsys, kept, SHOP.text).splitlines()
    assert lines[0] == SHOP.text and "first seen" in lines[2] and "bytes only" in lines[3]
    assert all(" utf-8 " in line for line in lines[2:5])
    assert lines[4].rstrip().endswith("facts") and lines[6].rstrip().endswith("text")


def test_the_last_change_is_shown_line_by_line_without_control_characters(
    capsys: pytest.CaptureFixture[str], kept: Directory
) -> None:
    out = output(capsys, kept, SHOP.text, diff=True)
    assert "- Kettle A kettle that whistles." in out and "+ Kettle A kettle that sings" in out
    assert "\x1b" not in out and "\x07" not in out
    assert "facts (" not in out


def test_two_versions_are_compared_by_number_or_by_time(capsys: pytest.CaptureFixture[str], kept: Directory) -> None:
    out = output(capsys, kept, SHOP.text, "1", "2026-11-03", json=True)
    found = json.loads(out)
    assert found["changes"] == ["bytes", "facts"] and found["text"] == []
    assert [line.partition(" ")[2] for line in found["facts"]["added"]] == ['<http://schema.org/price> "18.00" .']
    assert found["facts"]["kept"] == 8 and len(found["facts"]["removed"]) == 1


def test_M_Z9_a_page_is_shown_as_it_was(capsys: pytest.CaptureFixture[str], kept: Directory) -> None:
    found = json.loads(output(capsys, kept, SHOP.text, at="2026-11-02", json=True))
    assert found["fetched_at"].startswith("2026-11-02T08:00:00") and "whistles" in found["text"]
    assert any('"20.00"' in fact for fact in found["facts"]) and found["extractor"] == extractor()
    out = output(capsys, kept, SHOP.text, at="2026-11-04T12:00:00Z", facts=True)
    assert '"18.00"' in out and len(out.splitlines()) == 9, "the last version before it was gone"


def test_M_Z9_a_page_that_was_gone_is_shown_as_gone_with_the_last_version_before(
    capsys: pytest.CaptureFixture[str], kept: Directory
) -> None:
    found = json.loads(output(capsys, kept, SHOP.text, at="2026-11-04T12:00:00Z", json=True))
    assert found["gone_at"].startswith("2026-11-04T08:00:00") and found["gone_status"] == 404
    assert found["fetched_at"].startswith("2026-11-03T08:00:00") and "whistles" in found["text"]
    assert history(SHOP.text, at="2026-11-04T12:00:00Z", dir=kept.root) == 0
    printed = capsys.readouterr()
    assert "gone by then: it answered 404 on 2026-11-04 08:00:00 UTC" in printed.err and "whistles" in printed.out
    later = json.loads(output(capsys, kept, SHOP.text, at="2026-11-05T12:00:00Z", json=True))
    assert later["gone_at"] is None and "sings" in later["text"]


def test_the_timeline_has_gone_and_back_and_counts_fetches_without_a_change(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    days = [(kettle(), 200), ("", 304), ("", 304), ("gone", 410), ("gone", 410), ("busy", 503), (kettle(), 200)]
    taken = [captured(SHOP, START_AT + day * DAY, body, status) for day, (body, status) in enumerate(days)]
    directory = collection(tmp_path, taken)
    found = timeline(directory)
    assert [one.is_gone for one in found.versions] == [False, True, True, False, False]
    assert [one.is_back for one in found.versions] == [False, False, False, False, True]
    assert [one.seen_again for one in found.versions] == [2, 0, 0, 0, 0] and len(found.seen_again) == 2
    late = timeline(directory, most=2)
    assert [one.is_back for one in late.versions] == [False, True] and late.seen_again == []
    out = output(capsys, directory, SHOP.text)
    assert "2 fetches found it unchanged" in out and "gone (answered 410)" in out and "back" in out


def test_the_page_is_printed_byte_for_byte(capfdbinary: pytest.CaptureFixture[bytes], kept: Directory) -> None:
    assert history(SHOP.text, at="2026-11-01", html=True, dir=kept.root) == 0
    assert capfdbinary.readouterr().out == kettle().encode()


def test_a_url_without_a_scheme_is_the_one_that_was_stored(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plain = Url("http://plain.test/")
    directory = collection(tmp_path, [captured(plain, START_AT, kettle())])
    assert output(capsys, directory, "plain.test").splitlines()[0] == plain.text


def test_a_capture_that_crashes_readers_is_reported_and_the_others_compared(kept: Directory) -> None:
    async def call(payload: bytes) -> bytes:
        if b"18.00" in payload:
            raise WorkerLost("memory")
        return version_job(payload)

    found = asyncio.run(HistoryReader(kept, real_outside(), "gossamer", call).timeline(SHOP))
    assert found.versions[2].note == "reading it failed (memory)" and found.versions[1].changes == ("bytes",)
    versions = past(kept).versions(SHOP)
    with pytest.raises(GossamerError, match="cannot be compared: reading it failed"):
        asyncio.run(HistoryReader(kept, real_outside(), "gossamer", call).difference(versions[0], versions[2]))


PRICES = "SELECT ?price { ?offer <http://schema.org/price> ?price } ORDER BY ?price"


def test_M_Z9_sparql_is_answered_as_of_a_time(capsys: pytest.CaptureFixture[str], kept: Directory) -> None:
    found = json.loads(output(capsys, kept, at="2026-11-02", sparql=PRICES, site="shop.test", json=True))
    assert [row["price"]["value"] for row in found["answer"]["results"]["bindings"]] == ["20.00"]
    assert found["extractor"] == extractor() and found["pages"] == 1 and found["unread"] == 0
    assert history(at="2026-11-07", sparql=PRICES, dir=kept.root) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == ["?price", '"18.00"', '"99.00"'] and f"read by {extractor()}" in printed.err


@pytest.mark.parametrize(
    ("what", "more", "error", "message"),
    [
        ((), {}, ConfigError, "give a URL"),
        (("mailto:me",), {}, ConfigError, "not the URL of a page"),
        ((SHOP.text,), {"at": "yesterday"}, ConfigError, "not a time"),
        ((SHOP.text,), {"at": "2026-10-31"}, GossamerError, "no copy of"),
        (("https://shop.test/nothing",), {}, GossamerError, "gossamer why"),
        ((SHOP.text, "9"), {"diff": True}, ConfigError, "6 versions; there is no number 9"),
        ((SHOP.text, "1", "2", "3"), {"diff": True}, ConfigError, "two versions"),
        ((), {"sparql": "ASK {}"}, ConfigError, "needs the time"),
        ((), {"at": "2026-11-02", "sparql": "DROP ALL"}, QueryRefused, "."),
        (("export",), {}, ConfigError, "one folder"),
        ((SHOP.text,), {"at": "2026-11-02", "text": True, "html": True}, ConfigError, "choose one"),
    ],
)
def test_invalid_arguments_are_refused(
    kept: Directory, what: tuple[str, ...], more: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        history(*what, dir=kept.root, **more)  # type: ignore[arg-type]


def test_a_page_that_never_changed_says_so(tmp_path: Path) -> None:
    directory = collection(tmp_path, [captured(SHOP, START_AT + day * DAY, kettle()) for day in range(3)])
    with pytest.raises(GossamerError, match="all 3 versions of it are the same"):
        chosen(past(directory).versions(SHOP), (), SHOP)


# Export to folders.


def written(directory: Directory, folder: Path) -> ExportedHistory:
    return asyncio.run(export_tree(past(directory), directory, real_outside(), folder))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != PROGRESS
    }


def test_M_B4_each_crawl_is_a_folder_with_domains_paths_and_their_html(kept: Directory, tmp_path: Path) -> None:
    assert written(kept, tmp_path / "out") == ExportedHistory(pages=6, known=0, unread=0, crawls=5)
    found = tree(tmp_path / "out")
    assert found["2026-11-01T08-00-00Z/shop.test/kettle/page.html"] == kettle().encode()
    assert found["2026-11-06T08-00-00Z/shop.test/kettle/big/page.html"] == kettle("99.00", name="Big").encode()
    assert len(found) == 6 + 5
    listed = found["2026-11-06T08-00-00Z.tsv"].decode().splitlines()
    assert len(listed) == 3 and listed[1].split("\t")[:2] == ["shop.test/kettle/page.html", SHOP.text]


def test_M_B4_each_run_is_a_folder_named_by_its_start_and_each_day_of_a_run_with_revisits(tmp_path: Path) -> None:
    urls = [Url(f"https://a.test/{number}") for number in range(8)]
    hours = [0, 10, 24, 30, 49, 50, 73, 200]
    taken = [captured(url, START_AT + hour * HOUR, kettle()) for url, hour in zip(urls, hours, strict=True)]
    directory = collection(tmp_path / "c", taken)
    runs = (
        CrawlRun(START_AT + 9 * HOUR, START_AT + 25 * HOUR, is_over=True),
        CrawlRun(START_AT + 29 * HOUR, START_AT + 29 * HOUR),
        CrawlRun(START_AT + 48 * HOUR, START_AT + 80 * HOUR, is_over=True, comes_back=True),
    )
    chronicle.write(real_outside().files, directory.root, Chronicle(runs))
    written(directory, tmp_path / "out")
    found = {name.split("/")[2]: name.split("/")[0] for name in tree(tmp_path / "out") if name.endswith(".html")}
    assert found["0"] == "2026-11-01T08-00-00Z", "before any known run: its day"
    assert found["1"] == found["2"] == "2026-11-01T17-00-00Z", "one run, past midnight"
    assert found["3"] == "2026-11-02T13-00-00Z", "a run that was killed"
    assert found["4"] == found["5"] == "2026-11-03T09-00-00Z" and found["6"] == "2026-11-04T09-00-00Z", (
        "the days of one run"
    )
    assert found["7"] == "2026-11-09T16-00-00Z", "after the last run: imported"


def test_an_export_continues_where_it_was_stopped_and_adds_new_captures(tmp_path: Path) -> None:
    taken = [captured(Url(f"https://a.test/{number}"), START_AT + number, kettle(str(number))) for number in range(40)]
    directory = collection(tmp_path / "c", taken)
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"

    async def stop_in_the_middle() -> None:
        def says(_words: str) -> None:
            raise KeyboardInterrupt

        await export_tree(past(directory), directory, real_outside(), stopped, says)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(stop_in_the_middle())
    assert written(directory, stopped) == ExportedHistory(pages=24, known=16, unread=0, crawls=1)
    keep(directory, [captured(Url("https://a.test/0"), START_AT + HOUR, kettle("new"))])
    assert written(directory, stopped).pages == 1
    assert written(directory, whole).pages == 41 and tree(stopped) == tree(whole)
    name = "2026-11-01T08-00-00Z/a.test/0/page!~2.html"
    assert tree(whole)[name] == kettle("new").encode(), "the same page twice on one day"


def test_an_export_continues_after_a_compaction_and_keeps_versions_that_the_archive_dropped(tmp_path: Path) -> None:
    taken = [captured(SHOP, START_AT + hour * HOUR, kettle(str(hour))) for hour in range(4)]
    directory, out = collection(tmp_path / "c", taken), tmp_path / "out"
    assert written(directory, out).pages == 4
    before = tree(out)
    outside = real_outside()
    asyncio.run(compact(directory, Retain("last", 1), "Gossamer", outside, silent))
    assert written(directory, out) == ExportedHistory(pages=0, known=1, unread=0, crawls=1) and tree(out) == before
    keep(directory, [captured(SHOP, START_AT + 5 * HOUR, kettle("new"))])
    assert written(directory, out).pages == 1
    after = tree(out)
    name = "2026-11-01T08-00-00Z/shop.test/kettle/page!~5.html"
    assert after.pop(name) == kettle("new").encode() and len(before) == len(after)
    table = after["2026-11-01T08-00-00Z.tsv"].decode().splitlines()
    assert len(table) == 6 and table[-1].startswith("shop.test/kettle/page!~5.html")
    assert all(after[name] == before[name] for name in before if name.endswith(".html"))

    keep(directory, [captured(NEXT, START_AT + 6 * HOUR, kettle("newer"))])
    assert written(directory, out).pages == 1
    asyncio.run(compact(directory, Retain("last", 1), "Gossamer", outside, silent))
    assert len(outside.files.names(directory.archive)) == 2, "its first volume is gone"
    assert written(directory, out) == ExportedHistory(pages=0, known=2, unread=0, crawls=1)


def test_a_truncated_line_of_a_table_is_written_again(tmp_path: Path) -> None:
    taken = [captured(Url(f"https://a.test/{number}"), START_AT + number, kettle(str(number))) for number in range(3)]
    directory, out = collection(tmp_path / "c", taken), tmp_path / "out"
    written(directory, out)
    before, table = tree(out), out / "2026-11-01T08-00-00Z.tsv"
    table.write_bytes(table.read_bytes()[:-7])
    assert written(directory, out) == ExportedHistory(pages=1, known=2, unread=0, crawls=1) and tree(out) == before


def test_a_folder_with_other_files_is_not_changed(kept: Directory, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("do not touch")
    with pytest.raises(ConfigError, match="not empty"):
        written(kept, tmp_path)
    other = collection(tmp_path / "other", [captured(SHOP, START_AT + 1, kettle())])
    written(kept, tmp_path / "out")
    (tmp_path / "out" / PROGRESS).write_text('{"archive": "another"}')
    with pytest.raises(ConfigError, match="another collection"):
        written(other, tmp_path / "out")
    assert (tmp_path / "mine.txt").read_text() == "do not touch"


def test_bodies_are_written_without_their_content_coding(tmp_path: Path) -> None:
    packed = gzip.compress(kettle().encode())
    directory = collection(tmp_path / "c", [captured(SHOP, START_AT, packed, Content_Encoding="gzip")])
    written(directory, tmp_path / "out")
    assert kettle().encode() in tree(tmp_path / "out").values()


HOSTILE = [
    "https://a.test/../../../etc/passwd",
    "https://a.test/%2e%2e/%2E%2E/etc/passwd",
    "https://a.test/..%2f..%2fetc",
    "https://a.test/..\\..\\windows",
    "https://a.test/a//b///c",
    "https://a.test/a/./b/.hidden",
    "https://a.test/" + "x" * 5_000,
    "https://a.test/" + "d/" * 2_000,
    "https://a.test/q?" + "y" * 5_000,
    "https://a.test/con/nul.txt/com1",
    "https://a.test/a:b|c*d<e>f\"g'h",
    "https://a.test/page.html",
    "https://a.test/page.html/page.html/index.html/",
    "https://a.test/index!~2.html",
    "https://a.test/!2E!2E/",
    "https://a.test/a.",
    "https://a.test/?a=1/../..",
    "https://[::1]:8080/x",
    "https://a.test:8443/x",
    "https://a.test/%00%0a\u202e",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_url_leads_out_of_the_folder_or_to_an_invalid_file_name(text: str, tmp_path: Path) -> None:
    url = url_of(text)
    assert url is not None
    name = file_of(url, "text/html")
    parts = name.split("/")
    assert (tmp_path / name).resolve().is_relative_to(tmp_path) and name.endswith(".html")
    assert all(part and part not in (".", "..") and len(part) <= LONGEST_NAME + 10 for part in parts)
    assert len(name) <= LONGEST_PATH + 300 and name.isascii() and name.isprintable() and "\\" not in name
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("a valid name")


def test_a_page_and_the_pages_below_it_never_have_the_same_name() -> None:
    urls = [
        *HOSTILE,
        *(f"https://a.test/{path}" for path in ("a", "a/", "a/page", "a/page/", "a/page.html", "a/page.html/x")),
        *(f"https://a.test/{path}" for path in ("a/index", "a/index.html", "a/index.html/x", "a?b", "a/?b", "a%3Fb")),
        *(f"https://a.test/{path}" for path in ("a/b", "A", "a/%62", "a!b", "a/!62", "!~", "/")),
    ]
    names = [file_of(url, "text/html") for url in map(url_of, urls) if url is not None]
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    assert not folders & set(names)
    assert len(set(names)) == len({url.text for url in map(url_of, urls) if url is not None})
    assert numbered("a/page.html", 0) == "a/page.html" and numbered("a.b/page.html", 1) == "a.b/page!~2.html"
