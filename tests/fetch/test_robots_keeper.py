"""From the response for a robots.txt to the stored entry, and what it allows (R1 to R4 and R7 of the catalogue)."""

import msgspec
import pytest

from gossamer.base.clock import SECOND
from gossamer.config.slices import RobotsKeeping
from gossamer.fetch.answer import entry_of
from gossamer.rules.robots import judge, parse
from gossamer.values.capture import Capture, Truncated
from gossamer.values.outcome import Allowed, Denied, Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Visit, VisitKind

NOW = 1_700_000_000 * SECOND
HOUR = 3600 * SECOND
DAY = 24 * HOUR
ASKED = Url("https://site.test/robots.txt")
PAGE = Url("https://site.test/secret")
BODY = b"""Host: site.test
User-agent: *
Disallow: /secret
Crawl-delay: 2
Sitemap: /map.xml
Content-Signal: ai-train=no
"""
RULES = parse(BODY, "Gossamer")


def capture(status: int = 200, **fields: str) -> Capture:
    headers = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return Capture(url=ASKED, fetched_at=NOW, status=status, reason="", headers=headers, body=b"")


def entry(outcome: Outcome, old: Robots | None = None, now: int = NOW, settings: RobotsKeeping | None = None) -> Robots:
    visit = Visit(url=ASKED, kind=VisitKind.ROBOTS, taken_at=now, robots=old, failures=old.failures if old else 0)
    parsed = RULES if isinstance(outcome, Fetched) else None
    return entry_of(visit, outcome, parsed, now, settings or RobotsKeeping())


def forbids(robots: Robots, url: Url = PAGE) -> bool:
    return isinstance(judge(url, robots), Denied)


def test_a_file_that_was_read_applies_for_a_day():
    read = entry(Fetched(capture()))
    assert (read.state, read.expires_at, read.crawl_delay_s) == (RobotsState.READ, NOW + DAY, 2.0)
    assert read.sitemaps == ("/map.xml",)
    assert judge(PAGE, read) == Denied("Disallow: /secret (line 3)")


def content_of(robots: Robots) -> tuple[object, ...]:
    return robots.rules, robots.crawl_delay_s, robots.sitemaps, robots.signals, robots.extensions, robots.group


def test_signals_extensions_and_the_group_are_kept_as_long_as_the_rules() -> None:
    read = entry(Fetched(capture()))
    assert read.signals == (("ai-train", "no"),) and read.extensions == (("host", "site.test"),)
    assert (read.group, read.group_lines) == ("*", (2,))
    unchanged = entry(Unchanged(capture(304)), read, NOW + DAY)
    failing = entry(Failed(Reason.TIMEOUT), read, NOW + DAY)
    pending = entry(moved(1), read, NOW + DAY)
    assert content_of(unchanged) == content_of(failing) == content_of(pending) == content_of(read)


@pytest.mark.parametrize(
    ("value", "applies_for"),
    [
        ("max-age=3600", HOUR),
        ("public, max-age=7200", 2 * HOUR),
        ("max-age=99999999", DAY),
        ("max-age=0", 600 * SECOND),
        ("s-maxage=60", DAY),
        ("no-cache", DAY),
        ("max-age=junk", DAY),
    ],
)
def test_cache_control_is_obeyed_within_bounds(value, applies_for):
    assert entry(Fetched(capture(Cache_Control=value))).expires_at == NOW + applies_for


def test_an_unchanged_file_applies_for_another_day():
    read = entry(Fetched(capture()))
    again = entry(Unchanged(capture(304)), read, NOW + DAY)
    assert again.state is RobotsState.READ and again.rules == read.rules
    assert again.expires_at == NOW + 2 * DAY


@pytest.mark.parametrize(
    "outcome",
    [Gone(capture(404)), Gone(capture(410))]
    + [Failed(Reason.CLIENT_ERROR, "", capture(status)) for status in (400, 401, 403)],
)
def test_F_R1_a_missing_file_allows_all_for_a_day(outcome):
    missing = entry(outcome)
    assert (missing.state, missing.expires_at) == (RobotsState.MISSING, NOW + DAY)
    assert judge(PAGE, missing) == Allowed()


@pytest.mark.parametrize("status", [401, 403])
def test_F_R1_a_refusal_can_be_treated_as_disallow(status):
    strict = RobotsKeeping(refusal_disallows=True)
    refused = entry(Failed(Reason.CLIENT_ERROR, "", capture(status)), settings=strict)
    assert forbids(refused)
    assert refused.rules == (RobotsRule(allows=False, pattern="/", line=0),), "a rule without a line in a file"
    assert not forbids(entry(Failed(Reason.CLIENT_ERROR, "", capture(400)), settings=strict))


def test_F_R2_429_is_unreachable_for_as_long_as_the_server_asks():
    limited = entry(Failed(Reason.SLOW_DOWN, "", capture(429), wait_s=5000.0))
    assert limited.state is RobotsState.UNREACHABLE and forbids(limited)
    assert limited.expires_at == NOW + 5000 * SECOND


def test_F_R3_a_failing_server_forbids_all_and_is_retried_less_and_less_often():
    waits, robots, now = [], None, NOW
    for _ in range(13):
        robots = entry(Failed(Reason.SERVER_ERROR, "", capture(500)), robots, now)
        assert robots.state is RobotsState.UNREACHABLE and forbids(robots)
        waits.append((robots.expires_at - now) // SECOND)
        now = robots.expires_at
    assert waits == [60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 30720, 61440, 86400, 86400]
    assert robots.trouble == "server-error: the server responded with an error (5xx)"


def fail_until(robots: Robots | None, now: int, end: int) -> Robots:
    while True:
        robots = entry(Failed(Reason.SERVER_ERROR, "", capture(503)), robots, now)
        if robots.expires_at >= end:
            return robots
        now = robots.expires_at


def test_F_R3_a_good_copy_applies_again_after_twelve_hours():
    read = entry(Fetched(capture()))
    before = fail_until(read, NOW + DAY, NOW + DAY + 11 * HOUR)
    assert before.state is RobotsState.UNREACHABLE and forbids(before, Url("https://site.test/"))
    after = fail_until(before, before.expires_at, NOW + DAY + 14 * HOUR)
    assert after.state is RobotsState.READ and after.flags == ("old-copy",)
    assert forbids(after) and not forbids(after, Url("https://site.test/"))
    assert after.crawl_delay_s == 2.0
    assert after.expires_at - after.fetched_at <= HOUR, "the file is still requested"


def test_F_R3_a_copy_of_thirty_days_no_longer_applies():
    read = entry(Fetched(capture()))
    late = fail_until(read, NOW + 29 * DAY, NOW + 29 * DAY + 14 * HOUR)
    assert late.state is RobotsState.READ
    later = fail_until(late, late.expires_at, NOW + 30 * DAY + 2 * HOUR)
    assert later.state is RobotsState.UNREACHABLE and later.rules == ()


def test_F_R3_without_a_good_copy_all_stays_forbidden():
    assert forbids(fail_until(None, NOW, NOW + 3 * DAY))


def test_F_R3_a_file_that_is_readable_again_ends_the_failures():
    failing = fail_until(None, NOW, NOW + HOUR)
    back = entry(Fetched(capture()), failing, failing.expires_at)
    assert (back.failures, back.failing_since, back.flags) == (0, None, ())


@pytest.mark.parametrize(
    "reason",
    [Reason.TIMEOUT, Reason.CONNECT, Reason.DNS, Reason.TLS, Reason.TOO_SLOW, Reason.PROTOCOL, Reason.CODING],
)
def test_F_R4_timeout_is_not_allow(reason):
    assert forbids(entry(Failed(reason)))


def test_F_R4_a_file_cut_off_on_the_way_is_not_allow():
    cut = msgspec.structs.replace(capture(), truncated=Truncated.DISCONNECT)
    assert forbids(entry(Failed(Reason.DISCONNECTED, "", cut)))


def test_F_R4_a_file_that_no_reader_could_parse_is_not_allow():
    visit = Visit(url=ASKED, kind=VisitKind.ROBOTS, taken_at=NOW)
    assert forbids(entry_of(visit, Fetched(capture()), None, NOW, RobotsKeeping()))


def moved(number: int) -> Moved:
    to = url_of(f"https://other{number}.test/robots.txt")
    assert to is not None
    return Moved(to, capture(301))


def test_F_R7_five_redirects_are_followed_and_the_sixth_counts_as_no_file():
    robots: Robots | None = None
    for number in range(1, 6):
        robots = entry(moved(number), robots)
        assert (robots.state, robots.hops) == (RobotsState.PENDING, number)
        assert robots.ask == moved(number).to and robots.expires_at == NOW
        assert forbids(robots), "pages wait"
    read = entry(Fetched(capture()), robots)
    assert (read.state, read.hops, read.ask, read.origin) == (RobotsState.READ, 0, None, "https://site.test")
    assert entry(moved(6), robots).state is RobotsState.MISSING


def test_F_R7_the_good_copy_survives_a_chain_of_redirects():
    read = entry(Fetched(capture()))
    pending = entry(moved(1), read, NOW + DAY)
    failed = entry(Failed(Reason.TIMEOUT), pending, NOW + DAY)
    assert failed.rules == read.rules and failed.read_at == NOW


@pytest.mark.parametrize("reason", [Reason.ADDRESS, Reason.REDIRECT_OUT, Reason.CONTACT])
def test_F_R7_a_redirect_to_a_forbidden_place_is_unreachable(reason):
    refused = entry(Refused(reason), entry(moved(1)))
    assert refused.state is RobotsState.UNREACHABLE and forbids(refused)


def test_an_entry_is_the_same_after_storage_in_the_database():
    robots = fail_until(entry(Fetched(capture())), NOW + DAY, NOW + DAY + HOUR)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(robots), type=Robots) == robots


def test_a_copy_that_the_server_confirms_is_no_longer_marked_as_old():
    read = entry(Fetched(capture()))
    flagged = msgspec.structs.replace(read, flags=("old-copy", "truncated"))
    assert entry(Unchanged(capture(304)), flagged, NOW + DAY).flags == ("truncated",)
