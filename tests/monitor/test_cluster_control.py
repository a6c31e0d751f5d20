"""Heartbeats and commands of a cluster: what only its form promises."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.monitor.desks import cluster_desk
from tests.monitor.test_both_controls import vitals
from tests.postgres_server import Server, server

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.environment import real_outside
from gossamer.monitor.cluster_control import ALIVE_S, CLAIM_S, LOOK_S
from gossamer.monitor.control import ClusterMarks, running_processes


def test_processes_of_all_nodes_are_seen_and_judged_by_the_clock_of_the_database(tmp_path: Path) -> None:
    desk, outside = cluster_desk(tmp_path, clock_ahead_s=500.0), real_outside()
    with desk.open("a") as one, desk.open("b") as two:
        one.beat("crawler", 1, {}, [vitals(desk, pages=1)])
        two.beat("crawler", 1, {}, [vitals(desk, node="b", pages=2)])
        assert [(beat.node, beat.at) for beat in one.beats()] == [("a", desk.clock.now())]
        desk.advance(LOOK_S + 0.1)
        alive = running_processes(one.beats(), outside)
        assert [process["node"] for process in alive] == ["a", "b"], "whatever processes run on this machine"
        assert [one.at for one in two.vitals()] == [desk.clock.now() - round((LOOK_S + 0.1) * SECOND)] * 2
        desk.advance(ALIVE_S)
        two.beat("crawler", 1, {})
        assert [process["node"] for process in running_processes(two.beats(), outside)] == ["b"]


def test_pause_is_a_state_that_also_later_crawlers_follow_and_stop_pauses(tmp_path: Path) -> None:
    desk = cluster_desk(tmp_path)
    with desk.open("web") as web, desk.open("a") as early:
        assert early.marks() == ClusterMarks()
        for verb, is_paused in (("pause", True), ("resume", False), ("stop", True)):
            assert web.is_done(web.ask(verb)), "no crawler has to be alive"
            desk.advance(LOOK_S + 0.1)
            with desk.open("b") as later:
                assert early.marks().is_paused == later.marks().is_paused == is_paused
            assert early.pending("crawler") == []


def test_a_command_is_carried_out_by_one_process_and_by_another_if_that_one_dies(tmp_path: Path) -> None:
    desk = cluster_desk(tmp_path)
    with desk.open("a") as one, desk.open("b") as two, desk.open() as web:
        number = web.ask("retire", host="example.org")
        assert [command.id for command in one.pending("crawler")] == [number]
        web.ask("reinstate", host="example.org")
        assert two.pending("crawler") == [], "commands stay in order: also the next one waits"
        desk.advance(CLAIM_S + 1)
        assert [command.verb for command in two.pending("crawler")] == ["retire", "reinstate"]
        desk.advance(LOOK_S + 0.1)
        assert one.pending("crawler") == []
        two.done(number)
        assert web.is_done(number)


def test_racing_processes_never_get_the_same_command(tmp_path: Path) -> None:
    desk = cluster_desk(tmp_path)
    crawlers = [desk.open(f"n{number}").__enter__() for number in range(6)]
    with desk.open() as web, ThreadPoolExecutor(6) as threads:
        numbers = [web.ask("retire", host=f"h{number}.org") for number in range(20)]
        found = list(threads.map(lambda one: [command.id for command in one.pending("crawler")], crawlers))
    assert sorted(number for each in found for number in each) == numbers
    for one in crawlers:
        one.__exit__(None, None, None)


def test_a_process_that_polls_and_beats_needs_one_transaction_a_second(tmp_path: Path) -> None:
    desk = cluster_desk(tmp_path)
    with desk.open() as control:
        control.pending("crawler")
        runs = 0
        line = control._line  # type: ignore[attr-defined]
        run = line.run

        def counted(*given: object, **named: object) -> object:
            nonlocal runs
            runs += 1
            return run(*given, **named)

        line.run = counted
        for tick in range(41):  # ten seconds
            control.pending("crawler"), control.marks(), control.beats()
            if tick % 4 == 0:
                control.beat("crawler", 1, {"tick": tick}, [vitals(desk)])
            desk.clock.advance(0.25)
    assert runs == 11


def test_changed_seeds_options_and_documents_are_counted(tmp_path: Path) -> None:
    desk = cluster_desk(tmp_path)
    import psycopg

    with desk.open() as control, psycopg.connect(server().conninfo_for(tmp_path), autocommit=True) as connection:
        before = control.marks()
        connection.execute("INSERT INTO seeds (url, reach) VALUES ('http://a/', 'host')")
        connection.execute("INSERT INTO options (name, value, given_at) VALUES ('contact', '\"me\"', 1)")
        connection.execute("INSERT INTO documents (name, content, changed_at) VALUES ('rules.txt', '', 1)")
        desk.advance(LOOK_S + 0.1)
        after = control.marks()
        assert before is not None and after is not None
        assert (after.seeds, after.options, after.documents) == (
            before.seeds + 1, before.options + 1, before.documents + 1,
        )  # fmt: skip


def own_server() -> Server:
    """One that can be stopped: the one of the other tests must stay."""
    found = Server(Path(tempfile.mkdtemp(prefix="gossamer-pg-")), server().programs)
    found.make()
    found.start()
    return found


def test_while_the_database_is_away_beats_are_dropped_and_the_last_state_stays() -> None:
    own = own_server()
    try:
        from gossamer.monitor.cluster_control import ClusterControl
        from gossamer.store.postgres.line import SharedLine
        from gossamer.store.postgres.state import prepare

        conninfo, clock, heard = own.conninfo("s"), SystemClock(), list[str]()
        prepare(conninfo)
        line = SharedLine(conninfo, "cluster", clock, lambda event, **_: heard.append(event))
        with ClusterControl(line, "a", "host", clock) as control:
            control.ask("pause")
            number = control.ask("retire", host="example.org")
            assert control.beat("crawler", 1, {}) and control.marks().is_paused
            assert [one.id for one in control.pending("crawler")] == [number]
            own.stop()
            assert not control.beat("crawler", 1, {}) and not control.note([])
            control.done(number)
            control.end_workers("reader")
            assert control.marks().is_paused and [beat.name for beat in control.beats()] == ["crawler"]
            assert control.pending("crawler") == [], "a command is not carried out again"
            assert "no answer since" in line.trouble and heard == ["service.lost"]
            own.start()
            assert control.beat("crawler", 1, {}) and line.trouble == "" and heard == ["service.lost", "service.back"]
            control.done(control.ask("seed", urls=[]))
            assert control.is_done(number), "what was carried out meanwhile is marked with the next one"
    finally:
        own.stop()
        shutil.rmtree(own.folder, ignore_errors=True)
