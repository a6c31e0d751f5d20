"""`gossamer freshness`, and the chronicle that a crawl keeps."""

import asyncio
import errno
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.journey.crawling import Told as Recorder
from tests.monitor.chronicles import START_AT, chronicle_of
from tests.monitor.test_sampling import BUSY, GONE, NOW, QUIET, remembering

from gossamer.base.clock import SECOND, CalendarClock, fast_calendar
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import GossamerError
from gossamer.base.files import DiskFiles
from gossamer.cli.ask.freshness import freshness, in_words_of
from gossamer.frontier.politeness import Steps
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Visits
from gossamer.monitor.samples import ChronicleWriter, chronicling, current_sample
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.testing import FakeClock, Fault, FaultyFiles


@pytest.fixture
def kept(tmp_path: Path) -> Directory:
    remembering(tmp_path, [("quiet.test", [QUIET] * 9), ("busy.test", [BUSY] * 5 + [GONE])])
    return Directory(tmp_path)


def outside_at(clock: FakeClock) -> Outside:
    return replace(real_outside(), clock=clock)


def test_the_table_the_curve_and_the_fetches_are_printed(kept: Directory, capsys: pytest.CaptureFixture[str]) -> None:
    chronicle.write(DiskFiles(), kept.root, chronicle_of(range(0, 4000, 40), ("busy.test", "quiet.test")))
    assert freshness(dir=kept.root, plot=kept.root / "ages.svg") == 0
    out = capsys.readouterr().out
    assert "busy.test" in out and "revisits" in out and "60% of the bytes not transferred again" in out
    assert "█" in out and (kept.root / "ages.svg").read_text().count("<polyline") == 3
    assert freshness(dir=kept.root, limit=1) == 0
    assert "1 more site: --limit 0" in capsys.readouterr().out


def test_json_has_every_sample_and_for_one_site_its_own_curve(
    kept: Directory, capsys: pytest.CaptureFixture[str]
) -> None:
    chronicle.write(DiskFiles(), kept.root, chronicle_of([0, 10, 20], ("busy.test",)))
    assert freshness(dir=kept.root, json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["all"]["pages"] == 14 and found["gone"] == 1 and len(found["samples"]) == 4
    assert [one["site"] for one in found["sites"]] == ["busy.test", "quiet.test"]
    assert found["samples"][0]["at"].startswith("2026-11-01T08:00:00") and found["visits"]["unmodified"] == 18
    assert found["runs"][0]["started_at"].startswith("2026-11-01T08:00:00")
    assert freshness(dir=kept.root, json=True, site="busy.test") == 0
    of_site = json.loads(capsys.readouterr().out)
    assert of_site["samples"][0]["pages"] == 10 and of_site["samples"][-1]["pages"] == 5
    with pytest.raises(GossamerError, match=r"the freshness of no\.test is unknown"):
        freshness(dir=kept.root, site="no.test")


def test_without_samples_it_says_when_the_curve_starts(kept: Directory, capsys: pytest.CaptureFixture[str]) -> None:
    assert freshness(dir=kept.root) == 0
    assert "starts with the next sample" in capsys.readouterr().out


def test_without_fetches_the_results_of_fetches_are_zero() -> None:
    assert "0 revisits" in in_words_of(Visits(), "2026-11-01T08:00:00Z")


def test_samples_are_frequent_at_first_rarer_later_and_one_is_taken_at_the_end(kept: Directory) -> None:
    clock, recorder = FakeClock(NOW), Recorder()

    async def crawl() -> None:
        async with chronicling(kept, outside_at(clock), True, recorder):
            until = NOW + 12 * 3600 * SECOND
            while clock.now() < until:
                await asyncio.sleep(0.001)  # the clock is advanced by the writer of the chronicle

    asyncio.run(crawl())
    known = chronicle.read(DiskFiles(), kept.root)
    gaps = [(later.at - one.at) / SECOND for one, later in zip(known.samples, known.samples[1:], strict=False)]
    assert 60 <= len(recorder.named("chronicle.kept")) < 250, "every 5 s at first"
    assert 500 <= gaps[-2] <= 600 and len(gaps) < 100, "and those of the first minutes are thinned"
    assert known.runs[-1].is_over and known.runs[-1].comes_back


def test_a_crawl_without_revisits_records_only_its_run(kept: Directory) -> None:
    writer = ChronicleWriter(kept, outside_at(FakeClock(NOW)), False, Recorder())
    writer.begin()
    writer.add_sample(is_over=True)
    known = chronicle.read(DiskFiles(), kept.root)
    assert known.samples == () and known.runs[0].is_over and not known.runs[0].comes_back


def test_a_damaged_chronicle_and_a_full_disk_do_not_stop_the_crawl(kept: Directory) -> None:
    (kept.root / chronicle.NAME).write_bytes(b"damaged")
    files = FaultyFiles(DiskFiles(), fail_at=1, fault=Fault(errno.ENOSPC), on=("write",))
    recorder = Recorder()
    writer = ChronicleWriter(kept, replace(outside_at(FakeClock(NOW)), files=files), True, recorder)
    writer.begin()
    writer.add_sample()
    assert [name for name, _ in recorder.events] == ["chronicle.unreadable", "chronicle.unkept", "chronicle.kept"]
    assert len(chronicle.read(DiskFiles(), kept.root).samples) == 1


def test_an_unreadable_database_costs_only_a_sample(tmp_path: Path) -> None:
    recorder = Recorder()
    writer = ChronicleWriter(Directory(tmp_path), outside_at(FakeClock(NOW)), True, recorder)
    writer.begin()
    writer.add_sample()
    assert [name for name, _ in recorder.events] == ["chronicle.kept", "chronicle.unkept"]


def test_the_current_sample_needs_no_running_crawl(kept: Directory) -> None:
    found = current_sample(kept, outside_at(FakeClock(NOW)))
    assert found is not None and found.all.pages == 14
    with closing(read_only(kept.state)) as state:
        assert state.execute("SELECT count(*) FROM revisits").fetchone() == (15,)


def test_short_days_speed_up_the_calendar_only_and_are_no_clock_steps() -> None:
    clock = FakeClock()
    calendar = fast_calendar(clock, 4.0, START_AT)
    steps, even = Steps(), CalendarClock(calendar)
    steps.since(even.now(), even.elapsed_s())
    before_s = calendar.elapsed_s()
    clock.advance(2.0)
    assert calendar.now() - START_AT == 12 * 3600 * SECOND and calendar.elapsed_s() - before_s == pytest.approx(2.0)
    assert abs(steps.since(even.now(), even.elapsed_s())) < SECOND
