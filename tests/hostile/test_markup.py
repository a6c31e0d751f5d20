"""FAULTS M1 to M3: pages that take a reader much time or memory. Each is read in a process of its own, under limits."""

import multiprocessing
import resource
import time

import pytest
from tests.hostile.pages import M1, M2

from gossamer.reader.reading import read
from gossamer.values.capture import Capture
from gossamer.values.url import Url

READ_LIMIT_S = 5.0
LOOPS, LOOPS_S = 2_000_000, 0.06
MEMORY_LIMIT = 512 << 20
URL = Url("https://hostile.example/")
START = b"<title>T</title><p>prefix</p><a href=/first>first</a>"
WITHIN_LIMITS = ("anchors_in_anchors", "foster_parents_of_siblings")


def slowness():
    """How many times slower this machine is at the moment than an idle one of today; at least 1."""
    started = time.process_time()
    for _ in range(LOOPS):
        pass
    return max(1.0, (time.process_time() - started) / LOOPS_S)


def read_and_report(body, answer):
    """Read the page as a reader would; report the time, the growth of memory, and what was found."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(READ_LIMIT_S) * 12, int(READ_LIMIT_S) * 12))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    reading = read(Capture(URL, 1, 200, "OK", (("Content-Type", "text/html; charset=utf-8"),), body))
    took = (time.process_time() - started) / slowness()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    links = [link.url.path for link in reading.page.links[:1]]
    text = f"{reading.page.content} {reading.page.rest}"
    answer.send((took, grown, links, "prefix" in text, reading.flags))


def outcome_of(page):
    """Read the page in a process of its own, so that a hang or a crash affects nothing else."""
    forked = multiprocessing.get_context("fork")
    ours, theirs = forked.Pipe()
    child = forked.Process(target=read_and_report, args=(START + page, theirs), daemon=True)
    child.start()
    try:
        assert ours.poll(READ_LIMIT_S * 60), "the reader hangs"
        took, grown, links, has_start, flags = ours.recv()
    finally:
        child.kill()
        child.join()
    assert took <= READ_LIMIT_S
    assert grown <= MEMORY_LIMIT
    assert links == ["/first"] and has_start
    return set(flags)


@pytest.mark.parametrize("name", M1)
def test_F_M1_endless_nesting_and_attributes_are_read_in_time(name):
    flags = outcome_of(M1[name]())
    assert name in WITHIN_LIMITS or flags & {"too-deep", "truncated"}


@pytest.mark.parametrize("name", M2)
def test_F_M2_pages_with_very_many_of_one_element_are_read_in_time(name):
    assert "unparsable" not in outcome_of(M2[name]())


@pytest.mark.parametrize(
    ("headers", "body", "charset", "title"),
    [
        ("text/html; charset=koi8-r", b"<meta charset=utf-8><title>\xc1</title>", "koi8-r", "а"),
        ("text/html; charset=koi8-r", b"\xef\xbb\xbf<meta charset=big5><title>\xc3\xa4</title>", "utf-8", "ä"),
        ("text/html", "<title>Grüße</title><p>und mehr".encode("utf-16-le"), "utf-16le", "Grüße"),
        ("text/html", "<title>Grüße</title><p>und mehr".encode("utf-16-be"), "utf-16be", "Grüße"),
        ("text/html", b'<meta charset=iso-2022-jp><title>\x1b$B$"\x1b(B</title>', "iso-2022-jp", "あ"),
        ("text/html; charset=utf-7", b"<title>+ADw-b+AD4-</title>", "utf-8", "+ADw-b+AD4-"),
        ("text/html; charset=utf-8", b"<title>a\xff\xc3(b</title>", "utf-8", "a\ufffd\ufffd(b"),
        ("text/html; charset=utf-32", b"<title>x</title>", "utf-8", "x"),
        ("text/html; charset=none-such", b"<title>\xe9t\xe9</title>", "windows-1252", "été"),
    ],
)
def test_F_M3_the_encoding_is_the_one_a_browser_would_use(headers, body, charset, title):
    page = read(Capture(URL, 1, 200, "OK", (("Content-Type", headers),), body)).page
    assert (page.charset, page.title) == (charset, title)
