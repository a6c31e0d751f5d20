"""Scripts that are broken or unusual: repairs, notices, and where scripts are read."""

import json

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.extract.pages import ADDRESS, SCHEMA, lines, parses_again, read, script

from gossamer.extract.jsonld.reader import SENTENCES, repaired
from gossamer.extract.page import extract
from gossamer.extract.source import Extraction
from gossamer.parse.html.tree import scan_html
from gossamer.values.url import url_of

AS = "https://www.w3.org/ns/activitystreams#"
GOOD = '{"@context":"https://schema.org","@id":"#a","name":"x"}'


def read_with_notices(text: str) -> Extraction:
    url = url_of(ADDRESS)
    assert url is not None
    body = script(text).encode()
    return extract(scan_html(LexborHTMLParser(body)).survey(), url, 1, body, collects_notices=True)


@pytest.mark.parametrize(
    ("text", "breakage"),
    [
        ('//<![CDATA[\n{"name":"x"}\n//]]>', "wrapped"),
        ('{"name":"x" /* so */}', "comment"),
        ('{"name":"x",}', "comma"),
        ('{"a":1,,"name":"x"}', "comma"),
        ('{"name":"x","price":,"b":1}', "no-value"),
        ('{"name":"x","price":}', "no-value"),
        ('{"name":"x","price":NaN}', "undefined"),
        ('{"name":"x","a":"it\\\'s"}', "escape"),
        ('{"name":"x","a":"two\nlines"}', "control-character"),
        ("{&quot;name&quot;:&quot;x&quot;}", "entities"),
        ('{"a":"1"\n "name":"x"}', "missing-comma"),
        ('{"a":{} "name":"x"}', "missing-comma"),
        ('{"a":"the "best" teapot","name":"x"}', "quote-in-string"),
        ('{"a":"he said "hi", and left","name":"x"}', "quote-in-string"),
        ("{'name':'x', 'a':'it is \"so\"'}", "single-quotes"),
        ('{name:"x"}', "bare-name"),
        ('{"name":"x","a":[1,2', "unclosed"),
        ('{"name":"x"}{"a":1}', "several-roots"),
        ('{"name":"x"};', "around"),
        ('it = {"name":"x"}', "around"),
    ],
)
def test_each_kind_of_error_is_repaired_and_named(text: str, breakage: str) -> None:
    roots, breakages = repaired(text)
    assert roots[0]["name"] == "x"
    assert breakage in breakages
    assert breakage in SENTENCES


def test_quotation_marks_inside_a_string_are_kept() -> None:
    assert repaired('{"a":"the "best" teapot"}').roots == [{"a": 'the "best" teapot'}]


def test_urls_in_strings_are_not_comments() -> None:
    assert repaired('{"a":"https://x.example/*y*/",}').roots == [{"a": "https://x.example/*y*/"}]


def test_a_notice_says_what_was_repaired_and_where() -> None:
    found = read_with_notices('{"@context":"https://schema.org","name":"x",}')
    (notice,) = found.notices
    assert (notice.level, notice.kind) == ("error", "jsonld-repaired")
    assert SENTENCES["comma"] in notice.says
    assert notice.element is not None and notice.element.tag == "script"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("words", "jsonld-broken"),
        ('{"@context":"https://evil.example/c","name":"x"}', "jsonld-unknown-context"),
        ('{"@context":"https://schema.org","@id":5,"name":"x"}', "jsonld-misused-keyword"),
        ('{"@context":["https://schema.org",5],"name":"x"}', "jsonld-misused-keyword"),
        ('{"@context":"https://schema.org","url":"https://x.example/a b"}', "jsonld-bad-address"),
        ('{"@context":{"@base":"http://x.example/<>"},"http://p.example/p":"x"}', "jsonld-bad-address"),
        ("[" * 100 + "]" * 100, "jsonld-too-deep"),
    ],
)
def test_every_error_has_a_notice(text: str, kind: str) -> None:
    assert [notice.kind for notice in read_with_notices(text).notices] == [kind]
    assert read(script(text)).notices == ()


def test_a_refused_member_does_not_affect_the_others() -> None:
    bad = {"@value": "x", "@type": "not an iri"}
    text = json.dumps({"@context": "https://schema.org", "@id": "#a", "name": "x", "offers": bad, "sku": "y"})
    assert lines(script(text)) == [f'<{ADDRESS}#a> <s:name> "x"', f'<{ADDRESS}#a> <s:sku> "y"']
    assert read(script(text)).flags == ("jsonld-broken",)


def test_F_G2_a_refused_script_of_many_parts_is_bounded() -> None:
    bad = {"name": {"@value": "x", "@type": "not an iri"}}
    found = read(script(json.dumps({"@context": "https://schema.org", "@graph": [bad] * 5_000})))
    assert found.flags == ("jsonld-broken",)


@pytest.mark.parametrize(
    "text",
    [
        "{" + "'" * 120_000,
        '{"a":"' + '" ' * 60_000,
        "{a" + "b" * 120_000,
        '{"a":"' + '"\n' * 60_000,
        "{" + "[" * 900,
        "{" + '"\\' * 60_000,
    ],
)
def test_F_G2_repairing_takes_no_longer_than_parsing(text: str) -> None:
    assert set(read(script(text)).flags) <= {"jsonld-broken", "jsonld-too-deep", "jsonld-repaired"}


@pytest.mark.parametrize(
    "page",
    [
        '<head><script type="application/ld+json">{}</script></head>',
        '<body><table><tr><td><script type="application/ld+json">{}</script></table>',
        '<body><noscript><script type="application/ld+json">{}</script></noscript>',
        '<head><noscript><script type="application/ld+json">{}</script></noscript></head>',
        '<body><div hidden><script type=" application/ld+json ">{}</script></div>',
        "<svg><script type='application/ld+json'>{}</script></svg>",
    ],
)
def test_scripts_are_read_wherever_html_makes_elements_of_them(page: str) -> None:
    assert lines(page.replace("{}", GOOD)) == [f'<{ADDRESS}#a> <s:name> "x"']


@pytest.mark.parametrize(
    "page",
    [
        '<template><script type="application/ld+json">{}</script></template>',
        '<!-- <script type="application/ld+json">{}</script> -->',
        '<textarea><script type="application/ld+json">{}</script></textarea>',
        '<script type="application/json">{}</script>',
        "<script>{}</script>",
    ],
)
def test_scripts_are_ignored_where_html_makes_no_elements_of_them(page: str) -> None:
    assert lines(page.replace("{}", GOOD)) == []


@pytest.mark.parametrize(
    "reference",
    [
        "https://pending.schema.org",
        "https://health-lifesci.schema.org/",
        "http:schema.org",
        "http//schema.org/",
        "//www.schema.org/#",
    ],
)
def test_sections_and_misspellings_of_schema_org_are_known(reference: str) -> None:
    assert lines(script(GOOD.replace("https://schema.org", reference))) == [f'<{ADDRESS}#a> <s:name> "x"']


@pytest.mark.parametrize(
    "reference", ["https://notschema.org", "https://schema.org.evil.example", "https://x.example/schema.org"]
)
def test_hosts_that_resemble_schema_org_are_not_accepted(reference: str) -> None:
    assert read(script(GOOD.replace("https://schema.org", reference))).flags == ("jsonld-unknown-context",)


def test_the_activity_streams_context_is_known() -> None:
    text = {
        "@context": "https://www.w3.org/ns/activitystreams",
        "type": "Note",
        "id": "#n",
        "attributedTo": "/u/1",
        "published": "2026-11-15T12:00:00Z",
        "contentMap": {"en": "hello"},
        "unknownName": "left out",
        "inbox": "/in",
    }
    found = read(script(json.dumps(text)))
    assert {f"{t.predicate} {t.object}" for t in found.triples} == {
        f"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{AS}Note>",
        f"<{AS}attributedTo> <https://shop.example/u/1>",
        f'<{AS}published> "2026-11-15T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
        f'<{AS}content> "hello"@en',
        "<http://www.w3.org/ns/ldp#inbox> <https://shop.example/in>",
    }
    assert found.flags == ()


def test_activity_streams_and_schema_org_can_be_combined() -> None:
    contexts = ["https://schema.org", "https://www.w3.org/ns/activitystreams"]
    found = read(script(json.dumps({"@context": contexts, "@id": "#a", "actor": "/x", "sku": "1"})))
    assert [t.predicate for t in found.triples] == [f"<{AS}actor>", f"<{SCHEMA}sku>"]


def test_the_direction_of_a_text_is_left_out() -> None:
    text = '{"http://p.example/p":{"@value":"x","@language":"ar","@direction":"rtl"}}'
    found = read(script(text))
    assert [t.object for t in found.triples] == ['"x"@ar']
    assert parses_again(found)


def test_json_inside_a_json_literal_is_unchanged() -> None:
    text = '{"@context":{"p":{"@id":"http://p.example/p","@type":"@json"}},"p":{"@context":"https://evil.example","@id":5}}'
    found = read(script(text))
    assert found.flags == ()
    assert "https://evil.example" in found.triples[0].object
