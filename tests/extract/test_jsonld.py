import json

import pytest
from tests.extract.pages import ADDRESS, lines, parses_again, read, script


def flags(text: str) -> tuple[str, ...]:
    return read(script(text)).flags


@pytest.mark.parametrize(
    "reference",
    [
        "http://schema.org",
        "https://schema.org",
        "https://schema.org/",
        "http://www.schema.org/",
        "//schema.org",
        "schema.org",
        "HTTPS://Schema.org/",
        "https://schema.org/docs/jsonldcontext.jsonld",
        "https://schema.org/Product",
    ],
)
def test_every_spelling_of_the_schema_org_context_is_known(reference: str) -> None:
    text = json.dumps({"@context": reference, "@type": "Product", "name": "Teapot", "url": "/x"})
    assert lines(script(text)) == ["_:1 a <s:Product>", '_:1 <s:name> "Teapot"', "_:1 <s:url> <https://shop.example/x>"]


def test_the_schema_org_context_types_only_links_and_dates() -> None:
    text = (
        '{"@context":"https://schema.org","url":["/a","/b"],"startDate":"2026-11-15","dateReceived":"2026","name":"/a"}'
    )
    assert lines(script(text)) == [
        "_:1 <s:url> <https://shop.example/a>",
        "_:1 <s:url> <https://shop.example/b>",
        '_:1 <s:startDate> "2026-11-15"^^<s:Date>',
        '_:1 <s:dateReceived> "2026"',
        '_:1 <s:name> "/a"',
    ]


def test_a_context_in_the_script_is_added_to_the_schema_org_context() -> None:
    text = json.dumps(
        {
            "@context": [
                "https://schema.org",
                {"ex": "http://ex.example/", "mine": {"@id": "ex:mine", "@type": "@id"}},
            ],
            "@id": "#me",
            "mine": "/x",
            "image": "/i.png",
            "foaf:nick": "n",
        }
    )
    assert lines(script(text)) == [
        f"<{ADDRESS}#me> <http://ex.example/mine> <https://shop.example/x>",
        f"<{ADDRESS}#me> <s:image> <https://shop.example/i.png>",
        f'<{ADDRESS}#me> <http://xmlns.com/foaf/0.1/nick> "n"',
    ]


def test_a_context_in_the_script_may_override_schema_org() -> None:
    text = '{"@context":["https://schema.org",{"url":{"@id":"http://schema.org/url"}}],"url":"words"}'
    assert lines(script(text)) == ['_:1 <s:url> "words"']


def test_prefixes_aliases_and_graphs_of_schema_org_are_known() -> None:
    text = '{"@context":"https://schema.org","@graph":[{"id":"#a","type":"schema:Person","xsd:x":1}]}'
    assert lines(script(text)) == [
        f"<{ADDRESS}#a> a <s:Person>",
        f'<{ADDRESS}#a> <http://www.w3.org/2001/XMLSchema#x> "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
    ]


def test_facts_of_a_named_graph_belong_to_the_page() -> None:
    text = '{"@context":"https://schema.org","@id":"#g","@graph":[{"@id":"#a","name":"x"}]}'
    assert lines(script(text)) == [f'<{ADDRESS}#a> <s:name> "x"']


def test_scripts_are_read_anywhere_and_with_parameters_in_their_type() -> None:
    one = '{"@context":"https://schema.org","@id":"#a","name":"1"}'
    other = f'<script type="ld+json">{one}</script>'
    page = f'<body><p>x<script type="Application/LD+JSON; charset=utf-8">{one}</script>{other}'
    assert lines(page) == [f'<{ADDRESS}#a> <s:name> "1"']
    assert read(page).syntaxes == ("json-ld",)


def test_blank_nodes_are_numbered_across_the_scripts_of_a_page() -> None:
    one = '<script type="application/ld+json">{"@context":"https://schema.org","@id":"_:a","knows":{"name":"%s"}}</script>'
    assert lines(one % "x" + one % "y") == [
        "_:1 <s:knows> _:2",
        '_:2 <s:name> "x"',
        "_:1 <s:knows> _:3",
        '_:3 <s:name> "y"',
    ]


def test_a_second_reading_of_a_capture_is_equal() -> None:
    page = script('{"@context":"https://schema.org","knows":[{"name":"x"},{"name":"y","knows":{"name":"z"}}]}')
    assert read(page, 7) == read(page, 7)


@pytest.mark.parametrize(
    "text",
    [
        '{"@context":"https://schema.org","name":"x",}',
        '{"@context":"https://schema.org","a":["x",,],"name":"x", /* so */ }',
        '/* note */ {"@context":"https://schema.org", // here\n "name":"x"}',
        '//<![CDATA[\n{"@context":"https://schema.org","name":"x"}\n//]]>',
        '/*<![CDATA[*/ {"@context":"https://schema.org","name":"x"} /*]]>*/',
        '<!-- {"@context":"https://schema.org","name":"x"} -->',
        "{&quot;@context&quot;:&quot;https://schema.org&quot;,&quot;name&quot;:&quot;x&quot;}",
        '\ufeff{"@context":"https://schema.org","name":"x"}',
        '{"@context":"https://schema.org","name":"x","price":NaN}',
        '{"@context":"https://schema.org","name":"x","price":undefined}',
        '{"@context":"https://schema.org","name":"x"}}',
        '{"@context":"https://schema.org","name":"x"};',
        '{"@context":"https://schema.org","name":"x"} trailing words',
        'var it = {"@context":"https://schema.org","name":"x"};',
        '{"@context":"https:\\/\\/schema.org","name":"\\x"}',
    ],
)
def test_common_errors_are_repaired_and_flagged(text: str) -> None:
    found = read(script(text))
    assert '"x"' in [t.object for t in found.triples]
    assert found.flags == ("jsonld-repaired",)


def test_control_characters_in_strings_are_kept() -> None:
    found = read(script('{"@context":"https://schema.org","name":"two\nlines\tand a \\ud800 half"}'))
    assert [t.object for t in found.triples] == ['"two\\nlines\\tand a \ufffd half"']
    assert parses_again(found)


def test_several_roots_are_all_read() -> None:
    one = '{"@context":"https://schema.org","@id":"#%d","name":"x"}'
    page = script(one % 1 + "\n" + one % 2 + "," + one % 3)
    assert len(lines(page)) == 3
    assert read(page).flags == ("jsonld-repaired",)


def test_a_broken_script_does_not_affect_other_scripts() -> None:
    good = '<script type="application/ld+json">{"@context":"https://schema.org","@id":"#a","name":"%s"}</script>'
    page = good % "x" + '<script type="application/ld+json">{"name": </script>' + good % "y"
    assert lines(page) == [f'<{ADDRESS}#a> <s:name> "x"', f'<{ADDRESS}#a> <s:name> "y"']
    assert read(page).flags == ("jsonld-broken",)


def test_a_refused_node_does_not_affect_other_nodes() -> None:
    bad = {"name": {"@value": "x", "@type": "not an iri"}}
    text = json.dumps({"@context": "https://schema.org", "@graph": [{"name": "a"}, bad, {"name": "b"}]})
    found = read(script(text))
    assert [t.object for t in found.triples] == ['"a"', '"b"']
    assert found.flags == ("jsonld-broken",)


@pytest.mark.parametrize("kind", ['"@id":null', '"@id":5', '"@type":null', '"@type":[5,"Thing"]', '"@index":1'])
def test_a_misused_keyword_does_not_affect_the_rest(kind: str) -> None:
    found = read(script(f'{{"@context":"https://schema.org",{kind},"name":"x"}}'))
    assert '"x"' in [t.object for t in found.triples]
    assert found.flags == ("jsonld-repaired",)


@pytest.mark.parametrize("text", ["", "  \n", "5", "null", '"words"', "[]", "{}", "true"])
def test_scripts_without_facts_are_not_flagged(text: str) -> None:
    found = read(script(text))
    assert (found.triples, found.flags) == ([], ())


@pytest.mark.parametrize("text", ["words", "&", '{"a" "b"}', '{"name": ', "[1, oops]"])
def test_scripts_that_cannot_be_repaired_are_flagged(text: str) -> None:
    assert flags(text) == ("jsonld-broken",)


@pytest.mark.parametrize(
    "context",
    [
        '"https://evil.example/context.jsonld"',
        '"http://169.254.169.254/latest/meta-data"',
        '"file:///etc/passwd"',
        '"/context.jsonld"',
        '["https://evil.example/a", "https://evil.example/b"]',
        '{"@import": "https://evil.example/context.jsonld"}',
    ],
)
def test_F_G1_remote_contexts_are_never_fetched(context: str) -> None:
    page = script(f'{{"@context":{context},"http://ex.example/p":"kept","name":"unknown"}}')
    assert lines(page) == ['_:1 <http://ex.example/p> "kept"']
    assert read(page).flags == ("jsonld-unknown-context",)


def test_F_G1_a_context_inside_a_term_is_not_fetched_either() -> None:
    own = {"@vocab": "http://ex.example/", "q": {"@id": "http://ex.example/q", "@context": "https://evil.example/c"}}
    assert flags(json.dumps({"@context": own, "q": {"p": "x"}})) == ("jsonld-unknown-context",)


@pytest.mark.parametrize("levels", [65, 2_000, 100_000])
def test_F_G2_nesting_is_bounded(levels: int) -> None:
    assert flags('{"knows":' * levels + "{}" + "}" * levels) == ("jsonld-too-deep",)
    assert flags("[" * levels + "]" * levels) == ("jsonld-too-deep",)


def test_F_G2_nested_contexts_are_bounded() -> None:
    nested: object = {"@vocab": "http://ex.example/"}
    for _ in range(100):
        nested = {"t": {"@id": "http://ex.example/t", "@context": nested}}
    assert flags(json.dumps({"@context": nested, "t": "x"})) == ("jsonld-too-deep",)


def test_F_G2_too_complex_contexts_are_refused() -> None:
    terms = {f"t{n}": f"http://ex.example/{n}" for n in range(2_000)}
    items = [{"@context": {"a": "http://ex.example/a"}, "a": "x"} for _ in range(2_000)]
    assert flags(json.dumps({"@context": terms, "t1": items})) == ("jsonld-too-complex",)


def test_F_G2_a_script_that_is_too_large_is_left_out() -> None:
    assert flags('{"name":"' + "x" * (5 << 20) + '"}') == ("jsonld-too-large",)


def test_F_G2_of_duplicate_keys_the_last_wins() -> None:
    assert lines(script('{"@context":"https://schema.org","name":"a","name":"b"}')) == ['_:1 <s:name> "b"']


@pytest.mark.parametrize(
    "text", ["/*" * 250_000, '"\\' * 250_000, "," * 500_000, "<!--" * 125_000, "{" + '"a",' * 100_000]
)
def test_F_G2_broken_scripts_are_scanned_once(text: str) -> None:
    assert set(flags(text)) <= {"jsonld-broken", "jsonld-too-deep"}


def test_F_G3_more_facts_than_are_kept_are_flagged() -> None:
    found = read(script(json.dumps({"@context": "https://schema.org", "name": [f"n{n}" for n in range(60_000)]})))
    assert len(found.triples) == 50_000
    assert found.flags == ("too-many-facts",)


def test_F_G6_labels_in_scripts_never_equal_those_of_another_capture() -> None:
    page = script('{"@context":"https://schema.org","@id":"_:a","name":"x"}')
    assert {read(page, 1).triples[0].subject, read(page, 2).triples[0].subject} == {
        "_:c0000000000000001n1",
        "_:c0000000000000002n1",
    }


def test_rdfa_and_json_ld_of_one_page_are_both_read() -> None:
    page = '<p about="_:a" property="og:title">t</p>' + script(
        '{"@context":"https://schema.org","@id":"_:a","name":"x"}'
    )
    found = read(page)
    assert found.syntaxes == ("rdfa", "json-ld")
    assert [t.subject[-2:] for t in found.triples] == ["n1", "n2"]
