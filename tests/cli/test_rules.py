"""`gossamer rules`, the rules file, and the user's own filters."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.cli.test_commands import exit_code

from gossamer.base.errors import ConfigError
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.cli.crawl.rules import in_words
from gossamer.collection.state import CHUNK, rules_effect
from gossamer.config.slices import Politeness
from gossamer.crawler.rules_file import RulesFile
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.plugins.filters import GROUP, own_filters, safe
from gossamer.rules.scope import Reach
from gossamer.rules.user.rulebook import NO_RULES, RuleBook, load_rules
from gossamer.store.options import put_seeds
from gossamer.store.sqlite.database import Database, read_only
from gossamer.store.trust import Code, allow
from gossamer.testing import FakeClock
from gossamer.values.link import How, Offer
from gossamer.values.outcome import ALLOWED, Denied, FilterFailed
from gossamer.values.url import Url

CALENDAR = 'exclude path ~ "/calendar/"'


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A collection with 40 pages waiting: 30 of a calendar, 10 others."""

    async def offer() -> None:
        clock = FakeClock()
        async with Database(tmp_path / "state.db", clock, silent) as database:
            await database.run(lambda connection: put_seeds(connection, [Url("http://a.test/")], Reach.HOST.value))
            async with SqliteFrontier(
                database, FrontierRules(Politeness(), lambda offer: True), clock, silent
            ) as frontier:
                days = [Offer(Url(f"http://a.test/calendar/{day}"), How.LINK, None, 2) for day in range(30)]
                others = [Offer(Url(f"https://b.test/page/{n}?x=1"), How.LINK, None, 1) for n in range(10)]
                await frontier.offer([*days, *others])

    asyncio.run(offer())
    return tmp_path


class Recorder:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def __call__(self, event: str, /, **facts: object) -> None:
        self.events.append((event, facts))


def test_rules_are_added_listed_and_removed(tmp_path: Path, capsys, monkeypatch) -> None:
    root = tmp_path / "new"
    assert exit_code(monkeypatch, "rules", "add", CALENDAR, "--dir", root) == 0
    assert exit_code(monkeypatch, "rules", "add", "sooner 2 host = news.test", "--dir", root, "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"added": "sooner 2 host = news.test", "line": 4}
    assert exit_code(monkeypatch, "rules", "--dir", root) == 0
    assert capsys.readouterr().out == f"   3  {CALENDAR}\n   4  sooner 2 host = news.test\n"
    assert exit_code(monkeypatch, "rules", "remove", "3", "--dir", root) == 0
    assert exit_code(monkeypatch, "rules", "remove", "sooner 2 host = news.test", "--dir", root, "--json") == 0
    assert exit_code(monkeypatch, "rules", "list", "--dir", root, "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"rules": []}
    assert (root / "rules.txt").read_text().startswith("# The rules of this crawl")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["add", "exclude colour = red"], 2, "expected one of host"),
        (["add"], 2, "which rule?"),
        (["remove", "7"], 2, "there is no rule '7'"),
        (["remove", "1"], 2, "there is no rule '1'"),
        (["preview", CALENDAR], 3, "there is no collection"),
        (["preview", "no rule"], 3, "there is no collection"),
    ],
)
def test_invalid_commands_are_refused(words: list[str], code: int, says: str, tmp_path, capsys, monkeypatch) -> None:
    (tmp_path / "rules.txt").write_text("# a remark\n")
    assert exit_code(monkeypatch, "rules", *words, "--dir", tmp_path) == code
    assert says in capsys.readouterr().err


def test_listing_rules_does_not_create_the_directory(tmp_path: Path, capsys, monkeypatch) -> None:
    assert exit_code(monkeypatch, "rules", "--dir", tmp_path / "none") == 3
    assert "gossamer crawl" in capsys.readouterr().err and not (tmp_path / "none").exists()


def test_an_error_in_the_rules_file_is_reported_with_its_place(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "rules.txt").write_text(f"{CALENDAR}\nexclude depth < deep\n")
    assert exit_code(monkeypatch, "rules", "--dir", tmp_path) == 2
    assert "line 2, column 17: a depth is a number" in capsys.readouterr().err
    assert exit_code(monkeypatch, "rules", "add", CALENDAR, "--dir", tmp_path) == 2
    assert (tmp_path / "rules.txt").read_text().count("\n") == 2


def test_M_B5_a_preview_counts_the_urls_that_a_rule_would_exclude(waiting: Path, capsys, monkeypatch) -> None:
    assert exit_code(monkeypatch, "rules", "preview", CALENDAR, "--dir", waiting, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["queued"], found["looked_at"], found["would_go"], found["is_whole"]) == (40, 40, 30, True)
    assert len(found["examples"]) == 10
    assert all("/calendar/" in one["url"] and one["rule"].endswith(CALENDAR) for one in found["examples"])
    assert not (waiting / "rules.txt").exists()
    assert exit_code(monkeypatch, "rules", "preview", "include depth <= 1", "--dir", waiting) == 0
    assert capsys.readouterr().out.startswith("30 of 40 waiting URLs would be excluded\n  http://a.test/calendar/")


def test_a_preview_counts_only_urls_that_the_present_rules_accept(waiting: Path, capsys, monkeypatch) -> None:
    exit_code(monkeypatch, "rules", "add", 'exclude path ~ "/calendar/1"', "--dir", waiting)
    capsys.readouterr()
    assert exit_code(monkeypatch, "rules", "preview", CALENDAR, "--dir", waiting, "--json") == 0
    assert json.loads(capsys.readouterr().out)["would_go"] == 30 - 11
    assert exit_code(monkeypatch, "rules", "preview", "--dir", waiting, "--json") == 0
    assert json.loads(capsys.readouterr().out)["would_go"] == 11
    assert exit_code(monkeypatch, "rules", "preview", "seed http://a.test/: depth < 2", "--dir", waiting, "--json") == 0
    assert json.loads(capsys.readouterr().out)["would_go"] == 30 - 11


def test_a_preview_that_runs_out_of_time_reports_how_many_urls_were_checked(tmp_path: Path, monkeypatch) -> None:
    clock = FakeClock()

    async def offer() -> None:
        offers = [Offer(Url(f"http://a.test/{number}"), How.LINK, None, 1) for number in range(2 * CHUNK)]
        async with (
            Database(tmp_path / "state.db", clock, silent) as database,
            SqliteFrontier(database, FrontierRules(Politeness(), lambda offer: True), clock, silent) as frontier,
        ):
            await frontier.offer(offers)

    asyncio.run(offer())
    state, then = read_only(tmp_path / "state.db"), load_rules("exclude scheme = http")
    assert isinstance(then, RuleBook)
    steps = rules_effect(state, NO_RULES, then, 5.0, clock)
    first = next(steps)
    clock.advance(6)
    assert list(steps) == [] and not first.is_whole
    assert (first.looked_at, first.queued, first.would_go) == (CHUNK, 2 * CHUNK, CHUNK)
    assert in_words(first).startswith("at least 2,000 of 4,000 waiting URLs would be excluded; 2,000 were checked")
    state.close()


def test_a_running_crawl_applies_new_rules_and_keeps_the_old_while_they_are_invalid(tmp_path: Path) -> None:
    recorder, path = Recorder(), tmp_path / "rules.txt"
    file = RulesFile(DiskFiles(), tmp_path, recorder)
    assert file.book() == NO_RULES and file.changed() is None
    path.write_text(CALENDAR)
    book = file.changed()
    assert book is not None and isinstance(book.judge(Url("http://a.test/calendar/"), 1), Denied)
    assert file.changed() is None
    path.write_text("nonsense")
    assert file.changed() is None and file.changed() is None
    path.write_bytes(b"\xff\xfe")
    assert file.changed() is None
    path.unlink()
    assert file.changed() == NO_RULES
    assert [event for event, _ in recorder.events] == [
        "rules.changed",
        "rules.unreadable",
        "rules.unreadable",
        "rules.changed",
    ]


FILTERS = """
def no_cats(url, depth):
    return "cats are not for us" if "cat" in url else True
def shallow(url, depth):
    return depth < 3
def broken(url, depth):
    return {}[url]
class Strange(Exception): pass
def strange(url, depth):
    raise Strange("oh")
def vague(url, depth):
    return None
number = 5
"""


def test_M_B5_a_filter_is_loaded_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILTERS)
    allow([Code(GROUP, "mine.py:no_cats", tmp_path)])
    cats, shallow = own_filters(["mine.py:no_cats", "mine.py:shallow"], tmp_path, silent)
    assert cats("http://a.test/", 1) == ALLOWED
    assert cats("http://a.test/cat", 1) == Denied("filter mine.py:no_cats: cats are not for us")
    assert shallow("http://a.test/", 2) == ALLOWED and shallow("http://a.test/", 3) == Denied("filter mine.py:shallow")


def test_M_B5_the_failure_of_a_filter_is_reported_and_is_no_verdict(tmp_path: Path) -> None:
    recorder = Recorder()
    (tmp_path / "mine.py").write_text(FILTERS)
    names = ["mine.py:broken", "mine.py:strange", "mine.py:vague"]
    allow([Code(GROUP, names[0], tmp_path)])
    verdicts = [one("http://a.test/", 1) for one in own_filters(names, tmp_path, recorder)]
    assert verdicts == [
        FilterFailed("filter mine.py:broken failed: KeyError: 'http://a.test/'"),
        FilterFailed("filter mine.py:strange failed: Strange: oh"),
        FilterFailed("filter mine.py:vague failed: it returned None, not True or False"),
    ]
    assert [facts["filter"] for _, facts in recorder.events] == names


def test_M_B5_a_filter_is_loaded_from_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "cats-1.0.dist-info"
    info.mkdir()
    (tmp_path / "cats_package.py").write_text(FILTERS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cats\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gossamer.filters]\ncats = cats_package:no_cats\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    allow([Code(GROUP, "cats", tmp_path)])
    (cats,) = own_filters(["cats"], tmp_path, silent)
    assert isinstance(cats("http://a.test/cat", 1), Denied)
    with pytest.raises(ConfigError, match="installed packages offer cats"):
        own_filters(["dogs"], tmp_path, silent)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none.py:f", "there is no file"),
        ("mine.py:missing", "defines no missing"),
        ("mine.py:number", "is neither a function nor a class, but of type int"),
        ("wrong.py:f", "could not be loaded: SyntaxError"),
        ("raises.py:f", "could not be loaded: RuntimeError: no"),
        ("mine.txt:f", "defines no f"),
    ],
)
def test_a_filter_that_cannot_be_loaded_is_refused(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILTERS)
    (tmp_path / "mine.txt").write_text("")
    (tmp_path / "wrong.py").write_text("def f(")
    (tmp_path / "raises.py").write_text("raise RuntimeError('no')")
    allow([Code(GROUP, name, tmp_path)])
    with pytest.raises(ConfigError, match=says):
        own_filters([name], tmp_path, silent)


def test_only_true_accepts_a_url() -> None:
    assert [type(safe("f", lambda url, depth: result, silent)("u", 0)) for result in (True, 1, "", False)] == [  # noqa: B023
        type(ALLOWED), FilterFailed, Denied, Denied,
    ]  # fmt: skip
