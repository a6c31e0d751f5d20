"""FAULTS R9: the public robots.txt suites. Rows we answer otherwise are listed, each with the reason."""

import base64
import json
import lzma
import os
from pathlib import Path

import pytest

from gossamer.rules.robots import judge, parse
from gossamer.rules.verdict import Allowed
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import url_of

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
SUITES = HOME / "robots"
FILES = ("google_spec_test", "google_robotstxt", "protego_facts", "reppy_facts", "crawlercommons_facts")

ESCAPES = "our addresses are in normal form, so both sides are compared in it (RFC 9309, 2.2.2)"
ROBOTS_TXT = "robots.txt itself is always allowed (RFC 9309, 2.2.2)"
DIGITS = "an agent with digits in its name is matched by its whole name"
LENIENT = "an agent is its first word; it is matched whole, not by part of a longer text (RFC 9309, 2.2.1)"
GROUPS = "a line that is no rule does not end a list of agents (RFC 9309, 2.2.1 and 2.2.4)"
NOT_WEB = "not an http address"
GENEROUS = "a guess at what was meant, beyond the standard"
DOLLAR = "a $ at the end is the anchor; the character itself is written %24 (RFC 9309, 2.2.3)"
GOOGLE = "index.html for / is Google's own"
NO_AGENT = "rules before the first agent speak to nobody (RFC 9309, 2.1)"
NO_COLON = "a missing colon is forgiven, as Google's suite asks"
DELAY = "a long Crawl-delay is cut, not taken for a refusal"

CONTRADICTIONS: dict[str, dict[str, set[int]]] = {
    "google_spec_test": {ESCAPES: {110, 112, 113}, ROBOTS_TXT: {193, 199, 203, 344}, DIGITS: {200, 201}},
    "google_robotstxt": {ESCAPES: {61, 63, 64}},
    "protego_facts": {
        LENIENT: {116, 251, 312, 318, 319, 321, 322},
        NOT_WEB: {178},
        GROUPS: {239, 240, 241},
        GENEROUS: {248, 297},
        GOOGLE: {266},
        DOLLAR: {294, 295},
    },
    "reppy_facts": {GROUPS: {5}, NO_AGENT: {11}, NO_COLON: {57}},
    "crawlercommons_facts": {
        LENIENT: {149, 151, 153, 157, 159, 171, 173, 179, 222, 225, 234, 243, 274, 275, 276, 297, 317, 318},
        DELAY: {306},
    },
}

pytestmark = pytest.mark.skipif(
    not SUITES.is_dir(), reason="the robots.txt suites are not here; set GOSSAMER_CONFORMANCE"
)


def body_of(row: dict[str, str]) -> bytes:
    if "robots" in row:
        return row["robots"].encode("utf-8", "surrogatepass")
    return base64.b64decode(row["robots_base64"])


def answer(row: dict[str, str]) -> bool | None:
    url = url_of(row["url"] if "://" in row["url"] else f"http://example.com{row['url']}")
    if url is None:
        return None
    rules = parse(body_of(row), row["agent"]).rules
    return judge(url, Robots(url.origin, RobotsState.READ, 0, 0, rules)) == Allowed()


@pytest.mark.parametrize("name", FILES)
def test_F_R9_every_standard_row_is_answered_as_the_suite_does_or_is_listed(name):
    rows = json.loads((SUITES / f"{name}.json").read_text())
    differ = {
        number
        for number, row in enumerate(rows)
        if not row.get("google_specific") and answer(row) is not row["allowed"]
    }
    assert differ == set().union(*CONTRADICTIONS[name].values())


def test_F_R9_crawl_delays_and_sitemaps_are_read():
    rows = json.loads((SUITES / "protego_meta.json").read_text())
    for row in rows:
        parsed = parse(body_of(row), row.get("agent", "*"))
        if row["field"] == "sitemaps":
            assert list(parsed.sitemaps) == row["value"]
        elif row["field"] == "crawl_delay":
            assert parsed.crawl_delay_s == row["value"], row


def test_F_R9_no_real_file_makes_the_parser_fail():
    with lzma.open(SUITES / "real_robots.jsonl.xz") as lines:
        rules = sum(len(parse(body_of(json.loads(line)), "Gossamer").rules) for line in lines)
    assert rules > 10_000
