"""What was forgotten is not let in: whole hosts, and pages however their address is spelt."""

import pytest

from gossamer.rules.scope import NOTHING, forgotten_of, is_like
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import Url

BLOCK = forgotten_of(["old.test", "port.test:8080"], ["https://shop.test/a?b=1", "http://shop.test/"])


@pytest.mark.parametrize(
    "text",
    [
        "https://old.test/",
        "http://old.test/any/thing?x",
        "http://old.test/robots.txt",
        "https://port.test:8080/x",
        "https://shop.test/a?b=1",
        "http://shop.test/a?b=1",
        "https://shop.test/a?b=1&utm_source=mail",
        "https://shop.test/index.html",
    ],
)
def test_it_is_kept_out_with_the_way_to_take_that_back(text: str) -> None:
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
def test_everything_else_is_let_in(text: str) -> None:
    assert isinstance(BLOCK.judge(Url(text)), Allowed)


def test_the_hosts_concerned_are_known_and_nothing_is_nothing() -> None:
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
def test_hosts_that_may_have_been_meant_too_are_known(name: str, host: str) -> None:
    assert is_like(name, host) and not is_like(host, host)


@pytest.mark.parametrize(
    ("name", "host"),
    [("notold.test", "old.test"), ("old.test", "a.old.test"), ("old.test.evil.test", "old.test"), ("[::2]", "[::1]")],
)
def test_hosts_that_only_look_like_it_are_not_meant(name: str, host: str) -> None:
    assert not is_like(name, host)
