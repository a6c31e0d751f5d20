"""What is reported to the author of a robots.txt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.robots import MOST_ODDITIES, survey

AGENT = "Gossamer"
ODD = b"""Disallow: /early
user agent: *
Dissallow: /x
Nonsense: 1
Crawl-delay: 3600
Crawl-delay: soon
Sitemap: /map
Disallow: nowhere
User-agent: bot42
disallow /bare
hello there
"""


def test_oddities_are_reported_with_their_lines() -> None:
    found = survey(ODD, AGENT).oddities
    assert [(oddity.line, oddity.kind) for oddity in found] == [
        (1, "orphan"),
        (2, "misspelt"),
        (3, "misspelt"),
        (4, "unknown"),
        (5, "delay-cut"),
        (6, "no-number"),
        (7, "relative"),
        (8, "no-path"),
        (9, "no-token"),
        (10, "no-colon"),
        (11, "unread"),
    ]


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (b"User-agent: *\nDisallow: /\nAllow: /a$\nSitemap: https://a.test/s\nCrawl-delay: 1\nHost: a.test\n", []),
        (b"", []),
        (b"Disallow: /x\n", ["no-agent"]),
        (b"<html>no</html>", ["html"]),
        ("User-agent: *\n".encode("utf-16"), ["utf-16"]),
        (b"user-agent *\ndisallow /x\n", ["no-colon", "no-colon"]),
        (b"User-agent:\nDisallow: /\n", ["no-name"]),
    ],
)
def test_only_files_with_errors_have_oddities(body: bytes, kinds: list[str]) -> None:
    assert [oddity.kind for oddity in survey(body, AGENT).oddities] == kinds


def test_F_R5_the_first_line_beyond_the_limit_is_reported() -> None:
    body = b"User-agent: *\n" + b"#" * 1023 + b"\n" + (b"#" * 1023 + b"\n") * 600
    (oddity,) = survey(body, AGENT).oddities
    assert oddity.kind == "beyond" and oddity.line == 1 + 499 + 1


def test_oddities_are_bounded() -> None:
    found = survey(b"x: y\n" * 10_000, AGENT).oddities
    assert len(found) <= MOST_ODDITIES + 1
    assert len(survey(b"User-agent: *\n" + b"x: y\n" * 10_000, AGENT).oddities) == MOST_ODDITIES + 1


@given(st.binary(max_size=300), st.text(max_size=20), st.sampled_from(["name", "token", "loose"]))
def test_no_file_makes_the_survey_fail(body: bytes, agent: str, naming: str) -> None:
    survey(body, agent, naming)  # type: ignore[arg-type]
