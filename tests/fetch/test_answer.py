"""What a response header means: every status, every limit and every field that matters."""

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from gossamer.base.clock import SECOND
from gossamer.config.slices import Fetch
from gossamer.fetch.answer import (
    LONGEST_WAIT_S,
    TLS_DROPPED,
    WORTH_A_CONNECTION,
    ResponseHead,
    is_what_we_have,
    limit_of,
    moment_of,
    outcome_of,
    type_refusal,
    validators_of,
    wait_of,
)
from gossamer.values.capture import Capture
from gossamer.values.history import Validators
from gossamer.values.outcome import Failed, Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

NOW = 1_577_934_245 * SECOND  # 2 January 2020, 03:04:05 UTC


def fields(*given: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(given))


def capture(status: int = 200, url: str = "https://a.test/x/y", *headers: tuple[str, str]) -> Capture:
    return Capture(url=Url(url), fetched_at=NOW, status=status, reason="", headers=headers, body=b"")


def outcome(status: int, *given: tuple[str, str], url: str = "https://a.test/x/y") -> Outcome:
    return outcome_of(capture(status, url), ResponseHead(fields(*given)), ("a flag",), NOW)


MEANS = {
    200: "fetched", 201: "fetched", 206: Reason.PROTOCOL, 204: "fetched", 299: "fetched",
    300: Reason.PROTOCOL, 301: "moved", 302: "moved", 303: "moved", 304: "unchanged", 305: Reason.PROTOCOL,
    306: Reason.PROTOCOL, 307: "moved", 308: "moved", 309: Reason.PROTOCOL, 399: Reason.PROTOCOL,
    400: Reason.CLIENT_ERROR, 401: Reason.CLIENT_ERROR, 403: Reason.CLIENT_ERROR, 404: "gone", 405: Reason.CLIENT_ERROR,
    409: Reason.CLIENT_ERROR, 410: "gone", 411: Reason.CLIENT_ERROR, 428: Reason.CLIENT_ERROR, 429: Reason.SLOW_DOWN,
    430: Reason.CLIENT_ERROR, 499: Reason.CLIENT_ERROR, 500: Reason.SERVER_ERROR, 502: Reason.SERVER_ERROR,
    503: Reason.SLOW_DOWN, 504: Reason.SERVER_ERROR, 599: Reason.SERVER_ERROR, 600: Reason.PROTOCOL,
    199: Reason.PROTOCOL, 100: Reason.PROTOCOL, 999: Reason.PROTOCOL,
}  # fmt: skip


@pytest.mark.parametrize(("status", "means"), MEANS.items())
def test_each_status_has_one_meaning(status: int, means: str | Reason) -> None:
    found, whole = outcome(status, ("Location", "/z")), capture(status)
    match means:
        case "fetched":
            assert found == Fetched(whole, ("a flag",))
        case "unchanged":
            assert found == Unchanged(whole)
        case "gone":
            assert found == Gone(whole)
        case "moved":
            assert found == Moved(Url("https://a.test/z"), whole)
        case _:
            assert isinstance(found, Failed)
            assert (found.reason, found.capture, found.wait_s) == (means, whole, None)
            if status in (429, 503, 400, 500, 600, 199):
                assert found.detail == f"status {status}"
            elif 300 <= status < 400:
                assert found.detail == "a redirect without a target"
            elif status == 206:
                assert found.detail == "a part (206) that was not requested"


def test_a_redirect_without_a_location_is_a_failure() -> None:
    for status in (301, 302, 303, 307, 308):
        for given in ((), (("Location", ""),)):
            found = outcome(status, *given)
            assert isinstance(found, Failed) and found.detail == "a redirect without a target"


@pytest.mark.parametrize(
    ("location", "to", "flags"),
    [
        ("z", "https://a.test/x/z", ()),
        ("//b.test/", "https://b.test/", ()),
        ("http://a.test/", "http://a.test/", (TLS_DROPPED,)),
        ("https://b.test/#x", "https://b.test/", ()),
        ("/\u00e9", "https://a.test/%C3%A9", ()),
        ("/\udce9", "https://a.test/%C3%A9", ()),
        ("/\udcc3\udca9\u00e9", "https://a.test/%C3%83%C2%A9%C3%83%C2%A9", ()),
        ("http://", None, ()),
        ("mailto:a@b.test", None, ()),
    ],
)
def test_a_location_is_joined_with_the_requested_url(location: str, to: str | None, flags: tuple[str, ...]) -> None:
    found = outcome(301, ("location", location))
    if to is None:
        assert found == Refused(Reason.REDIRECT_OUT, f"status 301 to {location}")
    else:
        assert isinstance(found, Moved) and (found.to.text, found.flags) == (to, flags)
    plain = outcome(301, ("Location", "http://b.test/"), url="http://a.test/")
    assert isinstance(plain, Moved) and plain.flags == ()
    long = outcome(301, ("Location", "mailto:" + "x" * 300))
    assert isinstance(long, Refused) and len(long.detail) == len("status 301 to ") + 200


@pytest.mark.parametrize(
    ("given", "length", "defect"),
    [
        ([], None, None),
        ([("Content-Length", "0")], 0, None),
        ([("content-length", "17")], 17, None),
        ([("Content-Length", "9" * 18)], 10**18 - 1, None),
        ([("Content-Length", "9" * 19)], None, None),
        ([("Content-Length", "")], None, "Content-Length is not a number"),
        ([("Content-Length", "1x")], None, "Content-Length is not a number"),
        ([("Content-Length", "\u0661")], None, "Content-Length is not a number"),
        ([("Content-Length", "5"), ("Content-Length", "5")], None, "more than one Content-Length or Transfer-Encoding"),
        ([("Content-Length", "5"), ("Transfer-Encoding", "chunked")], None,
         "more than one Content-Length or Transfer-Encoding"),
        ([("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], None,
         "more than one Content-Length or Transfer-Encoding"),
        ([("Transfer-Encoding", " CHUNKED ")], None, None),
        ([("Transfer-Encoding", "gzip")], None, "a transfer coding other than chunked"),
        ([("Transfer-Encoding", "gzip, chunked")], None, "a transfer coding other than chunked"),
    ],
)  # fmt: skip
def test_a_length_is_one_number_and_a_transfer_coding_is_chunked(
    given: list[tuple[str, str]], length: int | None, defect: str | None
) -> None:
    head = ResponseHead(fields(*given))
    assert (head.length, head.defect) == (length, defect)


def test_header_fields_are_found_in_upper_and_lower_case() -> None:
    head = ResponseHead(fields(("CONTENT-TYPE", " Text/HTML ; charset=x;y"), ("content-encoding", "gzip"),
                       ("Content-Encoding", "br"), ("LOCATION", "/a"), ("retry-after", "5")))  # fmt: skip
    assert (head.media_type, head.codings, head.location, head.retry_after) == ("text/html", "gzip,br", "/a", "5")
    bare = ResponseHead(fields())
    assert (bare.media_type, bare.codings, bare.location, bare.retry_after) == ("", "", None, None)


def test_a_response_without_a_type_is_accepted_and_others_only_when_listed() -> None:
    def refused(media_type: str, why: str | None = None) -> Refused | None:
        return type_refusal(Url("http://a.test/"), media_type, 0, ("text/html",), lambda *_: why)

    assert refused("") is refused("text/html") is None
    for other in ("text/xhtml", "text/"):
        assert refused(other) == Refused(Reason.MEDIA_TYPE, other)
    assert refused("text/html", "a rule") == Refused(Reason.MEDIA_TYPE, "a rule")


@pytest.mark.parametrize(
    ("etag", "given", "is_stored"),
    [
        ('"a"', [("ETag", ' "a" ')], True),
        ('"a"', [("ETag", '"b"')], False),
        ('"a"', [("ETag", 'W/"a"')], False),
        ('W/"a"', [("ETag", 'W/"a"')], False),
        ('"a"', [], False),
        ("", [("ETag", "")], False),
        ('"a"', [("ETag", '"a"'), ("X-Robots-Tag", "noindex")], False),
    ],
)
def test_a_large_body_with_the_entity_tag_of_the_request_is_the_stored_one(
    etag: str, given: list[tuple[str, str]], is_stored: bool
) -> None:
    for size, is_large in ((WORTH_A_CONNECTION, False), (WORTH_A_CONNECTION + 1, True)):
        answer = fields(*given, ("Content-Length", str(size)))
        assert is_what_we_have(answer, ResponseHead(answer), etag) is (is_stored and is_large)
    unknown = fields(*given)
    assert not is_what_we_have(unknown, ResponseHead(unknown), etag), "an unknown length may be small"


def test_each_kind_of_fetch_and_response_has_its_own_limit() -> None:
    settings = Fetch(robots_limit=1, other_limit=2, list_limit=3, document_limit=4, body_limit=5)
    page, robots, listing = VisitKind.PAGE, VisitKind.ROBOTS, VisitKind.LIST
    for kind, status, media_type, limit in [
        (robots, 200, "", 1), (robots, 404, "application/pdf", 1), (page, 199, "", 2), (page, 300, "", 2),
        (listing, 404, "", 2), (page, 404, "application/pdf", 2), (listing, 200, "application/pdf", 3),
        (listing, 299, "text/xml", 3), (page, 200, "application/pdf", 4), (page, 299, "text/html", 5),
        (page, 200, "", 5),
    ]:  # fmt: skip
        assert limit_of(kind, status, media_type, settings) == limit, (kind, status, media_type)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("86400", LONGEST_WAIT_S),
        ("86401", LONGEST_WAIT_S),
        ("9" * 500, LONGEST_WAIT_S),
        ("1.5", None),
        ("-5", None),
        ("\u0661", None),
        ("Thu, 02 Jan 2020 03:05:05 GMT", 60.0),
        ("Thu, 02 Jan 2020 03:04:05 GMT", 0.0),
        ("Thu, 02 Jan 2020 03:00:00 GMT", 0.0),
        ("Fri, 03 Jan 2020 03:04:05 GMT", LONGEST_WAIT_S),
        ("Sat, 04 Jan 2020 03:04:05 GMT", LONGEST_WAIT_S),
        ("Thu, 02 Jan 20200 03:04:05 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_a_day_at_most(value: str | None, wait_s: float | None) -> None:
    assert wait_of(value, NOW) == wait_s
    given = () if value is None else (("Retry-After", value),)
    for status in (429, 503):
        slow = outcome(status, *given)
        assert isinstance(slow, Failed) and slow.wait_s == wait_s
    other = outcome(500, *given)
    assert isinstance(other, Failed) and other.wait_s is None, (
        "only a response that asks for fewer requests is waited for"
    )


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("Thu, 01 Jan 1970 00:00:01 GMT", SECOND),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Wed, 31 Dec 1969 23:59:59 GMT", None),
        ("Thu, 02 Jan 2020 03:04:05 GMT", NOW),
        ("Thu, 02 Jan 2020 05:04:05 +0200", NOW),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_date_is_a_time_after_the_beginning_of_1970(date: str, moment: int | None) -> None:
    assert moment_of(date) == moment


@pytest.mark.parametrize(
    ("etag", "kept"),
    [
        ('"a"', '"a"'), (' W/"a!#~" ', 'W/"a!#~"'), (f'"{"x" * 200}"', f'"{"x" * 200}"'), (f'"{"x" * 201}"', ""),
        ('""', ""), ("a", ""), ('w/"a"', ""), ('"a b"', ""), ('"\xe9"', ""), ('"a""', ""), ("", ""), (None, ""),
    ],
)  # fmt: skip
def test_an_entity_tag_is_kept_when_it_is_well_formed(etag: str | None, kept: str) -> None:
    headers = [] if etag is None else [("ETag", etag)]
    assert validators_of(capture(200, "http://a.test/", *headers)) == Validators(kept, "")


@pytest.mark.parametrize(
    ("date", "kept"),
    [
        ("Thu, 02 Jan 2020 03:04:05 GMT", "Thu, 02 Jan 2020 03:04:05 GMT"),
        (" Thu, 02 Jan 2020 03:04:05 GMT ", "Thu, 02 Jan 2020 03:04:05 GMT"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", ""),
        ("Thu, 02 Jan 2020 03:04:05 GMT" + " " * 12 + "x", ""),
        ("Thu, 02 Jan 2020 03:04:05 GMT; length=5", ""),
        ("yesterday or so", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_date_is_kept_when_it_is_valid(date: str | None, kept: str) -> None:
    headers = [] if date is None else [("Last-Modified", date)]
    assert validators_of(capture(200, "http://a.test/", *headers)) == Validators("", kept)
