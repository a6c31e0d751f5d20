"""The parts of a fetch that need no server: bodies in pieces, names and robots entries."""

import msgspec
import pytest

from gossamer.base.clock import SECOND
from gossamer.base.errors import ConfigError
from gossamer.config.slices import Fetch, RobotsKeeping
from gossamer.fetch.answer import NOTHING, OLD_COPY, entry_of
from gossamer.fetch.client import ResponseBody, _fields, conditions, user_agent
from gossamer.fetch.dns import interleaved
from gossamer.fetch.pool import plain
from gossamer.values.capture import Capture
from gossamer.values.history import Validators
from gossamer.values.outcome import IN_WORDS, Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.robots import HOPELESS, ParsedRobots, Robots, RobotsRule, RobotsState
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind


@pytest.mark.parametrize("pieces", [[], [b"a"], [b"a", b"b"], [b"", b"a"], [b"a", b"", b"bc", b"d"]])
def test_a_body_in_pieces_knows_its_size_at_any_time(pieces: list[bytes]) -> None:
    body, so_far = ResponseBody(), b""
    assert (body.size, body.whole()) == (0, b"")
    for piece in pieces:
        body.add(piece)
        so_far += piece
        assert (body.size, body.whole()) == (len(so_far), so_far)


def test_a_failed_connection_is_described_as_the_system_describes_it() -> None:
    assert plain(ConnectionRefusedError(111, "Connect call failed")) == "connection refused"
    assert plain(OSError("Multiple exceptions")) == "no IP address of the host could be reached"


@pytest.mark.parametrize(
    ("given", "alternating"),
    [
        ([], []),
        (["1.1.1.1", "1.1.1.2", "::1"], ["1.1.1.1", "::1", "1.1.1.2"]),
        (["::1", "::2", "1.1.1.1"], ["1.1.1.1", "::1", "::2"]),
        (["::1"], ["::1"]),
    ],
)
def test_ip_addresses_of_both_families_alternate(given: list[str], alternating: list[str]) -> None:
    assert interleaved(given) == alternating


def test_a_request_has_the_user_agent_the_accepted_types_and_the_validators() -> None:
    settings = Fetch(agent="Somebot", contact="https://a.test/")
    assert user_agent(settings).startswith("Somebot/") and user_agent(settings).endswith(" (+https://a.test/)")
    assert "(" not in user_agent(Fetch(agent="Somebot"))
    lines = _fields(settings).decode().split("\r\n")
    assert lines == [
        f"User-Agent: {user_agent(settings)}",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "",
    ]
    for wrong in ("a\r\nX: y", "caf\u00e9", "a\tb"):
        with pytest.raises(ConfigError, match="printable ASCII"):
            _fields(Fetch(agent=wrong))
    date = "Thu, 02 Jan 2020 03:04:05 GMT"
    assert conditions(Validators("", "")) == b"\r\n"
    assert conditions(Validators('"a"', "")) == b'If-None-Match: "a"\r\n\r\n'
    assert conditions(Validators("", date)) == f"If-Modified-Since: {date}\r\n\r\n".encode()
    assert conditions(Validators('"a"', date)) == f'If-None-Match: "a"\r\nIf-Modified-Since: {date}\r\n\r\n'.encode()


NOW = 1_700_000_000 * SECOND
ORIGIN = "http://site.test"
KEEPING = RobotsKeeping(
    keep_s=1000.0, keep_least_s=100.0, retry_s=10.0, retry_most_s=500.0, retry_copy_s=50.0, patience_s=300.0,
    old_copy_s=2000.0, most_hops=2,
)  # fmt: skip
PARSED = ParsedRobots(
    rules=(RobotsRule(False, "/x", 2),), crawl_delay_s=3.0, sitemaps=("/s",), flags=("nul",), signals=(("a", "b"),),
    extensions=(("c", "d"),), group="g", group_lines=(1, 5), recrawl_delay_s=7.0,
)  # fmt: skip


def response(status: int = 200, **headers: str) -> Capture:
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Capture(url=Url(f"{ORIGIN}/robots.txt"), fetched_at=NOW, status=status, reason="", headers=given, body=b"")


def entry(outcome: Outcome, old: Robots | None = None, parsed: ParsedRobots | None = None, failures: int = 0) -> Robots:
    asked = Url(f"{ORIGIN}/robots.txt")
    visit = Visit(url=asked, kind=VisitKind.ROBOTS, taken_at=NOW, robots=old, failures=failures)
    return entry_of(visit, outcome, parsed, NOW, KEEPING)


GOOD = Robots(
    origin=ORIGIN, state=RobotsState.READ, fetched_at=NOW - 900 * SECOND, expires_at=NOW - 5, rules=PARSED.rules,
    crawl_delay_s=3.0, sitemaps=("/s",), flags=("nul", OLD_COPY), failures=4, failing_since=NOW - 300 * SECOND,
    read_at=NOW - 1000 * SECOND, trouble="timeout", hops=1, ask=Url("http://b.test/"), group="g",
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "kept_s"),
    [
        ("", 1000), ("max-age=500", 500), ('public, Max-Age = "500"', 500), ("max-age=100", 100), ("max-age=99", 100),
        ("max-age=1000", 1000), ("max-age=1001", 1000), ("s-maxage=500", 1000), ("x-max-age=500", 1000),
        ("no-store", 1000), ("max-age=0", 100),
    ],
)  # fmt: skip
def test_a_file_that_was_read_is_kept_for_the_time_the_server_sets_within_bounds(value: str, kept_s: int) -> None:
    headers = {"Cache_Control": value} if value else {}
    assert entry(Fetched(response(200, **headers)), GOOD, PARSED) == Robots(
        origin=ORIGIN, state=RobotsState.READ, fetched_at=NOW, expires_at=NOW + kept_s * SECOND, rules=PARSED.rules,
        crawl_delay_s=3.0, sitemaps=("/s",), flags=("nul",), read_at=NOW, signals=(("a", "b"),),
        extensions=(("c", "d"),), group="g", group_lines=(1, 5), recrawl_delay_s=7.0,
    )  # fmt: skip


def test_an_unchanged_file_keeps_its_content_and_its_failures_are_cleared() -> None:
    fresh = msgspec.structs.replace(
        GOOD, fetched_at=NOW, expires_at=NOW + 1000 * SECOND, flags=("nul",), failures=0, failing_since=None,
        read_at=NOW, trouble="", hops=0, ask=None,
    )  # fmt: skip
    assert entry(Unchanged(response(304)), GOOD) == fresh
    assert entry(Unchanged(response(304)), msgspec.structs.replace(GOOD, state=RobotsState.PENDING)) == fresh
    for old in (None, msgspec.structs.replace(GOOD, read_at=None)):
        unknown = entry(Unchanged(response(304)), old)
        assert (unknown.state, unknown.trouble) == (RobotsState.UNREACHABLE, "it could not be parsed")


MISSING = Robots(origin=ORIGIN, state=RobotsState.MISSING, fetched_at=NOW, expires_at=NOW + 1000 * SECOND)


def test_a_missing_file_allows_all_and_a_withheld_one_may_forbid_all() -> None:
    assert entry(Gone(response(404)), GOOD) == MISSING
    for status in (400, 401, 403, 451):
        refused = Failed(Reason.CLIENT_ERROR, "", response(status))
        assert entry(refused, GOOD) == MISSING
        strict = RobotsKeeping(keep_s=1000.0, refusal_disallows=True)
        visit = Visit(url=Url(f"{ORIGIN}/robots.txt"), kind=VisitKind.ROBOTS, taken_at=NOW)
        found = entry_of(visit, refused, None, NOW, strict)
        is_forbidden = status in (401, 403)
        assert (found.state, found.rules) == (
            (RobotsState.READ, NOTHING) if is_forbidden else (RobotsState.MISSING, ())
        ), status
        assert entry_of(visit, Failed(Reason.CLIENT_ERROR, ""), None, NOW, strict).state is RobotsState.MISSING
    assert (RobotsRule(allows=False, pattern="/", line=0),) == NOTHING


@pytest.mark.parametrize(
    ("failures", "wait_s", "expected_s"),
    [(0, None, 10), (1, None, 20), (5, None, 320), (6, None, 500), (40, None, 500), (0, 9.0, 10), (0, 11.0, 11),
     (0, 0.0, 10), (1000, None, 500)],
)  # fmt: skip
def test_each_failure_in_a_row_doubles_the_wait_up_to_the_limit(
    failures: int, wait_s: float | None, expected_s: float
) -> None:
    old = Robots(origin=ORIGIN, state=RobotsState.UNREACHABLE, fetched_at=0, expires_at=0, failures=failures,
                 failing_since=NOW - 7)  # fmt: skip
    found = entry(Failed(Reason.SLOW_DOWN, "status 429", wait_s=wait_s), old)
    assert found == Robots(
        origin=ORIGIN, state=RobotsState.UNREACHABLE, fetched_at=NOW, expires_at=NOW + round(expected_s * SECOND),
        failures=min(failures + 1, HOPELESS - 1), failing_since=NOW - 7, trouble="slow-down: status 429",
    )  # fmt: skip
    assert entry(Failed(Reason.TIMEOUT, ""), None, failures=failures).failures == min(failures + 1, HOPELESS - 1)
    assert entry(Failed(Reason.TIMEOUT, ""), None).trouble == f"{Reason.TIMEOUT}: {IN_WORDS[Reason.TIMEOUT]}"
    assert entry(Failed(Reason.TIMEOUT, ""), None).failing_since == NOW


@pytest.mark.parametrize(("failing_s", "applies"), [(299, False), (300, True), (301, True)])
def test_the_last_good_copy_applies_again_after_failures_for_some_time(failing_s: int, applies: bool) -> None:
    old = msgspec.structs.replace(GOOD, failing_since=NOW - failing_s * SECOND)
    found = entry(Failed(Reason.TIMEOUT, "no answer"), old)
    assert found == msgspec.structs.replace(
        old, state=RobotsState.READ if applies else RobotsState.UNREACHABLE, fetched_at=NOW,
        expires_at=NOW + 50 * SECOND, failures=5, trouble="timeout: no answer", flags=(OLD_COPY,) if applies else (),
        hops=0, ask=None,
    )  # fmt: skip
    assert found.rules == PARSED.rules


@pytest.mark.parametrize(("age_s", "is_kept"), [(1999, True), (2000, False)])
def test_a_copy_that_is_too_old_is_dropped_and_its_series_of_failures_is_not(age_s: int, is_kept: bool) -> None:
    old = msgspec.structs.replace(GOOD, read_at=NOW - age_s * SECOND)
    found = entry(Failed(Reason.TIMEOUT, "x"), old, failures=2)
    assert (found.rules, found.read_at) == ((PARSED.rules, old.read_at) if is_kept else ((), None))
    assert (found.failures, found.failing_since) == (5, GOOD.failing_since)
    assert (found.expires_at - NOW) / SECOND == (50 if is_kept else 160)


def test_redirects_are_counted_and_too_many_count_as_no_file() -> None:
    to = Url("http://b.test/robots.txt")
    first = entry(Moved(to, response(301)), GOOD)
    assert first == msgspec.structs.replace(
        GOOD, state=RobotsState.PENDING, fetched_at=NOW, expires_at=NOW, flags=(), hops=1, ask=to
    )
    second = entry(Moved(to, response(301)), first)
    assert (second.state, second.hops, second.ask) == (RobotsState.PENDING, 2, to)
    assert entry(Moved(to, response(301)), second) == MISSING
    assert entry(Moved(to, response(301)), None).hops == 1


def test_a_file_refused_by_a_rule_is_given_up_and_one_refused_by_an_option_is_requested_later() -> None:
    held = entry(Refused(Reason.CONTACT, "no contact"), GOOD)
    assert held == msgspec.structs.replace(
        GOOD, state=RobotsState.UNREACHABLE, fetched_at=NOW, expires_at=NOW, flags=(), hops=0, ask=None
    )
    refused = entry(Refused(Reason.REDIRECT_OUT, ""), None)
    assert (refused.failures, refused.state) == (HOPELESS, RobotsState.UNREACHABLE)
    assert refused.trouble == f"{Reason.REDIRECT_OUT}: {IN_WORDS[Reason.REDIRECT_OUT]}"
    unread = entry(Fetched(response()), None, None)
    assert (unread.state, unread.trouble, unread.failures) == (RobotsState.UNREACHABLE, "it could not be parsed", 1)
