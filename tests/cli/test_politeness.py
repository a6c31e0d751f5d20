"""`gossamer politeness`: the ledger, checked against the archive."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.conftest import Collection
from tests.cli.site import gossamer

from gossamer.base.clock import SECOND
from gossamer.collection.ledger import (
    ArchivedFetch,
    ArchivedGaps,
    LedgerRow,
    contradiction,
    kept_by,
    reported,
    suspects,
    worst_first,
)


def fetches(*seconds: float, took_s: float | None = None) -> list[ArchivedFetch]:
    return [ArchivedFetch(round(at * SECOND), f"https://a.test/{number}", took_s) for number, at in enumerate(seconds)]


def row(host: str, promised_s: float = 1.0, least_s: float | None = 1.0, broken: int = 0, says: str = "") -> LedgerRow:
    return LedgerRow(host, 5, promised_s, least_s, least_s, broken, ArchivedGaps(), says)


def test_a_gap_is_counted_from_the_end_of_the_response_if_known() -> None:
    assert kept_by(fetches(0, 2, 5)).least_s == 2
    assert kept_by(fetches(0, 2, 5, took_s=0.5)).least_s == 1.5


def test_overlapping_fetches_and_a_clock_set_back_are_not_judged() -> None:
    assert kept_by(fetches(0, 0.1, took_s=0.0)) == ArchivedGaps(2, unjudged=1)
    assert kept_by(fetches(100, 0, 2)) == ArchivedGaps(3, 2.0, "https://a.test/1", "https://a.test/2", 1)
    assert kept_by([]) == ArchivedGaps() and kept_by(fetches(1)) == ArchivedGaps(1)


def test_only_fetches_sooner_than_the_gap_in_the_ledger_are_suspect() -> None:
    visits = fetches(0, 2, 2.5, 4)
    assert suspects(visits, 1.0) == [1]
    assert suspects(visits, 0.5) == [] and suspects(visits, None) == []


def test_an_archive_that_shows_less_than_the_ledger_contradicts_it() -> None:
    shows = kept_by(fetches(0, 0.9))
    assert "the archive shows 0.900 s between https://a.test/0 and https://a.test/1" in contradiction(1.0, shows)
    assert contradiction(0.904, shows) == "" and contradiction(None, shows) == ""


def test_the_worst_host_is_first() -> None:
    rows = [
        row("fine"),
        row("close", least_s=1.01),
        row("lies", says="so"),
        row("broken", broken=2),
        row("new", least_s=None),
    ]
    assert [one.host for one in worst_first(rows)] == ["broken", "lies", "fine", "close", "new"]
    report = reported(rows, False)
    assert (report.hosts, report.broken, report.contradictions, report.is_kept) == (5, 2, 1, False)
    assert reported([row("fine")], True).is_kept


def test_M_Z4_the_archive_of_a_real_crawl_confirms_its_ledger(collection: Collection) -> None:
    for deep in ([], ["--deep"]):
        done = gossamer("politeness", "--dir", collection.root, *deep, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout)
        (host,) = report["rows"]
        assert host["visits"] == len(collection.hits) and report["broken"] == 0
        assert host["promised_s"] >= 0.02 and host["least_s"] >= 0.02
        assert host["archive"]["least_s"] >= host["least_s"] - 0.005
    done = gossamer("politeness", "--dir", collection.root)
    assert "every minimum gap was kept, and the catalogue of the archive agrees" in " ".join(done.stdout.split())


def test_M_Z4_gaps_that_were_too_short_end_with_four(embedded: Collection, tmp_path: Path) -> None:
    root = tampered(embedded, tmp_path, "UPDATE hosts SET broken = 3")
    done = gossamer("politeness", "--dir", root)
    assert done.returncode == 4 and "3 gaps too short" in done.stdout


def test_M_Z4_a_ledger_with_longer_gaps_than_the_archive_shows_ends_with_four(
    embedded: Collection, tmp_path: Path
) -> None:
    root = tampered(embedded, tmp_path, "UPDATE hosts SET least_gap = 60000000")
    done = gossamer("politeness", "--dir", root)
    assert done.returncode == 4 and "the archive contradicts the ledger at 1 host" in done.stdout
    assert "and the ledger at least 60.000 s" in " ".join(done.stdout.split())


def tampered(collection: Collection, tmp_path: Path, statement: str) -> Path:
    """A copy of the collection, changed by an SQL statement."""
    root = tmp_path / "copy"
    shutil.copytree(collection.root, root)
    with closing(sqlite3.connect(root / "state.db")) as state, state:
        state.execute(statement)
    return root
