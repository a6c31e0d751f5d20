"""FAULTS R9: the public robots.txt suites. Rows with another verdict of ours are listed with the reason.

Each suite is run as by its authors. Google's is a matcher of lines: agents are exact product tokens, and the rule that
robots.txt itself may always be fetched is not part of it. crawler-commons says in each row whether it matched agents
loosely; Protego always does.
"""

import base64
import json
import lzma

import pytest
from tests.conformance.suites import HOME

from gossamer.rules.robots import explain, judge, parse
from gossamer.values.outcome import Allowed
from gossamer.values.robots import Naming, ParsedRobots, Robots, RobotsState
from gossamer.values.url import url_of

SUITES = HOME / "robots"
STANDARD = {
    "google_spec_test": 378,
    "google_robotstxt": 72,
    "crawlercommons_facts": 326,
    "reppy_facts": 84,
    "protego_facts": 376,
}
"""The number of rows that are not specific to Google."""

# Three inputs on which Google differs from Protego and crawler-commons. We agree with the latter: our URLs are in
# normal form, so both URL and rule are compared in it (RFC 9309, 2.2.2).
RAW_PATH_RAW_RULE = "a URL with a letter that is not ASCII, and a rule with the same letter"
RAW_PATH_ESCAPED_RULE = "the same, and a rule with the letter escaped"
ESCAPED_LETTERS = "a rule with escapes of plain letters"
# Other differences, and why.
DELAY = "a Crawl-delay of an hour is cut to half a minute, not treated as a refusal (FAULTS R11)"
NOT_WEB = "not an http URL"
GROUPS = "an unknown line does not end a list of agents (RFC 9309, 2.2.1 and 2.2.4)"
GENEROUS = "a guess at what was meant, beyond the standard"
DOLLAR = "a $ at the end is the anchor; the character itself is written %24 (RFC 9309, 2.2.3)"
INDEX = "index.html for / is Google's own"

DIFFER: dict[str, dict[str, set[int]]] = {
    "google_spec_test": {RAW_PATH_RAW_RULE: {110}, RAW_PATH_ESCAPED_RULE: {112}, ESCAPED_LETTERS: {113}},
    "google_robotstxt": {RAW_PATH_RAW_RULE: {61}, RAW_PATH_ESCAPED_RULE: {63}, ESCAPED_LETTERS: {64}},
    "crawlercommons_facts": {DELAY: {306}},
    "reppy_facts": {},
    "protego_facts": {
        NOT_WEB: {178},
        GROUPS: {239, 240, 241},
        GENEROUS: {297},
        INDEX: {266},
        DOLLAR: {294, 295},
    },
}
# The same rows with the crawl's own matcher, which differs from Google's in two points.
OWN_MATCHER = {
    "google_spec_test": {
        "robots.txt itself may always be fetched (RFC 9309, 2.2.2; crawler-commons and reppy)": {193, 199, 203, 344},
        "an agent with digits in its name is matched by its full name (crawler-commons, Protego)": {200, 201},
    },
    "google_robotstxt": {},
}

pytestmark = pytest.mark.skipif(
    not SUITES.is_dir(), reason="the robots.txt suites are not here; set GOSSAMER_CONFORMANCE"
)


def rows_of(name: str) -> list[dict[str, object]]:
    return json.loads((SUITES / f"{name}.json").read_text())


def standard(name: str) -> dict[int, dict[str, object]]:
    return {number: row for number, row in enumerate(rows_of(name)) if not row.get("google_specific")}


def body_of(row: dict[str, object]) -> bytes:
    if "robots" in row:
        return str(row["robots"]).encode("utf-8", "surrogatepass")
    return base64.b64decode(str(row["robots_base64"]))


def read(row: dict[str, object], naming: Naming) -> Robots:
    parsed = parse(body_of(row), str(row.get("agent", "*")), naming)
    return Robots("http://example.com", RobotsState.READ, 0, 0, parsed.rules)


def naming_for(name: str, row: dict[str, object]) -> Naming:
    if name.startswith("google"):
        return "token"
    return "loose" if row.get("prefix_agent_match") or name == "protego_facts" else "name"


def verdict(row: dict[str, object], naming: Naming) -> bool | None:
    text = str(row["url"])
    url = url_of(text if "://" in text else f"http://example.com{text}")
    if url is None:
        return None
    if naming == "token":
        matching = explain(url, read(row, naming)).candidates
        return not matching or matching[0].allows
    return judge(url, read(row, naming)) == Allowed()


@pytest.mark.parametrize("name", STANDARD)
def test_F_R9_every_standard_row_has_the_expected_verdict_or_is_listed(name: str) -> None:
    rows = standard(name)
    assert len(rows) == STANDARD[name]
    differ = {number for number, row in rows.items() if verdict(row, naming_for(name, row)) is not row["allowed"]}
    assert differ == set().union(*DIFFER[name].values())


@pytest.mark.parametrize("name", OWN_MATCHER)
def test_F_R9_a_crawl_agrees_with_google_s_matcher_except_for_two_points(name: str) -> None:
    differ = {number for number, row in standard(name).items() if verdict(row, "name") is not row["allowed"]}
    assert differ == set().union(*DIFFER[name].values(), *OWN_MATCHER[name].values())


def test_F_R9_google_s_extensions_are_supported_where_they_help_site_owners() -> None:
    """Typos and files without colons are accepted; index.html and cutting lines at 16,664 bytes are Google's alone."""
    for name, count, right in (("google_spec_test", 22, 21), ("google_robotstxt", 73, 69)):
        own = [row for row in rows_of(name) if row.get("google_specific")]
        assert len(own) == count
        assert sum(verdict(row, "token") is row["allowed"] for row in own) == right


META = {
    "sitemaps": lambda parsed: list(parsed.sitemaps),
    "crawl_delay": lambda parsed: parsed.crawl_delay_s,
    "preferred_host": lambda parsed: next((value for name, value in parsed.extensions if name == "host"), None),
}


def test_F_R9_delays_sitemaps_rates_and_hosts_are_read() -> None:
    rows = rows_of("protego_meta")
    assert len(rows) == 22
    for row in rows:
        parsed = parse(body_of(row), str(row.get("agent", "*")))
        if row["field"] == "request_rate":
            assert parsed.crawl_delay_s == gap_of(row["value"]), row
        else:
            assert META[str(row["field"])](parsed) == row["value"], row


def gap_of(rate: object) -> float | None:
    return min(rate["seconds"] / rate["requests"], 30.0) if isinstance(rate, dict) else None


def test_F_R9_no_real_file_makes_the_parser_fail() -> None:
    found: list[ParsedRobots] = []
    with lzma.open(SUITES / "real_robots.jsonl.xz") as lines:
        found += [parse(body_of(json.loads(line)), "Gossamer") for line in lines]
    assert len(found) == 2_111
    assert sum(len(parsed.rules) for parsed in found) > 10_000
    assert sum("too-long" in parsed.flags for parsed in found) < 10
