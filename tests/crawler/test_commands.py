"""What a user asks of a crawl: rules while it runs, a pause, a stop, a host taken out and back in."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.answers import Says, Web, article, plain
from tests.cli.site import OPEN, PATIENCE_S, QUICK, gossamer, json_lines, searchable, started, wait_until

from gossamer.base.clock import SystemClock
from gossamer.monitor.control import Control
from gossamer.store.directory import Directory
from gossamer.store.trust import Code, allow

SLOW = (*OPEN, "--delay", "0.1")
KINDS = tuple("abcdefghijklmnopqrstuvwxyz")
"""Of one kind alone a crawl takes no more than a few dozen pages that are all alike."""


def many(kinds: tuple[str, ...], amount: int) -> dict[str, str | Says]:
    """A start page that leads to pages of several kinds by turns."""
    paths = [f"/{kind}/{number}" for number in range(amount) for kind in kinds]
    return {"/": article("home", *paths)} | {path: article(path.strip("/").replace("/", "-")) for path in paths}


@contextmanager
def crawling(web: Web, root: Path, after: int = 5) -> Iterator["subprocess.Popen[str]"]:
    """A crawl that has made a few visits; it is stopped at the end, if it has not ended."""
    crawl = started("crawl", web.root, "--dir", root, *SLOW, "--json")
    try:
        wait_until(lambda: len(web.hits) >= after or crawl.poll() is not None, "the crawl did not begin")
        yield crawl
    finally:
        if crawl.poll() is None:
            crawl.terminate()
        crawl.communicate(timeout=PATIENCE_S)


def ended(crawl: "subprocess.Popen[str]") -> list[dict[str, object]]:
    out, told = crawl.communicate(timeout=PATIENCE_S)
    assert crawl.returncode in (0, 130) and "Traceback" not in told, told
    return json_lines(out)


def asked(root: Path, verb: str) -> None:
    """As the page of a running crawl would."""
    with Control(Directory(root).control, SystemClock()) as control:
        number = control.ask(verb)
        wait_until(lambda: control.is_done(number), f"nobody heard {verb}")


def test_M_B5_a_rule_added_while_the_crawl_runs_keeps_further_pages_out(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(many(("keep", "drop"), 15))
    with web.serving(), crawling(web, root) as crawl:
        with web.held():
            told = gossamer("rules", "preview", 'exclude path ~ "^/drop/"', "--dir", root, "--json").stdout
            preview = json.loads(told.splitlines()[-1])
            assert 0 < preview["would_go"] < preview["queued"] and preview["would_go"] <= 15
            assert gossamer("rules", "add", 'exclude path ~ "^/drop/"', "--dir", root).returncode == 0
        events = ended(crawl)
        refused = [one for one in events if one["event"] == "visit.settled" and one["outcome"] == "filter"]
        dropped = sum(1 for path in web.hits if path.startswith("/drop/"))
        assert refused and len(refused) + dropped == 15
        assert {str(one["detail"]) for one in refused} == {'rule 3: exclude path ~ "^/drop/"'}
        assert sum(1 for path in web.hits if path.startswith("/keep/")) == 15
        told = gossamer("why", str(refused[0]["url"]), "--dir", root).stdout
        assert 'filter rejects it: rule 3: exclude path ~ "^/drop/"' in told and "last fetch: filter" in told
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_a_preview_counts_what_a_rule_would_keep_out(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(many(("keep", "drop"), 10))
    with web.serving():
        assert gossamer("crawl", web.root, "--dir", root, *QUICK, "--max-pages", 3).returncode == 0
        done = gossamer("rules", "preview", 'exclude path ~ "/drop/"', "--dir", root, "--json")
        found = json.loads(done.stdout.splitlines()[-1])
        assert (found["queued"], found["would_go"]) == (18, 9)


def test_only_what_is_included_is_fetched_and_the_seed_is_where_it_begins(tmp_path: Path) -> None:
    """The seed was named by hand: a rule that does not speak of it does not end the crawl before it began."""
    root, web = tmp_path / "c", Web(many(("docs", "other"), 3))
    with web.serving():
        gossamer("rules", "add", 'include path ~ "^/docs/"', "--dir", root)
        assert gossamer("crawl", web.root, "--dir", root, *QUICK).returncode == 0
        assert set(web.hits) == {"/robots.txt", "/", "/docs/0", "/docs/1", "/docs/2"}


def test_M_B7_a_rule_about_types_drops_an_answer_after_its_headers_and_the_gap_is_kept(tmp_path: Path) -> None:
    root, texts = tmp_path / "c", [f"/text/{number}" for number in range(4)]
    web = Web({"/": article("home", *texts, "/page"), "/page": article("page")} | dict.fromkeys(texts, plain("words")))
    with web.serving():
        gossamer("rules", "add", "exclude type = text/plain", "--dir", root)
        done = gossamer("crawl", web.root, "--dir", root, *SLOW, "--json")
        ends = {str(one["url"]).removeprefix(web.root): one for one in json_lines(done.stdout) if "url" in one}
        assert all(ends[path.strip("/")]["outcome"] == "media-type" for path in texts)
        assert ends["text/0"]["detail"] == "rule 3: exclude type = text/plain"
        assert searchable(root) == {web.root, web.root + "page"}
        between = [later - sooner for sooner, later in zip(web.moments, web.moments[1:], strict=False)]
        assert min(between) >= 0.1, "a visit is a visit, however little of it was taken"
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_a_filter_of_the_users_own_that_raises_refuses_that_address_only(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(many(("a", "b"), 3))
    root.mkdir()
    (root / "mine.py").write_text("def judge(url, depth):\n    return 1 / (not url.endswith('/b/1')) > 0\n")
    allow([Code("", "mine.py:judge", root)])
    with web.serving():
        done = gossamer("crawl", web.root, "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge")
        assert done.returncode == 0
        assert "/b/1" not in web.hits and len(web.hits) == 1 + 1 + 5
        told = gossamer("why", web.root + "b/1", "--dir", root, GOSSAMER_CRAWL_FILTERS="mine.py:judge").stdout
        assert "filter mine.py:judge failed: ZeroDivisionError" in told, told


def test_a_rules_file_that_is_spoilt_while_the_crawl_runs_changes_nothing(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(many(("keep", "drop"), 12))
    root.mkdir()
    (root / "rules.txt").write_text('exclude path ~ "/drop/"\n')
    with web.serving(), crawling(web, root) as crawl:
        (root / "rules.txt").write_bytes(b'exclude path ~ "/keep/"\nexclude (((\n\xff\n')
        ended(crawl)
        assert len(web.hits) == 1 + 1 + 12 and not any("drop" in path for path in web.hits)


def test_a_crawl_is_paused_and_goes_on_and_is_stopped(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(many(KINDS, 4))
    with web.serving(), crawling(web, root) as crawl:
        asked(root, "pause")
        assert gossamer("why", "--host", web.name, "--dir", root).stdout.count("paused") >= 1
        before = len(web.hits)
        assert gossamer("status", "--dir", root).returncode == 0
        time.sleep(1.0)  # longer than several visits would take
        assert len(web.hits) <= before + 1, "what was under way"
        asked(root, "resume")
        wait_until(lambda: len(web.hits) > before + 3, "it did not go on")
        asked(root, "stop")
        events = ended(crawl)
        assert events[-1]["stopped"] is True and crawl.returncode == 130
        done = len(web.hits)
        assert done < 106
        assert gossamer("crawl", "--dir", root, *QUICK).returncode == 0
        assert len(web.hits) == 106 == len(set(web.hits)), "and the same command goes on, without a pause"


def test_M_B9_a_host_is_retired_and_reinstated_in_a_running_crawl(tmp_path: Path) -> None:
    """Neither host is anywhere near its end while commands run, however slowly they do."""
    root, one, other = tmp_path / "c", Web(many(KINDS, 16), 0.3), Web(many(KINDS, 60))
    with one.serving(), other.serving():
        gossamer("crawl", other.root, "--dir", root, *QUICK, "--max-pages", 1)
        gossamer("config", "unset", "crawl.max_pages", "--dir", root)
        with crawling(one, root) as crawl:
            wait_until(lambda: len(other.hits) > 4, "the other host is not visited")
            done = gossamer("hosts", "retire", other.name, "--why", "too loud", "--dir", root)
            assert done.returncode == 0 and f"{other.name} is retired now" in done.stdout
            before = len(other.hits)
            listed = gossamer("hosts", "--dir", root, "--state", "retired").stdout
            assert other.name in listed and "too loud" in listed
            assert len(other.hits) <= before + 1
            told = gossamer("why", f"{other.root}z/59", "--dir", root).stdout
            assert "too loud" in told
            assert "is active now" in gossamer("hosts", "reinstate", other.name, "--dir", root).stdout
            wait_until(lambda: len(other.hits) > before + 2, "it is not visited again")
            assert gossamer("hosts", "retire", "nobody.test", "--dir", root).returncode != 0
            asked(root, "stop")
            ended(crawl)
        assert len(other.hits) == len(set(other.hits)), "what was waiting there was not fetched twice"
        assert gossamer("politeness", "--dir", root).returncode == 0


def test_M_B9_a_host_is_retired_and_reinstated_without_a_crawl(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(many(("page",), 5))
    with web.serving():
        gossamer("crawl", web.root, "--dir", root, *QUICK, "--max-pages", 1)
        gossamer("config", "unset", "crawl.max_pages", "--dir", root)
        assert "is retired: nothing is fetched there" in gossamer("hosts", "retire", web.name, "--dir", root).stdout
        assert gossamer("hosts", "retire", web.name, "--dir", root).returncode != 0, "it is already"
        before = len(web.hits)
        done = gossamer("crawl", "--dir", root, *QUICK)
        assert done.returncode == 0 and len(web.hits) == before
        assert gossamer("hosts", "reinstate", web.name, "--dir", root).returncode == 0
        gossamer("crawl", "--dir", root, *QUICK)
        assert len(web.hits) == 7
