"""Heartbeats, figures and commands: what both forms promise."""

import pytest
from tests.monitor.desks import Desk, desk

from gossamer.base.clock import SECOND
from gossamer.base.environment import real_outside
from gossamer.monitor.control import NODE, Vitals, running_processes

__all__ = ["desk"]


def vitals(desk: Desk, process: str = "crawler", state: str = "", node: str = "a", **figures: float) -> Vitals:
    host = f"host of {node}" if desk.is_shared else ""
    return Vitals(node, process, 7, desk.clock.now(), desk.clock.now(), figures, state, "1.0", host)


def test_a_beat_can_be_read_by_another_process_with_its_time_and_facts(desk: Desk) -> None:
    with desk.open() as ours, desk.open() as theirs:
        assert ours.beat("crawler", 17, {"pages": 3, "state": "running", "lag_s": 0.5})
        desk.advance(2)
        ours.beat("crawler", 17, {"pages": 4, "state": "running", "lag_s": 0.5})
        ours.beat("indexer", 18, {})
        found = [(beat.name, beat.pid, beat.at, beat.facts) for beat in theirs.beats()]
        assert found == [
            ("crawler", 17, desk.clock.now(), {"pages": 4, "state": "running", "lag_s": 0.5}),
            ("indexer", 18, desk.clock.now(), {}),
        ]


def test_M_A10_the_last_vitals_of_every_process_of_every_node_are_kept(desk: Desk) -> None:
    with desk.open("a") as control, desk.open("b") as other:
        first = [vitals(desk, NODE, cpu=40.0), vitals(desk, "crawler", pages=1)]
        elsewhere = vitals(desk, "web", node="b")
        assert control.note(first) and other.note([elsewhere])
        desk.advance(1)
        newer = vitals(desk, "crawler", "paused", pages=2)
        assert control.beat("crawler", 7, {"pages": 2}, [newer])
        assert control.vitals() == [first[0], newer, elsewhere]
        assert [beat.facts for beat in control.beats()] == [{"pages": 2}]


def test_M_A10_the_history_remains_after_all_processes_have_ended(desk: Desk) -> None:
    with desk.open() as control:
        control.note([vitals(desk, pages=1)])
    desk.advance(600)
    with desk.open() as control:
        assert [one.figures for one in control.history(0)] == [{"pages": 1}]
        assert control.history(desk.clock.now() - 60 * SECOND) == []
        desk.advance(3_600)
        assert control.history(0) == []


def test_one_sample_a_second_is_kept_for_an_hour(desk: Desk) -> None:
    with desk.open() as control:
        for second in (0, 1, 3_600, 1):
            desk.advance(second)
            control.note([vitals(desk, pages=second)])
        assert [one.figures["pages"] for one in control.history(0)] == [1, 3_600, 1][-2:]


def test_workers_end_with_their_process_and_old_names_are_deleted(desk: Desk) -> None:
    with desk.open() as control:
        control.note([vitals(desk, name) for name in ("reader 1", "reader 2", "query worker 1", "crawler")])
        control.end_workers("reader")
        assert {one.process: one.state for one in control.vitals()} == {
            "crawler": "", "query worker 1": "", "reader 1": "ended", "reader 2": "ended",
        }  # fmt: skip
        desk.advance(3_601)
        control.note([vitals(desk, "web")])
        control.end_workers("reader")
        assert [one.process for one in control.vitals()] == ["web"]


def test_a_command_is_pending_for_its_receiver_until_it_is_done(desk: Desk) -> None:
    with desk.open() as web, desk.open() as crawler:
        retire = web.ask("retire", host="example.org", why="asked on the page")
        checkpoint = web.ask("checkpoint")
        [command] = crawler.pending("crawler")
        assert (command.id, command.verb) == (retire, "retire")
        assert command.args == {"host": "example.org", "why": "asked on the page"}
        assert [command.id for command in crawler.pending("indexer")] == [checkpoint]
        assert not web.is_done(retire)
        crawler.done(retire)
        assert web.is_done(retire) and web.is_done(retire - 1_000)
        assert crawler.pending("crawler") == []


def test_a_pending_command_is_not_added_twice(desk: Desk) -> None:
    with desk.open() as control:
        first = control.ask("checkpoint")
        assert control.ask("checkpoint") == first
        control.done(first)
        assert control.ask("checkpoint") != first


def test_an_unknown_verb_is_refused(desk: Desk) -> None:
    with desk.open() as control, pytest.raises(KeyError):
        control.ask("dance")


def test_the_number_of_done_commands_is_bounded_and_old_ones_count_as_done(desk: Desk) -> None:
    with desk.open() as control:
        first = control.ask("checkpoint")
        control.done(first)
        for _ in range(120):
            control.done(control.ask("checkpoint"))
        assert control.is_done(first) and control.pending("indexer") == []


def test_the_commands_to_a_process_can_be_deleted_with_their_arguments(desk: Desk) -> None:
    with desk.open() as control:
        done, waiting = control.ask("seed", urls=["https://example.org/"]), control.ask("retire", host="example.org")
        control.done(done)
        other = control.ask("checkpoint")
        control.clear("crawler")
        assert control.pending("crawler") == [] and [one.id for one in control.pending("indexer")] == [other]
        assert control.is_done(waiting)


def test_a_process_that_ended_in_order_is_not_running(desk: Desk) -> None:
    outside = real_outside()
    with desk.open() as control:
        control.beat("crawler", outside.processes.own_pid(), {"pages": 1})
        [found] = running_processes(control.beats(), outside)
        assert found["name"] == "crawler" and found["pages"] == 1
        desk.advance(2)
        control.beat("crawler", outside.processes.own_pid(), {"state": "ended"})
        assert running_processes(control.beats(), outside) == []
