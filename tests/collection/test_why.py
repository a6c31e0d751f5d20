"""`gossamer why`: the explanation for a URL or a host, from the data of a real frontier."""

import json
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Collection
from tests.cli.site import gossamer
from tests.crawler.fakes import SEED, Story, make

from gossamer.base.clock import SECOND
from gossamer.base.errors import ConfigError
from gossamer.cli import main as cli
from gossamer.collection.why.answer import WhyQuery, removed
from gossamer.collection.why.trail import HostTrail, Trail, host_sections, sections_of
from gossamer.collection.why.waits import Crew
from gossamer.config.settings import CrawlSettings, Settings
from gossamer.rules.learned.traps import template_of
from gossamer.rules.scope import Reach
from gossamer.rules.user.rulebook import RuleBook, load_rules
from gossamer.store.sqlite.database import read_only
from gossamer.values.format import as_json, lasting, moment
from gossamer.values.outcome import Reason
from gossamer.values.robots import RobotsRule, RobotsState
from gossamer.values.url import Url

AT_WORK = Crew(True)
PATTERN = template_of(Url("https://a.test/cal/2002"))
Script = Callable[[Story], Awaitable[None]]


def explain(
    root: Path, script: Script, typed: str, crew: Crew = AT_WORK, settings: Settings | None = None, **more: object
) -> Trail:
    directory, clock = make(root, script, **more)  # type: ignore[arg-type]
    with closing(read_only(directory.state)) as state:
        return WhyQuery(state, settings or Settings(), crew, clock.now()).trail(typed)


def explain_host(root: Path, script: Script, name: str, crew: Crew = AT_WORK) -> HostTrail:
    directory, clock = make(root, script)
    with closing(read_only(directory.state)) as state:
        return WhyQuery(state, Settings(), crew, clock.now()).host_trail(name)


def words(found: Trail | HostTrail) -> str:
    sections = sections_of(found) if isinstance(found, Trail) else host_sections(found)
    return "\n".join(line for heading, lines in sections for line in [heading, *lines])


def codes(found: Trail | HostTrail) -> list[str]:
    return [wait.what for wait in found.waits]


def ruling(found: Trail, rule: str) -> tuple[bool | None, str]:
    one = next(one for one in found.rulings if one.rule == rule)
    return one.lets_in, one.says


async def nothing(story: Story) -> None:
    pass


def test_M_Z3_a_seed_waits_for_its_robots_txt(tmp_path: Path) -> None:
    async def begun(story: Story) -> None:
        assert await story.frontier.take(0) == []
        await story.robots(RobotsState.UNREACHABLE, 600, failures=1)

    found = explain(tmp_path, begun, SEED.text)
    assert found.is_known and found.way[0].how == "seed"
    assert ruling(found, "scope")[0] is True and ruling(found, "robots")[0] is None
    assert codes(found)[0] == "robots" and found.waits[0].until_at is not None
    text = words(found)
    assert (
        "given as a seed" in text
        and "could not be read, 1 time in a row; it is requested again" in text
        and "none yet" in text
    )


def test_M_Z3_the_path_from_the_seed_is_given_with_every_page(tmp_path: Path) -> None:
    async def walked(story: Story) -> None:
        await story.robots()
        await story.page(links=("https://a.test/1",))
        await story.page(Reason.MOVED, links=("https://a.test/2",), detail="https://a.test/2")
        await story.page(links=("https://a.test/3",))
        await story.page()

    found = explain(tmp_path, walked, "a.test/3")
    assert [step.url for step in found.way] == [f"https://a.test/{n}" for n in ("3", "2", "1", "")]
    assert [step.how.value for step in found.way] == ["link", "redirect", "link", "seed"]
    text = words(found)
    assert "linked from https://a.test/2, 2 links from the seed" in text
    assert "which was redirected to from https://a.test/1" in text and "which was given as a seed" in text
    assert found.ended is not None and found.ended.reason is Reason.FETCHED and codes(found) == []
    assert "nothing: the outcome is final, and no revisit is due" in text


def test_M_Z3_the_line_of_robots_txt_that_disallows_it_is_named(tmp_path: Path) -> None:
    async def disallowed(story: Story) -> None:
        await story.robots(rules=(RobotsRule(False, "/private", 7),))
        await story.page(links=("https://a.test/private/x",))
        await story.page(Reason.ROBOTS, detail="Disallow: /private (line 7)")

    found = explain(tmp_path, disallowed, "https://a.test/private/x")
    assert ruling(found, "robots") == (False, "Disallow: /private (line 7)")
    assert "last fetch: robots" in words(found)


def test_M_Z3_for_an_unknown_url_the_rules_that_would_apply_are_given(tmp_path: Path) -> None:
    outside = explain(tmp_path / "1", nothing, "https://elsewhere.test/x")
    assert not outside.is_known and outside.host is not None and not outside.host.is_known
    assert ruling(outside, "scope") == (False, "outside the scope: host a.test")
    inside = explain(tmp_path / "2", nothing, "https://a.test/never")
    assert ruling(inside, "scope")[0] is True and "it was never found" in words(inside)


def test_M_Z3_a_url_with_the_shape_of_a_trap_is_reported(tmp_path: Path) -> None:
    found = explain(tmp_path, nothing, "https://a.test/x/y/x/y/x/y/x/y")
    lets_in, says = ruling(found, "shape")
    assert lets_in is False and "3 times in the path" in says


def test_the_depth_limit_of_the_settings_is_checked(tmp_path: Path) -> None:
    async def walked(story: Story) -> None:
        await story.robots()
        await story.page(links=("https://a.test/1",))
        await story.page(links=("https://a.test/2",))
        await story.page()

    shallow = Settings(crawl=CrawlSettings(max_depth=1))
    found = explain(tmp_path, walked, "https://a.test/2", settings=shallow)
    assert ruling(found, "scope") == (False, "2 links from its seed; the limit is 1")


def test_M_Z3_the_users_rule_that_excludes_it_is_shown_with_its_text(tmp_path: Path) -> None:
    async def walked(story: Story) -> None:
        await story.robots()
        await story.page(links=("https://a.test/old/1", "https://a.test/new/1"))
        await story.page()

    directory, clock = make(tmp_path, walked)
    book = load_rules('exclude path ~ "^/old/"\nsooner 2 path ~ "^/new/"\nexclude type = image/png\n')
    assert isinstance(book, RuleBook)
    with closing(read_only(directory.state)) as state:
        query = WhyQuery(state, Settings(), AT_WORK, clock.now(), book)
        assert ruling(query.trail("https://a.test/old/1"), "filter") == (False, 'rule 1: exclude path ~ "^/old/"')
        other = query.trail("https://a.test/new/1")
        assert ruling(other, "filter")[0] is None and "2 sooner by your rules" in words(other)
        assert ruling(query.trail(SEED.text), "filter")[0] is True


def test_the_given_url_is_normalised_and_removed_parameters_are_named(tmp_path: Path) -> None:
    found = explain(tmp_path, nothing, "HTTPS://A.test:443/b/../?utm_source=x&id=7&fbclid=y#top")
    assert found.url == "https://a.test/?id=7" and found.removed == ("utm_source", "fbclid")
    assert "parameters removed, because they do not select content: utm_source, fbclid" in words(found)
    assert removed(Url("https://a.test/;jsessionid=12"), Url("https://a.test/")) == ("a session id in the path",)


def test_for_a_waiting_page_the_number_of_urls_before_it_is_given(tmp_path: Path) -> None:
    async def queued(story: Story) -> None:
        await story.robots()
        await story.page(links=tuple(f"https://a.test/{n}" for n in range(5)))
        await story.page()

    found = explain(tmp_path, queued, "https://a.test/4")
    assert found.before == 3 and codes(found) == ["gap", "others"]
    assert "3 URLs on its host go first" in words(found) and "no request to its host until" in words(found)
    assert found.priority is not None and "for a link at depth 1" in words(found)


def test_for_a_failed_page_the_time_of_the_next_attempt_is_given(tmp_path: Path) -> None:
    async def failed(story: Story) -> None:
        await story.robots()
        await story.page(Reason.TIMEOUT, due_at=story.clock.now() + 600 * SECOND, detail="30 s")

    found = explain(tmp_path, failed, SEED.text)
    assert found.due_at is not None and "due" in codes(found)
    assert "failed 1 time in a row" in words(found) and "no response within the time limit" in words(found)


def test_a_crawl_that_is_stopped_delayed_or_short_of_disk_space_is_reported(tmp_path: Path) -> None:
    stopped = explain(tmp_path / "1", nothing, SEED.text, Crew(False))
    assert codes(stopped)[0] == "stopped" and "no crawl is running" in words(stopped)
    assert codes(explain(tmp_path / "2", nothing, SEED.text, Crew(True, 9.0)))[0] == "views"
    assert codes(explain(tmp_path / "3", nothing, SEED.text, Crew(True, is_short_of_room=True)))[0] == "room"


def test_for_a_retired_host_the_reason_and_how_to_reinstate_it_are_given(tmp_path: Path) -> None:
    async def retired(story: Story) -> None:
        await story.robots()
        assert await story.frontier.retire("a.test", "its owner asked")

    found = explain(tmp_path, retired, SEED.text)
    assert codes(found)[0] == "retired"
    assert "its owner asked; `gossamer hosts reinstate a.test` reinstates it" in words(found)


def test_for_a_quarantined_url_the_pattern_is_given(tmp_path: Path) -> None:
    async def trapped(story: Story) -> None:
        await story.robots()
        await story.page(links=tuple(f"https://a.test/cal/{n}" for n in range(2000, 2004)))
        await story.page()
        assert await story.frontier.quarantine("a.test", PATTERN) == 3

    found = explain(tmp_path, trapped, "https://a.test/cal/2002")
    assert codes(found)[0] == "quarantine" and found.is_known
    assert ruling(found, "quarantine")[0] is False
    assert found.host is not None and found.host.quarantined == (PATTERN,) and found.host.held == 3


def test_a_crawl_delay_is_given_as_the_reason_for_the_gap(tmp_path: Path) -> None:
    async def slowed(story: Story) -> None:
        await story.robots(crawl_delay_s=7.0)

    found = explain(tmp_path, slowed, SEED.text)
    assert found.host is not None and found.host.gap_s == 7.0
    assert "gap of 7 s: its robots.txt asks for 7 s" in words(found)


def test_for_a_failing_host_a_longer_gap_is_reported(tmp_path: Path) -> None:
    async def failing(story: Story) -> None:
        await story.robots()
        for _ in range(3):
            await story.page(Reason.SERVER_ERROR, due_at=story.clock.now())

    found = explain_host(tmp_path, failing, "a.test")
    assert "longer because" in found.host.gap_says and codes(found) == ["gap"]


def test_for_a_host_the_reason_why_nothing_is_fetched_is_given(tmp_path: Path) -> None:
    async def over(story: Story) -> None:
        await story.robots()
        await story.page()

    found = explain_host(tmp_path / "1", over, "https://A.test/some/page")
    assert codes(found) == ["empty"] and "every known URL has been fetched" in words(found)
    assert "https://a.test/robots.txt: read, 0 rules for this crawler" in words(found)
    unknown = explain_host(tmp_path / "2", nothing, "other.test")
    assert not unknown.host.is_known and "other.test: unknown; `gossamer hosts` lists" in words(unknown)
    assert [heading for heading, _ in host_sections(unknown)] == ["host"]


def test_the_path_of_a_url_may_begin_on_another_host(tmp_path: Path) -> None:
    async def across(story: Story) -> None:
        await story.robots()
        await story.page(links=("https://b.test/x",))
        await story.robots()

    found = explain(tmp_path, across, "https://b.test/x", reach=Reach.ANY)
    assert [step.url for step in found.way] == ["https://b.test/x", SEED.text]


def test_json_has_times_as_text_and_all_other_values(tmp_path: Path) -> None:
    async def read(story: Story) -> None:
        await story.robots()
        await story.page()

    found = json.loads(as_json(explain(tmp_path, read, SEED.text)))
    assert found["asked_at"].endswith("Z") and found["ended"]["reason"] == "fetched"
    assert found["ended"]["settled_at"].startswith("2023-11-14T")
    assert found["host"]["robots"][0]["state"] == "read"


def test_durations_and_times_are_formatted_for_people() -> None:
    assert [lasting(s) for s in (0.25, 90, 150, 7200, 200_000)] == [
        "0.25 s",
        "90 s",
        "2.5 minutes",
        "2 hours",
        "2.31 days",
    ]
    at = 1_700_000_000 * SECOND
    assert moment(at, at) == "2023-11-14 22:13:20 (now)"
    assert moment(at, at - 30 * SECOND).endswith("(in 30 s)") and moment(at, at + 30 * SECOND).endswith("(30 s ago)")


def test_M_Z3_the_command_explains_the_urls_of_a_real_crawl(collection: Collection) -> None:
    target = next(
        str(one["url"]) for one in collection.settled() if one["kind"] == "page" and one["url"] != collection.origin
    )
    done = gossamer("why", target, "--dir", collection.root)
    assert done.returncode == 0, done.stderr
    assert "linked from" in done.stdout and "given as a seed" in done.stdout and "status 200" in done.stdout
    assert "text/html, utf-8 (Content-Type header), " in done.stdout
    assert "no crawl is running" in gossamer("why", "--host", collection.origin, "--dir", collection.root).stdout
    done = gossamer("why", "https://never.test/", "--dir", collection.root, "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["is_known"] is False


@pytest.mark.parametrize("arguments", [[], ["https://a.test/", "--host", "a.test"]])
def test_one_url_or_one_host_is_required(arguments: list[str]) -> None:
    with pytest.raises(ConfigError):
        cli.app(["why", *arguments], result_action="return_value", exit_on_error=False)
