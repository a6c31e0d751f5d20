from pathlib import Path

from tests.views.digests import facts_digest
from tests.views.facts.pages import entity_page

from gossamer.base.clock import SECOND
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.testing import FakeClock
from gossamer.views.facts.checkpoints import EVERY_S, KEPT, Checkpoints, newest
from gossamer.views.facts.store import Graph, opened

FILES = DiskFiles()


def setup(tmp_path: Path) -> tuple[Graph, Checkpoints, FakeClock, Path]:
    clock = FakeClock()
    folder = tmp_path / "checkpoints"
    return Graph(tmp_path / "live", FILES, clock, silent), Checkpoints(folder, FILES, clock, silent), clock, folder


def test_a_checkpoint_keeps_the_facts_of_its_time_and_is_read_while_the_live_store_changes(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        assert newest(FILES, folder) is None
        graph.replace([entity_page(number) for number in range(20)])
        made = checkpoints.make(graph)
        assert made is not None and made == newest(FILES, folder)
        assert made.as_of == clock.now()
        before = facts_digest(graph.store)
        graph.replace([entity_page(99)])
        assert facts_digest(opened(made.folder)) == before != facts_digest(graph.store)


def test_two_checkpoints_are_kept_and_a_reader_of_the_older_one_is_not_disturbed(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        graph.replace([entity_page(0)])
        first = checkpoints.make(graph)
        assert first is not None
        reader = opened(first.folder)
        clock.advance(30)
        graph.replace([entity_page(1)])
        checkpoints.make(graph)
        assert first.folder.is_dir()
        assert len(list(reader)) == 22
        for number in range(2, 6):
            clock.advance(30)
            graph.replace([entity_page(number)])
            checkpoints.make(graph)
        assert len([name for name in FILES.names(folder) if name.startswith("facts-")]) == KEPT
        assert not first.folder.exists()


def test_an_unchanged_graph_is_not_copied_but_its_checkpoint_becomes_current(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        graph.replace([entity_page(0)])
        made = checkpoints.make(graph)
        assert made is not None
        clock.advance(300)
        assert checkpoints.make(graph) is None
        present = newest(FILES, folder)
        assert present is not None
        assert (present.folder, present.as_of) == (made.folder, clock.now())


def test_a_checkpoint_is_due_every_thirty_seconds_at_most(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        assert checkpoints.is_due()
        checkpoints.make(graph)
        assert not checkpoints.is_due()
        assert not Checkpoints(folder, FILES, clock, silent).is_due()
        clock.advance(29.9)
        assert not checkpoints.is_due()
        clock.advance(0.1)
        assert checkpoints.is_due()


def test_setting_the_clock_back_does_not_hide_the_newest_checkpoint(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        checkpoints.make(graph)
        graph.replace([entity_page(0)])
        clock.advance(-86_400)
        assert checkpoints.is_due()
        made = checkpoints.make(graph)
        assert made is not None
        assert newest(FILES, folder) == made


def test_a_half_made_checkpoint_is_never_read_and_is_deleted(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        FILES.make_folder(folder / f"making-{clock.now() - SECOND:020}")
        assert newest(FILES, folder) is None
        checkpoints.make(graph)
        assert [name[:6] for name in FILES.names(folder)] == ["facts-"]


def test_after_a_restart_the_first_checkpoint_is_always_a_copy(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = setup(tmp_path)
    with graph:
        graph.replace([entity_page(0)])
        checkpoints.make(graph)
    clock.advance(60)
    again = Checkpoints(folder, FILES, clock, silent)
    with Graph(tmp_path / "live", FILES, clock, silent) as reopened:
        assert again.make(reopened) is not None
        assert again.make(reopened) is None


def test_the_rename_is_reported_right_after_it_happened(tmp_path: Path) -> None:
    exists: list[bool] = []
    clock, folder = FakeClock(), tmp_path / "checkpoints"

    def tell(event: str, /, **facts: object) -> None:
        if event == "checkpoint.renamed":
            exists.append((folder / str(facts["checkpoint"])).is_dir())

    with Graph(tmp_path / "live", FILES, clock, silent) as graph:
        Checkpoints(folder, FILES, clock, tell).make(graph)
    assert exists == [True]


def test_a_checkpoint_made_by_another_process_counts_even_if_the_clock_is_set_back(tmp_path: Path) -> None:
    clock = FakeClock()
    checkpoints = Checkpoints(tmp_path, FILES, clock, silent)
    assert checkpoints.is_due()
    checkpoints.made_elsewhere()
    assert not checkpoints.is_due()
    clock.advance(-3600.0)
    assert checkpoints.is_due()
    checkpoints.made_elsewhere()
    assert not checkpoints.is_due()
    clock.advance(EVERY_S)
    assert checkpoints.is_due()
