"""The literal that an element with @property stands for (RDFa Core 1.1, 7.5, step 11; HTML+RDFa 1.1, 3.1).

In RDFa 1.0 a text with elements in it is an XML literal, unless a datatype is given (RDFa in XHTML, 5.5, step 9)."""

from gossamer.extract.allowance import Allowance
from gossamer.extract.markup import inner_html, inner_xml
from gossamer.extract.moments import kind_of_moment
from gossamer.extract.rdfa.host_language import Rules
from gossamer.extract.terms import RDF, quoted, typed_literal
from gossamer.values.tree import Attributes, Element

XML_LITERAL = f"<{RDF}XMLLiteral>"
HTML_LITERAL = f"<{RDF}HTML>"


def literal_of(
    element: Element, attributes: Attributes, language: str, datatype: str | None, rules: Rules, markup: Allowance
) -> str:
    """`language` as `language_suffix` gives it. `datatype`: an IRI term; empty when @datatype names none; None when
    there is no @datatype. `markup`: what may still be written of it; when it is spent, the literal is not whole."""
    if "content" in attributes:
        text, is_moment = attributes["content"] or "", False
    elif rules.has_moments and "datetime" in attributes:
        text, is_moment = attributes["datetime"] or "", True
    elif datatype == XML_LITERAL or (datatype is None and rules.is_old and next(element.iter(), None) is not None):
        text, is_moment, datatype = inner_xml(element, markup, rules.is_xml, rules.namespace), False, XML_LITERAL
    elif datatype == HTML_LITERAL:
        text, is_moment = inner_html(element, markup), False
    else:
        text, is_moment = element.text(), rules.has_moments and element.tag == "time"
    if datatype:
        return typed_literal(text, datatype)
    if is_moment and datatype is None:
        kind = kind_of_moment(text)
        if kind is not None:
            return typed_literal(text, kind)
    return quoted(text) + language
