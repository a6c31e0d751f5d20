"""What was forgotten is not let in: whole hosts, and pages however their address is spelt."""

import pytest

from gossamer.rules.forgotten import NOTHING, forgotten_of
from gossamer.rules.verdict import Allowed, Denied
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
