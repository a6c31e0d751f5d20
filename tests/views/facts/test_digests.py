"""Damage of the store's files that RocksDB does not see, or sees only when it happens to read there."""

import shutil
from pathlib import Path

import pytest
from tests.archive.test_damage import flipped
from tests.views.digests import facts_digest
from tests.views.facts.pages import graph_in, thing

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
MUCH = 300
"""Pages whose facts are written in bulk: they never are in the store's log, so a manifest without them loses them."""


def made(tmp_path: Path, batches: int = 2) -> tuple[Path, Path]:
    """A live store of which a checkpoint was made after each batch, and the checkpoints' folder."""
    live, checkpoints, clock = tmp_path / "graph", tmp_path / "checkpoints", FakeClock()
    for batch in range(batches):
        with graph_in(live) as graph:
            graph.replace([thing(batch * MUCH + number) for number in range(MUCH)])
            graph.sync()
            clock.advance(30)
            Checkpoints(checkpoints, FILES, clock, silent).make(graph)
    return live, checkpoints


def unlike(folder: Path) -> list[str]:
    return changed_files(folder, FILES, lambda _: None)


def test_a_store_and_its_checkpoint_are_as_they_were_written_also_once_it_is_opened_again(tmp_path: Path) -> None:
    live, checkpoints = made(tmp_path)
    checkpoint = newest(FILES, checkpoints)
    assert checkpoint is not None
    for folder in (live, checkpoint.folder):
        assert unlike(folder) == [] and tables_without(folder, FILES) == 0
        assert len(digests_of(folder, FILES)) > 9, "nine tables at least, and the manifest"
    with graph_in(live) as graph:
        graph.replace([thing(5_000)])
        graph.sync()
    assert unlike(live) == [] and tables_without(live, FILES) > 0
    with graph_in(live):
        assert unlike(live) == []


def test_F_X12_a_flipped_bit_in_any_table_or_in_the_manifest_is_found(tmp_path: Path) -> None:
    live, checkpoints = made(tmp_path)
    checkpoint = newest(FILES, checkpoints)
    assert checkpoint is not None
    for number, folder in enumerate((live, checkpoint.folder)):
        copy = Path(shutil.copytree(folder, tmp_path / str(number)))  # of its own: the two share their tables
        paths = [path for path in copy.iterdir() if path.suffix == ".sst" or path.name.startswith("MANIFEST-")]
        assert len(paths) > 9
        for path in paths:
            for at in (0, path.stat().st_size // 3, path.stat().st_size - 1):
                flipped(path, at)
                assert unlike(copy) == [path.name]
                flipped(path, at)
        assert unlike(copy) == []


def test_F_X12_a_store_whose_manifest_was_cut_is_not_opened_with_fewer_facts(tmp_path: Path) -> None:
    live, _ = made(tmp_path)
    (manifest,) = live.glob("MANIFEST-*")
    whole, facts = manifest.read_bytes(), facts_digest(opened(live))
    manifest.write_bytes(whole[: len(whole) * 3 // 4])
    assert facts_digest(opened(live)) != facts, "Oxigraph opens it and holds fewer: else this test shows nothing"
    assert unlike(live) == [manifest.name]
    with pytest.raises(ViewDamaged, match=r"MANIFEST-\d+ is shorter than it was.*gossamer rebuild"), graph_in(live):
        pass
    manifest.write_bytes(whole)
    with graph_in(live) as graph:
        assert facts_digest(graph.store) == facts


def test_a_table_that_is_known_keeps_its_first_digest(tmp_path: Path) -> None:
    """A checkpoint that is made of a damaged table does not take the damage for what was written."""
    live, checkpoints = made(tmp_path, batches=1)
    table = max(live.glob("*.sst"), key=lambda path: path.stat().st_size)
    before = digests_of(live, FILES)[table.name]
    with graph_in(live) as graph:
        flipped(table, table.stat().st_size // 3)
        write_digests(live, next(checkpoints.glob("facts-*")), FILES)
        assert digests_of(live, FILES)[table.name] == before
        assert graph.store
    assert unlike(live) == [table.name]


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b'{"a":', b'{"a":[1]}'])
def test_F_X12_digests_that_cannot_be_read_are_named_and_made_again(tmp_path: Path, content: bytes) -> None:
    live, checkpoints = made(tmp_path, batches=1)
    (live / DIGESTS).write_bytes(content)
    with pytest.raises(ViewDamaged, match=r"digests.json.*gossamer rebuild"):
        unlike(live)
    write_digests(live, next(checkpoints.glob("facts-*")), FILES)
    assert unlike(live) == []
