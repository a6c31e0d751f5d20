"""The indexer over real parts: archive volumes, spool, Oxigraph, tantivy and SQLite."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.views.digests import facts_digest, links_digest

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.reader import read_capture
from gossamer.archive.record import response_record
from gossamer.archive.volumes import Volumes
from gossamer.base.clock import SECOND
from gossamer.base.errors import WorkerLost
from gossamer.base.files import DiskFiles
from gossamer.indexer.updates import (
    GraphView,
    IndexerProcess,
    IndexerTuning,
    ReadingSource,
    Views,
    newest_of,
    position_in,
)
from gossamer.search.query import parse
from gossamer.spool.codec import encode
from gossamer.spool.frames import Follower, SpoolPosition, SpoolWriter
from gossamer.testing import FakeClock
from gossamer.values.capture import Capture, Place
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.store import Graph, LocalFacts
from gossamer.views.links.reader import LinksReader
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter


def page(url: str, words: str, at: int, links: Sequence[str] = ()) -> Capture:
    """A body in a format of these tests: words on the first line, then one link a line."""
    body = "\n".join([words, *links]).encode()
    return Capture(Url(url), at, 200, "OK", (("Content-Type", "text/plain"),), body)


def read(capture: Capture) -> Reading:
    words, *targets = capture.body.decode().split("\n")
    links = tuple(Link(Url(target), f"to {target[-1]}") for target in targets)
    found = Page(capture.url, "text/plain", "utf-8", title=words[:10], content=words, links=links, exact=b"")
    facts = (
        f'<{capture.url.text}#it> <http://schema.org/name> "{words}" .\n_:c{capture.id:x}b0 <http://s.test/p> "x" .\n'
    )
    return Reading(capture.id, capture.fetched_at, found, facts.encode(), 2, ("http://schema.org/Thing",), ("rdfa",))


class DataDirectory:
    """A data directory with a writing side (the crawler's) and a following side (the indexer's)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files, self.clock = folder, DiskFiles(), FakeClock()
        self.events: list[str] = []
        self.crash_at: str | None = None
        self.published: list[dict[str, object]] = []
        self.reread_count = 0
        self.files.make_folder(folder)

    def tell(self, event: str, /, **facts: object) -> None:
        self.events.append(event)
        if event == self.crash_at:
            raise KeyboardInterrupt(event)  # no code of the indexer catches it

    def crawl(self, captures: Sequence[Capture], spooled: bool = True) -> None:
        """One run of a crawler: a volume of its own."""
        volumes = Volumes(self.files, self.folder / "archive", self.clock, lambda event, **facts: None)
        spool = SpoolWriter(self.files, self.folder / "spool", lambda event, **facts: None)
        self.files.make_folder(self.folder / "archive")
        volumes.open()
        spool.open(None)
        for capture in captures:
            place = volumes.append(response_record(capture))
            spool.append(place, encode(read(capture)) if spooled else b"\xff damaged")
        volumes.sync()
        spool.sync()
        volumes.close()
        spool.close()

    async def reread(self, place: Place) -> Reading | None:
        self.reread_count += 1
        capture = read_capture(self.files, self.folder / "archive", place)
        return None if capture is None else read(capture)

    def follower(self) -> Follower:
        return Follower(
            self.files, self.folder / "spool", ArchivePlaces(self.files, self.folder / "archive"), self.tell
        )

    def index_everything(self, settings: IndexerTuning | None = None) -> int:
        """One run of the indexer; views are closed even if it is killed."""
        links = LinksWriter(self.folder / "links.db", self.files, self.tell)
        index = IndexWriter(self.folder / "index", self.files, self.tell)
        links.open()
        index.open()
        try:
            with Graph(self.folder / "graph", self.files, self.clock, self.tell) as graph:
                facts = GraphView(LocalFacts(graph, self.folder / "graph", self.files, self.tell))
                following = {"links": links, "graph": facts, "index": index}
                views = self.views(following, settings)
                return asyncio.run(self.catch_up(views))
        finally:
            index.close()
            links.close()

    async def catch_up(self, views: Views) -> int:
        """Read everything there is and commit it; returns the number of pages."""
        while await views.turn():
            pass
        views.commit()
        return self.published[-1]["pages"]

    def views(self, following, settings: IndexerTuning | None = None, **more) -> Views:
        return Views(
            following,
            ReadingSource(self.follower, self.reread),
            IndexerProcess(self.published.append, **more),
            self.clock,
            self.tell,
            settings or IndexerTuning(batch=7, commit_s=0.0),
        )

    def digests(self) -> dict[str, object]:
        searcher = Searcher(self.folder / "index")
        searcher.open()
        with Graph(self.folder / "graph", self.files, self.clock, self.tell) as graph:
            facts = facts_digest(graph.store)
        links = links_digest(self.folder / "links.db")
        found = {"index": sorted(searcher.cards(), key=str), "links": links, "graph": facts}
        assert searcher.pages == len(found["index"]), "a page has two entries"
        searcher.close()
        return found

    def find(self, word: str) -> list[str]:
        searcher = Searcher(self.folder / "index")
        searcher.open()
        return [hit.card.url.text for hit in searcher.find(parse(word)).found]


def captures(count: int, at: int = 1, mark: str = "first") -> list[Capture]:
    return [
        page(
            f"http://h{n % 3}.test/{n}",
            f"{mark} word{n} common",
            at + n,
            [f"http://h{m % 3}.test/{m}" for m in (n // 2, n // 3)],
        )
        for n in range(count)
    ]


@pytest.fixture
def data(tmp_path):
    return DataDirectory(tmp_path / "collection")


def test_crawled_pages_are_found_by_words_facts_and_links(data):
    data.crawl(captures(20))
    assert data.index_everything() == 20
    assert data.find("word7") == ["http://h1.test/7"]
    reader = LinksReader(data.folder / "links.db")
    reader.open()
    assert reader.about(Url("http://h0.test/3"))[0].count == len(
        [n for n in range(20) if 3 in (n // 2, n // 3) and n != 3]
    )
    with Graph(data.folder / "graph", data.files, data.clock, data.tell) as graph:
        assert graph.fetched_at(Url("http://h1.test/7")) == 8


def test_a_second_run_has_nothing_to_do(data):
    data.crawl(captures(20))
    data.index_everything()
    assert data.index_everything() == 0
    assert data.reread_count == 0


def test_a_newer_capture_of_a_page_replaces_the_older_in_every_view(data):
    data.crawl([*captures(10), *captures(10, at=1000, mark="second")])
    data.crawl(captures(5, at=2000, mark="third"))
    data.index_everything()
    assert len(data.find("first")) == 0
    assert (len(data.find("second")), len(data.find("third"))) == (5, 5)


def test_an_older_capture_that_arrives_late_changes_nothing(data):
    data.crawl(captures(10, at=1000))
    data.index_everything()
    before = data.digests()
    data.crawl(captures(10, at=1, mark="imported"))
    assert data.index_everything() == 10
    assert data.digests() == before


@pytest.mark.parametrize("view", ["index", "graph", "links.db"])
def test_F_P8_a_deleted_view_is_rebuilt_equal_from_the_archive_alone(data, view):
    data.crawl(captures(30))
    data.crawl(captures(12, at=5000, mark="changed"))
    data.index_everything()
    before = data.digests()
    for suffix in ("", "-wal", "-shm"):
        data.files.remove(data.folder / (view + suffix))
    data.crawl([page("http://new.test/", "brand new", 9000)])
    data.events.clear()
    data.index_everything()
    after_once = data.digests()
    assert data.reread_count > 0
    data.index_everything()
    fresh = DataDirectory(data.folder.parent / "fresh")
    fresh.crawl(captures(30))
    fresh.crawl(captures(12, at=5000, mark="changed"))
    fresh.crawl([page("http://new.test/", "brand new", 9000)])
    fresh.index_everything()
    assert fresh.digests() == after_once
    assert after_once != before


def test_F_P8_all_views_deleted_are_rebuilt_equal(data):
    data.crawl(captures(30))
    data.crawl(captures(12, at=5000, mark="changed"))
    data.crawl([page("http://last.test/", "the last", 9000)])
    data.index_everything()
    before = data.digests()
    for name in ("index", "graph", "links.db", "links.db-wal", "links.db-shm"):
        data.files.remove(data.folder / name)
    data.index_everything(IndexerTuning(batch=256, commit_s=2.0))
    assert data.digests() == before


CRASH_POINTS = ["links.committed", "graph.committed", "index.committed", "views.positioned", "spool.discarded"]


@pytest.mark.parametrize("event", CRASH_POINTS)
def test_F_P1_a_kill_right_after_any_durable_step_only_repeats_work(data, event):
    fresh = DataDirectory(data.folder.parent / "fresh")
    for one in (data, fresh):
        one.crawl(captures(20))
        one.crawl(captures(9, at=5000, mark="changed"))
    fresh.index_everything()
    for _ in range(6):
        data.crash_at = event
        try:
            data.index_everything()
        except KeyboardInterrupt:
            continue
    data.crash_at = None
    data.index_everything()
    assert data.digests() == fresh.digests()


def test_spool_files_that_every_view_has_passed_are_deleted(data):
    data.crawl(captures(5))
    data.crawl(captures(5, at=100))
    data.index_everything()
    spools = data.files.names(data.folder / "spool")
    assert len(spools) == 1
    data.crawl(captures(5, at=200))
    data.index_everything()
    assert data.files.names(data.folder / "spool") != spools


def test_a_damaged_frame_is_read_again_from_the_archive(data):
    data.crawl(captures(6), spooled=False)
    assert data.index_everything() == 6
    assert data.reread_count == 6
    assert data.find("word3") == ["http://h0.test/3"]


def test_an_unreadable_capture_is_reported_and_skipped(data):
    data.crawl([page("http://good.test/", "a good one", 1)])
    data.crawl(captures(6), spooled=False)

    async def fails(place: Place) -> Reading | None:
        raise WorkerLost("timeout")

    data.reread = fails
    assert data.index_everything() == 1
    assert data.events.count("views.unread") == 6
    assert data.index_everything() == 0
    assert data.events.count("views.unread") == 6


class Memory:
    """A minimal view, in a dict."""

    is_patient = False
    is_full = is_busy = waits_apart = False

    def __init__(self) -> None:
        self.position, self.pages, self.pending = b"", dict[str, Reading](), dict[str, Reading]()
        self.batches: list[int] = []
        self.on_commit: Callable[[], None] = lambda: None

    @property
    def waiting(self) -> int:
        return len(self.pending)

    def replace(self, readings: Sequence[Reading]) -> int:
        self.batches.append(len(readings))
        self.pending |= {reading.page.url.text: reading for reading in readings}
        return len(readings)

    def commit(self, position: bytes) -> None:
        self.pages |= self.pending
        self.pending.clear()
        self.position = position
        self.on_commit()

    def settle(self) -> None:
        """No commit is in progress."""
        self.is_busy = False


def test_words_are_committed_every_two_seconds_under_full_load(data):
    data.crawl(captures(40))
    view, seen = Memory(), list[tuple[int, float]]()
    views = data.views({"words": view}, IndexerTuning(batch=4, commit_s=2.0))
    data.clock.advance(30.0)

    async def busy() -> None:
        while await views.turn():
            data.clock.advance(0.5)
            seen.append((view.waiting, len(view.pages)))

    asyncio.run(busy())
    assert max(waiting for waiting, _ in seen) <= 5 * 4
    assert seen[-1][1] >= 32


class Slow(Memory):
    """A patient view with slow commits that records their sizes."""

    is_patient = True

    def __init__(self, clock: FakeClock, page_s: float) -> None:
        super().__init__()
        self.clock, self.page_s, self.steps = clock, page_s, list[int]()

    def commit(self, position: bytes) -> None:
        self.steps.append(self.waiting)
        self.clock.advance(self.waiting * self.page_s)
        super().commit(position)


@pytest.mark.parametrize(("page_s", "step"), [(0.0, 36), (0.2, 12)])
def test_facts_are_committed_in_smaller_steps_if_commits_are_slow(data, page_s, step):
    """Because words cannot be committed meanwhile."""
    data.crawl(captures(160))
    facts = Slow(data.clock, page_s)
    settings = IndexerTuning(batch=4, commit_s=1.0, patient_least_s=8.0, patient_took_s=2.0)
    views = data.views({"words": Memory(), "facts": facts}, settings)

    async def busy() -> None:
        while await views.turn():
            data.clock.advance(1.0)

    asyncio.run(busy())
    assert facts.steps[2:-1] and set(facts.steps[2:-1]) == {step}, facts.steps


class Remote(Memory):
    """A view that commits in another process: busy after each commit, until `settle` waits for it or a test ends it."""

    is_patient = True

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.waited = list[int](), 0

    def commit(self, position: bytes) -> None:
        assert not self.is_busy, "one at a time"
        self.steps.append(self.waiting)
        super().commit(position)
        self.is_busy = True

    def settle(self) -> None:
        self.waited += self.is_busy
        super().settle()


def test_a_busy_view_is_waited_for_only_when_its_queue_is_full(data):
    data.crawl(captures(160))
    words, facts = Memory(), Remote()
    settings = IndexerTuning(batch=4, commit_s=1.0, patient_least_s=8.0, patient_pages=60)
    views = data.views({"words": words, "facts": facts}, settings)

    async def turns(most: int) -> None:
        for _ in range(most):
            await views.turn()
            data.clock.advance(1.0)

    asyncio.run(turns(20))
    [step] = facts.steps
    assert (facts.waited, facts.waiting) == (0, 80 - step), "it is due, but not waited for"
    asyncio.run(turns(10))
    assert facts.waited == 1 and len(facts.steps) == 2 and facts.steps[1] >= 60
    facts.is_busy = False
    asyncio.run(turns(10))
    assert facts.waited == 1 and len(facts.steps) == 3, "an idle view is committed when it is due"
    views.commit()
    assert facts.waited == 3 and len(facts.pages) == len(words.pages) == 160, "at the end every commit is waited for"


@pytest.mark.parametrize("is_gone_at_start", [False, True])
def test_the_others_go_on_without_a_view_whose_service_is_gone(data, is_gone_at_start):
    data.crawl(captures(160))
    words, facts = Memory(), Remote()
    facts.waits_apart, facts.is_busy = True, is_gone_at_start
    settings = IndexerTuning(batch=4, commit_s=1.0, patient_least_s=2.0, patient_pages=20)
    views = data.views({"words": words, "facts": facts}, settings)

    async def turns(most: int, has_service: bool) -> None:
        for _ in range(most):
            await views.turn()
            data.clock.advance(1.0)
            facts.is_busy &= not has_service

    asyncio.run(turns(60, has_service=False))
    assert len(words.pages) == 160 and facts.waited == 0
    assert len(facts.steps) == (0 if is_gone_at_start else 1) and facts.waiting < 20 + 4
    asyncio.run(turns(100, has_service=True))
    views.commit()
    assert facts.pages == words.pages and facts.position == words.position


def test_a_full_view_is_committed_at_once(data):
    data.crawl(captures(8))
    facts = Remote()
    views = data.views({"words": Memory(), "facts": facts}, IndexerTuning(batch=4, commit_s=1.0))
    asyncio.run(views.turn())
    data.clock.advance(1.0)
    facts.is_full = True
    asyncio.run(views.turn())
    assert facts.steps == [8]


def test_the_position_and_the_delay_are_published(data):
    start = data.clock.now()
    data.crawl([page("http://a.test/1", "word", start)])
    view, stop = Memory(), asyncio.Event()
    view.on_commit = stop.set
    asyncio.run(data.views({"words": view}, IndexerTuning(commit_s=2.0, poll_s=0.25, publish_s=0.5)).run(stop))
    lags = [facts["lag_s"] for facts in data.published]
    assert 0 < max(lags) <= 5.0
    assert lags[-1] == 0
    assert data.published[-1]["pages"] == 1
    assert data.published[-1]["positions"]["words"][1] == 2


def test_a_clean_stop_commits_all_spooled_readings(data):
    data.crawl(captures(30))
    view, stop = Memory(), asyncio.Event()
    stop.set()
    asyncio.run(data.views({"words": view}, IndexerTuning(batch=8)).run(stop))
    assert len(view.pages) == 30
    assert view.waiting == 0


def test_a_view_that_is_behind_catches_up_while_the_others_stay_current(data):
    data.crawl(captures(40))
    front, late = Memory(), Memory()
    asyncio.run(data.catch_up(data.views({"front": front}, IndexerTuning(batch=5))))
    taken = len(front.batches)
    data.crawl(captures(8, at=100))
    asyncio.run(data.catch_up(data.views({"front": front, "late": late}, IndexerTuning(batch=5))))
    assert front.position == late.position
    assert sum(front.batches[taken:]) == 8
    assert len(late.pages) == 40
    assert late.pages["http://h0.test/3"].fetched_at == 103


def test_a_checkpoint_is_made_on_request_and_at_the_end(data):
    data.crawl(captures(5))
    made, requests = [], [True, False]
    with Graph(data.folder / "graph", data.files, data.clock, data.tell) as graph:
        checkpoints = Checkpoints(data.folder / "checkpoints", data.files, data.clock, data.tell)
        facts = GraphView(LocalFacts(graph, data.folder / "graph", data.files, data.tell))
        stop = asyncio.Event()

        async def index() -> None:
            loop = asyncio.get_running_loop()

            def checkpoint() -> None:
                made.append(checkpoints.make(graph))
                loop.call_soon_threadsafe(stop.set)

            await data.views(
                {"graph": facts},
                is_checkpoint_wanted=lambda: requests.pop(0) if requests else False,
                checkpoint=checkpoint,
            ).run(stop)

        asyncio.run(index())
    assert len(made) == 2
    assert made[0] is not None
    assert "checkpoint.renamed" in data.events


def test_only_the_newest_reading_of_a_page_is_used():
    readings = [read(page("http://a.test/1", word, at)) for word, at in (("b", 2), ("c", 3), ("a", 1))]
    assert [one.fetched_at for one in newest_of(readings)] == [3]


def test_an_invalid_position_means_the_beginning():
    assert position_in(b"") == position_in(b"\xff") == position_in(b"{}") == SpoolPosition()
    assert position_in(msgspec.json.encode(SpoolPosition("v", 3))) == SpoolPosition("v", 3)


def test_the_delay_counts_from_when_pages_were_read_not_from_their_dates(data):
    """Imported pages are years old, and those of a demonstration have their own calendar."""
    year = 365 * 86_400 * SECOND
    dates = [data.clock.now() + when for when in (-year, 0, year)]
    data.crawl([page(f"http://a.test/{n}", "word", date) for n, date in enumerate(dates)])
    views = data.views({"words": Memory()}, IndexerTuning(batch=7, commit_s=60.0))
    assert views.lag_s == 0.0
    asyncio.run(views.turn())
    data.clock.advance(2.0)
    assert views.lag_s == 2.0
    views.commit()
    assert views.lag_s == 0.0


def test_the_delay_counts_from_the_first_full_batch(data):
    data.crawl(captures(8))
    views = data.views({"words": Memory()}, IndexerTuning(batch=4, commit_s=0.5))
    asyncio.run(views.turn())
    data.clock.advance(1.0)
    asyncio.run(views.turn())
    assert views.lag_s == 1.0, "the second batch was full too"
    asyncio.run(views.turn())
    views.commit()
    assert views.lag_s == 0.0


class AwayWords:
    """Words at a service that is away after the first commit."""

    is_patient, waits_apart = False, True

    def __init__(self) -> None:
        self.position = b""
        self.taken: list[str] = []
        self.commits = 0
        self.is_busy = self.is_full = False

    @property
    def waiting(self) -> int:
        return len(self.taken)

    def replace(self, readings: Sequence[Reading]) -> int:
        self.taken += [one.page.url.text for one in readings]
        return len(readings)

    def commit(self, position: bytes) -> None:
        self.commits, self.is_busy = self.commits + 1, True

    def settle(self) -> None:
        assert not self.is_busy, "it would block the process"


def test_while_the_service_of_the_words_is_away_the_other_views_go_on_and_the_delay_grows(data):
    data.crawl(captures(20))
    words = AwayWords()
    links = LinksWriter(data.folder / "links.db", data.files, data.tell)
    links.open()
    views = data.views({"links": links, "words": words}, IndexerTuning(batch=7, commit_s=0.0, patient_pages=1))

    async def turns() -> None:
        for _ in range(4):
            await views.turn()
            data.clock.advance(1.0)

    asyncio.run(turns())
    assert words.commits == 1 and len(words.taken) == 20
    assert position_in(links.position).number > 14, "all of them"
    assert views.lag_s >= 3.0, "the crawl pauses"
    links.close()


def test_no_more_pages_are_taken_than_a_service_that_is_away_may_leave_waiting(data):
    data.crawl(captures(30))
    words = AwayWords()
    views = data.views({"words": words})

    async def turns(number: int) -> bool:
        found = [await views.turn() for _ in range(number)]
        return any(found)

    assert asyncio.run(turns(1))
    words.is_full = True
    assert not asyncio.run(turns(3)) and len(words.taken) == 7
    words.is_busy = words.is_full = False
    assert asyncio.run(turns(1)) and len(words.taken) == 14
