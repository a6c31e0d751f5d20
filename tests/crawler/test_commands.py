"""Commands to a crawl: rules added while it runs, pause, stop, and hosts retired and reinstated."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.answers import Says, Web, article, plain
from tests.cli.site import OPEN, PATIENCE_S, QUICK, gossamer, json_lines, searchable, started, wait_until

from gossamer.base.clock import SystemClock
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.store.directory import Directory
from gossamer.store.trust import Code, allow

SLOW = (*OPEN, "--delay", "0.1")
KINDS = tuple("abcdefghijklmnopqrstuvwxyz")
"""Several kinds, because a crawl fetches only a few dozen similar pages of one kind."""


def linked_pages(kinds: tuple[str, ...], amount: int) -> dict[str, str | Says]:
    """A start page that links to pages of several kinds in turn."""
    paths = [f"/{kind}/{number}" for number in range(amount) for kind in kinds]
    return {"/": article("home", *paths)} | {path: article(path.strip("/").replace("/", "-")) for path in paths}


@contextmanager
def crawling(web: Web, root: Path, after: int = 5) -> Iterator["subprocess.Popen[str]"]:
    """A crawl after its first few fetches; it is stopped at the end if it is still running."""
    crawl = started("crawl", web.root, "--dir", root, *SLOW, "--json")
    try:
        wait_until(lambda: len(web.hits) >= after or crawl.poll() is not None, "the crawl did not begin")
        yield crawl
    finally:
        if crawl.poll() is None:
            crawl.terminate()
        crawl.communicate(timeout=PATIENCE_S)


def events_of(crawl: "subprocess.Popen[str]") -> list[dict[str, object]]:
    out, err = crawl.communicate(timeout=PATIENCE_S)
    assert crawl.returncode in (0, 130) and "Traceback" not in err, err
    return json_lines(out)


def send(root: Path, verb: str) -> None:
    """Send a command as the web site does."""
    with SqliteControl(Directory(root).control, SystemClock()) as control:
        number = control.ask(verb)
        wait_until(lambda: control.is_done(number), f"the command {verb} was not handled")


def test_M_B5_a_rule_added_while_the_crawl_runs_excludes_further_pages(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("keep", "drop"), 15))
    with web.serving(), crawling(web, root) as crawl:
        with web.held():
            output = gossamer("rules", "preview", 'exclude path ~ "^/drop/"', "--dir", root, "--json").stdout
            preview = json.loads(output.splitlines()[-1])
            assert 0 < preview["would_go"] < preview["queued"] and preview["would_go"] <= 15
            assert gossamer("rules", "add", 'exclude path ~ "^/drop/"', "--dir", root).returncode == 0
        events = events_of(crawl)
        refused = [one for one in events if one["event"] == "visit.settled" and one["outcome"] == "filter"]
        fetched = sum(1 for path in web.hits if path.startswith("/drop/"))
        assert refused and len(refused) + fetched == 15
        assert {str(one["detail"]) for one in refused} == {'rule 3: exclude path ~ "^/drop/"'}
        assert sum(1 for path in web.hits if path.startswith("/keep/")) == 15
        answer = gossamer("why", str(refused[0]["url"]), "--dir", root).stdout
        assert 'filter rejects it: rule 3: exclude path ~ "^/drop/"' in answer and "last fetch: filter" in answer
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_a_preview_counts_the_urls_that_a_rule_would_exclude(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("keep", "drop"), 10))
    with web.serving():
        assert gossamer("crawl", web.root, "--dir", root, *QUICK, "--max-pages", 3).returncode == 0
        done = gossamer("rules", "preview", 'exclude path ~ "/drop/"', "--dir", root, "--json")
        found = json.loads(done.stdout.splitlines()[-1])
        assert (found["queued"], found["would_go"]) == (18, 9)


def test_with_an_include_rule_only_its_pages_and_the_seed_are_fetched(tmp_path: Path) -> None:
    """The seed was given by the user: a rule that does not include it must not end the crawl before it begins."""
    root, web = tmp_path / "c", Web(linked_pages(("docs", "other"), 3))
    with web.serving():
        gossamer("rules", "add", 'include path ~ "^/docs/"', "--dir", root)
        assert gossamer("crawl", web.root, "--dir", root, *QUICK).returncode == 0
        assert set(web.hits) == {"/robots.txt", "/", "/docs/0", "/docs/1", "/docs/2"}


def test_M_B7_a_rule_on_types_drops_a_response_after_its_headers_and_the_gap_is_kept(tmp_path: Path) -> None:
    root, texts = tmp_path / "c", [f"/text/{number}" for number in range(4)]
    web = Web({"/": article("home", *texts, "/page"), "/page": article("page")} | dict.fromkeys(texts, plain("words")))
    with web.serving():
        gossamer("rules", "add", "exclude type = text/plain", "--dir", root)
        done = gossamer("crawl", web.root, "--dir", root, *SLOW, "--json")
        outcomes = {str(one["url"]).removeprefix(web.root): one for one in json_lines(done.stdout) if "url" in one}
        assert all(outcomes[path.strip("/")]["outcome"] == "media-type" for path in texts)
        assert outcomes["text/0"]["detail"] == "rule 3: exclude type = text/plain"
        assert searchable(root) == {web.root, web.root + "page"}
        gaps = [later - sooner for sooner, later in zip(web.moments, web.moments[1:], strict=False)]
        assert min(gaps) >= 0.1, "the gap is kept after partial fetches too"
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_a_user_filter_that_raises_refuses_only_that_url(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("a", "b"), 3))
    root.mkdir()
    (root / "mine.py").write_text("def judge(url, depth):\n    return 1 / (not url.endswith('/b/1')) > 0\n")
    allow([Code("", "mine.py:judge", root)])
    with web.serving():
        done = gossamer("crawl", web.root, "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge")
        assert done.returncode == 0
        assert "/b/1" not in web.hits and len(web.hits) == 1 + 1 + 5
        answer = gossamer("why", web.root + "b/1", "--dir", root, GOSSAMER_CRAWL_FILTERS="mine.py:judge").stdout
        assert "filter mine.py:judge failed: ZeroDivisionError" in answer, answer


def test_an_invalid_rules_file_is_ignored_while_the_crawl_runs(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("keep", "drop"), 12))
    root.mkdir()
    (root / "rules.txt").write_text('exclude path ~ "/drop/"\n')
    with web.serving(), crawling(web, root) as crawl:
        (root / "rules.txt").write_bytes(b'exclude path ~ "/keep/"\nexclude (((\n\xff\n')
        events_of(crawl)
        assert len(web.hits) == 1 + 1 + 12 and not any("drop" in path for path in web.hits)


def test_a_crawl_is_paused_continued_and_stopped(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(KINDS, 4))
    with web.serving(), crawling(web, root) as crawl:
        send(root, "pause")
        assert gossamer("why", "--host", web.name, "--dir", root).stdout.count("paused") >= 1
        before = len(web.hits)
        assert gossamer("status", "--dir", root).returncode == 0
        time.sleep(1.0)  # longer than several fetches would take
        assert len(web.hits) <= before + 1, "only the fetch in progress ends"
        send(root, "resume")
        wait_until(lambda: len(web.hits) > before + 3, "the crawl did not continue")
        send(root, "stop")
        events = events_of(crawl)
        assert events[-1]["stopped"] is True and crawl.returncode == 130
        done = len(web.hits)
        assert done < 106
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert len(web.hits) == 106 == len(set(web.hits)), "the same command continues, not paused"


def test_M_B9_a_host_is_retired_and_reinstated_in_a_running_crawl(tmp_path: Path) -> None:
    """Both hosts have enough pages for the whole test, however slowly the commands run."""
    root, one, other = tmp_path / "c", Web(linked_pages(KINDS, 16), 0.3), Web(linked_pages(KINDS, 60))
    with one.serving(), other.serving():
        gossamer("crawl", other.root, "--dir", root, *QUICK, "--max-pages", 1)
        gossamer("config", "unset", "crawl.max_pages", "--dir", root)
        with crawling(one, root) as crawl:
            wait_until(lambda: len(other.hits) > 4, "nothing was fetched from the other host")
            done = gossamer("hosts", "retire", other.name, "--why", "too loud", "--dir", root)
            assert done.returncode == 0 and f"{other.name} is retired now" in done.stdout
            before = len(other.hits)
            listed = gossamer("hosts", "--dir", root, "--state", "retired").stdout
            assert other.name in listed and "too loud" in listed
            assert len(other.hits) <= before + 1
            answer = gossamer("why", f"{other.root}z/59", "--dir", root).stdout
            assert "too loud" in answer
            assert "is active now" in gossamer("hosts", "reinstate", other.name, "--dir", root).stdout
            wait_until(lambda: len(other.hits) > before + 2, "nothing more was fetched from it")
            assert gossamer("hosts", "retire", "unknown.test", "--dir", root).returncode != 0
            send(root, "stop")
            events_of(crawl)
        assert len(other.hits) == len(set(other.hits)), "no page was fetched twice"
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_M_B9_a_host_is_retired_and_reinstated_without_a_crawl(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("page",), 5))
    with web.serving():
        gossamer("crawl", web.root, "--dir", root, *QUICK, "--max-pages", 1)
        gossamer("config", "unset", "crawl.max_pages", "--dir", root)
        assert "is retired: nothing is fetched there" in gossamer("hosts", "retire", web.name, "--dir", root).stdout
        assert gossamer("hosts", "retire", web.name, "--dir", root).returncode != 0, "it is retired already"
        before = len(web.hits)
        done = gossamer("crawl", "--dir", root, *QUICK)
        assert done.returncode == 0 and len(web.hits) == before
        assert gossamer("hosts", "reinstate", web.name, "--dir", root).returncode == 0
        gossamer("crawl", "--dir", root, *QUICK)
        assert len(web.hits) == 7
