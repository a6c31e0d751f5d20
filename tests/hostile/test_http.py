"""FAULTS H1 to H12, H14, H15: bad responses end in a typed outcome, within the limits of time and memory."""

import asyncio
import io
from dataclasses import replace

import pytest
from tests.hostile.behaviours.codings import BOMBS, PAGE
from tests.hostile.harness import HOST, IMPATIENT, PATIENT, WANTS_PACE, Guarded, fetched
from tests.hostile.server import HostileServer
from tests.journey import crawling
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.reader.reading import done
from gossamer.values.capture import Capture, Truncated
from gossamer.values.messages import ReadJob
from gossamer.values.outcome import Failed, Fetched, Moved, Outcome, Reason, Unchanged
from gossamer.values.url import Url, url_of

HTML = b"<!DOCTYPE html><html><title>x</title><p>words"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
PDF = b"%PDF-1.7\n" + bytes(64)


def failure(name: str, settings: Fetch = PATIENT) -> Failed:
    outcome = fetched(name, settings)
    assert isinstance(outcome, Failed), outcome
    return outcome


def test_F_H1_headers_that_trickle_end_at_the_deadline():
    assert failure("H1-slow-headers", IMPATIENT).reason is Reason.UNFINISHED


@pytest.mark.parametrize("name", ["H1-slow-body", "H1-stalled-body"])
def test_F_H1_a_body_below_the_least_rate_is_given_up_and_its_start_is_kept(name):
    outcome = failure(name, WANTS_PACE)
    assert outcome.reason is Reason.TOO_SLOW
    assert outcome.capture is not None and outcome.capture.truncated is Truncated.TIME
    assert outcome.capture.body.startswith(b"x")
    assert outcome.detail.endswith("fewer than 1024 a second (fetch.least_rate)")


@pytest.mark.parametrize("name", ["H1-slow-body", "H1-stalled-body"])
def test_a_body_that_does_not_end_has_another_reason_than_a_host_that_does_not_answer(name):
    outcome = failure(name, IMPATIENT)
    assert outcome.reason is Reason.UNFINISHED and outcome.detail.endswith("within 1 s (fetch.timeout_s)")
    assert outcome.capture is not None and outcome.capture.truncated is Truncated.TIME
    assert 0 < outcome.capture.head_s < 1.0 <= outcome.capture.took_s


def test_F_H1_a_server_that_never_answers_ends_at_the_deadline():
    assert failure("H1-silence", IMPATIENT) == Failed(Reason.TIMEOUT, "no response within 1 s (fetch.timeout_s)")


def test_F_H1_many_silent_hosts_hold_a_bounded_number_of_connections():
    async def fetch_all() -> tuple[list[object], int]:
        most = 0
        async with HostileServer() as server:
            names = [f"h{number}.test" for number in range(60)]
            plan = AddressPlan({name: {80: server.port} for name in names})
            settings = replace(IMPATIENT, at_once=5, timeout_s=0.3)
            async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:

                async def fetch(name: str) -> object:
                    nonlocal most
                    outcome = await client.fetch(url_of(f"http://{name}/H1-silence"))
                    most = max(most, server.open_now)
                    return outcome

                return await asyncio.gather(*map(fetch, names)), most

    outcomes, most = asyncio.run(fetch_all())
    assert [one.reason for one in outcomes] == [Reason.TIMEOUT] * 60
    assert most <= 4 * 5 + 20  # slow ones leave their places, to 4 times as many; the server notices a close late


@pytest.mark.parametrize("name", ["H2-endless-chunks", "H2-endless-plain"])
def test_F_H2_an_endless_body_is_cut_at_the_limit_and_not_drained(name):
    def was_closed(server: HostileServer) -> None:
        assert server.open_now == 0

    outcome = fetched(name, check=was_closed)
    assert isinstance(outcome, Fetched)
    assert outcome.capture.truncated is Truncated.LENGTH
    assert len(outcome.capture.body) == PATIENT.body_limit


@pytest.mark.parametrize(("name", "body"), [("H3-early-close", b"x" * 400), ("H3-early-close-chunked", b"xyz")])
def test_F_H3_a_response_that_is_cut_off_is_a_failure_that_keeps_the_received_part(name, body):
    outcome = failure(name)
    assert outcome.reason is Reason.DISCONNECTED
    assert outcome.capture is not None and outcome.capture.truncated is Truncated.DISCONNECT
    assert outcome.capture.body == body


@pytest.mark.parametrize(
    "name",
    [
        "H4-length-too-small",
        "H4-length-and-chunked",
        "H4-two-lengths",
        "H4-same-lengths",
        "H4-negative",
        "H4-underscore",
        "H4-plus",
        "H4-not-ascii",
        "H4-list",
    ],
)
def test_F_H4_a_length_that_cannot_be_trusted_is_refused_and_the_connection_closed(name):
    assert failure(name).reason is Reason.PROTOCOL


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("H5-huge-size", Reason.PROTOCOL),
        ("H5-bad-hex", Reason.PROTOCOL),
        ("H5-bad-hex-later", Reason.PROTOCOL),
        ("H5-bad-end", Reason.PROTOCOL),
        ("H5-no-terminator", Reason.DISCONNECTED),
        ("H5-tiny-chunks", Reason.PROTOCOL),
        ("H5-long-extension", Reason.PROTOCOL),
        ("H5-trailer-flood", Reason.HEADERS_TOO_LARGE),
    ],
)
def test_F_H5_bad_chunks_are_a_bounded_error(name, reason):
    assert failure(name).reason is reason


@pytest.mark.parametrize("name", [name for name in BOMBS if name != "H6-zstd-window"])
def test_F_H6_a_bomb_is_cut_at_the_decoded_limit(name):
    outcome = fetched(name)
    assert isinstance(outcome, Fetched)
    assert outcome.capture.truncated is Truncated.LENGTH
    assert len(outcome.capture.body) < PATIENT.body_limit


def test_F_H6_a_zstd_window_of_two_gibibytes_is_refused():
    assert failure("H6-zstd-window").reason is Reason.CODING


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("H7-six-layers", "too-many-codings"),
        ("H7-unknown", "unknown-coding"),
        ("H7-false-label", "broken-coding"),
        ("H7-corrupt", "broken-coding"),
        ("H7-cut", "coding-ends-early"),
    ],
)
def test_F_H7_a_coding_that_cannot_be_decoded_fails_and_the_raw_body_is_kept(name, problem):
    outcome = failure(name)
    assert (outcome.reason, outcome.detail) == (Reason.CODING, problem)
    assert outcome.capture is not None and outcome.capture.body


def test_F_H7_two_layers_are_decoded_and_trailing_bytes_flagged():
    two = fetched("H7-two-layers")
    assert isinstance(two, Fetched) and not two.flags
    trailing = fetched("H7-trailing")
    assert isinstance(trailing, Fetched) and trailing.flags == ("trailing-bytes",)
    assert trailing.capture.body != PAGE, "content coding is kept"


@pytest.mark.parametrize("name", ["H8-many-fields", "H8-huge-field", "H8-endless-fields"])
def test_F_H8_header_fields_beyond_the_limits_are_an_error(name):
    assert failure(name).reason is Reason.HEADERS_TOO_LARGE


@pytest.mark.parametrize("name", ["H8-nul", "H8-cr"])
def test_F_H8_control_characters_in_a_field_are_an_error(name):
    assert failure(name).reason is Reason.PROTOCOL


def test_F_H8_a_folded_field_is_unfolded_and_both_media_types_are_kept():
    folded = fetched("H8-folded")
    assert isinstance(folded, Fetched)
    assert "\n" not in (folded.capture.header("X-Folded") or "\n")
    types = fetched("H8-two-types")
    assert isinstance(types, Fetched)
    assert [value for name, value in types.capture.headers if name == "Content-Type"] == ["text/html", "image/png"]


def test_F_H9_interim_responses_are_skipped_up_to_a_limit():
    assert isinstance(fetched("H9-one-interim"), Fetched)
    assert failure("H9-interim").reason is Reason.PROTOCOL
    assert failure("H9-continue").reason is Reason.PROTOCOL


def test_F_H9_interim_responses_do_not_extend_the_deadline():
    assert failure("H9-slow-interim", IMPATIENT).reason is Reason.UNFINISHED


@pytest.mark.parametrize(
    "name",
    [
        "H10-status-99",
        "H10-status-600",
        "H10-status-999",
        "H10-status-abc",
        "H10-http09",
        "H10-icy",
        "H10-http2",
        "H10-206",
        "H10-101",
        "H10-204-body",
        "H10-204-chunked",
        "H10-304-body",
        "H10-http3",
        "H10-http12",
        "H10-rtsp",
        "H10-rtsp2",
        "H10-sip",
        "H10-http2-status",
        "H10-http2-short",
        "H10-lower-case",
    ],
)
def test_F_H10_an_invalid_response_is_a_protocol_error(name):
    assert failure(name).reason is Reason.PROTOCOL


def test_F_H10_an_empty_response_is_a_disconnection():
    assert failure("H10-empty") == Failed(Reason.DISCONNECTED, "the server closed the connection without a response")


def test_F_H10_a_304_has_no_body_and_one_that_is_sent_is_not_the_next_response():
    honest = fetched("H10-304-honest")
    assert isinstance(honest, Unchanged) and honest.capture.body == b""
    first, second = in_turn("H10-304-body-later", "H9-one-interim")
    assert isinstance(first, Unchanged) and first.capture.body == b""
    assert isinstance(second, Fetched) and second.capture.body == b"ok"


def in_turn(*names: str) -> list[Outcome]:
    """The outcomes of several behaviours of one host, with a pause after each for late bytes."""

    async def fetch() -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with HostileServer() as server:
            plan = AddressPlan({HOST: {80: server.port}})
            async with Client(Connections(PATIENT, Network(plan, plan), SystemClock(), silent)) as client:
                for name in names:
                    outcomes.append(await client.fetch(url_of(f"http://{HOST}/{name}")))
                    await asyncio.sleep(0.1)  # real sockets
        return outcomes

    return asyncio.run(fetch())


def test_F_H11_odd_locations_are_read_as_browsers_do_or_refused():
    assert failure("H11-huge-location").reason is Reason.HEADERS_TOO_LARGE
    loop = fetched("H11-loop")
    assert isinstance(loop, Moved) and loop.to == loop.capture.url
    several = fetched("H11-two-locations")
    assert isinstance(several, Moved) and several.to.path == "/a"
    blanks = fetched("H11-spaces")
    assert isinstance(blanks, Moved) and blanks.to.path == "/a%20b"


def test_F_H11_a_crawl_follows_ten_redirects_and_no_loop(tmp_path, monkeypatch):
    home = f"http://{HOST}/"

    async def fetch() -> tuple[list[str], dict[str, str]]:
        async with HostileServer() as server:
            plan = AddressPlan({HOST: {80: server.port}})
            async with Client(Connections(PATIENT, Network(plan, plan), SystemClock(), silent)) as client:
                guarded = Guarded(client)
                monkeypatch.setattr(crawling, "TinyWeb", lambda pages, clock: guarded)
                starts = ["H11-loop", "H11-ping", "H11-chain-50", "H11-chain-10"]
                crawled = await crawling.crawl(tmp_path, {}, [home + start for start in starts])
                return [text.removeprefix(home) for text in guarded.asked], crawled.ends

    asked, ends = asyncio.run(fetch())
    assert len(asked) == len(set(asked)), "no URL is requested twice"
    assert {"H11-loop", "H11-ping", "H11-pong"} <= set(asked)
    assert [name for name in asked if name.startswith("H11-chain")] != []
    walked = {int(name.rpartition("-")[2]) for name in asked if name.startswith("H11-chain")}
    assert walked == set(range(40, 51)) | set(range(11)), "fifty: the first, and ten after it; ten: all, to the end"
    assert ends[f"{home}H11-chain-40"] == "too-many-redirects"
    assert ends[f"{home}H11-chain-0"] == "fetched"
    assert {ends[home + name] for name in ("H11-loop", "H11-ping", "H11-pong")} == {"moved"}


@pytest.mark.parametrize("name", ["H12-many-cookies", "H12-huge-cookie"])
def test_F_H12_cookies_beyond_the_header_limits_are_an_error(name):
    assert failure(name).reason is Reason.HEADERS_TOO_LARGE


def test_F_H14_a_second_response_without_a_request_is_never_taken_for_the_next_one():
    first, second = in_turn("H14-second-answer", "H9-one-interim")
    assert isinstance(first, Fetched) and first.capture.body == b"first"
    assert isinstance(second, Fetched) and second.capture.body == b"ok"


def test_F_H14_a_half_closed_connection_is_not_reused_and_a_reset_one_is_a_disconnection():
    half, was_reset, whole = in_turn("H14-half-close", "H14-reset", "H9-one-interim")
    assert isinstance(half, Fetched) and half.capture.body == b"half"
    assert isinstance(was_reset, Failed) and was_reset.reason is Reason.DISCONNECTED
    assert was_reset.capture is not None and was_reset.capture.body == b"x" * 500
    assert isinstance(whole, Fetched) and whole.capture.body == b"ok"


@pytest.mark.parametrize(
    ("declared", "body", "detected"),
    [
        ("image/png", HTML, "image/png"),
        ("text/html", PNG, "image/png"),
        ("text/plain", PDF, "application/pdf"),
        ("text/plain", HTML, "text/plain"),
        (None, HTML, "text/html"),
        (None, PDF, "application/pdf"),
        (None, bytes(range(32)), "application/octet-stream"),
        ("", HTML, "text/html"),
        ("rubbish", HTML, "text/html"),
        ("application/octet-stream", HTML, "application/octet-stream"),
    ],
)
def test_F_H15_the_type_is_sniffed_and_the_declared_and_the_detected_type_are_kept(declared, body, detected):
    fields = (("Content-Type", declared),) if declared is not None else ()
    capture = Capture(Url("http://site.test/"), 1_700_000_000_000_000, 200, "OK", fields, body)
    for task in ("read", "store"):
        kept = done(ReadJob(capture, task))
        assert kept.media_type == detected, task
        record = next(ArchiveIterator(io.BytesIO(kept.record)))
        assert record.http_headers.get_header("Content-Type") == declared
