"""Archives of other makers: we read what warcio and fastwarc agree on; the rest is read in part, without errors.

The files are read in place, or under $GOSSAMER_CONFORMANCE; without them these tests are skipped.
"""

import json

import pytest
from tests.conformance.suites import HOME

from gossamer.archive.foreign.captures import foreign
from gossamer.archive.foreign.records import ImportReport
from gossamer.archive.reader import read_capture
from gossamer.archive.record import response_record
from gossamer.archive.volumes import Volumes
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.testing import FakeClock

SUITE = HOME / "warc"
OBSERVED = json.loads((SUITE / "observed_counts.json").read_text()) if SUITE.is_dir() else {}
AGREED = sorted(
    name
    for name, seen in OBSERVED.items()
    if seen.get("warcio_records") == seen.get("fastwarc_records") and "warcio_error" not in seen
)
SKIPPED = ("warcinfo", "request", "metadata", "revisit")

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason="the WARC files are not here; set GOSSAMER_CONFORMANCE")


def read(name: str):
    report = ImportReport()
    return list(foreign(SUITE / name, report)), report.counts


@pytest.mark.parametrize("name", AGREED)
def test_every_record_on_which_two_readers_agree_is_read_or_counted(name):
    captures, skipped = read(name)
    kinds = OBSERVED[name].get("types", {})
    damage = skipped["gzip cut short"] + skipped["gzip damaged"] + skipped["not a record"]
    assert len(captures) + skipped.total() - damage == OBSERVED[name]["warcio_records"]
    assert {kind: skipped[kind] for kind in SKIPPED if skipped[kind]} == {
        kind: count for kind, count in kinds.items() if kind in SKIPPED
    }
    for one in captures:
        assert 100 <= one.status < 600 and one.fetched_at > 0


@pytest.mark.parametrize("name", sorted(OBSERVED))
def test_no_file_raises_or_hangs(name):
    captures, skipped = read(name)
    assert captures or skipped or name.endswith("empty.gz")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("warcio/example.arc", [(200, 1270)]),
        ("warcio/example.arc.gz", [(200, 1270)]),
        ("warcio/example-space-in-url.arc", [(200, 1271)]),
        ("warcio/example-iana.org-chunked.warc", [(200, 7223)]),  # chunked coding removed
        ("warcio/example-resource.warc.gz", [(200, 1303)]),
        ("warcio/example-bad-non-chunked.warc.gz", [(200, 606)]),  # one gzip member for all records
        ("warcio/example-wrong-chunks.warc.gz", [(200, 1270)]),  # labelled chunked, but is not
        ("warcio/example-trunc.warc", [(200, 604)]),
        ("resiliparse/clipped.warc.gz", []),
    ],
)
def test_bodies_are_decoded_as_the_server_intended(name, expected):
    captures, _ = read(name)
    assert [(one.status, len(one.body)) for one in captures] == expected


def test_clueweb_dates_with_days_of_the_year_are_read():
    captures, skipped = read("resiliparse/clueweb-quirk.warc.gz")
    assert len(captures) == 29 and set(skipped) == {"warcinfo"}
    assert captures[0].fetched_at == 1224505306 * 1_000_000  # 2008-10-294T05:21:46-0700


def test_records_of_other_makers_are_read_back_from_our_own_archive(tmp_path):
    files = DiskFiles()
    written = [one for name in AGREED for one in read(name)[0]]
    assert len(written) > 60
    volumes = Volumes(files, tmp_path, FakeClock(), silent)
    volumes.open()
    places = [volumes.append(response_record(one)) for one in written]
    volumes.close()
    assert [read_capture(files, tmp_path, place) for place in places] == written
    report = ImportReport()
    assert list(foreign(tmp_path / places[0].volume, report)) == written
    assert report.counts == {"warcinfo": 1}
