"""robots.txt: what the files say and what they let through. FAULTS R5, R6, R8, R11; MISSION A3."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.robots import MOST_BYTES, ParsedRobots, judge, matches, parse
from gossamer.rules.verdict import Allowed, Denied
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, url_of

AGENT = "Gossamer"


def robots_of(parsed: ParsedRobots) -> Robots:
    return Robots("http://site.test", RobotsState.READ, 0, 0, parsed.rules, parsed.crawl_delay_s, parsed.sitemaps)


def verdict(body: bytes | str, path: str, agent: str = AGENT) -> Allowed | Denied:
    raw = body.encode() if isinstance(body, str) else body
    url = url_of("http://site.test" + path)
    assert url is not None
    return judge(url, robots_of(parse(raw, agent)))


def allowed(body: bytes | str, path: str, agent: str = AGENT) -> bool:
    return verdict(body, path, agent) == Allowed()


def test_M_A3_the_example_of_the_documents():
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


def test_groups_of_one_agent_are_merged_and_shut_the_others_out():
    body = (
        "User-agent: gossamer\nDisallow: /one\n\nUser-agent: *\nDisallow: /\n\n"
        "User-agent: other\nUser-agent: GOSSAMER/2.0\nDisallow: /two\nCrawl-delay: 3\n"
    )
    assert not allowed(body, "/one") and not allowed(body, "/two") and allowed(body, "/three")
    assert parse(body.encode(), AGENT).crawl_delay_s == 3.0
    assert not allowed(body, "/three", "somebody")


def test_a_line_that_is_no_rule_does_not_end_a_list_of_agents():
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
def test_without_a_file_that_could_be_read_nothing_is_fetched(state):
    robots = Robots("http://site.test", state, 0, 0)
    assert isinstance(judge(Url("http://site.test/"), robots), Denied)


def test_F_R5_a_long_file_is_cut_at_a_line_and_flagged():
    line = b"Disallow: /long/path/number\n"
    body = b"User-agent: *\nDisallow: /first\n" + line * (10_000_000 // len(line)) + b"Disallow: /last\n"
    began = time.process_time()
    parsed = parse(body, AGENT)
    assert time.process_time() - began < 1.0
    assert parsed.flags == ("too-long",)
    assert judge(Url("http://site.test/first"), robots_of(parsed)) != Allowed()
    assert judge(Url("http://site.test/last"), robots_of(parsed)) == Allowed()


def test_F_R5_half_a_rule_is_no_rule():
    before = b"User-agent: *\n" + b"#" * (MOST_BYTES - 30) + b"\n"
    parsed = parse(before + b"Disallow: /only-this-page.html\n", AGENT)
    assert parsed.rules == (), "cut to /only it would forbid too much"


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


def test_F_R6_what_cannot_be_parsed_allows_all_and_is_flagged():
    assert parse(b"<!doctype html><html><body>404, sorry</body></html>", AGENT) == ParsedRobots(flags=("html",))
    assert parse(b"just some words\nand more", AGENT) == ParsedRobots(flags=("not-robots",))
    assert parse(b"", AGENT) == ParsedRobots()
    assert parse(b"# nothing\n", AGENT).rules == ()


def test_F_R8_a_pattern_full_of_stars_takes_linear_time():
    pattern = "/" + "*a" * 30 + "$"
    path = "/" + "a" * 100_000 + "b"
    began = time.process_time()
    assert not matches(pattern, path)
    assert matches(pattern, path[:-1])
    assert time.process_time() - began < 0.1


def many(pattern: str) -> Robots:
    body = "User-agent: *\n" + "".join(f"Disallow: {pattern.format(number)}\n" for number in range(20_000))
    return robots_of(parse(body.encode(), AGENT))


def test_F_R8_twenty_thousand_rules_are_judged_quickly():
    began = time.process_time()
    assert judge(Url("http://site.test/a/page/of/usual/length.html?a=b"), many("/*{}z*a*b$")) == Allowed()
    assert judge(Url("http://site.test/" + "a" * 8000), many("/{}")) == Allowed()
    assert time.process_time() - began < 2.0  # most of it parsing; never quadratic


def test_F_R8_a_verdict_that_would_cost_too_much_is_no():
    verdict = judge(Url("http://site.test/" + "a" * 8000), many("/*{:x}*a*b$"))
    assert verdict == Denied("robots.txt has too many patterns for so long an address")


@pytest.mark.parametrize(
    ("said", "delay_s"),
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
def test_F_R11_a_crawl_delay_is_a_sane_number_or_none(said, delay_s):
    assert parse(f"User-agent: *\nCrawl-delay: {said}\n".encode(), AGENT).crawl_delay_s == delay_s


def test_sitemaps_speak_to_every_agent_and_are_told_once():
    body = b"Sitemap: http://a.test/1\nUser-agent: x\nDisallow: /\nsitemap:/2\nSitemap: http://a.test/1\n"
    assert parse(body, AGENT).sitemaps == ("http://a.test/1", "/2")


@given(st.binary(max_size=300), st.text(max_size=20))
def test_no_file_makes_the_parser_fail(body, agent):
    parsed = parse(body, agent)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(parsed), type=ParsedRobots) == parsed


def _slowly(pattern: str, target: str) -> bool:
    """The definition, without thought for time."""
    if not pattern:
        return True
    if pattern == "$":
        return not target
    if pattern[0] == "*":
        return any(_slowly(pattern[1:], target[start:]) for start in range(len(target) + 1))
    return bool(target) and target[0] == pattern[0] and _slowly(pattern[1:], target[1:])


@given(st.from_regex(r"\A[ab*]{0,8}\$?\Z"), st.text("ab", max_size=10))
def test_the_matcher_agrees_with_the_definition(pattern, target):
    assert matches(pattern, target) is _slowly(pattern, target)
