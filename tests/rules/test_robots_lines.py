"""The bytes, lines and groups of a robots.txt, at every limit and for every spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.robots import (
    LONGEST_SHOWN,
    MANY,
    MOST_SITEMAPS,
    MOST_WORK,
    TOO_MUCH_WORK,
    explain,
    has_no_agents,
    judge,
    parse,
    survey,
)
from gossamer.rules.robots_parser import (
    LONGEST_EXTENSION,
    MOST_BYTES,
    MOST_CRAWL_DELAY_S,
    MOST_EXTENSIONS,
    MOST_RECRAWL_DELAY_S,
    RobotsLine,
    line_count,
    lines_of,
    matches,
    names_in,
    normal_pattern,
    normal_target,
    parse_rate,
    parse_recrawl_delay,
    plain_lines,
    product_token,
    text_of,
)
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url

AGENT = "Gossamer"
SITE = "http://site.test"


def robots(*rules: RobotsRule, group: str = "*") -> Robots:
    return Robots(SITE, RobotsState.READ, 0, 0, rules, group=group)


@pytest.mark.parametrize(
    ("key", "spellings"),
    [
        ("agent", "user-agent useragent user_agent"),
        ("allow", "allow"),
        ("disallow", "disallow dissallow dissalow disalow diasllow disallaw"),
        ("delay", "crawl-delay crawldelay crawl_delay"),
        ("recrawl", "recrawl-delay recrawldelay recrawl_delay"),
        ("sitemap", "sitemap site-map"),
        ("rate", "request-rate request_rate"),
        ("signal", "content-signal content-usage"),
        ("noindex", "noindex"),
        ("host", "host"),
        ("clean-param", "clean-param"),
        ("visit-time", "visit-time"),
        ("", "allowed disallows crawl sitemaps agent x hosts"),
    ],
)
def test_every_spelling_of_a_key_is_read_as_that_key(key: str, spellings: str) -> None:
    for spelling in spellings.split():
        name = spelling.replace("_", " ")
        assert lines_of(f"\t{name.title()} : value \t") == [RobotsLine(1, key, name, "value")]


def test_a_line_is_a_directive_when_its_key_is_known_or_has_at_most_forty_letters() -> None:
    for name, is_read in (("x" * 40, True), ("x" * 41, False), ("a b", False), ("9x", False), ("x-9_y", True)):
        assert bool(lines_of(f"{name}: v")) is is_read, name


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\xff\xfe", b"\xfe\xff"])
def test_one_byte_order_mark_is_removed(mark: bytes) -> None:
    assert text_of(mark + b"Allow: /") == ("Allow: /", [])
    assert text_of(mark + mark + b"Allow: /")[0] == (mark + b"Allow: /").decode("utf-8", "replace")


@pytest.mark.parametrize("line_break", [b"\n", b"\r", b"\r\n"])
def test_of_a_file_that_is_too_long_the_complete_lines_within_the_limit_are_read(line_break: bytes) -> None:
    head = b"Allow: /" + line_break
    fits = head + b"#" * (MOST_BYTES - len(head))
    assert text_of(fits) == (fits.decode(), [])
    assert text_of(fits + b"#") == (head.decode(), ["too-long"])
    assert text_of(b"#" * (MOST_BYTES + 1)) == ("", ["too-long"])
    assert text_of(b"\n#\r" + b"#" * MOST_BYTES) == ("\n#\r", ["too-long"])


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        (b"\0a\0b", ["utf-16"]),
        (b"a\0b\0", ["utf-16"]),
        (b"a\0b", ["nul"]),
        (b"a\0b\0c", ["utf-16"]),
        (b"a\0b\0cdefg", ["nul"]),
        (b"\xff\xfea\0", ["utf-16"]),
        (b"\xfe\xff\0a", ["utf-16"]),
        (b"x" * 256 + b"\0" * 256, ["nul"]),
        (b"\xff\xfe" + b"x" * 254 + b"\0", ["nul"]),
        (b"\xff\xfe" + b"x" * 253 + b"\0", ["utf-16"]),
    ],
)
def test_a_file_with_two_zero_bytes_in_five_is_utf_16_and_with_fewer_has_nul_bytes(
    body: bytes, flags: list[str]
) -> None:
    assert text_of(body)[1] == flags


def test_utf_16_is_read_in_either_byte_order_without_its_mark() -> None:
    for codec, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        for before in (b"", mark):
            assert text_of(before + "Allow: /é\n".encode(codec)) == ("Allow: /é\n", ["utf-16"])
    assert text_of(b"A\0llow: /\0x") == ("Allow: /x", ["nul"])


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("user-agent *", "agent", "*"),
        ("User Agent  x y", "agent", "x y"),
        ("UserAgent x", "agent", "x"),
        ("crawl-delay 5", "delay", "5"),
        ("crawl delay 5", "delay", "5"),
        ("recrawl-delay 5d", "recrawl", "5d"),
        ("request-rate 1/5", "rate", "1/5"),
        ("allow\t/x", "allow", "/x"),
        ("DISALLOW /x", "disallow", "/x"),
        ("user-agent " + "x" * 100, "agent", "x" * 100),
    ],
)
def test_a_colon_may_be_missing_after_keys_often_written_without_one(line: str, key: str, value: str) -> None:
    (found,) = lines_of(line)
    assert (found.key, found.value, found.has_colon) == (key, value, False)
    assert found.name == found.name.lower() and line.lower().startswith(found.name)


@pytest.mark.parametrize("line", ["user-agent", "allow /a /b", "sitemap /x", "host a", "user-agent " + "x" * 101])
def test_other_lines_without_a_colon_are_ignored(line: str) -> None:
    assert lines_of(line) == []


def test_a_line_without_a_colon_counts_unless_a_rule_has_one() -> None:
    bare = "user-agent *\ndisallow /x\n"
    assert [line.number for line in lines_of(bare + "Sitemap: /s\n")] == [1, 2, 3]
    for rule in ("Disallow: /y", "Allow: /y", "User-agent: y"):
        assert [line.number for line in lines_of(bare + rule)] == [3]


def test_comments_blank_lines_and_line_break_tags_are_removed() -> None:
    text = "a # b\r\n#\r \t\v\f\n\t x \f#y\n<br>\nz<br/> <BR />\nq <b>\n"
    assert list(plain_lines(text)) == [(1, "a"), (4, "x"), (6, "z"), (7, "q <b>")]
    assert line_count(text) == 8 and line_count("") == 1 and line_count("a\r\nb\rc\nd") == 4


def test_signals_and_other_extensions_are_kept_up_to_fifty_each() -> None:
    signals = [f"s{number}=yes" for number in range(MOST_EXTENSIONS + 9)]
    for parts in ([", ".join(signals)], signals):
        lines = "".join(f"Content-Signal: {part}\n" for part in parts)
        assert len(parse(f"User-agent: *\n{lines}".encode(), AGENT).signals) == MOST_EXTENSIONS
    lines = "".join(f"Clean-param: p{number}\n" for number in range(MOST_EXTENSIONS + 9))
    assert [value for _, value in parse(lines.encode(), AGENT).extensions] == [f"p{n}" for n in range(MOST_EXTENSIONS)]
    for length in (LONGEST_EXTENSION, LONGEST_EXTENSION + 1):
        ((name, value),) = parse(f"Host: {'h' * length}\n".encode(), AGENT).extensions
        assert (name, len(value)) == ("host", LONGEST_EXTENSION)


def test_the_first_delay_rate_and_recrawl_delay_of_a_group_apply() -> None:
    lines = "Crawl-delay: 4\nCrawl-delay: 9\nRequest-rate: 1/3\nRequest-rate: 1/20\nRecrawl-delay: 2h\nRecrawl-delay: 9"
    found = parse(f"User-agent: *\n{lines}\n".encode(), AGENT)
    assert (found.crawl_delay_s, found.recrawl_delay_s) == (4.0, 7200.0)
    assert found.extensions == (("request-rate", "1/3"), ("request-rate", "1/20"))
    empty = parse(b"User-agent: *\nVisit-time:\nRequest-rate:\nAllow:\nNoindex: /x\n", AGENT)
    assert empty.extensions == () and empty.rules == () and empty.crawl_delay_s is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("1/7", 7), ("1/7s", 7), ("2/7m", 210), ("1/2H", 7200), ("1/2d", 172_800), ("3 / 6 ", 2), ("1/7x", None)],
)
def test_a_rate_may_use_any_unit_of_time(value: str, seconds: float | None) -> None:
    assert parse_rate(value) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), ("7s", 7), ("7M", 420), ("2h", 7200), ("1.5d", 129_600), ("7w", None), ("m", None), ("-1h", None)],
)
def test_a_recrawl_delay_may_use_any_unit_of_time(value: str, seconds: float | None) -> None:
    assert parse_recrawl_delay(value) == seconds


@pytest.mark.parametrize(
    ("value", "signals"),
    [
        ("a=b", (("a", "b"),)),
        (" A = B ,, c=d,", (("a", "b"), ("c", "d"))),
        ("a=b, c", ()),
        ("a=b=c", ()),
        (f"{'a' * 40}={'b' * 40}", (("a" * 40, "b" * 40),)),
        (f"{'a' * 41}=b", ()),
        ("", ()),
    ],
)
def test_signals_are_pairs_and_a_line_with_anything_else_is_ignored(
    value: str, signals: tuple[tuple[str, str], ...]
) -> None:
    assert parse(f"User-agent: *\nContent-Signal: {value}\n".encode(), AGENT).signals == signals


def test_sitemaps_are_kept_up_to_the_limit_and_empty_ones_are_ignored() -> None:
    lines = "Sitemap:\n" + "".join(f"Sitemap: /{number}\n" for number in range(MOST_SITEMAPS + 2))
    assert parse(lines.encode(), AGENT).sitemaps == tuple(f"/{number}" for number in range(MOST_SITEMAPS))


def test_an_agent_may_be_named_in_many_ways() -> None:
    assert names_in("Mozilla/5.0 (compatible; Some-Bot/2; +http://x)") == ("mozilla", "compatible", "some-bot")
    assert names_in("*") == () and names_in("") == ()
    assert [product_token(text) for text in ("Some_Bot-x/1", "AB42", "9", "")] == ["some_bot-x", "ab", "", ""]


@pytest.mark.parametrize(
    ("line", "is_meant"),
    [("*", True), ("* # all", True), ("* and more", True), ("*bot", False), ("**", False), ("", False)],
)
def test_a_star_means_every_agent_when_it_stands_alone(line: str, is_meant: bool) -> None:
    assert bool(parse(f"User-agent: {line}\nDisallow: /\n".encode(), AGENT).rules) is is_meant


def test_an_agent_with_a_star_in_its_name_obeys_both_groups() -> None:
    body = b"User-agent: gossamer\nDisallow: /a\nUser-agent: *\nDisallow: /b\n"
    assert {rule.pattern for rule in parse(body, "Gossamer *").rules} == {"/a", "/b"}
    assert {rule.pattern for rule in parse(body, "Gossamer").rules} == {"/a"}


def test_a_group_starts_once_however_often_its_agents_are_named() -> None:
    body = b"User-agent: gossamer\nUser-agent: Gossamer/2\nAllow: /a\nCrawl-delay: 1\nUser-agent: x\nDisallow: /\n"
    found = parse(body, AGENT)
    assert [(rule.pattern, rule.line) for rule in found.rules] == [("/a", 3)]
    assert (found.group_lines, found.crawl_delay_s) == ((1,), 1.0)
    later = parse(b"User-agent: *\nCrawl-delay: 1\nUser-agent: gossamer\nDisallow: /\n", "x")
    assert later.crawl_delay_s == 1.0 and len(later.rules) == 1, "a delay does not end a list of agents"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Disallow: /x\n", True),
        ("# a comment\n\nDisallow: /x\n", True),
        ("User-agent: a\nDisallow: /x\n", False),
        ("Disallow: /x\nUser-agent: a\n", False),
        ("garbled\nDisallow: /x\n", False),
        ("Unknown: 1\nDisallow: /x\n", False),
        ("Sitemap: /s\nDisallow: /x\n", True),
        ("", False),
    ],
)
def test_a_file_has_no_agents_when_a_directive_comes_first_and_no_agent_follows(text: str, expected: bool) -> None:
    assert has_no_agents(lines_of(text), text) is expected
    assert ("no-agent" in parse(text.encode(), AGENT).flags) is expected


def test_a_robots_txt_is_recognised_by_its_keys() -> None:
    for line in ("Allow: /", "Disallow: /", "User-agent: x", "Crawl-delay: 1", "Sitemap: /s"):
        assert not {"html", "not-robots"} & set(parse(f"<x\n{line}\n".encode(), AGENT).flags), line
    for line in ("Host: a", "Noindex: /", "X: y", "Content-Signal: a=b"):
        assert parse(line.encode(), AGENT).flags == ("not-robots",), line
        assert parse(b" \n<" + line.encode(), AGENT).flags == ("html",), line
    assert parse(b" \n \n", AGENT).flags == ()


@pytest.mark.parametrize("character", [chr(code) for code in range(0x20, 0x7F)])
def test_each_character_has_one_form_in_patterns_and_urls(character: str) -> None:
    escaped = f"%{ord(character):02X}"
    plain = character.isalnum() or character in "-._~"
    assert normal_target(escaped) == normal_target(escaped.lower()) == (character if plain else escaped)
    kept = plain or character in "!#&'()+,/:;=?@"
    assert normal_target(character) == (character if kept else escaped)


@given(st.text("aé*$%4/~ 2F\U0001f600", max_size=12))
def test_normalization_is_idempotent(text: str) -> None:
    once = normal_target(text)
    assert normal_target(once) == once and once.isascii() and not {"*", "$", " "} & set(once)
    pattern = normal_pattern(text)
    assert normal_pattern(pattern) == pattern and pattern.count("*") == text.count("*")
    assert pattern.endswith("$") is text.endswith("$") and "$" not in pattern[:-1]


PATTERNS = st.lists(
    st.builds(
        RobotsRule, st.booleans(), st.from_regex(r"\A/[ab*]{0,5}\$?\Z"), st.integers(1, 99)
    ),
    max_size=6,
)  # fmt: skip


@given(PATTERNS, st.text("ab", max_size=6), st.sampled_from([0, MANY - 3, MANY]))
def test_the_longest_matching_rule_decides_among_few_and_among_many(
    rules: list[RobotsRule], path: str, others: int
) -> None:
    strange = [RobotsRule(number % 2 == 0, f"/z*{number}y", 0) for number in range(others)]
    target = f"/{path}"
    found = [rule for rule in rules if matches(rule.pattern, target)]
    longest = max((len(rule.pattern) for rule in found), default=0)
    is_allowed = not found or any(rule.allows for rule in found if len(rule.pattern) == longest)
    for order in ([*strange, *rules], [*rules[::-1], *strange]):
        assert (judge(Url(SITE + target), robots(*order)) == Allowed()) is is_allowed


def test_patterns_with_stars_are_compared_until_the_work_limit_is_reached() -> None:
    target = "/" + "a" * 2999
    stars = [RobotsRule(True, f"/*{number}z", number) for number in range(1, MOST_WORK // 3000 + 1)]
    plain = RobotsRule(False, "/a", 9)
    assert judge(Url(SITE + target), robots(plain, *stars)) == Denied("Disallow: /a (line 9)")
    too_many = robots(plain, *stars, RobotsRule(True, "/*0z$", 1))
    assert judge(Url(SITE + target), too_many) == TOO_MUCH_WORK
    result = explain(Url(SITE + target), too_many)
    assert (result.verdict, result.because, result.group) == (TOO_MUCH_WORK, TOO_MUCH_WORK.rule, "*")
    assert result.rule is None and result.candidates == ()


@pytest.mark.parametrize(
    ("rules", "group", "path", "because"),
    [
        ((), "x", "/", "the group of x has no rules"),
        ((), "", "/", "no group applies to this user agent"),
        ((RobotsRule(False, "/a", 2),), "x", "/b", "no rule of the group of x matches"),
        ((RobotsRule(False, "/a", 2),), "", "/b", "no rule matches"),
        ((RobotsRule(False, "/a", 0),), "x", "/a", "Disallow: /a"),
        ((RobotsRule(True, "/a", 7),), "x", "/a", "Allow: /a (line 7)"),
    ],
)
def test_every_verdict_is_explained_in_one_sentence(
    rules: tuple[RobotsRule, ...], group: str, path: str, because: str
) -> None:
    result = explain(Url(SITE + path), robots(*rules, group=group))
    assert (result.because, result.group) == (because, group)
    assert result.candidates == tuple(rule for rule in rules if path == "/a")
    assert result.rule == (result.candidates[0] if result.candidates else None)


def test_robots_txt_itself_is_allowed_and_rules_that_would_forbid_it_are_shown() -> None:
    rule = RobotsRule(False, "/", 2)
    result = explain(Url(f"{SITE}/robots.txt"), robots(rule))
    assert (result.verdict, result.rule, result.candidates, result.group) == (Allowed(), None, (rule,), "*")
    assert judge(Url(f"{SITE}/robots.txt?x"), robots(rule)) == Denied("Disallow: / (line 2)")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Crawl-delay: 30", None),
        ("Crawl-delay: 30.5", "delay-cut"),
        ("Crawl-delay: x", "no-number"),
        ("Request-rate: 1/30", None),
        ("Request-rate: 1/31", "delay-cut"),
        ("Request-rate: x", "no-number"),
        ("Recrawl-delay: 365d", None),
        ("Recrawl-delay: 366d", "delay-cut"),
        ("Recrawl-delay: x", "no-number"),
        ("Sitemap: http://a/s", None),
        ("Sitemap: /s", "relative"),
        ("Disallow: /x", None),
        ("Disallow: *x", None),
        ("Disallow: $", None),
        ("Disallow:", None),
        ("Allow: x", "no-path"),
        ("Disallow: x", "no-path"),
        ("User-agent: a-b_c", None),
        ("User-agent: A/2", None),
        ("User-agent: *", None),
        ("User-agent: *bot", None),
        ("User-agent: a b", "no-token"),
        ("User-agent: a2", "no-token"),
        ("User-agent:", "no-name"),
        ("Content-Signal: a=b", None),
        ("Noindex: x", None),
        ("Useragent: a", "misspelt"),
        ("Crawldelay: 1", "misspelt"),
        ("Recrawldelay: 1", "misspelt"),
        ("Site-map: http://a/s", "misspelt"),
        ("Request rate: 1/5", "misspelt"),
        ("Dissallow: /", "misspelt"),
        ("Foo: 1", "unknown"),
        ("words", "unread"),
        ("allow /x", "no-colon"),
    ],
)
def test_each_kind_of_odd_line_is_reported(line: str, kind: str | None) -> None:
    odd = survey(f"User-agent: *\nDisallow: /\n\n{line}\n".encode(), AGENT).oddities
    assert [(one.line, one.kind) for one in odd] == ([] if kind is None else [(4, kind)])
    assert MOST_CRAWL_DELAY_S == 30.0 and MOST_RECRAWL_DELAY_S == 365 * 86_400


def test_a_rule_before_any_agent_is_an_orphan_unless_the_file_names_no_agent() -> None:
    orphans = survey(b"Allow: /a\nDisallow: /b\nSitemap: http://a/s\nUser-agent: *\nDisallow: /c\n", AGENT).oddities
    assert [(one.line, one.kind) for one in orphans] == [(1, "orphan"), (2, "orphan")]
    assert [one.kind for one in survey(b"Disallow: /b\n", AGENT).oddities] == ["no-agent"]


def test_oddities_of_the_whole_file_come_first_and_alone_if_it_is_no_robots_txt() -> None:
    assert [(one.line, one.kind) for one in survey(b"a\0b\nDisallow /x: y\nDisallow: x\n", AGENT).oddities] == [
        (None, "nul"),
        (1, "unread"),
        (2, "unread"),
        (3, "orphan"),
        (3, "no-path"),
    ]
    assert [one.kind for one in survey(b"words\nand more: x y\n", AGENT).oddities] == ["not-robots"]


def test_long_values_are_shown_up_to_a_limit() -> None:
    for length in (LONGEST_SHOWN, LONGEST_SHOWN + 1):
        (odd,) = survey(f"User-agent: *\nDisallow: {'x' * length}\n".encode(), AGENT).oddities
        shown = odd.says.rpartition(" ")[2]
        assert len(shown) == LONGEST_SHOWN and shown.endswith("...") is (length > LONGEST_SHOWN)
