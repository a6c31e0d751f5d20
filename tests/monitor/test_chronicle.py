"""The chronicle is bounded, thinned with age, and may be lost without harm."""

from pathlib import Path

import msgspec
import pytest
from tests.monitor.chronicles import DAY, MINUTE, START_AT, chronicle_of, sample

from gossamer.base.files import DiskFiles
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import (
    SITES_THEN,
    Chronicle,
    CrawlRun,
    Visits,
    packed,
    run_at,
    thinned,
    unpacked,
    visits_in,
)


def test_a_year_of_samples_is_thinned_to_some_hundreds_and_all_visits_are_counted() -> None:
    samples = [sample(START_AT + hour * 60 * MINUTE) for hour in range(365 * 24)]
    kept: list[chronicle.FreshnessSample] = []
    for number, one in enumerate(samples):
        kept.append(one)
        if number % 50 == 0:
            kept = thinned(kept, one.at)
    kept = thinned(kept, samples[-1].at)
    assert len(kept) < 600 and kept[0].at == samples[0].at and kept[-1].at == samples[-1].at
    assert visits_in(kept) == visits_in(samples)
    assert len([one for one in kept if one.at > samples[-1].at - DAY]) >= 24, "the last day is complete"


def test_older_samples_keep_fewer_sites_and_the_newest_keeps_all() -> None:
    known = chronicle_of([0, 10, 20], [f"{number}.test" for number in range(50)])
    assert [len(one.sites) for one in known.samples] == [SITES_THEN, SITES_THEN, 50]
    assert all(one.site != "0.test" for each in known.without({"0.test"}).samples for one in each.sites)


def test_shares_of_visits_and_of_bytes() -> None:
    visits = Visits(10, 2, 6, received_bytes=1_000, spared_bytes=3_000)
    assert visits.changed_share == 0.2 and visits.spared_share == 0.75
    assert Visits().changed_share is None and Visits().spared_share is None


def test_a_chronicle_is_written_and_read_again(tmp_path: Path) -> None:
    known, files = chronicle_of([0, 10, 20]), DiskFiles()
    chronicle.write(files, tmp_path, known)
    assert chronicle.read(files, tmp_path) == known
    assert chronicle.read(files, tmp_path / "nowhere") == Chronicle()


def test_a_site_that_is_forgotten_is_removed_from_the_file(tmp_path: Path) -> None:
    files = DiskFiles()
    chronicle.forget(files, tmp_path, {"a.test"})
    assert files.names(tmp_path) == [], "no file is created"
    chronicle.write(files, tmp_path, chronicle_of([0, 10]))
    chronicle.forget(files, tmp_path, {"a.test"})
    assert [one.site for each in chronicle.read(files, tmp_path).samples for one in each.sites] == ["b.test"] * 2


@pytest.mark.parametrize("wrong", [b"", b"something else", packed(chronicle_of([0]))[:-1], b"x" + packed(Chronicle())])
def test_a_damaged_chronicle_is_read_as_empty_and_the_error_says_why(wrong: bytes, tmp_path: Path) -> None:
    (tmp_path / chronicle.NAME).write_bytes(wrong)
    assert chronicle.read(DiskFiles(), tmp_path) == Chronicle()
    with pytest.raises(ValueError, match="it is"):
        unpacked(wrong)


def test_unknown_fields_of_a_later_version_are_ignored() -> None:
    """Field names are stored, so that fields can be added."""
    coded = msgspec.msgpack.decode(msgspec.msgpack.encode(chronicle_of([0])))
    coded["samples"][0]["visits"]["unknown field"] = 1
    assert msgspec.convert(coded, Chronicle).samples[0].visits.visits == 10


def test_a_time_belongs_to_the_run_that_was_active_then() -> None:
    first = CrawlRun(START_AT, START_AT + MINUTE, is_over=True)
    killed = CrawlRun(START_AT + 10 * MINUTE, START_AT + 10 * MINUTE)
    last = CrawlRun(START_AT + 60 * MINUTE, START_AT + 90 * MINUTE, is_over=True)
    runs = [first, killed, last]
    times = {-1: None, 0: first, 2: first, 9: None, 11: killed, 50: killed, 60: last, 91: last, 99: None}
    assert {minute: run_at(runs, START_AT + minute * MINUTE) for minute in times} == times


def test_runs_are_started_updated_and_ended() -> None:
    known = (
        Chronicle()
        .with_run(START_AT, False)
        .with_heartbeat(START_AT + MINUTE, 7, is_over=True)
        .with_run(START_AT + DAY, True)
    )
    assert [run.is_over for run in known.runs] == [True, False] and known.runs[0].pages == 7
    assert [run.comes_back for run in known.runs] == [False, True]
