"""The user's own filters: slow ones are interrupted and reported, failures are counted, and classes are accepted."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.site import PATIENCE_S, QUICK, gossamer
from tests.crawler.test_commands import Web, linked_pages

from gossamer.base.errors import ConfigError, GossamerError
from gossamer.plugins import filters
from gossamer.plugins.filters import GROUP, MOST_SLOW, FilterThread, TooSlow, safe
from gossamer.store.trust import Code, allow
from gossamer.values.outcome import ALLOWED, Denied, FilterFailed

HANGS = {
    "a loop": "while True:\n        pass",
    "a sleep": "import time\n    time.sleep(1000)",
    "a loop that catches everything": "while True:\n        try:\n            while True:\n                pass\n"
    "        except Exception:\n            pass",
}
CALLS = """
from gossamer.plugins import filters
filters.LIMIT_S = 0.3
def judge(url, depth):
    {body}
events = []
judge = filters.safe("mine", judge, lambda event, **facts: events.append((event, facts["trouble"])))
found = [judge("http://a.test/", 0).rule for _ in range(3)]
print(found[0], events[0])
try:
    judge("http://a.test/last", 0)
except filters.GossamerError as error:
    print(error)
"""
STUCK = """
import re
from pathlib import Path
from gossamer.plugins import filters
from gossamer.store.trust import Code, allow
allow([Code("", "mine.py:judge", Path({folder!r}))])
filters.STUCK_S, filters.LOOK_S = 1.0, 0.1
(judge,) = filters.own_filters(["mine.py:judge"], Path({folder!r}), print, are_watched=True)
judge("http://a.test/", 0)
"""


@pytest.mark.parametrize("body", HANGS.values(), ids=list(HANGS))
def test_a_filter_that_hangs_is_interrupted_and_reported_after_the_third_time(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS.format(body=body)], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    first, second = done.stdout.splitlines()
    assert first == "filter mine failed: it took longer than 0.3 s ('filter.failed', 'it took longer than 0.3 s')"
    assert "the filter mine took longer than" in second and "crawl.filters" in second


def test_a_filter_that_holds_the_interpreter_ends_the_process_with_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import re\n\ndef judge(url, depth):\n    return bool(re.match('(a+)+$', 'a' * 60 + 'b'))\n"
    )
    script = STUCK.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGVTALRM
    assert "mine.py" in done.stderr and "in judge" in done.stderr


def test_a_slow_filter_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "LIMIT_S", 0.05)

    def sleeps(url: str, depth: int) -> bool:
        time.sleep(2)
        return True

    def tell(event: str, /, **facts: object) -> None:
        events.append(event)

    events: list[str] = []
    judge = safe("mine", sleeps, tell)
    for _ in range(MOST_SLOW):
        assert judge("http://a.test/", 0) == FilterFailed("filter mine failed: it took longer than 0.05 s")
    assert events == ["filter.failed"], "it is reported once"
    with pytest.raises(GossamerError, match="the filter mine took longer"):
        judge("http://a.test/", 0)
    with pytest.raises(TooSlow):
        FilterThread(sleeps).ask("http://a.test/", 0)
    monkeypatch.setattr(filters, "LIMIT_S", PATIENCE_S)
    assert safe("quick", lambda url, depth: True, tell)("http://a.test/", 0) == ALLOWED


def test_an_exception_of_a_filter_is_a_failure() -> None:
    def raises(url: str, depth: int) -> Any:
        raise re.error("no")

    judge = safe("mine", raises, lambda event, **facts: None)
    assert judge("http://a.test/", 0) == FilterFailed("filter mine failed: error: no")


def test_a_crawl_with_a_filter_that_hangs_ends_and_names_it(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("a", "b"), 6))
    root.mkdir()
    (root / "mine.py").write_text(
        "import time\n\ndef judge(url, depth):\n    time.sleep('/b/' in url and 1000)\n    return True\n"
    )
    with web.serving():
        refused = gossamer("crawl", web.root, "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge")
        assert refused.returncode == 2 and "gossamer trust" in refused.stderr, "it has not been allowed to run"
        assert gossamer("trust", "--dir", root, "--allow", GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 0
        done = gossamer("crawl", web.root, "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge")
        assert done.returncode not in (0, 130)
        assert "the filter mine.py:judge took longer than 2 s, 3 times" in " ".join(done.stderr.split())
        (root / "mine.py").write_text("def judge(url, depth):\n    return True\n")
        assert gossamer("crawl", "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 2
        assert gossamer("trust", "--dir", root, "--allow", GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 0
        assert gossamer("crawl", "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 0
        assert len({path for path in web.hits if "/a/" in path}) == 6, "the crawl continued from there"


CLASSES = """
class News:
    def __init__(self):
        self.asked = 0
    def crawl(self, url):
        self.asked += 1
        return "/news/" in url or f"asked {self.asked} times"

class Shallow:
    def crawl(self, url, depth):
        return depth < 3

class Callable:
    def __call__(self, url, depth=0):
        return depth == 2

class Needs:
    def __init__(self, place): ...
    def crawl(self, url): return True

class Empty: ...

class Three:
    def crawl(self, url, depth, more): return True

class Waits:
    async def crawl(self, url): return True

made = News()
def only_url(url): return url.endswith("/")
async def later(url, depth): return True
text = "crawl"
"""


def named(name: str, folder: Path, tell: Any = lambda event, **facts: None) -> Any:
    (folder / "mine.py").write_text(CLASSES)
    allow([Code(GROUP, f"mine.py:{name}", folder)])
    (found,) = filters.own_filters([f"mine.py:{name}"], folder, tell)
    return found


def test_a_class_is_instantiated_once_and_its_crawl_is_called(tmp_path: Path) -> None:
    news = named("News", tmp_path)
    assert news("http://a.test/news/1", 0) == ALLOWED
    assert news("http://a.test/x", 0) == Denied("filter mine.py:News: asked 2 times")


@pytest.mark.parametrize(
    ("name", "url", "depth", "is_accepted"),
    [
        ("Shallow", "http://a.test/", 2, True),
        ("Shallow", "http://a.test/", 3, False),
        ("Callable", "http://a.test/", 2, True),
        ("Callable", "http://a.test/", 0, False),
        ("made", "http://a.test/news/", 9, True),
        ("only_url", "http://a.test/", 9, True),
        ("only_url", "http://a.test/x", 0, False),
    ],
)
def test_every_supported_kind_of_filter_is_called(
    name: str, url: str, depth: int, is_accepted: bool, tmp_path: Path
) -> None:
    assert (named(name, tmp_path)(url, depth) == ALLOWED) is is_accepted


@pytest.mark.parametrize("name", ["Needs", "Empty", "Three", "Waits", "later", "text"])
def test_an_unsupported_kind_of_filter_is_refused_with_what_is_expected(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"mine.py:{name}.*") as refused:
        named(name, tmp_path)
    assert name == "text" or "a class with a method crawl" in str(refused.value)


def test_failures_of_a_filter_are_reported_at_the_1st_10th_and_100th_time() -> None:
    reports: list[object] = []

    def fails(url: str, depth: int) -> bool:
        raise KeyError(url)

    judge = safe("mine", fails, lambda event, **facts: reports.append(facts["times"]))
    for _ in range(120):
        judge("http://a.test/", 0)
    assert reports == [1, 10, 100]


def test_urls_on_which_a_filter_fails_have_an_error_as_their_outcome(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(linked_pages(("a", "b"), 3))
    root.mkdir()
    filters = {"GOSSAMER_CRAWL_FILTERS": "mine.py:Mine"}
    head = "class Mine:\n    def crawl(self, url):\n"
    (root / "mine.py").write_text(head + "        return '/b/' not in url or 1 / 0\n")
    with web.serving():
        assert gossamer("trust", "--dir", root, "--allow", **filters).returncode == 0
        done = gossamer("crawl", web.root, "--dir", root, *QUICK, **filters)
        err = " ".join(done.stderr.split())
        assert done.returncode == 0, done.stderr
        assert err.count("the filter mine.py:Mine failed on") == 1 and "ZeroDivisionError" in err
        assert "3 filter-error: a custom filter failed" in err
        assert not [path for path in web.hits if "/b/" in path], "they were not fetched"
        assert len([path for path in web.hits if "/a/" in path]) == 3
