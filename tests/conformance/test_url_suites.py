"""The public suites for URLs: WHATWG's with the parser beneath `Url`, the public suffix list's with `domain_of`, and
the canonical forms of other crawlers as profiles, compared with ours.

A profile is not a standard: each crawler unifies what it believes to be one page. For each profile the test asserts on
how many rows our `identity_of` agrees, and gives the reason for every kind of disagreement.
"""

import contextlib
import csv
import json
import re
from collections.abc import Iterable, Iterator

import ada_url
import pytest
from tests.conformance.suites import HOME

from gossamer.rules.canonical import identity_of
from gossamer.rules.scope import domain_of
from gossamer.values.url import url_of

SUITES = HOME / "url"
PARTS = ("href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash")

pytestmark = pytest.mark.skipif(not SUITES.is_dir(), reason="the URL suites are not here; set GOSSAMER_CONFORMANCE")


def rows(name: str) -> list[dict]:
    return [row for row in json.loads((SUITES / name).read_text()) if isinstance(row, dict)]


def parsed(text: str, base: str | None = None) -> ada_url.URL | None:
    try:
        return ada_url.URL(text, base) if base is not None else ada_url.URL(text)
    except ValueError:
        return None


def test_every_row_of_urltestdata_is_parsed_as_the_standard_requires():
    cases = rows("urltestdata.json")
    for case in cases:
        url = parsed(case["input"], case["base"])
        if case.get("failure"):
            assert url is None, case
        else:
            assert url is not None, case
            assert {part: getattr(url, part) for part in PARTS if part in case} == {
                part: case[part] for part in PARTS if part in case
            }
    assert len(cases) == 891


def test_our_urls_equal_urltestdata_without_user_password_fragment_and_final_dot():
    """All rows that are http(s); what `url_of` removes is removed from the expectation too."""
    compared = 0
    for case in rows("urltestdata.json"):
        base = url_of(case["base"]) if case["base"] else None
        if case.get("failure") or not case["href"].startswith(("http:", "https:")) or (case["base"] and base is None):
            continue
        whole = parsed(case["href"])
        assert whole is not None
        name = whole.hostname if whole.hostname.startswith("[") else whole.hostname.rstrip(".")
        port = f":{whole.port}" if whole.port else ""
        expected = f"{whole.protocol}//{name}{port}{whole.pathname}{whole.search}"
        expected += "?" if not whole.search and case["href"].partition("#")[0].endswith("?") else ""
        found = url_of(case["input"], base)
        assert (found.text if found else None) == (expected if name else None), case
        compared += 1
    assert compared == 247


def test_setters_work_as_the_standard_requires():
    cases = json.loads((SUITES / "setters_tests.json").read_text())
    done = 0
    for attribute in set(cases) - {"comment"}:
        for case in cases[attribute]:
            url = parsed(case["href"])
            assert url is not None
            with contextlib.suppress(ValueError):  # the standard leaves the URL unchanged
                setattr(url, attribute, case["new_value"])
            assert {part: getattr(url, part) for part in case["expected"]} == case["expected"], case
            done += 1
    assert done == 278


@pytest.mark.parametrize(
    ("name", "amount"), [("toascii.json", 87), ("IdnaTestV2.json", 2671), ("IdnaTestV2-removed.json", 20)]
)
def test_F_U4_international_names_become_the_punycode_of_the_suites(name, amount):
    cases = rows(name)
    for case in cases:
        url = parsed(f"https://{case['input']}/x") if case["input"] else None
        assert (url.host if url is not None else None) == (case["output"] or None), case
    assert len(cases) == amount


def test_percent_encoding_in_utf_8():
    """URLs on pages in other encodings are escaped as UTF-8 too: the row's other columns are for queries of forms
    on such pages, which no crawler sends."""
    cases = rows("percent-encoding.json")
    for case in cases:
        url = parsed(f"https://example.org/#{case['input']}")
        assert url is not None and url.hash == f"#{case['output']['utf-8']}"
    assert len(cases) == 7


def test_the_public_suffix_list_suite():
    """All 78 rows pass. A name that is itself a public suffix has no registrable domain (null in the suite): our
    `domain_of` then returns the name itself, so that two such hosts have different domains."""
    done = 0
    for line in (SUITES / "psl" / "tests.txt").read_text().splitlines():
        if not line.strip() or line.startswith("//"):
            continue
        name, expected = line.split()
        done += 1
        url = url_of(f"http://{name}/") if name != "null" else None
        if expected == "null":
            assert url is None or name.startswith(".") or domain_of(url.hostname) == url.hostname, line
        else:
            shown = url_of(f"http://{expected}/")
            assert url is not None and shown is not None and domain_of(url.hostname) == shown.hostname, line
    assert done == 78


def our_key(text: str) -> str | None:
    """Our key for a URL as a person might type it: without a scheme http is assumed, as in the profiles."""
    text = text.strip()
    url = url_of(text if re.match(r"[a-z][a-z0-9+.-]*:", text, re.IGNORECASE) else f"http://{text}")
    return identity_of(url.text) if url is not None else None


def matches(pairs: Iterable[tuple[str, str | None]]) -> tuple[int, int]:
    """The number of rows with the expected key, and the number of all rows."""
    same = [our_key(given) == expected for given, expected in pairs]
    return sum(same), len(same)


def as_written(text: str) -> str:
    """urlcanon's files contain bytes as characters; those that are UTF-8 are decoded."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def table(path: str) -> Iterator[list[str]]:
    lines = [line for line in (SUITES / path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    yield from csv.reader(lines, skipinitialspace=True)


def urlcanon(name: str) -> list[tuple[str, str]]:
    found = json.loads((SUITES / "urlcanon" / name).read_text())
    return [(as_written(given), expected) for given, expected in found.items()]


def test_profile_urlcanon_aggressive():
    """We recognise all its session ids. Differences: `www.` is another host and https another scheme (with their own
    certificate and robots.txt), case is significant, parameters keep their order, `//` and a slash at the end may
    select content, and index.html, which it keeps, is removed."""
    assert matches(urlcanon("aggressive.json")) == (19, 42)


def test_profile_urlcanon_semantic_precise():
    """Of 280 rows 163 are http(s). Differences: fragments are removed, parameters keep their order, only escapes of
    unreserved characters are decoded, and only once (RFC 3986, 6.2.2.2), and hosts that the standard refuses (`%20x`,
    `...`) give no URL."""
    web = [(given, expected) for given, expected in urlcanon("semantic_precise.json") if expected.startswith("http")]
    assert matches(web) == (106, 163)


def test_profile_urlcanon_parts():
    """Dot segments and numeric hosts follow the standard: backslashes are slashes (18 rows keep them), and `0000xa` is
    a name, not a number (1 row)."""
    dots = json.loads((SUITES / "urlcanon/path_dots.json").read_text())["special"]
    assert matches((f"http://h.test{path}", f"http://h.test{clean}") for path, clean in dots.items()) == (358, 376)
    hosts = json.loads((SUITES / "urlcanon/funky_ipv4.json").read_text())
    assert matches((f"http://{host}/", f"http://{ip}/" if ip else None) for host, ip in hosts.items()) == (46, 47)


def test_profile_urlcanon_idempotence():
    for text in json.loads((SUITES / "urlcanon/idempotence.json").read_text()):
        once = our_key(text)
        assert once is None or our_key(once) == once


def test_profile_heritrix():
    """Differences: it decodes escapes repeatedly, merges empty labels of a name and `//`, and its archive keys drop
    `www.`, case and the slash at the end (the kinds not listed are SURTs and parts of these)."""
    archive = json.loads((SUITES / "urlcanon/webarchive_commons.json").read_text())
    kinds = ("BasicURLCanonicalizer", "OrdinaryIAURLCanonicalizer", "IAURLCanonicalizer")
    found = {kind: matches((row["input"], row["expected"]) for row in archive if row["kind"] == kind) for kind in kinds}
    assert found == {
        "BasicURLCanonicalizer": (35, 54),
        "OrdinaryIAURLCanonicalizer": (8, 10),
        "IAURLCanonicalizer": (0, 9),
    }


def test_profile_crawler_commons():
    """Differences: parameters keep their order and their empty values, `//` may select content, index.html is removed,
    `[ ] ^ | `` ` stay as the standard writes them, and URLs that are not http(s) have no key."""
    assert matches((row[0], row[1]) for row in table("crawler-commons/weirdToNormalizedUrls.csv")) == (79, 112)
    assert all(our_key(row[0]) is None for row in table("crawler-commons/invalidUrls.csv"))


def test_urls_of_crawler_commons_are_joined_in_the_same_way():
    """Except for users, passwords and fragments, which our URLs do not have."""
    differ = []
    for ref, base, expected in table("crawler-commons/url-resolve.csv"):
        found = url_of(ref, url_of(base) if base else None)
        wanted = url_of(expected)
        if found != wanted:
            differ.append((ref, base, expected))
    assert differ == []


def test_profile_nutch():
    """Differences, besides those from crawler-commons: international names are punycode, a `sid` is a session id only
    if its value looks random, and the part after `#` is never a query."""
    cases = rows("nutch/nutch_normalizers.json")
    basic = matches((row["input"], row["expected"]) for row in cases if row["normalizer"] == "basic")
    lines = [line.split() for line in (SUITES / "nutch/regex-normalize-default.test").read_text().splitlines()]
    regex = matches((line[0], line[1]) for line in lines if len(line) == 2 and line[0][0] != "#")
    assert (basic, regex) == ((63, 90), (61, 68))
