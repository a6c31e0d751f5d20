"""`gossamer revisits`: which pages are due, when, and why."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.monitor.test_sampling import BUSY, GONE, QUIET, remembering

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.ask.revisits import revisits
from gossamer.collection.exports import Exports
from gossamer.collection.tables import REVISIT_COLUMNS, revisits_csv
from gossamer.frontier import reports
from gossamer.store.directory import Directory


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    remembering(tmp_path, [("quiet.test", [QUIET] * 3), ("busy.test", [BUSY] * 2 + [GONE])])
    with closing(sqlite3.connect(tmp_path / "state.db")) as state, state:
        state.execute(
            "INSERT INTO addresses (host_id, id, lane, text, how, depth, hops) "
            "SELECT host_id, id, 0, id, 1, 1, 0 FROM revisits"
        )
    return tmp_path


def test_every_page_is_listed_with_its_times_rate_and_reason(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert revisits(dir=kept, limit=0, json=True) == 0
    pages = json.loads(capsys.readouterr().out)
    assert len(pages) == 6 and {one["host"] for one in pages} == {"quiet.test", "busy.test"}
    rates = {one["host"]: one["changes_a_day"] for one in pages if not one["gone"]}
    assert rates["busy.test"] > rates["quiet.test"]
    assert all(one["visited_at"].endswith("Z") for one in pages)
    assert revisits(dir=kept, host="busy.test", json=True) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3
    assert revisits(dir=kept, limit=2) == 0 and "last fetch" in capsys.readouterr().out


def test_the_web_site_lists_the_same_pages_for_every_batch_size(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert revisits(dir=kept, limit=0, json=True) == 0
    urls = {one["url"] for one in json.loads(capsys.readouterr().out)}
    for at_once in (1, 4, 500):
        monkeypatch.setattr(reports, "AT_ONCE", at_once)
        table = b"".join(revisits_csv(Exports(Directory(kept), real_outside()).revisits())).decode()
        head, *rows = csv.reader(io.StringIO(table, newline=""))
        assert tuple(head) == REVISIT_COLUMNS and {row[0] for row in rows} == urls and len(rows) == 6


def test_the_whole_plan_is_written_to_a_file(kept: Path, tmp_path: Path) -> None:
    assert revisits(dir=kept, export=tmp_path / "plan.csv") == 0
    head, *rows = (tmp_path / "plan.csv").read_text().splitlines()
    assert head == ",".join(REVISIT_COLUMNS) and len(rows) == 6
    assert revisits(dir=kept, export=tmp_path / "plan.jsonl") == 0
    assert len([json.loads(line) for line in (tmp_path / "plan.jsonl").read_text().splitlines()]) == 6
    with pytest.raises(ConfigError, match="ends in"):
        revisits(dir=kept, export=tmp_path / "plan.xls")
