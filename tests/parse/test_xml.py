import pytest

from gossamer.parse.xml import LONGEST_ENTITY, MOST_ATTRIBUTES, MOST_TAGS, XmlElement, doctype_of, parse_xml
from gossamer.values.tree import Element, Qualified, Survey

XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'


def parsed(text: str) -> Survey:
    survey = parse_xml(text.encode())
    assert survey is not None
    return survey


def root_of(text: str) -> Element:
    root = parsed(text).root
    assert root is not None
    return root


def test_an_element_has_its_local_name_its_attributes_and_its_parent() -> None:
    every = parsed('<s:a xmlns:s="u:s" id="1"><B href="x"/></s:a>').every()
    (root, tag, attributes), (inner, inner_tag, inner_attributes) = every
    assert (tag, attributes, root.parent) == ("a", {"id": "1", "xmlns:s": "u:s"}, None)
    assert (inner_tag, inner_attributes) == ("B", {"href": "x"})
    assert inner.parent is root
    assert [element.mem_id for element, _, _ in every] == [1, 2]


def test_the_name_as_written_is_kept_too() -> None:
    root = root_of('<s:a xmlns:s="u:s"/>')
    assert isinstance(root, Qualified)
    assert root.written_name == "s:a"


def test_attributes_in_a_namespace_keep_their_prefix() -> None:
    attributes = root_of('<a xmlns:x="u:x" x:href="1" xml:lang="en" xml:base="/b" lang="de"/>').attributes
    assert attributes == {"x:href": "1", "xml:lang": "en", "xml:base": "/b", "lang": "de", "xmlns:x": "u:x"}


def test_the_nearest_prefix_of_a_namespace_is_used_only_inside_its_element() -> None:
    every = parsed('<a xmlns:x="u"><b xmlns:y="u" x:p="1"><c xmlns="u" x:q="2"/></b><d x:r="3"/></a>').every()
    assert [next(iter(attributes)) for _, _, attributes in every] == ["xmlns:x", "y:p", "y:q", "x:r"]


def test_F_M1_xml_with_too_many_attributes_in_a_tag_is_refused() -> None:
    attributes = " ".join(f"a{number}='>'" for number in range(MOST_ATTRIBUTES))
    assert parse_xml(f"<a><b {attributes}/></a>".encode()) is not None
    assert parse_xml(f"<a><b {attributes} more='1'/></a>".encode()) is None
    assert parse_xml(f"<a><b {attributes}>more='1'</b></a>".encode()) is not None
    equals = "a = 'b'; " * MOST_ATTRIBUTES * 2
    assert parse_xml(f"<a>{equals}<![CDATA[{equals}]]><!-- {equals} --></a>".encode()) is not None


def test_the_survey_lists_elements_with_links_or_statements() -> None:
    survey = parsed("<a><b property='x'/><c class='y'/><meta/><d href='z'/></a>")
    assert [tag for _, tag, _ in survey.elements] == ["b", "meta", "d"]
    assert [tag for _, tag, _ in survey.every()] == ["a", "b", "c", "meta", "d"]


def test_the_text_of_an_element_excludes_comments_and_instructions() -> None:
    root = root_of("<a>one<!-- no --><b>two<c/></b><?no no?>three<![CDATA[<&nbsp;>]]></a>")
    assert root.text() == "onetwothree<&nbsp;>"
    assert root.text(deep=False) == "onethree<&nbsp;>"
    assert root.text(separator="|", strip=True) == "one|two|three<&nbsp;>"


def test_traversal_gives_elements_and_texts_in_document_order() -> None:
    root = root_of("<a>1<b>2</b>3<c/>4</a>")
    assert [node.tag for node in root.traverse()] == ["a", "b", "c"]
    found = [node.text(deep=False) if node.tag == "-text" else node.tag for node in root.traverse(include_text=True)]
    assert found == ["a", "1", "b", "2", "3", "c", "4"]
    inner = next(node for node in root.traverse() if node.tag == "b")
    assert [node.tag for node in inner.traverse(include_text=True)] == ["b", "-text"]


def test_children_are_given_in_document_order() -> None:
    root = root_of("<a>1<b><c/></b>2<d/></a>")
    assert [child.tag for child in root.iter()] == ["b", "d"]
    assert [child.tag for child in root.iter(include_text=True)] == ["-text", "b", "-text", "d"]


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "words",
        "<a>",
        "<a></b>",
        "<a b=1/>",
        "<a>&nope;</a>",
        "<a/><b/>",
        "<a b='1' b='2'/>",
        "<p:a/>",
        "<a>\x00</a>",
    ],
)
def test_malformed_xml_is_refused(broken: str) -> None:
    assert parse_xml(broken.encode()) is None


def test_xml_that_is_not_utf_8_is_refused() -> None:
    assert parse_xml(b"<a>\xff</a>") is None


def test_the_declared_encoding_is_ignored() -> None:
    assert root_of('<?xml version="1.0" encoding="ISO-8859-1"?><a>ü</a>').text() == "ü"
    assert root_of('\ufeff<?xml version="1.0" encoding="UTF-16"?><a>ü</a>').text() == "ü"


def test_html_entities_are_replaced_by_their_characters() -> None:
    public = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/x.dtd">'
    for doctype in ("", "<!DOCTYPE html>", public):
        root = root_of(f'{doctype}<a b="&eacute;&quot;&QUOT;">x&nbsp;&amp;&LT;&nGt;<!-- &nbsp; --></a>')
        assert root.text() == "x\u00a0&<\u226b\u20d2"
        assert root.attributes["b"] == 'é""'


def test_entities_declared_as_plain_text_are_replaced() -> None:
    svg = """<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x" [
        <!-- it's a comment ]> --> <!ENTITY ns "http://www.w3.org/2000/svg"> <!ENTITY quote 'a "b" &#169;'>
        <!ENTITY ns "second"> ]><svg xmlns="&ns;" id="&quote;"/>"""
    assert root_of(svg).attributes == {"id": 'a "b" ©', "xmlns": "http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">',
        '<!ENTITY b SYSTEM "file:///etc/hostname">',
        '<!ENTITY % p "x"> <!ENTITY b "%p;">',
        '<!ENTITY b "<c/>">',
        f'<!ENTITY b "{"x" * (LONGEST_ENTITY + 1)}">',
    ],
)
def test_nested_external_and_markup_entities_are_refused(subset: str) -> None:
    assert parse_xml(f"<!DOCTYPE a [{subset}]><a>&b;</a>".encode()) is None
    assert parse_xml(f'<!DOCTYPE a [{subset}]><a c="&b;"/>'.encode()) is None


def test_entities_cannot_blow_up_a_page() -> None:
    page = f'<!DOCTYPE a [<!ENTITY b "{"x" * LONGEST_ENTITY}">]><a>{"&b;" * 100_000}</a>'
    assert parse_xml(page.encode()) is None


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE a [" + "<!--" * 200_000,
        "<!DOCTYPE a [" + '"' * 200_001,
        "<?" * 200_000,
        "<!--" * 200_000,
        "<a>&nbsp;" + "<![CDATA[" * 200_000,
        "<a>" + "&" * 400_000,
        "<!DOCTYPE a [" + "<!ENTITY" * 100_000 + "]><a>",
    ],
)
def test_hostile_beginnings_are_refused_quickly(page: str) -> None:
    assert parse_xml(page.encode()) is None


def test_xml_that_is_too_deep_or_has_too_many_tags_is_refused() -> None:
    assert parse_xml(b"<a>" * 250 + b"</a>" * 250) is not None
    assert parse_xml(b"<a>" * 300 + b"</a>" * 300) is None
    assert parse_xml(b"<a>" + b"<b/>" * MOST_TAGS + b"</a>") is None


def test_the_content_of_a_template_is_not_part_of_the_page() -> None:
    survey = parsed(
        f'<html {XHTML}><template>no<b property="x"/></template><template xmlns="u:t"><c/></template></html>'
    )
    assert [tag for _, tag, _ in survey.every()] == ["html", "template", "template", "c"]
    assert survey.root is not None and survey.root.text() == ""


def test_the_document_type_is_returned() -> None:
    page = b'<?xml version="1.0"?>\n<!-- x -->\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.1//EN" "a>b">\n<html/>'
    assert doctype_of(page) == b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.1//EN" "a>b">'
    assert doctype_of(b"<html/>") == b""


def test_elements_are_found_by_tag() -> None:
    root = root_of("<a><b/><c><b/></c></a>")
    assert isinstance(root, XmlElement)
    assert [found.mem_id for found in root.css("b, d")] == [2, 4]
