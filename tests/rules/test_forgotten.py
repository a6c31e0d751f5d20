"""Erased hosts and pages are refused, in every spelling of their URLs."""

import pytest

from gossamer.store.forgotten import NOTHING, forgotten_of, is_like
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import Url

BLOCK = forgotten_of(["old.test", "port.test:8080"], ["https://shop.test/a?b=1", "http://shop.test/"])


@pytest.mark.parametrize(
    "text",
    [
        "https://old.test/",
        "http://old.test/any/path?x",
        "http://old.test/robots.txt",
        "https://port.test:8080/x",
        "https://shop.test/a?b=1",
        "http://shop.test/a?b=1",
        "https://shop.test/a?b=1&utm_source=mail",
        "https://shop.test/index.html",
    ],
)
def test_an_erased_url_is_refused_and_the_message_says_how_to_undo_that(text: str) -> None:
    verdict = BLOCK.judge(Url(text))
    assert isinstance(verdict, Denied) and "gossamer forget --allow" in verdict.rule


@pytest.mark.parametrize(
    "text",
    [
        "https://www.old.test/",
        "https://port.test/x",
        "https://shop.test/a",
        "https://shop.test/a?b=2",
        "https://new.test/",
    ],
)
def test_all_other_urls_are_accepted(text: str) -> None:
    assert isinstance(BLOCK.judge(Url(text)), Allowed)


def test_the_blocked_hosts_are_listed_and_an_empty_list_blocks_none() -> None:
    assert BLOCK.at == {"old.test", "port.test:8080", "shop.test"}
    assert forgotten_of([], []) is NOTHING and not NOTHING and BLOCK


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("www.old.test", "old.test"),
        ("old.test", "www.old.test"),
        ("old.test:8080", "old.test"),
        ("a.b.old.test", "old.test"),
        ("gopher|old.test", "old.test"),
        ("[::1]:81", "[::1]"),
    ],
)
def test_similar_hosts_that_may_also_be_meant_are_found(name: str, host: str) -> None:
    assert is_like(name, host) and not is_like(host, host)


@pytest.mark.parametrize(
    ("name", "host"),
    [("notold.test", "old.test"), ("old.test", "a.old.test"), ("old.test.evil.test", "old.test"), ("[::2]", "[::1]")],
)
def test_hosts_that_only_look_similar_are_not_found(name: str, host: str) -> None:
    assert not is_like(name, host)
