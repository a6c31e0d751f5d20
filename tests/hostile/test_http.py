"""FAULTS H1 to H10 and H14: bad answers end in a typed outcome, within the limits, and cost no more than they may."""

import asyncio
from dataclasses import replace

import pytest
from tests.hostile.harness import HOST, IMPATIENT, meet
from tests.hostile.server import BOMBS, PAGE, HostileServer

from gossamer.clock import SystemClock
from gossamer.fetch.client import Client
from gossamer.fetch.plan import AddressPlan
from gossamer.values.capture import Truncated
from gossamer.values.outcome import Failed, Fetched, Reason
from gossamer.values.tell import silent
from gossamer.values.url import url_of


def failure(name: str) -> Failed:
    outcome = meet(name)
    assert isinstance(outcome, Failed), outcome
    return outcome


def test_F_H1_headers_that_trickle_end_at_the_deadline():
    assert failure("H1-slow-headers").reason is Reason.TIMEOUT


@pytest.mark.parametrize("name", ["H1-slow-body", "H1-stalled-body"])
def test_F_H1_a_body_below_the_least_rate_is_given_up_and_what_came_is_kept(name):
    outcome = failure(name)
    assert outcome.reason is Reason.TOO_SLOW
    assert outcome.capture is not None and outcome.capture.truncated is Truncated.TIME
    assert outcome.capture.body.startswith(b"x")


def test_F_H1_a_server_that_never_answers_ends_at_the_deadline():
    assert failure("H1-silence") == Failed(Reason.TIMEOUT)


def test_F_H1_many_silent_hosts_hold_a_bounded_number_of_connections():
    async def visit_all() -> tuple[list[object], int]:
        most = 0
        async with HostileServer() as server:
            names = [f"h{number}.test" for number in range(60)]
            plan = AddressPlan({name: {80: server.port} for name in names})
            settings = replace(IMPATIENT, at_once=20, timeout_s=0.1)
            async with Client(settings, plan, plan, SystemClock(), silent) as client:

                async def visit(name: str) -> object:
                    nonlocal most
                    outcome = await client.fetch(url_of(f"http://{name}/H1-silence"))
                    most = max(most, server.open_now)
                    return outcome

                return await asyncio.gather(*map(visit, names)), most

    outcomes, most = asyncio.run(visit_all())
    assert outcomes == [Failed(Reason.TIMEOUT)] * 60
    assert most <= 20 + 20  # the server learns a moment later that one was closed


@pytest.mark.parametrize("name", ["H2-endless-chunks", "H2-endless-plain"])
def test_F_H2_an_endless_body_is_cut_at_the_limit_and_not_drained(name):
    def was_closed(server: HostileServer) -> None:
        assert server.open_now == 0

    outcome = meet(name, check=was_closed)
    assert isinstance(outcome, Fetched)
    assert outcome.capture.truncated is Truncated.LENGTH
    assert len(outcome.capture.body) == IMPATIENT.body_limit


@pytest.mark.parametrize(("name", "body"), [("H3-early-close", b"x" * 400), ("H3-early-close-chunked", b"xyz")])
def test_F_H3_an_answer_cut_off_is_a_failure_that_keeps_what_came(name, body):
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
    outcome = meet(name)
    assert isinstance(outcome, Fetched)
    assert outcome.capture.truncated is Truncated.LENGTH
    assert len(outcome.capture.body) < IMPATIENT.body_limit


def test_F_H6_a_zstd_window_of_two_gibibytes_is_not_granted():
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
def test_F_H7_a_coding_that_cannot_be_taken_off_fails_and_the_raw_body_is_kept(name, problem):
    outcome = failure(name)
    assert (outcome.reason, outcome.detail) == (Reason.CODING, problem)
    assert outcome.capture is not None and outcome.capture.body


def test_F_H7_two_layers_are_taken_and_bytes_behind_the_coding_flagged():
    two = meet("H7-two-layers")
    assert isinstance(two, Fetched) and not two.flags
    trailing = meet("H7-trailing")
    assert isinstance(trailing, Fetched) and trailing.flags == ("trailing-bytes",)
    assert trailing.capture.body != PAGE, "content coding is kept"


@pytest.mark.parametrize("name", ["H8-many-fields", "H8-huge-field", "H8-endless-fields"])
def test_F_H8_header_fields_beyond_the_limits_are_an_error(name):
    assert failure(name).reason is Reason.HEADERS_TOO_LARGE


@pytest.mark.parametrize("name", ["H8-nul", "H8-cr"])
def test_F_H8_control_characters_in_a_field_are_an_error(name):
    assert failure(name).reason is Reason.PROTOCOL


def test_F_H8_a_folded_field_is_unfolded_and_the_first_media_type_counts():
    folded = meet("H8-folded")
    assert isinstance(folded, Fetched)
    assert "\n" not in (folded.capture.header("X-Folded") or "\n")
    types = meet("H8-two-types")
    assert isinstance(types, Fetched)
    assert [value for name, value in types.capture.headers if name == "Content-Type"] == ["text/html", "image/png"]


def test_F_H9_interim_answers_are_passed_over_but_not_for_ever():
    assert isinstance(meet("H9-one-interim"), Fetched)
    assert failure("H9-interim").reason is Reason.PROTOCOL


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
    ],
)
def test_F_H10_what_is_not_an_answer_is_a_protocol_error(name):
    assert failure(name).reason is Reason.PROTOCOL


def test_F_H14_an_unasked_second_answer_is_never_taken_for_the_next_one():
    async def visit_twice() -> tuple[object, object]:
        async with HostileServer() as server:
            plan = AddressPlan({HOST: {80: server.port}})
            async with Client(IMPATIENT, plan, plan, SystemClock(), silent) as client:
                first = await client.fetch(url_of(f"http://{HOST}/H14-second-answer"))
                await asyncio.sleep(0.1)  # real sockets: let the second answer arrive
                return first, await client.fetch(url_of(f"http://{HOST}/H9-one-interim"))

    first, second = asyncio.run(visit_twice())
    assert isinstance(first, Fetched) and first.capture.body == b"first"
    assert isinstance(second, Fetched) and second.capture.body == b"ok"
