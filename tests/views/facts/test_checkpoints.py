from pathlib import Path

from tests.views.digests import facts_digest
from tests.views.facts.pages import thing

from gossamer.base.clock import SECOND
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.testing import FakeClock
from gossamer.views.facts.checkpoints import EVERY_S, KEPT, Checkpoints, newest
from gossamer.views.facts.store import Graph, opened

FILES = DiskFiles()


def scene(tmp_path: Path) -> tuple[Graph, Checkpoints, FakeClock, Path]:
    clock = FakeClock()
    folder = tmp_path / "checkpoints"
    return Graph(tmp_path / "live", FILES, clock, silent), Checkpoints(folder, FILES, clock, silent), clock, folder


def test_a_checkpoint_holds_what_the_live_store_held_and_can_be_read_beside_it(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        assert newest(FILES, folder) is None
        graph.replace([thing(number) for number in range(20)])
        made = checkpoints.make(graph)
        assert made is not None and made == newest(FILES, folder)
        assert made.as_of == clock.now()
        before = facts_digest(graph.store)
        graph.replace([thing(99)])
        assert facts_digest(opened(made.folder)) == before != facts_digest(graph.store)


def test_two_are_kept_and_a_reader_of_the_older_one_goes_on(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        graph.replace([thing(0)])
        first = checkpoints.make(graph)
        assert first is not None
        reader = opened(first.folder)
        clock.advance(30)
        graph.replace([thing(1)])
        checkpoints.make(graph)
        assert first.folder.is_dir()
        assert len(list(reader)) == 22
        for number in range(2, 6):
            clock.advance(30)
            graph.replace([thing(number)])
            checkpoints.make(graph)
        assert len([name for name in FILES.names(folder) if name.startswith("facts-")]) == KEPT
        assert not first.folder.exists()


def test_nothing_is_copied_when_nothing_has_changed_but_the_facts_are_known_to_be_fresh(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        graph.replace([thing(0)])
        made = checkpoints.make(graph)
        assert made is not None
        clock.advance(300)
        assert checkpoints.make(graph) is None
        present = newest(FILES, folder)
        assert present is not None
        assert (present.folder, present.as_of) == (made.folder, clock.now())


def test_one_is_due_every_thirty_seconds_at_most(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        assert checkpoints.is_due()
        checkpoints.make(graph)
        assert not checkpoints.is_due()
        assert not Checkpoints(folder, FILES, clock, silent).is_due()
        clock.advance(29.9)
        assert not checkpoints.is_due()
        clock.advance(0.1)
        assert checkpoints.is_due()


def test_a_clock_that_steps_back_does_not_hide_the_newest(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        checkpoints.make(graph)
        graph.replace([thing(0)])
        clock.advance(-86_400)
        assert checkpoints.is_due()
        made = checkpoints.make(graph)
        assert made is not None
        assert newest(FILES, folder) == made


def test_what_a_kill_left_half_made_is_never_read_and_swept_away(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        FILES.make_folder(folder / f"making-{clock.now() - SECOND:020}")
        assert newest(FILES, folder) is None
        checkpoints.make(graph)
        assert [name[:6] for name in FILES.names(folder)] == ["facts-"]


def test_a_restarted_maker_copies_once_since_it_cannot_know(tmp_path: Path) -> None:
    graph, checkpoints, clock, folder = scene(tmp_path)
    with graph:
        graph.replace([thing(0)])
        checkpoints.make(graph)
    clock.advance(60)
    again = Checkpoints(folder, FILES, clock, silent)
    with Graph(tmp_path / "live", FILES, clock, silent) as reopened:
        assert again.make(reopened) is not None
        assert again.make(reopened) is None


def test_the_rename_is_told_right_after_it_happened(tmp_path: Path) -> None:
    there: list[bool] = []
    clock, folder = FakeClock(), tmp_path / "checkpoints"

    def tell(event: str, /, **facts: object) -> None:
        if event == "checkpoint.renamed":
            there.append((folder / str(facts["checkpoint"])).is_dir())

    with Graph(tmp_path / "live", FILES, clock, silent) as graph:
        Checkpoints(folder, FILES, clock, tell).make(graph)
    assert there == [True]


def test_one_that_another_process_made_counts_also_when_the_clock_steps_back(tmp_path: Path) -> None:
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
