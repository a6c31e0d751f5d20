"""Damage to the store's files that RocksDB does not detect, or only when it reads the damaged part."""

import shutil
from pathlib import Path

import pytest
from tests.archive.test_damage import flipped
from tests.views.digests import facts_digest
from tests.views.facts.pages import entity_page, graph_in

from gossamer.base.errors import ViewDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.testing import FakeClock
from gossamer.views.facts.checkpoints import (
    DIGESTS,
    Checkpoints,
    changed_files,
    digests_of,
    newest,
    tables_without,
    write_digests,
)
from gossamer.views.facts.store import opened

FILES = DiskFiles()
MANY = 300
"""Pages whose facts are written in bulk: they are not in the store's log, so a manifest without them loses them."""


def make_store(tmp_path: Path, batches: int = 2) -> tuple[Path, Path]:
    """A live store with a checkpoint after each batch, and the checkpoints' folder."""
    live, checkpoints, clock = tmp_path / "graph", tmp_path / "checkpoints", FakeClock()
    for batch in range(batches):
        with graph_in(live) as graph:
            graph.replace([entity_page(batch * MANY + number) for number in range(MANY)])
            graph.sync()
            clock.advance(30)
            Checkpoints(checkpoints, FILES, clock, silent).make(graph)
    return live, checkpoints


def changed_in(folder: Path) -> list[str]:
    return changed_files(folder, FILES, lambda _: None)


def test_a_store_and_its_checkpoint_match_their_digests_also_after_reopening(tmp_path: Path) -> None:
    live, checkpoints = make_store(tmp_path)
    checkpoint = newest(FILES, checkpoints)
    assert checkpoint is not None
    for folder in (live, checkpoint.folder):
        assert changed_in(folder) == [] and tables_without(folder, FILES) == 0
        assert len(digests_of(folder, FILES)) > 9, "at least nine tables, and the manifest"
    with graph_in(live) as graph:
        graph.replace([entity_page(5_000)])
        graph.sync()
    assert changed_in(live) == [] and tables_without(live, FILES) > 0
    with graph_in(live):
        assert changed_in(live) == []


def test_F_X12_a_flipped_bit_in_any_table_or_in_the_manifest_is_detected(tmp_path: Path) -> None:
    live, checkpoints = make_store(tmp_path)
    checkpoint = newest(FILES, checkpoints)
    assert checkpoint is not None
    for number, folder in enumerate((live, checkpoint.folder)):
        copy = Path(shutil.copytree(folder, tmp_path / str(number)))  # a copy: both share their tables
        paths = [path for path in copy.iterdir() if path.suffix == ".sst" or path.name.startswith("MANIFEST-")]
        assert len(paths) > 9
        for path in paths:
            for at in (0, path.stat().st_size // 3, path.stat().st_size - 1):
                flipped(path, at)
                assert changed_in(copy) == [path.name]
                flipped(path, at)
        assert changed_in(copy) == []


def test_F_X12_a_store_with_a_cut_manifest_is_not_opened_with_fewer_facts(tmp_path: Path) -> None:
    live, _ = make_store(tmp_path)
    (manifest,) = live.glob("MANIFEST-*")
    whole, facts = manifest.read_bytes(), facts_digest(opened(live))
    manifest.write_bytes(whole[: len(whole) * 3 // 4])
    assert facts_digest(opened(live)) != facts, "Oxigraph opens it with fewer facts, or this test shows nothing"
    assert changed_in(live) == [manifest.name]
    with pytest.raises(ViewDamaged, match=r"MANIFEST-\d+ is shorter than it was.*gossamer rebuild"), graph_in(live):
        pass
    manifest.write_bytes(whole)
    with graph_in(live) as graph:
        assert facts_digest(graph.store) == facts


def test_a_known_table_keeps_its_first_digest(tmp_path: Path) -> None:
    """A checkpoint made from a damaged table does not record the digest of the damaged bytes."""
    live, checkpoints = make_store(tmp_path, batches=1)
    table = max(live.glob("*.sst"), key=lambda path: path.stat().st_size)
    before = digests_of(live, FILES)[table.name]
    with graph_in(live) as graph:
        flipped(table, table.stat().st_size // 3)
        write_digests(live, next(checkpoints.glob("facts-*")), FILES)
        assert digests_of(live, FILES)[table.name] == before
        assert graph.store
    assert changed_in(live) == [table.name]


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b'{"a":', b'{"a":[1]}'])
def test_F_X12_unreadable_digests_are_reported_and_written_again(tmp_path: Path, content: bytes) -> None:
    live, checkpoints = make_store(tmp_path, batches=1)
    (live / DIGESTS).write_bytes(content)
    with pytest.raises(ViewDamaged, match=r"digests.json.*gossamer rebuild"):
        changed_in(live)
    write_digests(live, next(checkpoints.glob("facts-*")), FILES)
    assert changed_in(live) == []
