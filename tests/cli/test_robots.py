"""`gossamer robots`: for a file or a site, the group that applies, and oddities and verdicts with their lines."""

import asyncio
import io
import json
import socket
import sys
from pathlib import Path

import pytest
from tests.cli.site import OPEN, Site

from gossamer.base.clock import SECOND
from gossamer.base.environment import AddressPlan, Network, real_outside
from gossamer.cli import main as cli
from gossamer.cli.tools.robots import RobotsFetch, RobotsReader, RobotsReport, exit_code, judged, report_of_site
from gossamer.cli.tools.single_page import Walk
from gossamer.config.settings import Settings
from gossamer.testing import FakeClock, TinyWeb
from gossamer.values.outcome import Failed, Outcome, Reason, Refused
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url

ROBOTS = """# our house
User-agent: *
Disallow: /private/
Crawl-delay: 90
Content-Signal: search=yes, ai-train=no

User-agent: Gossamer
Allow: /private/open
Dissallow: /private/
Disalow: /nowhere
Nonsense: \x1b[31m red
Sitemap: https://example.org/map.xml
Clean-param: sid /forum
Recrawl-delay: 12h
"""


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run the program's `main` in this process; returns exit code, output and messages."""
    monkeypatch.setattr("sys.argv", ["gossamer", "robots", *map(str, words)])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "robots.txt"
    found.write_text(ROBOTS)
    return found


def test_the_group_its_rules_and_oddities_are_shown_with_their_lines(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, file)
    assert code == 0
    for words in (
        "Gossamer: the group of gossamer (line 7), 3 rules",
        "line 8: Allow: /private/open",
        "line 9: Disallow: /private/",
        "sitemap: https://example.org/map.xml",
        "clean-param: sid /forum",
        "robots.txt:4: asks for 90 s between fetches; limited to 30 s",
        "robots.txt:9: dissallow is read as disallow",
        "robots.txt:11: unknown directive; ignored: nonsense",
    ):
        assert words in out
    assert "\nrecrawl delay: 43200 s between two fetches of one page\n" in out
    assert "\ncrawl delay" not in out, "that is for other agents"
    assert "\x1b" not in out


def test_another_agent_gets_the_group_that_applies_to_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, file, "--agent", "Otherbot")
    assert code == 0 and "Otherbot: the group of * (line 2), 1 rule\n" in out
    assert "crawl delay: 30 s" in out and "signals: search=yes, ai-train=no" in out


def test_each_verdict_names_its_line_and_a_refusal_ends_with_one(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capsys, file, "--test", "/private/x", "https://example.org/private/open/1", "/")
    assert code == 1
    assert "not allowed  /private/x  Disallow: /private/ (line 9)" in out
    assert "allowed      https://example.org/private/open/1  Allow: /private/open (line 8)" in out
    assert "allowed      /  no rule of the group of gossamer matches" in out
    assert run(monkeypatch, capsys, file, "--test", "/a", "--test", "/b")[0] == 0


def test_json_has_all_of_it(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(monkeypatch, capsys, file, "--json", "--test", "/private/open/1", "/private/x")
    report = json.loads(out)
    assert code == 1 and report["state"] == "read" and report["group"] == {"name": "gossamer", "lines": [7]}
    assert [rule["line"] for rule in report["rules"]] == [8, 9, 10]
    assert report["oddities"][0] == {
        "line": 4,
        "kind": "delay-cut",
        "says": "asks for 90 s between fetches; limited to 30 s",
    }
    first, second = report["tests"]
    assert (first["allowed"], first["rule"]["line"], second["allowed"], second["rule"]["line"]) == (True, 8, False, 9)
    assert [rule["line"] for rule in first["candidates"]] == [8, 9]


def test_agents_can_be_matched_strictly_by_the_standard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: bot42\nDisallow: /\n")
    words = (file, "--agent", "bot42", "--test", "/x")
    assert run(monkeypatch, capsys, *words)[0] == 1
    assert run(monkeypatch, capsys, *words, "--matching", "token")[0] == 0


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROBOTS.encode())))
    assert run(monkeypatch, capsys, "-", "--test", "/private/x")[0] == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere.txt",), "nowhere.txt cannot be read"),
        (("https://example.org/",), "--contact you@example.org"),
        (("http://10.1.2.3/",), "allow it and nothing else: --allow-address 10.1.2.3"),
        (("ftp://example.org/",), "not an http or https URL"),
        (("https://example.org/", "--test", "https://example.net/"), "does not apply to https://example.net"),
        (("https://example.org/", "--test", "page"), "give a URL such as"),
    ],
)
def test_unusable_arguments_end_with_two_and_say_what_to_do(
    words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(monkeypatch, capsys, *words)
    assert code == 2 and says in err and not out


def test_only_the_robots_txt_of_a_site_is_fetched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Site({"/robots.txt": ROBOTS}).serving() as site:
        code, out, _ = run(monkeypatch, capsys, f"{site.root}deep/page", *OPEN, "--test", "/private/x")
        assert site.hits == ["/robots.txt"]
    assert code == 1 and f"{site.root}robots.txt: read, {len(ROBOTS)} bytes" in out
    assert f"not allowed  {site.root}private/x  Disallow: /private/ (line 9)" in out


def test_no_robots_txt_allows_everything(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Site({}).serving() as site:
        code, out, _ = run(monkeypatch, capsys, site.root, *OPEN, "--test", "/private/x")
    assert code == 0 and "there is none: everything may be fetched" in out and "has no robots.txt" in out


def test_a_site_that_cannot_be_reached_allows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        code, out, _ = run(monkeypatch, capsys, url, *OPEN)
        assert code == 2 and "it could not be read: nothing may be fetched for now" in out
        assert "no connection to the host" in out
        code, out, _ = run(monkeypatch, capsys, url, *OPEN, "--test", "/", "--json")
        assert code == 1 and json.loads(out)["state"] == "unreachable"


def walk_over(pages: dict[str, str | Outcome]) -> tuple[Walk, TinyWeb, FakeClock]:
    clock = FakeClock()
    web = TinyWeb(pages, clock)
    return Walk(web.fetch, Settings(), clock), web, clock


async def report_by(walk: Walk, url: str) -> RobotsReport:
    return await RobotsFetch(RobotsReader("Gossamer", "name", real_outside())).report(Url(url), walk)


def test_F_R7_redirects_are_followed_as_in_a_crawl_and_the_gap_of_hosts_is_kept() -> None:
    clock = FakeClock()
    web = TinyWeb({}, clock)
    pages: dict[str, str | Outcome] = {
        "https://a.test/robots.txt": web.moved("https://a.test/robots.txt", "https://a.test/r"),
        "https://a.test/r": web.moved("https://a.test/r", "https://b.test/robots.txt"),
        "https://b.test/robots.txt": "User-agent: *\nDisallow: /x\n",
    }
    walk, web, clock = walk_over(pages)
    began = clock.now()
    found = asyncio.run(report_by(walk, "https://a.test/page"))
    assert web.asked == list(pages) and clock.now() - began == SECOND, "one gap, for the host with two requests"
    assert [hop.url for hop in found.asked] == list(pages)
    assert (found.robots.origin, found.robots.state) == ("https://a.test", RobotsState.READ)
    assert exit_code(found, [judged(Url("https://a.test/x"), found.robots)]) == 1


@pytest.mark.parametrize("outcome", [Failed(Reason.TIMEOUT), Failed(Reason.SERVER_ERROR), Refused(Reason.ADDRESS)])
def test_F_R4_a_robots_txt_that_cannot_be_fetched_is_unreachable(outcome: Outcome) -> None:
    walk, _, _ = walk_over({"https://a.test/robots.txt": outcome})
    found = asyncio.run(report_by(walk, "https://a.test/"))
    assert found.robots.state is RobotsState.UNREACHABLE and exit_code(found, []) == 2


def test_requests_have_the_crawler_s_own_user_agent_for_every_agent() -> None:
    requests: list[bytes] = []

    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        requests.append(await read.readuntil(b"\r\n\r\n"))
        write.write(b"HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\nUser-agent: Otherbot\nDisallow: /\n\n")
        write.close()

    async def story() -> RobotsReport:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"site.test": {80: server.sockets[0].getsockname()[1]}})
            outside = real_outside()
            reader = RobotsReader("Otherbot", "name", outside)
            settings = Settings(contact="me@example.org")
            return await report_of_site(Url("http://site.test/"), reader, settings, Network(plan, plan), outside.clock)

    found = asyncio.run(story())
    assert (found.agent, found.robots.group) == ("Otherbot", "otherbot")
    assert len(requests) == 1 and b"User-Agent: Gossamer/" in requests[0]
