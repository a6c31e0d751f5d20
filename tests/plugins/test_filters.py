"""Filters of the user's own that take too long: broken off, told, and in the end named."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.site import PATIENCE_S, QUICK, gossamer
from tests.crawler.test_commands import Web
from tests.crawler.test_commands import many as leading_to

from gossamer.base.errors import ConfigError, GossamerError
from gossamer.plugins import filters
from gossamer.plugins.filters import GROUP, MOST_SLOW, FilterThread, TooSlow, safe
from gossamer.store.trust import Code, allow
from gossamer.values.outcome import ALLOWED, Denied, FilterFailed

HANGS = {
    "a loop": "while True:\n        pass",
    "a sleep": "import time\n    time.sleep(1000)",
    "one that catches all": "while True:\n        try:\n            while True:\n                pass\n"
    "        except Exception:\n            pass",
}
ASKED = """
from gossamer.plugins import filters
filters.LIMIT_S = 0.3
def judge(url, depth):
    {body}
told = []
asked = filters.safe("mine", judge, lambda event, **facts: told.append((event, facts["trouble"])))
found = [asked("http://a.test/", 0).rule for _ in range(3)]
print(found[0], told[0])
try:
    asked("http://a.test/last", 0)
except filters.GossamerError as trouble:
    print(trouble)
"""
STUCK = """
import re
from pathlib import Path
from gossamer.plugins import filters
from gossamer.store.trust import Code, allow
allow([Code("", "mine.py:judge", Path({folder!r}))])
filters.STUCK_S, filters.LOOK_S = 1.0, 0.1
(asked,) = filters.own_filters(["mine.py:judge"], Path({folder!r}), print, are_watched=True)
asked("http://a.test/", 0)
"""


@pytest.mark.parametrize("body", HANGS.values(), ids=list(HANGS))
def test_a_filter_that_hangs_is_broken_off_and_after_the_third_time_named(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKED.format(body=body)], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    first, second = done.stdout.splitlines()
    assert first == "filter mine failed: it took longer than 0.3 s ('filter.failed', 'it took longer than 0.3 s')"
    assert "the filter mine took longer than" in second and "crawl.filters" in second


def test_one_that_never_lets_go_of_the_interpreter_ends_the_process_which_says_where(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import re\n\ndef judge(url, depth):\n    return bool(re.match('(a+)+$', 'a' * 60 + 'b'))\n"
    )
    script = STUCK.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGVTALRM
    assert "mine.py" in done.stderr and "in judge" in done.stderr


def test_one_that_is_slow_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "LIMIT_S", 0.05)

    def sleeps(url: str, depth: int) -> bool:
        time.sleep(2)
        return True

    def told(event: str, /, **facts: object) -> None:
        events.append(event)

    events: list[str] = []
    asked = safe("mine", sleeps, told)
    for _ in range(MOST_SLOW):
        assert asked("http://a.test/", 0) == FilterFailed("filter mine failed: it took longer than 0.05 s")
    assert events == ["filter.failed"], "once"
    with pytest.raises(GossamerError, match="the filter mine took longer"):
        asked("http://a.test/", 0)
    with pytest.raises(TooSlow):
        FilterThread(sleeps).ask("http://a.test/", 0)
    monkeypatch.setattr(filters, "LIMIT_S", PATIENCE_S)
    assert safe("quick", lambda url, depth: True, told)("http://a.test/", 0) == ALLOWED


def test_what_it_raises_is_told_as_before() -> None:
    def raises(url: str, depth: int) -> Any:
        raise re.error("no")

    asked = safe("mine", raises, lambda event, **facts: None)
    assert asked("http://a.test/", 0) == FilterFailed("filter mine failed: error: no")


def test_a_crawl_with_a_filter_that_hangs_ends_and_says_which(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(leading_to(("a", "b"), 6))
    root.mkdir()
    (root / "mine.py").write_text(
        "import time\n\ndef judge(url, depth):\n    time.sleep('/b/' in url and 1000)\n    return True\n"
    )
    with web.serving():
        asked = gossamer("crawl", web.root, "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge")
        assert asked.returncode == 2 and "gossamer trust" in asked.stderr, "nobody has allowed it to run"
        assert gossamer("trust", "--dir", root, "--allow", GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 0
        done = gossamer("crawl", web.root, "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge")
        assert done.returncode not in (0, 130)
        assert "the filter mine.py:judge took longer than 2 s, 3 times" in " ".join(done.stderr.split())
        (root / "mine.py").write_text("def judge(url, depth):\n    return True\n")
        assert gossamer("crawl", "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 2
        assert gossamer("trust", "--dir", root, "--allow", GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 0
        assert gossamer("crawl", "--dir", root, *QUICK, GOSSAMER_CRAWL_FILTERS="mine.py:judge").returncode == 0
        assert len({path for path in web.hits if "/a/" in path}) == 6, "it went on from there"


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


def test_a_class_is_made_once_and_asked_with_crawl(tmp_path: Path) -> None:
    news = named("News", tmp_path)
    assert news("http://a.test/news/1", 0) == ALLOWED
    assert news("http://a.test/x", 0) == Denied("filter mine.py:News: asked 2 times")


@pytest.mark.parametrize(
    ("name", "url", "depth", "lets_in"),
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
def test_every_shape_that_can_be_called_is_asked(
    name: str, url: str, depth: int, lets_in: bool, tmp_path: Path
) -> None:
    assert (named(name, tmp_path)(url, depth) == ALLOWED) is lets_in


@pytest.mark.parametrize("name", ["Needs", "Empty", "Three", "Waits", "later", "text"])
def test_another_shape_is_refused_at_the_start_with_what_is_expected(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"mine.py:{name}.*") as refused:
        named(name, tmp_path)
    assert name == "text" or "a class with a method crawl" in str(refused.value)


def test_a_filter_that_fails_is_told_once_and_then_at_each_tenfold() -> None:
    told: list[object] = []

    def fails(url: str, depth: int) -> bool:
        raise KeyError(url)

    asked = safe("mine", fails, lambda event, **facts: told.append(facts["times"]))
    for _ in range(120):
        asked("http://a.test/", 0)
    assert told == [1, 10, 100]


def test_what_a_filter_fails_on_is_an_error_that_comes_back_once_it_is_mended(tmp_path: Path) -> None:
    root, web = tmp_path / "c", Web(leading_to(("a", "b"), 3))
    root.mkdir()
    filters = {"GOSSAMER_CRAWL_FILTERS": "mine.py:Mine"}
    head = "class Mine:\n    def crawl(self, url):\n"
    (root / "mine.py").write_text(head + "        return '/b/' not in url or 1 / 0\n")
    with web.serving():
        assert gossamer("trust", "--dir", root, "--allow", **filters).returncode == 0
        done = gossamer("crawl", web.root, "--dir", root, *QUICK, **filters)
        said = " ".join(done.stderr.split())
        assert done.returncode == 0, done.stderr
        assert said.count("the filter mine.py:Mine failed on") == 1 and "ZeroDivisionError" in said
        assert "3 filter-error: a custom filter failed" in said
        assert not [path for path in web.hits if "/b/" in path], "it was not fetched"
        assert len([path for path in web.hits if "/a/" in path]) == 3
