"""`gossamer forget` and `gossamer compact`: erased pages are gone everywhere and do not return."""

import asyncio
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest
from tests.archive import past
from tests.cli.site import QUICK, Site, gossamer, harbour, held, page, person, searchable

from gossamer.archive.catalogue import Catalogue
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError, DirectoryBusy
from gossamer.base.files import DiskFiles
from gossamer.base.tell import Tell, silent
from gossamer.cli import main as cli
from gossamer.cli.upkeep.backup import back_up
from gossamer.collection.changes import SeedIntake
from gossamer.collection.maintenance.forget import entries_of, forget
from gossamer.collection.maintenance.rebuild import build_again, followed, mark_finished
from gossamer.config.settings import FetchSettings, Settings
from gossamer.crawler.admission import open_admission
from gossamer.frontier.reports import every_end
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.options import stored_seeds
from gossamer.store.sqlite.database import Database, read_only
from gossamer.values.capture import Capture
from gossamer.values.url import Url

SECRET = "zanzibarquux"
PAGE = "people/1"
AGENT = "Gossamer"


def run(*words: object) -> tuple[int, str]:
    """Run a command in this process; returns its exit code and output."""
    with redirect_stdout(io.StringIO()) as out:
        code = cli.app([str(word) for word in words], result_action="return_value")
    assert isinstance(code, int)
    return code, out.getvalue()


def crawled(site: Site, root: Path, *more: str) -> None:
    done = gossamer("crawl", site.root, *more, "--dir", root, *QUICK)
    assert done.returncode == 0, done.stderr


def secret_site() -> Site:
    pages = harbour(3)
    pages[f"/{PAGE}"] = page(
        f"{SECRET} at home",
        f"She is called {SECRET}. <a href='/docs/'>The {SECRET} papers</a>",
        "/",
        facts=person(f"Ada {SECRET}"),
    )
    return Site(pages)


def files_with(root: Path, word: str) -> list[str]:
    """The files that contain the word, plain or in any gzip or zlib stream inside."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            content = (Path(folder) / name).read_bytes()
            if any(word.encode() in plain.lower() for plain in [content, *_inflated(name, content)]):
                found.append(name)
    return sorted(found)


def _inflated(name: str, content: bytes) -> Iterator[bytes]:
    if name.endswith(".gz"):
        yield gzip.decompress(content)
    at = -1
    for start in (b"\x78\x01", b"\x78\x9c", b"\x78\x5e", b"\x78\xda"):
        while (at := content.find(start, at + 1)) >= 0:
            try:
                yield zlib.decompressobj().decompress(content[at:])
            except zlib.error:
                continue


def test_the_search_for_a_word_finds_it_in_compressed_streams(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"xx" + zlib.compress(SECRET.encode() * 3))
    (tmp_path / "b.gz").write_bytes(gzip.compress(SECRET.upper().encode()))
    assert files_with(tmp_path, SECRET) == ["a", "b.gz"]


def test_F_A6_a_forgotten_page_is_gone_everywhere_and_does_not_return(tmp_path: Path) -> None:
    root, exported = tmp_path / "data", tmp_path / "before.warc.gz"
    with secret_site().serving() as site:
        url = site.root + PAGE
        crawled(site, root)
        before = searchable(root)
        assert url in before and files_with(root / "archive", SECRET)
        assert run("export", "warc", "--dir", root, "--out", exported)[0] == 0

        expected = json.loads(run("forget", url, "--dir", root, "--dry-run", "--json")[1])
        assert expected["is_dry_run"] and expected["erased"]["archive"]["records"] == 1
        assert url in searchable(root)
        done = gossamer("forget", url, "--dir", root, "--yes")
        assert done.returncode == 0 and "1 record erased" in done.stderr and "backups" in done.stderr

        assert_gone(root, url, before)
        assert run("import", exported, "--dir", root)[0] == 0  # an older archive does not bring it back,
        assert searchable(root) == before - {url}
        asyncio.run(build_again(Directory(root), AGENT, real_outside()))  # nor does a rebuild,
        assert searchable(root) == before - {url}
        fetches = site.hits.count(f"/{PAGE}")
        crawled(site, root, site.root + "docs/")  # nor the next crawl,
        assert site.hits.count(f"/{PAGE}") == fetches == 1
        with pytest.raises(ConfigError, match="forget --allow"):
            asyncio.run(crawl_from(url, root))  # even if it is given as a seed,
        assert_gone(root, url, before)

        assert run("forget", "--allow", url, "--dir", root)[0] == 0  # until it is allowed again
        assert run("forget", "--allow", url, "--dir", root)[0] == 1
        crawled(site, root, url)
        assert site.hits.count(f"/{PAGE}") == 2 and searchable(root) == before


async def crawl_from(url: str, root: Path) -> None:
    outside = real_outside()
    async with Database(root / "state.db", outside.clock, silent) as database:
        await open_admission(Directory(root), Settings(), [Url(url)], database, outside, silent)


def assert_gone(root: Path, url: str, before: set[str]) -> None:
    assert searchable(root) == before - {url}
    assert run("search", SECRET, "--dir", root)[0] == 1
    query = f'ASK {{ GRAPH ?g {{ ?s ?p ?o FILTER (contains(lcase(str(?o)), "{SECRET}")) }} }}'
    assert "true" not in run("sparql", query, "--dir", root)[1].lower()
    assert "true" not in run("sparql", f"ASK {{ GRAPH ?g {{ <{url}> ?p ?o }} }}", "--dir", root)[1].lower()
    code, reasons = run("why", url, "--dir", root)
    assert code == 1 and "forgotten rejects it" in reasons and "none yet" in reasons
    with Catalogue(Directory(root), DiskFiles()) as catalogue:  # which history and copies use
        assert catalogue.versions(Url(url)) == []
    with closing(read_only(root / "state.db")) as state:
        assert url not in {one[0] for one in every_end(state)}
        assert tallies.counts(state).pages == len(before) - 1
    assert files_with(root, SECRET) == []


def test_F_A6_a_host_is_forgotten_with_its_robots_txt_and_other_hosts_stay(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with secret_site().serving() as site, Site(harbour(2)).serving() as other:
        site.pages = {**site.pages, "/robots.txt": f"# {SECRET}\nUser-agent: *\nDisallow: /private/\n"}
        crawled(other, root, site.root)
        name = f"127.0.0.1:{site.port}"
        assert files_with(root, SECRET) and any(url.startswith(site.root) for url in searchable(root))
        assert run("forget", name, "--dir", root, "--yes")[0] == 0
        assert all(url.startswith(other.root) for url in searchable(root)) and len(searchable(root)) == 6
        assert files_with(root, SECRET) == []
        assert run("why", "--host", f"http://{name}/", "--dir", root)[0] == 1
        with closing(read_only(root / "state.db")) as state:
            counts = tallies.counts(state)
            rows = {
                table: state.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("addresses", "ends", "hosts", "robots", "captures", "seeds")
            }
        assert (counts.known, counts.hosts, counts.captures) == (rows["addresses"], 1, rows["captures"])
        assert rows["hosts"] == rows["robots"] == rows["seeds"] == 1 and rows["ends"] == sum(counts.by_reason.values())
        assert json.loads(run("forget", "--list", "--dir", root, "--json")[1])[0]["is_host"]
        hits = len(site.hits)
        crawled(other, root)
        assert len(site.hits) == hits
        copy = Directory(tmp_path / "copy")
        back_up(Directory(root), copy, real_outside())
        asyncio.run(build_again(copy, AGENT, real_outside()))
        assert searchable(copy.root) == searchable(root)


class Interrupted(Exception):
    pass


def interrupting(step: str) -> Tell:
    def tell(event: str, /, **facts: object) -> None:
        if event == step:
            raise Interrupted

    return tell


def test_if_interrupted_at_any_step_the_page_stays_hidden_and_the_next_run_completes_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "data", real_outside()
    with secret_site().serving() as site:
        crawled(site, root)
        entries = entries_of([site.root + PAGE], outside.clock.now())
        directory = Directory(root)
        for step in ("forget.begun", "forget.hidden", "compaction.placed", "compaction.switched", "forget.dropped"):
            with pytest.raises(Interrupted):
                asyncio.run(forget(directory, entries, AGENT, outside, interrupting(step)))
            listed = run("forget", "--list", "--dir", root)[1]
            assert "not finished" in listed
        assert json.loads(run("status", "--dir", root, "--json")[1])["forgetting"] == [site.root + PAGE]
        asyncio.run(build_again(directory, AGENT, outside))  # a rebuild does not bring it back
        assert site.root + PAGE not in searchable(root)
        assert run("forget", "--dir", root, "--yes")[0] == 0  # completes what was interrupted
        assert "begun" not in run("forget", "--list", "--dir", root)[1]
        assert files_with(root, SECRET) == [] and len(searchable(root)) == 6


def test_with_quick_the_page_is_no_longer_found_and_the_others_are_unchanged(tmp_path: Path) -> None:
    root, outside = tmp_path / "data", real_outside()
    words = past.kettle(words=f"A {SECRET} of steel, and nothing else in the whole shop is like it.", name="Bad")
    taken = [past.captured(Url(f"https://shop.test/{n}"), past.START_AT + n, past.kettle(f"{n}.00")) for n in range(3)]
    unwanted = past.captured(Url("https://shop.test/bad"), past.START_AT, words)
    directory = past.collection(root, [*taken, unwanted])  # the views are behind: they have read nothing yet
    data = json.loads(run("forget", unwanted.url, "--dir", root, "--yes", "--quick", "--json")[1])
    assert data["erased"]["archive"]["records"] == 1 and any("deleted parts" in text for text in data["not_reached"])
    assert searchable(root) == {one.url.text for one in taken}
    assert run("search", SECRET, "--dir", root)[0] == 1
    assert "false" in run("sparql", f"ASK {{ GRAPH <{unwanted.url}> {{ ?s ?p ?o }} }}", "--dir", root)[1].lower()
    assert files_with(directory.archive, SECRET) == []
    before = held(root)
    asyncio.run(build_again(directory, AGENT, outside))
    assert files_with(root, SECRET) == [] and searchable(root) == {one.url.text for one in taken}
    assert held(root).facts == before.facts and held(root).sources == before.sources


def test_M_A6_compaction_leaves_the_views_unchanged_and_backups_work_after_it(tmp_path: Path) -> None:
    root, outside, files = tmp_path / "data", real_outside(), DiskFiles()
    directory = past.collection(root, [kettle_of(day) for day in range(4)])
    past.keep(directory, [kettle_of(day) for day in range(4, 8)])
    asyncio.run(build_again(directory, AGENT, outside))
    before, names = held(root), files.names(directory.archive)
    nothing = json.loads(run("compact", "--dir", root, "--json")[1])
    assert nothing == {"retain": "all", "is_dry_run": False, "records": 0, "bytes": 0, "volumes": 0, "kept": 0}
    expected = json.loads(run("compact", "--keep", "last:2", "--dry-run", "--dir", root, "--json")[1])
    assert files.names(directory.archive) == names
    directory.config.write_text('[archive]\nretain = "last:2"\n')
    assert json.loads(run("status", "--dir", root, "--json")[1])["droppable"]["records"] == 6
    done = json.loads(run("compact", "--dir", root, "--json")[1])
    assert done["records"] == expected["records"] == 6 and done["bytes"] > 0
    assert held(root) == before and len(files.names(directory.archive)) == 1

    past.keep(directory, [kettle_of(8)])
    mark_finished(directory, outside)
    assert asyncio.run(followed(directory, AGENT, outside)) == 1  # only the new record is read
    newer = held(root)
    assert newer != before
    copy = Directory(tmp_path / "copy")
    back_up(directory, copy, outside)
    for place in (directory, copy):
        asyncio.run(build_again(place, AGENT, outside))
        assert held(place.root) == newer


def kettle_of(day: int) -> Capture:
    return past.captured(past.SHOP, past.START_AT + day * past.DAY, past.kettle(f"{day}.00", f"Day {day} of a kettle."))


def test_during_a_crawl_it_is_refused_with_advice(tmp_path: Path) -> None:
    root = past.collection(tmp_path / "data", [kettle_of(1)]).root
    lock = DiskFiles().lock(root / "writer.lock", "pid 1 (crawl, since today)")
    assert not isinstance(lock, str)
    try:
        for words in (("compact", "--keep", "last:1"), ("forget", "example.org", "--yes")):
            with pytest.raises(DirectoryBusy, match="stop it first"):
                run(*words, "--dir", root)
        assert run("compact", "--keep", "last:1", "--dry-run", "--dir", root)[0] == 0
        assert run("forget", "example.org", "--dry-run", "--dir", root)[0] == 0
    finally:
        lock.release()


def test_invalid_arguments_are_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = past.collection(tmp_path / "data", [kettle_of(1)]).root
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(ConfigError, match="--yes"):
        run("forget", "example.org", "--dir", root)
    with pytest.raises(ConfigError, match="name what to forget"):
        run("forget", "--dir", root)
    with pytest.raises(ConfigError, match="neither a host"):
        run("forget", "who@example.org", "--dir", root)
    with pytest.raises(ConfigError, match="last:N"):
        run("compact", "--keep", "some", "--dir", root)


def test_an_unknown_host_is_excluded_and_the_views_are_unchanged(tmp_path: Path) -> None:
    directory, outside = past.collection(tmp_path / "data", [kettle_of(1)]), real_outside()
    events: list[str] = []
    entries = entries_of(["never.test"], outside.clock.now())
    done = asyncio.run(forget(directory, entries, AGENT, outside, lambda event, /, **facts: events.append(event)))
    assert (done.addresses, done.archive.records, done.pages) == (0, 0, None) and "forget.hidden" not in events
    code, words = run("why", "https://never.test/a", "--dir", directory.root)
    assert code == 1 and "forget --allow never.test" in words


def test_F_A6_commands_that_added_seeds_of_the_host_are_erased(tmp_path: Path) -> None:
    directory, outside = past.collection(tmp_path / "data", [kettle_of(1)]), real_outside()
    with SqliteControl(directory.control, outside.clock) as control:
        control.done(control.ask("seed", urls=[f"https://{SECRET}.test/"], reach="host"))
        control.ask("retire", host=f"{SECRET}.test", why="by hand")
    assert files_with(directory.root, SECRET)
    asyncio.run(forget(directory, entries_of([f"{SECRET}.test"], 0), AGENT, outside, silent))
    assert files_with(directory.root, SECRET) == ["state.db"]  # the list of erased entries
    assert run("forget", "--allow", f"{SECRET}.test", "--dir", directory.root)[0] == 0


def test_F_A6_erased_urls_cannot_be_added_as_seeds_on_the_web_site(tmp_path: Path) -> None:
    directory, outside = past.collection(tmp_path / "data", [kettle_of(1)]), real_outside()
    asyncio.run(forget(directory, entries_of(["127.0.0.1:81", "127.0.0.1/gone"], 0), AGENT, outside, silent))
    settings = Settings(fetch=FetchSettings(allow_addresses=("127.0.0.1",)))
    with SqliteControl(directory.control, outside.clock) as control:
        intake = SeedIntake(directory, lambda: settings, outside, control, lambda: False)
        urls = ["http://127.0.0.1:81/x", "https://127.0.0.1/gone", "http://127.0.0.1/stays"]
        taken = asyncio.run(intake.add(urls, "host", ""))
    assert taken.taken == 1 and len(taken.left_out) == 2 and all("--allow" in words for words in taken.left_out)
    with closing(read_only(directory.state)) as state:
        assert [url.text for url, _ in stored_seeds(state)] == ["http://127.0.0.1/stays"]


def test_similar_hosts_and_copies_are_reported_and_stay(tmp_path: Path) -> None:
    urls = ["https://shop.test/a", "https://shop.test/b", "https://www.shop.test/a", "https://notshop.test/a"]
    taken = [past.captured(Url(text), past.START_AT, past.kettle()) for text in urls]
    other = past.captured(Url("https://shop.test/other"), past.START_AT, past.kettle("9.00"))
    directory = past.collection(tmp_path / "data", [*taken, other])
    erased = json.loads(run("forget", "shop.test/a", "--dry-run", "--json", "--dir", directory.root)[1])["erased"]
    assert erased["copies"] == ["https://notshop.test/a", "https://shop.test/b", "https://www.shop.test/a"]
    assert erased["alike"] == []
    done = gossamer("forget", "shop.test", "--yes", "--dir", directory.root)
    assert "the same bytes are kept at https://notshop.test/a, https://www.shop.test/a\n" in done.stderr
    assert "not named, so they stay: www.shop.test\n" in done.stderr and "3 records erased" in done.stderr
    assert "rebuilt from 2 captures of pages" in done.stderr
    assert searchable(directory.root) == {"https://notshop.test/a", "https://www.shop.test/a"}
    nothing = gossamer("forget", "shpo.test", "--yes", "--dir", directory.root)
    assert "nothing was stored" in nothing.stderr


@pytest.mark.parametrize(
    ("text", "name", "is_host"),
    [
        ("example.org", "example.org", True),
        ("Example.ORG:8080", "example.org:8080", True),
        ("https://example.org/a?b", "https://example.org/a?b", False),
        ("example.org/a", "https://example.org/a", False),
        ("https://example.org", "https://example.org/", False),
        ("example.org:80", "example.org", True),
        ("example.org:443", "example.org", True),
        ("[::1]:80", "[::1]", True),
        (" bücher.example. ", "xn--bcher-kva.example", True),
    ],
)
def test_a_bare_name_is_a_host_and_a_name_with_a_path_is_a_page(text: str, name: str, is_host: bool) -> None:
    (entry,) = entries_of([text], 0)
    assert (entry.name, entry.is_host) == (name, is_host)
