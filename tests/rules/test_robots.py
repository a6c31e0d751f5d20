"""robots.txt: how files are parsed and which URLs they allow. FAULTS R5, R6, R8, R9, R11; MISSION A3."""

import sys
from collections.abc import Callable
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.robots import explain, judge, parse, pieces_of, survey
from gossamer.rules.robots_parser import MOST_BYTES, matches, normal_pattern, normal_target
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.robots import ParsedRobots, Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, url_of

AGENT = "Gossamer"


def robots_of(parsed: ParsedRobots) -> Robots:
    return Robots("http://site.test", RobotsState.READ, 0, 0, parsed.rules, parsed.crawl_delay_s, group=parsed.group)


def verdict(body: bytes | str, path: str, agent: str = AGENT) -> Allowed | Denied:
    raw = body.encode() if isinstance(body, str) else body
    url = url_of("http://site.test" + path)
    assert url is not None
    return judge(url, robots_of(parse(raw, agent)))


def allowed(body: bytes | str, path: str, agent: str = AGENT) -> bool:
    return verdict(body, path, agent) == Allowed()


def test_M_A3_the_example_from_the_documentation():
    body = "User-agent: *\nDisallow: /paths\nDisallow: /path/\n\nUser-agent: Googlebot\nDisallow:\n"
    for path in ("/path/file", "/paths/file", "/pathscanbelong"):
        assert not allowed(body, path)
        assert allowed(body, path, "Googlebot")
    assert allowed(body, "/pathtest")


def test_the_rule_that_forbids_is_named_with_its_line():
    assert verdict("# hello\n\nUser-agent: *\nDisallow: /x\n", "/x/y") == Denied("Disallow: /x (line 4)")


def test_the_longest_match_wins_and_allow_wins_a_tie():
    body = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /same\nDisallow: /same\n"
    assert not allowed(body, "/a")
    assert allowed(body, "/a/b")
    assert not allowed(body, "/a/b/c")
    assert allowed(body, "/same")


def test_the_order_in_which_rules_are_kept_does_not_matter():
    rules = (RobotsRule(False, "/a", 2), RobotsRule(True, "/a/b", 3), RobotsRule(False, "/a/b/c", 4))
    for given_rules in (rules, rules[::-1]):
        robots = Robots("http://site.test", RobotsState.READ, 0, 0, given_rules)
        assert judge(Url("http://site.test/a/b"), robots) == Allowed()
        assert judge(Url("http://site.test/a/b/c"), robots) == Denied("Disallow: /a/b/c (line 4)")


def test_groups_of_one_agent_are_merged_and_exclude_all_other_groups():
    body = (
        "User-agent: gossamer\nDisallow: /one\n\nUser-agent: *\nDisallow: /\n\n"
        "User-agent: other\nUser-agent: GOSSAMER/2.0\nDisallow: /two\nCrawl-delay: 3\n"
    )
    assert not allowed(body, "/one") and not allowed(body, "/two") and allowed(body, "/three")
    assert parse(body.encode(), AGENT).crawl_delay_s == 3.0
    assert not allowed(body, "/three", "otherbot")


def test_a_line_that_is_not_a_rule_does_not_end_a_list_of_agents():
    body = "User-agent: a\nSitemap: http://site.test/map\nUser-agent: gossamer\nDisallow: /x\n"
    assert not allowed(body, "/x") and not allowed(body, "/x", "a")


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("/%7Ejoe", "/~joe", True),
        ("/~joe", "/%7ejoe", True),
        ("/a%2Fb", "/a/b", False),
        ("/a%2fb", "/a%2Fb", True),
        ("/caf\u00e9", "/caf%C3%A9", True),
        ("/caf%c3%a9", "/caf\u00e9", True),
        ("/%2A", "/*", True),
        ("/%24x", "/$x", True),
        ("/a$b", "/a$b", True),
        ("/*.php$", "/x/y.php", True),
        ("/*.php$", "/x/y.php?z", False),
        ("/fish*", "/fishheads", True),
        ("*/x", "/a/x", True),
        ("/a*b*c$", "/aXbYc", True),
        ("/a*b*c$", "/acb", False),
        ("/x?y=[1]", "/x?y=[1]", True),
    ],
)
def test_F_R9_patterns_are_compared_in_one_normal_form(pattern, path, is_match):
    assert allowed(f"User-agent: *\nDisallow: {pattern}\n", path) is not is_match


def test_robots_txt_itself_may_always_be_fetched():
    assert allowed("User-agent: *\nDisallow: /\n", "/robots.txt")


@pytest.mark.parametrize("state", [RobotsState.PENDING, RobotsState.UNREACHABLE])
def test_without_a_readable_file_nothing_may_be_fetched(state):
    robots = Robots("http://site.test", state, 0, 0)
    assert isinstance(judge(Url("http://site.test/"), robots), Denied)


def test_F_R5_a_long_file_is_cut_at_a_line_and_flagged():
    line = b"Disallow: /long/path/number\n"
    body = b"User-agent: *\nDisallow: /first\n" + line * (10_000_000 // len(line)) + b"Disallow: /last\n"
    parsed = parse(body, AGENT)
    assert parsed.flags == ("too-long",)
    assert len(parsed.rules) <= MOST_BYTES // len(line) + 1
    assert judge(Url("http://site.test/first"), robots_of(parsed)) != Allowed()
    assert judge(Url("http://site.test/last"), robots_of(parsed)) == Allowed()


def test_F_R5_a_truncated_rule_is_dropped():
    before = b"User-agent: *\n" + b"#" * (MOST_BYTES - 30) + b"\n"
    parsed = parse(before + b"Disallow: /only-this-page.html\n", AGENT)
    assert parsed.rules == (), "the rule /only would forbid too much"


def test_F_R5_a_line_of_a_megabyte_is_dropped():
    parsed = parse(b"User-agent: *\nDisallow: /x\nDisallow: /" + b"y" * 1_000_000, AGENT)
    assert [rule.pattern for rule in parsed.rules] == ["/x"] and parsed.flags == ("too-long",)


RULES = "User-agent: *\nDisallow: /x\n"


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        (b"\xef\xbb\xbf" + RULES.encode(), ()),
        (b"\xef\xbb" + RULES.encode(), ()),
        (RULES.encode("utf-16"), ("utf-16",)),
        (b"\xfe\xff" + RULES.encode("utf-16-be"), ("utf-16",)),
        (RULES.encode("utf-16-le"), ("utf-16",)),
        (RULES.encode("utf-16-be"), ("utf-16",)),
        (RULES.replace("\n", "\r").encode(), ()),
        (RULES.replace("\n", "\r\n").encode(), ()),
        (RULES.replace("\n", "\0\n").encode(), ("nul",)),
        (RULES.encode() + b"\xff\xfe\x80 nonsense", ()),
    ],
)
def test_F_R6_odd_bytes_do_not_hide_the_rules(body, flags):
    parsed = parse(body, AGENT)
    assert [rule.pattern for rule in parsed.rules] == ["/x"]
    assert parsed.flags == flags


def test_F_R6_an_unparsable_file_allows_all_and_is_flagged():
    assert parse(b"<!doctype html><html><body>404, sorry</body></html>", AGENT) == ParsedRobots(flags=("html",))
    assert parse(b"just some words\nand more", AGENT) == ParsedRobots(flags=("not-robots",))
    assert parse(b"", AGENT) == ParsedRobots()
    assert parse(b"# nothing\n", AGENT).rules == ()


class Watched(str):
    """A target that counts how many of its characters are read."""

    read = 0

    def find(self, part: str, start: int = 0) -> int:  # type: ignore[override]
        found = super().find(part, start)
        self.read += (len(self) if found < 0 else found + len(part)) - start
        return found

    def startswith(self, part: str) -> bool:  # type: ignore[override]
        self.read += len(part)
        return super().startswith(part)

    def endswith(self, part: str) -> bool:  # type: ignore[override]
        self.read += len(part)
        return super().endswith(part)


@pytest.mark.parametrize("end", ["", "b"])
@pytest.mark.parametrize(
    "pattern", ["/" + "*a" * 30 + "$", "/" + "*a" * 30, "/*" + "a" * 50 + "c", "/" + "*" * 500 + "c"]
)
def test_F_R8_a_pattern_full_of_stars_reads_each_character_once(pattern: str, end: str) -> None:
    path = Watched("/" + "a" * 100_000 + end)
    is_match = matches(pattern, path)
    assert is_match is (pattern[-1] == "a" or (pattern[-1] == "$" and not end))
    assert path.read <= len(path) + len(pattern)


def many(pattern: str, count: int = 20_000) -> Robots:
    body = "User-agent: *\n" + "".join(f"Disallow: {pattern.format(number)}\n" for number in range(count))
    return robots_of(parse(body.encode(), AGENT))


def calls(work: Callable[[], object]) -> int:
    """How many functions the work calls, ours and Python's."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "line",
    ["Disallow: /*a*b?c=%41$", "User-agent: x{}", "Sitemap: http://a/{}", "x: y", "no line", "Content-Signal: a=b"],
)
def test_F_R8_parsing_takes_only_a_few_calls_per_line(line: str) -> None:
    few, most = (
        calls(partial(survey, "\n".join(["User-agent: *", *[line] * count]).encode(), AGENT))
        for count in (2_000, 8_000)
    )
    assert most < 8_000 * 200 and most < few * 4.2


@pytest.mark.parametrize("pattern", ["/*{}z*a*b$", "/{}", "/*{}"])
def test_F_R8_a_verdict_takes_only_a_few_calls_per_rule(pattern: str) -> None:
    url = Url("http://site.test/a/page/of/usual/length.html?a=b")
    few, most = (calls(partial(judge, url, many(pattern, count))) for count in (5_000, 20_000))
    assert most < 20_000 * 25 and most < few * 4.1


def test_F_R8_twenty_thousand_rules_are_all_checked() -> None:
    assert judge(Url("http://site.test/a/page/of/usual/length.html?a=b"), many("/*{}z*a*b$")) == Allowed()
    assert judge(Url("http://site.test/" + "a" * 8000), many("/{}")) == Allowed()
    assert judge(Url("http://site.test/x19999/y"), many("/x{}/")) == Denied("Disallow: /x19999/ (line 20001)")


def test_F_R8_a_url_that_is_too_expensive_to_check_is_refused():
    verdict = judge(Url("http://site.test/" + "a" * 8000), many("/*{:x}*a*b$"))
    assert verdict == Denied("robots.txt has too many patterns for a URL this long")


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [
        ("0.001", 0.001),
        ("10", 10.0),
        ("-1", None),
        ("1e9", 30.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_F_R11_a_crawl_delay_is_a_sane_number_or_ignored(value, delay_s):
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n".encode(), AGENT).crawl_delay_s == delay_s


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [
        ("1/10", 10.0),
        ("1/10s", 10.0),
        ("100/15m", 9.0),
        ("400/1h 0900-1700", 9.0),
        ("1/1d", 30.0),
        ("0/10", None),
        ("1/0", 0.0),
        ("often", None),
        ("99999999999999999999/1", None),
    ],
)
def test_F_R11_a_request_rate_also_sets_the_gap(value: str, delay_s: float | None) -> None:
    assert parse(f"User-agent: *\nRequest-rate: {value}\n".encode(), AGENT).crawl_delay_s == delay_s


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [
        ("86400", 86_400.0),
        ("12h", 43_200.0),
        ("2D", 172_800.0),
        ("0", 0.0),
        ("1e300", 31_536_000.0),
        ("-5", None),
        ("nan", None),
        ("2 weeks", None),
        ("d", None),
        ("", None),
    ],
)
def test_M_A3_a_recrawl_delay_is_a_sane_number_or_ignored(value: str, delay_s: float | None) -> None:
    found = parse(f"User-agent: *\nRecrawl-delay: {value}\nDisallow: /x\n".encode(), AGENT)
    assert found.recrawl_delay_s == delay_s and found.crawl_delay_s is None and len(found.rules) == 1


def test_F_R11_the_longer_of_crawl_delay_and_request_rate_is_kept() -> None:
    for lines in ("Crawl-delay: 3\nRequest-rate: 1/5", "Request-rate: 1/3\nCrawl-delay: 5"):
        assert parse(f"User-agent: *\n{lines}\n".encode(), AGENT).crawl_delay_s == 5.0


def test_sitemaps_apply_to_every_agent_and_are_listed_once():
    body = b"Sitemap: http://a.test/1\nUser-agent: x\nDisallow: /\nsitemap:/2\nSitemap: http://a.test/1\n"
    assert parse(body, AGENT).sitemaps == ("http://a.test/1", "/2")


SIGNALS = b"""Content-Signal: search=yes
User-agent: *
Content-Signal: ai-train=no, AI-Input = No
Content-Usage: /news train-ai=n
Disallow: /x
User-agent: other
Content-Signal: ai-train=yes
"""


def test_content_signals_of_the_group_that_applies_are_kept_as_facts() -> None:
    parsed = parse(SIGNALS, AGENT)
    assert parsed.signals == (("search", "yes"), ("ai-train", "no"), ("ai-input", "no"))
    assert parse(SIGNALS, "other").signals == (("search", "yes"), ("ai-train", "yes"))


def test_a_signal_never_allows_anything() -> None:
    assert not allowed(b"User-agent: *\nContent-Signal: search=yes\nDisallow: /\n", "/x")


def test_known_extensions_are_kept_as_written() -> None:
    body = b"Host: www.site.test\nUser-agent: *\nVisit-time: 0100-0500\nRequest-rate: 1/5\nClean-param: sid /f\nX: y\n"
    assert parse(body, AGENT).extensions == (
        ("host", "www.site.test"),
        ("clean-param", "sid /f"),
        ("visit-time", "0100-0500"),
        ("request-rate", "1/5"),
    )
    assert parse(SIGNALS, AGENT).extensions == (("content-usage", "/news train-ai=n"),)


def test_stored_extensions_and_signals_are_bounded() -> None:
    lines = "".join(f"Clean-param: {'p' * 9000}{number} /\nContent-Signal: a{number}=b\n" for number in range(100))
    parsed = parse(f"User-agent: *\n{lines}".encode(), AGENT)
    assert len(parsed.extensions) <= 50 and len(parsed.signals) <= 50
    assert all(len(value) <= 500 for _, value in parsed.extensions)


def test_the_group_that_applies_is_named_with_its_lines() -> None:
    body = b"User-agent: *\nDisallow: /\nUser-agent: gossamer\nDisallow: /a\n\nUser-Agent: Gossamer/2\nDisallow: /b\n"
    ours, theirs = parse(body, AGENT), parse(body, "other")
    assert (ours.group, ours.group_lines) == ("gossamer", (3, 6))
    assert (theirs.group, theirs.group_lines) == ("*", (1,))
    assert parse(b"User-agent: x\nDisallow: /\n", AGENT).group == ""


@pytest.mark.parametrize(
    ("naming", "line", "agent", "is_meant"),
    [
        ("name", "AB42bot", "AB42bot", True),
        ("token", "AB42bot", "AB42bot", False),
        ("token", "AB42bot", "ab", True),
        ("name", "Gossamer/1.0", "gossamer", True),
        ("name", "Gossamer-news", "gossamer", False),
        ("name", "goss", "gossamer", False),
        ("loose", "goss", "gossamer", True),
        ("loose", "one, two three", "three", True),
        ("name", "one, two three", "three", False),
        ("name", "somebot", "Mozilla/5.0 (compatible; Somebot/2.1)", True),
        ("loose", "Mozilla/5.0 (compatible; Somebot/2.1)", "somebot", False),
        ("name", "", "", False),
        ("loose", "", "gossamer", False),
    ],
)
def test_F_R9_agents_are_matched_by_name_by_token_or_loosely(
    naming: str, line: str, agent: str, is_meant: bool
) -> None:
    parsed = parse(f"User-agent: {line}\nDisallow: /x\n".encode(), agent, naming)  # type: ignore[arg-type]
    assert bool(parsed.rules) is is_meant


def test_F_R9_loose_matching_takes_only_the_longest_name() -> None:
    body = b"User-agent: news\nDisallow: /a\nUser-agent: newsbot\nDisallow: /b\nUser-agent: *\nDisallow: /c\n"
    assert [rule.pattern for rule in parse(body, "newsbot-images", "loose").rules] == ["/b"]


def test_rules_of_a_file_without_agents_apply_to_every_agent() -> None:
    parsed = parse(b"# hello\nDisallow: /x\nCrawl-delay: 7\n", AGENT)
    assert (parsed.group, parsed.flags, parsed.crawl_delay_s) == ("*", ("no-agent",), 7.0)
    assert not allowed(b"Disallow: /x\n", "/x")


def test_rules_before_the_first_agent_or_after_a_garbled_one_apply_to_no_agent() -> None:
    assert allowed(b"Disallow: /x\nUser-agent: *\nDisallow: /y\n", "/x")
    assert allowed(b"\x11\xbfUser-agent: otherbot\nDisallow: /x\n", "/x")


def test_colons_may_be_missing_from_a_whole_file_but_not_from_single_lines() -> None:
    assert not allowed("user-agent *\ndisallow /x\n", "/x")
    assert allowed("User-agent: *\ndisallow /x\nDisallow: /y\n", "/x")


def test_noindex_is_a_rule_that_ends_a_list_of_agents() -> None:
    assert allowed("User-agent: *\nNoindex: /a\nUser-agent: other\nDisallow: /\n", "/x")


def test_a_verdict_is_explained_with_every_rule_that_matches() -> None:
    body = b"User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/*\nDisallow: /z\n"
    result = explain(Url("http://site.test/a/b/c"), robots_of(parse(body, AGENT)))
    assert result.verdict == Denied("Disallow: /a/b/* (line 4)") and result.because == result.verdict.rule
    assert (result.group, result.rule) == ("*", RobotsRule(False, "/a/b/*", 4))
    assert [rule.line for rule in result.candidates] == [4, 3, 2]


@pytest.mark.parametrize(
    ("body", "path", "because"),
    [
        ("User-agent: *\nDisallow: /a\n", "/b", "no rule of the group of * matches"),
        ("User-agent: *\nDisallow:\n", "/b", "the group of * has no rules"),
        ("User-agent: x\nDisallow: /\n", "/b", "no group applies to this user agent"),
        ("User-agent: *\nDisallow: /\n", "/robots.txt", "robots.txt itself may always be fetched"),
        ("User-agent: *\nAllow: /b\nDisallow: /\n", "/b", "Allow: /b (line 2)"),
    ],
)
def test_an_allowed_url_is_explained_too(body: str, path: str, because: str) -> None:
    result = explain(Url("http://site.test" + path), robots_of(parse(body.encode(), AGENT)))
    assert result.verdict == Allowed() and result.because == because


@pytest.mark.parametrize(
    ("state", "verdict", "words"),
    [
        (RobotsState.MISSING, Allowed, "has no robots.txt"),
        (RobotsState.UNREACHABLE, Denied, "could not be read"),
        (RobotsState.PENDING, Denied, "could not be read"),
    ],
)
def test_without_a_file_the_explanation_names_the_state(state: RobotsState, verdict: type, words: str) -> None:
    result = explain(Url("http://site.test/"), Robots("http://site.test", state, 0, 0))
    assert isinstance(result.verdict, verdict) and words in result.because and result.candidates == ()


_LINES = st.lists(
    st.tuples(st.sampled_from(["User-agent: ", "Allow: ", "Disallow: "]), st.text("*$/ab", max_size=5)).map("".join),
    max_size=8,
)


@given(_LINES, st.text("ab/$", max_size=6))
def test_an_explanation_agrees_with_the_verdict(lines: list[str], path: str) -> None:
    robots = robots_of(parse("\n".join(["User-agent: *", *lines]).encode(), AGENT))
    url = url_of("http://site.test/" + path)
    if url is None:
        return
    result = explain(url, robots)
    assert result.verdict == judge(url, robots)
    assert (result.rule is None or result.rule.allows) is (result.verdict == Allowed())


@given(st.binary(max_size=300), st.text(max_size=20))
def test_no_file_makes_the_parser_fail(body, agent):
    parsed = parse(body, agent)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(parsed), type=ParsedRobots) == parsed


def _matches_slowly(pattern: str, target: str) -> bool:
    """The definition, regardless of speed."""
    if not pattern:
        return True
    if pattern == "$":
        return not target
    if pattern[0] == "*":
        return any(_matches_slowly(pattern[1:], target[start:]) for start in range(len(target) + 1))
    return bool(target) and target[0] == pattern[0] and _matches_slowly(pattern[1:], target[1:])


@given(st.from_regex(r"\A[ab*]{0,8}\$?\Z"), st.text("ab", max_size=10))
def test_the_matcher_agrees_with_the_definition(pattern, target):
    assert matches(pattern, target) is _matches_slowly(pattern, target)


def test_the_literal_piece_of_a_pattern_excludes_its_stars_and_its_end_anchor() -> None:
    rules = parse(b"User-agent: *\nDisallow: /a*/longest$\nDisallow: *x$\nDisallow: /plain", "Gossamer").rules
    assert set(pieces_of(rules)) == {"/longest", "x", "/plain"}


def test_half_of_a_surrogate_pair_in_a_url_is_escaped_and_does_not_stop_the_matcher() -> None:
    assert normal_target("/a\ud800b") == "/a%3Fb"
    assert normal_pattern("/\udfff*x$") == "/%3F*x$"
