import json
from io import StringIO

import pytest
from rich.console import Console

from gossamer.cli.crawl.progress import JsonLines, LiveTable, PlainLines, _live_table
from gossamer.cli.crawl.summary import CrawlEnd, next_steps, summary
from gossamer.crawler.heartbeat import Tally
from gossamer.testing import FakeClock
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.visit import Counts


def settled(url: str, outcome: str = "fetched", kind: str = "page", facts: int = 0) -> dict[str, object]:
    return {
        "url": url,
        "kind": kind,
        "outcome": outcome,
        "facts": facts,
        "size": 100,
        "is_page": outcome == "fetched",
        "detail": "",
        "again": outcome == "timeout",
    }


def shown(what: object) -> str:
    out = StringIO()
    Console(file=out, width=160).print(what)
    return out.getvalue()


def test_the_tally_counts_pages_facts_and_errors_and_leaves_robots_files_out() -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/robots.txt", "gone", "robots"))
    tally.settled(settled("http://a.test/", facts=7))
    tally.settled(settled("http://a.test/b", "timeout"))
    tally.settled(settled("http://a.test/c", "robots"))
    tally.settled(settled("http://a.test/sitemap.xml", facts=5) | {"is_page": False})
    assert (tally.fetched, tally.facts, tally.failures) == (1, 7, 1)
    assert dict(tally.reasons) == {"fetched": 2, "timeout": 1, "robots": 1}
    assert tally.size == 500


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    clock = FakeClock()
    tally = Tally(clock)
    for _ in range(40):
        clock.advance(0.25)
        tally.settled(settled("http://a.test/"))
    assert 3.5 <= tally.rate() <= 4.5
    clock.advance(11)
    assert tally.rate() == 0.0


def test_an_unreadable_robots_txt_is_listed_until_it_can_be_read() -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/robots.txt", "connect", "robots"))
    assert tally.troubles == {"http://a.test/robots.txt": "connect"}
    tally.settled(settled("http://a.test/robots.txt", "fetched", "robots"))
    assert tally.troubles == {}


def test_counts_that_status_shows_too_come_from_the_same_counters() -> None:
    """A page that is gone or quarantined is no failure, and one that fails three times is one URL."""
    tally = Tally(FakeClock())
    for _ in range(3):
        tally.settled(settled("http://a.test/b", "server-error"))
    ends = {"fetched": 4, "server-error": 1, "read-crash": 1, "gone": 2, "soft-404": 3, "trap": 5, "robots": 6}
    tally.counted(Counts(pages=3, by_reason=ends), 0.0)
    assert (tally.pages, tally.failed, tally.missing, tally.refused, tally.failures) == (3, 2, 5, 11, 3)


def test_plain_lines_are_printed_after_two_seconds_and_then_every_five() -> None:
    clock, out = FakeClock(), StringIO()
    tally = Tally(clock)
    progress = PlainLines(tally, out)
    for _ in range(24):
        progress.beat()
        clock.advance(0.5)
    lines = out.getvalue().splitlines()
    assert [line.split(" s  ")[0].strip() for line in lines] == ["2", "7"]
    assert "0 pages" in lines[0] and "0 failed" in lines[0]


def test_plain_lines_print_once_what_the_crawl_waits_for() -> None:
    clock, out = FakeClock(), StringIO()
    tally = Tally(clock)
    progress = PlainLines(tally, out)
    trouble = settled("http://a.test/robots.txt", "connect", "robots")
    for _ in range(3):
        tally.settled(trouble)
        progress.heard("visit.settled", trouble)
    tally.counted(Counts(queued=1), 0.0, rests_s=55.0)
    tally.waits = "waiting 55 s to ask again for http://a.test/robots.txt: connect"
    clock.advance(3)
    progress.beat()
    first, second = out.getvalue().splitlines()
    assert first.startswith("http://a.test/robots.txt could not be read (connect: no connection to the host)")
    assert second.endswith("waiting 55 s to ask again for http://a.test/robots.txt: connect")


def test_plain_lines_print_a_notice_once() -> None:
    out = StringIO()
    progress = PlainLines(Tally(FakeClock()), out)
    progress.heard("disk.full", {})
    progress.heard("disk.full", {})
    assert out.getvalue().count("the disk is full") == 1


def test_json_lines_are_one_object_a_line_and_only_of_known_events() -> None:
    out = StringIO()
    progress = JsonLines(out)
    progress.heard("frontier.taken", {"visits": 3})
    progress.heard("visit.settled", settled("http://a.test/"))
    assert json.loads(out.getvalue()) == {"event": "visit.settled", **settled("http://a.test/")}


def test_json_lines_to_a_closed_pipe_are_reported_once_and_raise_nothing() -> None:
    class Closed(StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    reports: list[str] = []
    progress = JsonLines(Closed(), lambda: reports.append("gone"))
    progress.heard("visit.settled", {})
    progress.heard("visit.settled", {})
    assert progress.is_gone and reports == ["gone"]


def test_the_live_table_shows_counts_delay_and_the_last_url() -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/", facts=1234))
    tally.counted(Counts(queued=9, hosts=2), lag_s=0.5)
    text = shown(_live_table(tally))
    for words in ("1,234", "facts found", "9", "waiting on 2 hosts", "index delay 0.5 s", "http://a.test/"):
        assert words in text


def test_a_live_table_that_was_never_shown_can_be_closed(capsys: pytest.CaptureFixture[str]) -> None:
    LiveTable(Tally(FakeClock())).close()
    assert capsys.readouterr() == ("", "")


def test_the_summary_names_every_outcome_and_the_next_command() -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/", facts=3))
    tally.settled(settled("http://a.test/x", "gone"))
    counts = Counts(known=3, queued=1, pages=1, by_reason={"fetched": 1, "gone": 1})
    tally.counted(counts, 0.0)
    text = shown(summary(tally, CrawlEnd(True, counts), "there"))
    assert "Stopped after" in text and "gone: the server says there is no such page" in text
    assert "1  URL still waiting: the same command continues from here" in text
    assert "gossamer search WORDS --dir there" in text


def test_a_crawl_with_nothing_left_to_fetch_says_so_and_succeeds() -> None:
    tally, ended = Tally(FakeClock()), CrawlEnd(False, Counts(known=12, pages=10))
    assert "all 12 known URLs have been fetched" in shown(summary(tally, ended, "there"))
    assert ended.exit_code(tally) == 0


def test_a_crawl_that_reached_its_limit_does_not_say_that_the_same_command_continues() -> None:
    tally, counts = Tally(FakeClock()), Counts(known=12, queued=2, pages=10)
    tally.counted(counts, 0.0)
    text = shown(summary(tally, CrawlEnd(False, counts, 10), "there"))
    assert "a higher --max-pages continues (2 URLs waiting)" in text and "the same command" not in text
    assert "the same command" in shown(summary(tally, CrawlEnd(True, counts, 10), "there"))


def test_a_crawl_that_fetched_nothing_says_why_and_what_to_do_and_fails() -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/robots.txt", "connect", "robots"))
    ended = CrawlEnd(False, Counts(known=1, by_reason={"robots-unreachable": 1}))
    text = shown(summary(tally, ended, "there"))
    assert "Nothing was fetched" in text and "check that the server is up" in text
    assert "gossamer search" not in text
    assert ended.exit_code(tally) == 1


def test_a_missing_contact_or_address_is_reported_with_its_flag() -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/robots.txt", "contact", "robots"))
    tally.settled(settled("http://b.test/robots.txt", "address", "robots"))
    steps = "\n".join(next_steps(tally, Counts()))
    assert "--contact" in steps and "--allow-address" in steps


@pytest.mark.parametrize("reason", Reason)
def test_a_seed_that_was_not_fetched_is_reported_with_its_outcome_and_what_to_do(reason: Reason) -> None:
    tally = Tally(FakeClock())
    tally.settled(settled("http://a.test/", reason.value))
    ended = CrawlEnd(False, Counts(known=1, by_reason={reason.value: 1}))
    (step,) = next_steps(tally, ended.counts)
    assert step.startswith(f"  {reason}: ") and len(step) > len(reason) + 10
    text = shown(summary(tally, ended, "there"))
    assert IN_WORDS[reason][:40] in text and "give a seed URL" not in text


def test_a_seed_is_asked_for_only_if_none_was_given() -> None:
    assert "give a seed URL" in next_steps(Tally(FakeClock()), Counts())[0]
    assert "continues from here" in next_steps(Tally(FakeClock()), Counts(known=1, queued=1))[0]


def test_a_stopped_crawl_ends_with_the_code_of_ctrl_c() -> None:
    assert CrawlEnd(True, Counts(pages=3)).exit_code(Tally(FakeClock())) == 130


def test_a_later_run_that_fetched_nothing_names_the_outcomes_of_the_runs_before() -> None:
    counts = Counts(known=2, by_reason={"client-error": 1, "read-timeout": 1})
    steps = next_steps(Tally(FakeClock()), counts)
    assert [step.partition(":")[0].strip() for step in steps] == ["client-error", "read-timeout"]
